//! A model that was made: first and last lines of what is told.

use std::io::{self, Write};

use hedgerow::core::{StopReason, Task};

use crate::commands::Made;
use crate::output::{count, size};

/// Why it ended early, if it did.
pub(super) fn ending(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Done | StopReason::Converged => "",
        StopReason::Time => ", stopped because the time was up",
        StopReason::Memory => ", stopped because the memory was used up",
        StopReason::Interrupted => ", stopped because it was interrupted",
    }
}

/// What was made of what.
pub(super) fn begin(made: &Made, ending: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{} of {} from {} rows, {} features, {}{ending}",
        made.model,
        made.inside.parts,
        count(made.rows as u64),
        count(made.features as u64),
        match made.task {
            Task::Classification => format!("{} classes", made.classes.len()),
            Task::Regression => regression_of(made.target.as_deref()),
        },
    )
}

/// What a regression model predicts.
pub(super) fn regression_of(target: Option<&str>) -> String {
    target.map_or_else(|| "regression".into(), |target| format!("regression of {target:?}"))
}

/// Where it was saved.
pub(super) fn end(made: &Made, out: &mut dyn Write) -> io::Result<()> {
    match &made.out {
        Some(path) => {
            let rows = if made.rows_retained.is_some() { " with its rows, ready to learn more" } else { "" };
            writeln!(out, "saved to {}{rows} ({})", path.display(), size(made.bytes))
        }
        None => writeln!(out, "not saved: give --out FILE to keep the model ({})", size(made.bytes)),
    }
}
