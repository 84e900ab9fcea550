//! Classes: one sparse regression of all of them, or binary RVMs whose scores are combined.

mod binaries;
mod combine;
mod model;
mod shared;
#[cfg(test)]
mod tests;

use hedgerow_core::{
    BoxedRun, Candidate, Checked, Classifier, Dataset, KindInfo, ModelKind, OnlineClassifier, Par, Result,
    Rows, Schema, Summary, Training, Update, WholeRun,
};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};

use crate::params::RvmParams;
use crate::retained::RetainedRows;
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
        data.check_trainable()?;
        let targets = data.labels.iter().map(|label| f64::from(label.0)).collect();
        Self::fit_rows(&data.schema, &data.features, targets, params, training)
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
            let known = self.retained.iter().flat_map(|retained| &retained.counts);
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

impl OnlineClassifier for Rvm<ClassificationModel> {
    fn can_learn(&self) -> bool {
        self.retained.is_some()
    }

    fn know_classes(&mut self, n_classes: usize) {
        self.n_classes = n_classes;
    }

    fn room(&self) -> usize {
        self.retained.as_ref().map_or(0, RetainedRows::room)
    }

    fn ingest(
        &mut self,
        _schema: &Schema,
        rows: Rows<'_>,
        training: &Training<'_>,
        out: ArrayViewMut2<'_, f64>,
        _update: &mut Update,
    ) -> Result<usize> {
        self.predict_proba_impl(rows.x, training.par, out);
        let targets: Vec<f64> = rows.labels.iter().map(|label| f64::from(label.0)).collect();
        if let Some(retained) = &mut self.retained {
            retained.add(rows.x, &targets);
        }
        Ok(targets.len())
    }

    fn maintain(&mut self, schema: &Schema, training: &Training<'_>, update: &mut Update) -> Result<()> {
        self.update_fit(schema, training, update)
    }

    fn n_seen(&self) -> u64 {
        self.retained.as_ref().map_or(0, |retained| retained.n_seen)
    }

    fn n_retained(&self) -> usize {
        self.retained.as_ref().map_or(0, RetainedRows::n_rows)
    }

    fn retained_rows(&self, schema: &Schema) -> Result<Option<Dataset>> {
        let Some(retained) = &self.retained else { return Ok(None) };
        Dataset::new(schema.clone(), retained.features.clone(), labels(&retained.targets), None).map(Some)
    }

    fn frozen(self) -> Self {
        Self { retained: None, ..self }
    }

    fn bytes(&self) -> usize {
        self.n_bytes()
    }

    fn summary(&self, _classes: &[String]) -> Summary {
        self.summary_of_rows()
    }

    fn active_rows(&self) -> Option<Array2<f32>> {
        Some(self.relevant_rows())
    }
}

impl ModelKind for RvmParams {
    type Model = RvmClassifier;

    const INFO: KindInfo = KindInfo {
        name: "rvm",
        about: "The Relevance Vector Machine: few rows, chosen by the evidence; for classification and regression",
        noun: "a Relevance Vector Machine",
        work: "searching for a kernel",
        params: "RvmParams",
        ..KindInfo::LEARNER
    };

    fn new_model(schema: &Schema, params: &Checked<Self>) -> Result<RvmClassifier> {
        RvmClassifier::new(schema, params)
    }

    fn start_run(
        data: &Dataset,
        params: &Checked<Self>,
        _previous: Option<&RvmClassifier>,
        _lanes: usize,
        _training: &Training<'_>,
    ) -> Result<BoxedRun<RvmClassifier>> {
        let (data, params) = (data.clone(), params.clone());
        Ok(Box::new(WholeRun::new("fit", move |training: &Training<'_>| {
            let FittedRvm { rvm, stop, log_evidence, log } = RvmClassifier::fit(&data, &params, training)?;
            let made = Candidate::new(rvm, None);
            Ok((Candidate { log_evidence: Some(log_evidence), notes: log.notes, ..made }, stop))
        })))
    }

    fn of_model(model: &RvmClassifier) -> &Self {
        &model.params
    }

    fn seed(&mut self) -> &mut u64 {
        &mut self.seed
    }

    fn max_retained(&self) -> usize {
        self.max_rows
    }

    fn n_parts(&self, _model: &RvmClassifier) -> (usize, &'static str) {
        (50, "candidates at a time")
    }
}
