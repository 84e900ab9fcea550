//! How long one row takes.

use std::time::Instant;

use hedgerow::Model;
use hedgerow::core::{Par, Task};
use ndarray::{Array2, ArrayView2, s};
use serde::Serialize;

/// Seconds for one row.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Latency {
    pub(crate) median: f64,
    pub(crate) p99: f64,
}

impl Latency {
    /// Asks for one row at a time, on one thread.
    pub(super) fn measure(model: &Model, x: ArrayView2<'_, f32>) -> anyhow::Result<Self> {
        let par = Par::sequential();
        let mut prediction = Array2::zeros((1, model.n_classes()));
        let mut times = Vec::new();
        for i in 0..x.nrows().min(1_000) {
            let row = x.slice(s![i..=i, ..]);
            let start = Instant::now();
            match model.task() {
                // Into a table that is already there.
                Task::Classification => {
                    model.classifier()?.predict_proba_into(row, &par, prediction.view_mut())?;
                }
                Task::Regression => drop(model.predict_values_par(row, &par)?),
            }
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        Ok(Self { median: at(0.5), p99: at(0.99) })
    }
}
