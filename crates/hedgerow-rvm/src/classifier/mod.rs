//! Classes: one sparse regression of all of them, or binary RVMs whose scores are combined.

mod binaries;
mod combine;
mod model;
mod shared;
#[cfg(test)]
mod tests;

use hedgerow_core::{Checked, Classifier, Dataset, Error, Par, Result, Rows, Schema, Task, Training, Update};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};

use crate::params::RvmParams;
use crate::rvm::{FittedRvm, Rvm};
use crate::training_rows::labels;
pub use model::ClassificationModel;

/// A Relevance Vector Machine for any number of classes.
pub type RvmClassifier = Rvm<ClassificationModel>;

impl Rvm<ClassificationModel> {
    /// Fits a data set. Row weights are not used.
    pub fn fit(
        data: &Dataset,
        params: &Checked<RvmParams>,
        training: &Training<'_>,
    ) -> Result<FittedRvm<ClassificationModel>> {
        data.check_trainable(Task::Classification)?;
        let targets = data.labels().iter().map(|label| f64::from(label.0)).collect();
        Self::fit_rows(&data.schema, &data.features, targets, params, training)
    }

    /// Predicts rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is that of earlier
    /// calls, grown by the classes and categories that have come since. Row weights are not used.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Update> {
        if !self.can_learn() {
            return Err(Error::NoRows);
        }
        rows.check(schema, self.n_features(), self.n_classes)?;
        self.n_classes = schema.n_classes();
        let targets: Vec<f64> = rows.labels().iter().map(|label| f64::from(label.0)).collect();
        let mut predictions = Array2::zeros((targets.len(), self.n_classes));
        let update = self.learn_rows(schema, rows.x, &targets, training, |rvm, range| {
            let part = s![range, ..];
            rvm.predict_proba_impl(rows.x.slice(part), training.par, predictions.slice_mut(part));
        })?;
        Ok(Update { predictions, ..update })
    }

    /// The retained rows; none if they were left out.
    pub fn remembered(&self, schema: &Schema) -> Result<Option<Dataset>> {
        let Some(retained) = &self.retained else { return Ok(None) };
        Dataset::new(schema.clone(), retained.features.clone(), labels(&retained.targets), None).map(Some)
    }

    /// Relevance vectors of each binary RVM, the bias not counted; a regression that all classes share is one.
    pub fn n_relevant_each(&self) -> Vec<usize> {
        self.fit.as_ref().map(|fit| fit.model.n_relevant_each()).unwrap_or_default()
    }
}

impl Classifier for Rvm<ClassificationModel> {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        let Some(fit) = &self.fit else {
            // All that is known are the class frequencies.
            let mut counts = vec![1.0; self.n_classes];
            let known = self.retained.iter().flat_map(|retained| &retained.facts.counts);
            counts.iter_mut().zip(known).for_each(|(count, n)| *count += *n as f64);
            let sum: f64 = counts.iter().sum();
            out.rows_mut().into_iter().for_each(|mut row| {
                row.iter_mut().zip(&counts).for_each(|(p, count)| *p = count / sum);
            });
            return;
        };
        let blocks =
            self.predict_blocks(fit, x, par, |model, basis, x| model.predict(basis, x, self.n_classes));
        let mut first = 0;
        for block in blocks {
            out.slice_mut(s![first..first + block.nrows(), ..]).assign(&block);
            first += block.nrows();
        }
    }
}
