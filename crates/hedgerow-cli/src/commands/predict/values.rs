//! The predicted number and its deviation, and the ends of an interval where it is asked for.

use hedgerow::core::special::normal;
use ndarray::Array2;

use super::columns::{Batch, Columns, push_number};

pub(super) struct Values {
    /// An interval reaches so many deviations to either side.
    width: Option<f64>,
    /// Mean and variance.
    values: Array2<f64>,
}

impl Values {
    pub(super) fn new(interval: Option<f64>) -> Self {
        let width = interval.map(|share| normal::quantile(0.5 + 0.5 * share));
        Self { width, values: Array2::zeros((0, 2)) }
    }
}

impl Columns for Values {
    fn names(&self) -> Vec<String> {
        let ends = self.width.iter().flat_map(|_| ["low", "high"]);
        ["prediction", "deviation"].into_iter().chain(ends).map(String::from).collect()
    }

    fn compute(&mut self, batch: &Batch<'_>) -> anyhow::Result<()> {
        self.values.clone_from(batch.predictions);
        Ok(())
    }

    fn write(&self, row: usize, line: &mut csv::StringRecord) {
        let (mean, deviation) = (self.values[(row, 0)], self.values[(row, 1)].max(0.0).sqrt());
        let ends = self.width.iter().flat_map(|w| [mean - w * deviation, mean + w * deviation]);
        [mean, deviation].into_iter().chain(ends).for_each(|value| push_number(line, value));
    }
}
