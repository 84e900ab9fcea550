//! One type for every kind of model, with the schema it was trained on.

use std::path::Path;

use hedgerow_core::{Checked, Classifier, Dataset, Error, Par, Result, Schema, StopReason};
use hedgerow_forest::{Forest, ForestParams, OutOfBag, Training};
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::file;

/// A trained model and what its columns and classes are called.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The columns it expects and the classes it knows.
    pub schema: Schema,
    /// What it has learnt.
    pub learner: Learner,
}

/// The kinds of model there are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Learner {
    /// A random forest.
    Forest(Forest),
}

/// A fitted model and what was learnt on the way.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Honest answers for the training rows, where the model leaves rows out while it trains.
    pub oob: Option<OutOfBag>,
    /// Why training ended.
    pub stop: StopReason,
}

impl Model {
    /// Grows a forest.
    pub fn fit_forest(
        data: &Dataset,
        params: &Checked<ForestParams>,
        training: &Training<'_>,
    ) -> Result<Fitted> {
        let fitted = Forest::fit(data, params, training)?;
        let model = Self { schema: data.schema.clone(), learner: Learner::Forest(fitted.forest) };
        Ok(Fitted { model, oob: fitted.oob, stop: fitted.stop })
    }

    /// The kind, as the command line calls it.
    pub fn kind(&self) -> &'static str {
        match &self.learner {
            Learner::Forest(_) => "forest",
        }
    }

    /// The forest, if it is one.
    pub fn as_forest(&self) -> Option<&Forest> {
        match &self.learner {
            Learner::Forest(forest) => Some(forest),
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        match &self.learner {
            Learner::Forest(forest) => forest.bytes(),
        }
    }

    /// Bytes of the model file.
    pub fn file_len(&self) -> Result<u64> {
        file::len(self)
    }

    /// Writes the model to a file: all of it or, if that fails, nothing. An older file stays until the new one is whole.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<u64> {
        file::save(self, path.as_ref())
    }

    /// Reads a model from a file, after checking every byte of it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        file::load(path.as_ref())
    }

    /// The model as the bytes of a model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        file::to_bytes(self)
    }

    /// A model from the bytes of a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        file::from_bytes(bytes)
    }
}

impl Classifier for Model {
    fn n_features(&self) -> usize {
        self.schema.n_features()
    }

    fn n_classes(&self) -> usize {
        self.schema.n_classes()
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>) {
        match &self.learner {
            Learner::Forest(forest) => forest.predict_proba_impl(x, par, out),
        }
    }
}

/// One model out of several of the same kind and columns; classes may differ.
pub fn merge(models: &[&Model]) -> Result<Model> {
    let mut forests = Vec::with_capacity(models.len());
    for model in models {
        match &model.learner {
            Learner::Forest(forest) => forests.push((&model.schema, forest)),
        }
    }
    if forests.len() < 2 {
        return Err(Error::param("models", "two or more to merge", forests.len()));
    }
    let (schema, forest) = hedgerow_forest::merge(&forests)?;
    Ok(Model { schema, learner: Learner::Forest(forest) })
}
