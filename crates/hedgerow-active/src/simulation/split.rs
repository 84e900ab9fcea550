//! Which rows a run learns from and is tested on.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{DataProblem, Dataset, Result};

use super::SimulationParams;

/// The rows of the runs of one seed.
pub(super) struct Split {
    pub(super) seed: u64,
    /// The pool, with its labels, which are not shown.
    pub(super) pool: Dataset,
    pub(super) test: Dataset,
    /// Which row of the table each row of the pool is.
    pub(super) rows: Vec<usize>,
    /// Rows of the pool that are labelled at the start.
    pub(super) start: Vec<usize>,
}

impl Split {
    pub(super) fn new(data: &Dataset, params: &SimulationParams, seed: u64) -> Result<Self> {
        let n = data.n_rows();
        let n_test = ((params.test_share * n as f64) as usize).clamp(1, params.most_test);
        if n < n_test + 2 {
            return Err(DataProblem::Empty.into());
        }
        let mut rng = Rng::new(seed, Purpose::Validation, 1);
        let mut order: Vec<usize> = (0..n).collect();
        rng.shuffle(&mut order);
        let mut rows = order.split_off(n_test);
        if params.most_pool > 0 {
            rows.truncate(params.most_pool.max(params.labels));
        }
        // The order of a pool must not tell anything.
        rows.sort_unstable();
        let mut start: Vec<usize> = (0..rows.len()).collect();
        rng.shuffle(&mut start);
        start.truncate(params.start);
        Ok(Self { seed, pool: data.select(&rows), test: data.select(&order), rows, start })
    }
}
