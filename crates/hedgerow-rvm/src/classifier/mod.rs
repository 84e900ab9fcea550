//! Classes: one sparse regression of all of them, or binary RVMs whose scores are combined.

mod binaries;
mod combine;
mod model;
mod shared;
#[cfg(test)]
mod tests;

use hedgerow_core::online::predict_frequencies;
use hedgerow_core::{
    BoxedRun, Checked, Classifier, KindInfo, ModelKind, Par, Result, RunStart, Schema, Task, TaskModel,
    Training, WholeRun,
};
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::params::RvmParams;
use crate::regressor::RvmRegressor;
use crate::rvm::{Fit, Rvm};
pub use model::ClassificationModel;

/// A Relevance Vector Machine for any number of classes.
pub type RvmClassifier = Rvm<ClassificationModel>;

impl Rvm<ClassificationModel> {
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

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>) {
        let Some(fit) = &self.fit else {
            // All that is known are the class frequencies.
            let counts = self.online.as_ref().map_or(&[][..], |online| &online.counts);
            return predict_frequencies(counts, out);
        };
        let Fit { basis, model, .. } = fit;
        let predict = |x| model.predict(basis, basis.map(x).view(), self.n_classes);
        self.preparation.predict_classes(x, par, out, predict);
    }
}

/// A Relevance Vector Machine of either task.
pub type RvmModel = TaskModel<RvmClassifier, RvmRegressor>;

impl ModelKind for RvmParams {
    type Model = RvmModel;

    const INFO: KindInfo = KindInfo {
        name: "rvm",
        about: "The Relevance Vector Machine: few rows, chosen by the evidence; for classification and regression",
        noun: "a Relevance Vector Machine",
        work: "searching for a kernel",
        params: "RvmParams",
        tasks: &[Task::Classification, Task::Regression],
        ..KindInfo::LEARNER
    };

    fn new_model(schema: &Schema, params: &Checked<Self>) -> Result<RvmModel> {
        Ok(match schema.task() {
            Task::Classification => TaskModel::Classifier(RvmClassifier::new(schema, params)?),
            Task::Regression => TaskModel::Regressor(RvmRegressor::new(schema, params)?),
        })
    }

    fn start_run(start: &RunStart<'_, Self>) -> Result<BoxedRun<RvmModel>> {
        let (data, params) = (start.data.clone(), start.params.clone());
        Ok(Box::new(WholeRun::new("fit", move |training: &Training<'_>| match data.task() {
            Task::Classification => {
                RvmClassifier::fit(&data, &params, training).map(|fitted| fitted.into(TaskModel::Classifier))
            }
            Task::Regression => {
                RvmRegressor::fit(&data, &params, training).map(|fitted| fitted.into(TaskModel::Regressor))
            }
        })))
    }

    fn of_model(model: &RvmModel) -> &Self {
        match model {
            TaskModel::Classifier(model) => &model.params,
            TaskModel::Regressor(model) => &model.params,
        }
    }

    fn seed(&mut self) -> &mut u64 {
        &mut self.seed
    }

    fn max_retained(&self) -> usize {
        self.max_rows
    }

    fn n_parts(&self, _model: &RvmModel) -> (usize, &'static str) {
        (50, "candidates at a time")
    }
}
