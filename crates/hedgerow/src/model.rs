//! One type for every kind of model, with the schema it was trained on.

use std::path::Path;

use hedgerow_core::{
    Checked, Classifier, Dataset, Error, Lesson, Par, Result, Rows, Schema, StopReason, Training,
};
use hedgerow_forest::{Forest, ForestParams, OnlineForest, OutOfBag};
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
#[expect(
    clippy::large_enum_variant,
    reason = "a program has few models, and each is large behind its pointers"
)]
pub enum Learner {
    /// A random forest that only answers.
    Forest(Forest),
    /// A random forest with the rows it remembers, which keeps learning.
    OnlineForest(Box<OnlineForest>),
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

    /// A forest that knows nothing yet and learns what it is given.
    pub fn new_forest(schema: Schema, params: &Checked<ForestParams>) -> Result<Self> {
        let forest = OnlineForest::new(&schema, params)?;
        Ok(Self { schema, learner: Learner::OnlineForest(Box::new(forest)) })
    }

    /// The same model together with the rows it was fitted to, so that it can go on learning.
    #[must_use]
    pub fn with_rows(self, data: Dataset) -> Self {
        let learner = match self.learner {
            Learner::Forest(forest) => {
                Learner::OnlineForest(Box::new(OnlineForest::from_fitted(forest, data)))
            }
            learner @ Learner::OnlineForest(_) => learner,
        };
        Self { schema: self.schema, learner }
    }

    /// The same model without its rows: smaller, and it learns no more.
    #[must_use]
    pub fn without_rows(self) -> Self {
        let learner = match self.learner {
            Learner::OnlineForest(mut online) => {
                online.put_in_order();
                Learner::Forest(online.into_forest())
            }
            learner @ Learner::Forest(_) => learner,
        };
        Self { schema: self.schema, learner }
    }

    /// Answers rows and learns them, one after the other; see [`OnlineForest::learn`]. `schema` is the model's own, grown by the
    /// classes and categories that have come since.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Lesson> {
        let Learner::OnlineForest(online) = &mut self.learner else { return Err(Error::NoRows) };
        check_growth(&self.schema, schema)?;
        let lesson = online.learn(schema, rows, training)?;
        if self.schema != *schema {
            self.schema = schema.clone();
        }
        Ok(lesson)
    }

    /// The rows it remembers, the oldest first; none if it was saved without them.
    pub fn remembered(&self) -> Result<Option<Dataset>> {
        match &self.learner {
            Learner::OnlineForest(online) => online.remembered(&self.schema).map(Some),
            Learner::Forest(_) => Ok(None),
        }
    }

    /// The forest that keeps learning, if it is one.
    pub fn as_online(&self) -> Option<&OnlineForest> {
        match &self.learner {
            Learner::OnlineForest(online) => Some(online),
            Learner::Forest(_) => None,
        }
    }

    /// The kind, as the command line calls it.
    pub fn kind(&self) -> &'static str {
        match &self.learner {
            Learner::Forest(_) | Learner::OnlineForest(_) => "forest",
        }
    }

    /// The forest, if it is one.
    pub fn as_forest(&self) -> Option<&Forest> {
        match &self.learner {
            Learner::Forest(forest) => Some(forest),
            Learner::OnlineForest(online) => Some(online.forest()),
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        match &self.learner {
            Learner::Forest(forest) => forest.bytes(),
            Learner::OnlineForest(online) => online.bytes(),
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
            Learner::OnlineForest(online) => online.predict_proba_impl(x, par, out),
        }
    }
}

/// One model out of several of the same kind and columns; classes may differ. It can go on learning if all of them can: then it
/// has the rows of all, and its trees get to know those they have not seen with the first lesson.
pub fn merge(models: &[&Model]) -> Result<Model> {
    let forests: Vec<(&Schema, &Forest)> =
        models.iter().filter_map(|model| Some((&model.schema, model.as_forest()?))).collect();
    if forests.len() < 2 {
        return Err(Error::param("models", "two or more to merge", forests.len()));
    }
    let (schema, forest) = hedgerow_forest::merge(&forests)?;
    let mut rows: Option<Dataset> = None;
    for model in models {
        let Some(own) = model.remembered()? else {
            return Ok(Model { schema, learner: Learner::Forest(forest) });
        };
        let own = own.under(&schema)?;
        match &mut rows {
            None => rows = Some(own),
            Some(rows) => rows.append(&own),
        }
    }
    let merged = Model { schema, learner: Learner::Forest(forest) };
    Ok(match rows {
        Some(rows) => merged.with_rows(rows),
        None => merged,
    })
}

/// Fails unless a schema is another with classes and categories added at the ends.
fn check_growth(before: &Schema, after: &Schema) -> Result<()> {
    let old_names = before.labels.names();
    let keeps_labels = after.labels.names().get(..old_names.len()) == Some(old_names);
    if keeps_labels && before.same_columns(after) {
        return Ok(());
    }
    Err(Error::Shape {
        what: "columns and classes like the model's",
        expected: before.n_features(),
        got: after.n_features(),
    })
}
