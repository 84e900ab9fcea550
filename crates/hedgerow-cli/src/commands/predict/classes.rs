//! The predicted class and its probability, and those of all classes where they are asked for.

use hedgerow::Model;
use hedgerow::core::ClassId;
use hedgerow::core::traits::largest;
use ndarray::Array2;

use super::columns::{Batch, Columns, push_number};

pub(super) struct Classes<'a> {
    model: &'a Model,
    all: bool,
    proba: Array2<f64>,
}

impl<'a> Classes<'a> {
    pub(super) fn new(model: &'a Model, all: bool) -> Self {
        Self { model, all, proba: Array2::zeros((0, 0)) }
    }
}

impl Columns for Classes<'_> {
    fn names(&self) -> Vec<String> {
        let labels = self.model.classes().iter().filter(|_| self.all);
        let first = ["prediction", "probability"].map(String::from);
        first.into_iter().chain(labels.map(|label| format!("p_{label}"))).collect()
    }

    fn compute(&mut self, batch: &Batch<'_>) -> anyhow::Result<()> {
        self.proba.clone_from(batch.predictions);
        Ok(())
    }

    fn write(&self, row: usize, line: &mut csv::StringRecord) {
        let proba = self.proba.row(row);
        let class = largest(proba).unwrap_or(0);
        line.push_field(self.model.schema().labels.name(ClassId(class as u32)));
        push_number(line, proba[class]);
        proba.iter().filter(|_| self.all).for_each(|p| push_number(line, *p));
    }
}
