//! What a limit on memory leaves for the learner.

use hedgerow::Model;
use hedgerow::core::{Dataset, Error, Par, Result};

use crate::commands::batch_rows;
use crate::{output, process};

/// What learning takes beside pool and trees whatever their size, for each thread; and what it takes in proportion to them:
/// new trees that are tried, all at once after a drift, and what the allocator cannot hand out again (measured: 1.4 to 2.1).
const FIXED: u64 = 2_500_000;
const OVERHEAD: f64 = 2.3;
/// What is in use at the start is rounded up to this, so that it is the same from run to run, and with it the model.
const STEP: u64 = 4 << 20;
/// Fewest rows that there must be room for: the learner keeps some of it for the next block.
const LEAST_ROWS: u64 = 1_500;

/// Bytes that pool and trees may take, for a process that must stay below `limit`. `beside` is what else will be needed.
pub(super) fn learner_bytes(limit: u64, model: &Model, par: &Par, beside: u64) -> Result<u64> {
    let in_use = process::memory_now().unwrap_or(0).saturating_sub(model.bytes() as u64);
    let kept = in_use.next_multiple_of(STEP) + FIXED * par.threads() as u64 + beside;
    let (n_parts, parts) = model.params().n_parts(model.learner());
    let n_parts = n_parts as u64;
    let values = 4 * model.schema().n_features() as u64;
    // What a row takes: its values and its place in every tree, or its row among the active ones. Saving copies the values once more.
    let a_row = values + 16 + 24 * n_parts;
    let overhead = OVERHEAD + values as f64 / a_row as f64;
    let (result, least) = ((limit.saturating_sub(kept) as f64 / overhead) as u64, LEAST_ROWS * a_row);
    if result >= least {
        return Ok(result);
    }
    Err(Error::BudgetTooSmall {
        what: format!("learning online with {n_parts} {parts} and {} columns", model.schema().n_features()),
        needed: output::size(kept + (least as f64 * overhead) as u64),
        limit: format!("{} (--max-memory)", output::size(limit)),
    })
}

/// Bytes that evaluating a model on rows in memory takes beside them.
pub(super) fn evaluation_bytes(data: &Dataset, n_classes: usize) -> u64 {
    let (n_rows, n_features) = (data.n_rows(), data.schema.n_features());
    let read = batch_rows(n_features).min(n_rows) * n_features * size_of::<f32>();
    (n_rows * n_classes * size_of::<f64>() + read) as u64
}
