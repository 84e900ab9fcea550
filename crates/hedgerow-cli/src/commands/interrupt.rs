//! Ctrl-C.

use anyhow::Context as _;
use hedgerow::core::Budget;

use crate::output;

/// The first Ctrl-C asks the work to end, the second ends the program.
pub(super) fn listen(budget: Budget) -> anyhow::Result<Budget> {
    let stop = budget.stop.clone();
    ctrlc::set_handler(move || {
        if stop.is_stopped() {
            std::process::exit(130);
        }
        stop.stop();
        output::note("stopping: keeping the model so far (press again to quit at once)");
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(budget)
}
