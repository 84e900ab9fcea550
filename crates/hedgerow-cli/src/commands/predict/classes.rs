//! The predicted class and its probability, and those of all classes where they are asked for.

use hedgerow::Model;
use hedgerow::core::ClassId;
use hedgerow::core::traits::largest;
use ndarray::Array2;

use super::columns::{Batch, Columns, push_number};
use super::decision::DecisionRule;

pub(super) struct Classes<'a> {
    model: &'a Model,
    all: bool,
    rule: DecisionRule,
    proba: Array2<f64>,
}

impl<'a> Classes<'a> {
    pub(super) fn new(model: &'a Model, all: bool, rule: DecisionRule) -> Self {
        Self { model, all, rule, proba: Array2::zeros((0, 0)) }
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
        let decided = self.rule.decide(proba);
        line.push_field(decided.map_or("", |class| self.model.schema().labels.name(class)));
        let shown = decided.map_or_else(|| largest(proba).unwrap_or(0), ClassId::index);
        push_number(line, proba[shown]);
        proba.iter().filter(|_| self.all).for_each(|p| push_number(line, *p));
    }
}
