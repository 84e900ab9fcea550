//! The classes that cannot be ruled out for a row.

use hedgerow::Model;
use hedgerow::core::Result;
use hedgerow::core::conformal::{PredictionSets, SetOptions, Thresholds};

use super::columns::{Batch, Columns};

/// Between two classes of a set.
const BETWEEN: &str = "|";

pub(super) struct Sets<'a> {
    model: &'a Model,
    thresholds: Thresholds,
    of_batch: Option<PredictionSets>,
}

impl<'a> Sets<'a> {
    /// Fails if the model has nothing to make sets from.
    pub(super) fn new(model: &'a Model, options: &SetOptions) -> Result<Self> {
        Ok(Self { model, thresholds: model.set_thresholds(options)?, of_batch: None })
    }
}

impl Columns for Sets<'_> {
    fn names(&self) -> Vec<String> {
        vec!["set".into()]
    }

    fn compute(&mut self, batch: &Batch<'_>) -> anyhow::Result<()> {
        self.of_batch = Some(self.thresholds.sets(batch.predictions.view()));
        Ok(())
    }

    fn write(&self, row: usize, line: &mut csv::StringRecord) {
        let labels = &self.model.schema().labels;
        let classes = self.of_batch.iter().flat_map(|sets| sets.classes(row));
        line.push_field(&classes.map(|class| labels.name(class)).collect::<Vec<_>>().join(BETWEEN));
    }
}
