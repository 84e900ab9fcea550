//! The ends of an interval for the true probability of each class.

use hedgerow::Model;
use ndarray::Array2;

use super::columns::{Batch, Columns, push_number};

pub(super) struct Intervals<'a> {
    model: &'a Model,
    level: f64,
    /// Lower and upper ends, a column for each class.
    ends: [Array2<f64>; 2],
}

impl<'a> Intervals<'a> {
    pub(super) fn new(model: &'a Model, level: f64) -> Self {
        Self { model, level, ends: [0, 1].map(|_| Array2::zeros((0, 0))) }
    }
}

impl Columns for Intervals<'_> {
    fn names(&self) -> Vec<String> {
        let of_class = |label: &String| ["lo", "hi"].map(|end| format!("{end}_{label}"));
        self.model.classes().iter().flat_map(of_class).collect()
    }

    fn compute(&mut self, batch: &Batch<'_>) -> anyhow::Result<()> {
        self.ends = self.model.predict_interval_par(batch.x, self.level, batch.par)?;
        Ok(())
    }

    fn write(&self, row: usize, line: &mut csv::StringRecord) {
        let [low, high] = &self.ends;
        for (low, high) in low.row(row).iter().zip(high.row(row)) {
            push_number(line, *low);
            push_number(line, *high);
        }
    }
}
