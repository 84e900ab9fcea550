//! One type for every kind of model, with the schema it was trained on.

use std::any::Any;

use hedgerow_core::drift::{StreamHistory, StreamSummary};
use hedgerow_core::error::check_shapes;
use hedgerow_core::{
    ClassId, Classifier, ColumnKind, Conformal, DataProblem, Dataset, Drift, Error, Mixture, ModelProblem,
    OnlineModel, Par, Predictor, ReferenceRows, Regressor, Result, RetainedRows, Rows, Schema, Summary, Task,
    Training, Update, kind,
};
use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::evidence::Nearby;
#[cfg(feature = "hybrid")]
use crate::interval::Intervals;
use crate::kinds::{Kind, Learner, ModelParams};

/// A fitted model and how it came about.
pub type Fitted = hedgerow_core::Fitted<Model>;

/// A trained model and what its columns and classes are called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub(crate) schema: Schema,
    pub(crate) learner: Learner,
    /// What prequential predictions tell about calibration; none before anything was learnt online.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prequential: Option<Mixture>,
    /// What the rows learnt online were like; none before there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<Box<StreamHistory>>,
    /// How well rows conform to their out-of-sample predictions; none where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conformal: Option<Box<Conformal>>,
    /// Rows that outlier scores compare others with; none in a model without its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<Box<ReferenceRows>>,
    /// The rows that evidence is counted from, once it was asked for.
    #[serde(skip)]
    pub(crate) nearby: Nearby,
    /// The rows that a kind which retains none was fitted to: intervals are made from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rows: Option<Box<RetainedRows>>,
    /// Where true probabilities lie.
    #[cfg(feature = "hybrid")]
    #[serde(default, skip_serializing_if = "Intervals::is_not_kept")]
    pub(crate) intervals: Intervals,
}

impl Model {
    /// Fits a model of the kind that the parameters are of. It can go on learning, if its kind can; see [`Self::without_rows`].
    pub fn fit(data: &Dataset, params: &ModelParams, training: &Training<'_>) -> Result<Fitted> {
        params.check_ends(training.budget)?;
        kind::finish(params.start_run(data, None, training.par.threads(), training)?, training)
    }

    /// A model without training rows, which learns what it is given; fails for kinds that do not learn row by row.
    pub fn new(schema: Schema, params: &ModelParams) -> Result<Self> {
        // A column without any category yet would be taken for one of numbers.
        let mut begun = schema.clone();
        for column in &mut begun.columns {
            if let ColumnKind::Categorical { categories } = &mut column.kind
                && categories.is_empty()
            {
                categories.push("?".into());
            }
        }
        Ok(Self::of(schema, params.new_model(&begun)?))
    }

    /// A model of parts; fails unless they are of the same columns and classes.
    pub fn from_parts(schema: Schema, learner: Learner) -> Result<Self> {
        let of_learner = learner.get().predictor();
        if of_learner.task() != schema.task() {
            return Err(DataProblem::WrongTask { expected: schema.task(), got: of_learner.task() }.into());
        }
        check_shapes([
            ("feature columns", schema.n_features(), of_learner.n_features()),
            ("classes", schema.n_classes(), of_learner.n_classes()),
        ])?;
        Ok(Self::of(schema, learner))
    }

    /// A model that has not learnt anything online.
    pub(crate) fn of(schema: Schema, learner: Learner) -> Self {
        Self {
            schema,
            learner,
            prequential: None,
            history: None,
            conformal: None,
            reference: None,
            nearby: Nearby::default(),
            rows: None,
            #[cfg(feature = "hybrid")]
            intervals: Intervals::default(),
        }
    }

    /// Whether it predicts classes or numbers.
    pub fn task(&self) -> Task {
        self.schema.task()
    }

    /// Columns a row must have.
    pub fn n_features(&self) -> usize {
        self.schema.n_features()
    }

    /// Classes it knows; none for a regression.
    pub fn n_classes(&self) -> usize {
        self.schema.n_classes()
    }

    /// As a classifier; fails for a regression model.
    pub fn classifier(&self) -> Result<&dyn Classifier> {
        self.uncalibrated().map(|_| self as &dyn Classifier)
    }

    /// As a classifier without calibration by prequential predictions.
    pub(crate) fn uncalibrated(&self) -> Result<&dyn Classifier> {
        match self.learner.get().predictor() {
            Predictor::Classifier(classifier) => Ok(classifier),
            Predictor::Regressor(_) => Err(self.wrong_task(Task::Classification)),
        }
    }

    /// As a regressor; fails for a classifier.
    pub fn regressor(&self) -> Result<&dyn Regressor> {
        match self.learner.get().predictor() {
            Predictor::Regressor(regressor) => Ok(regressor),
            Predictor::Classifier(_) => Err(self.wrong_task(Task::Regression)),
        }
    }

    fn wrong_task(&self, expected: Task) -> Error {
        Error::model(ModelProblem::Task { kind: self.kind().name(), expected })
    }

    /// The columns it expects and the classes it knows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The same model, whose rows are shown as images of this height and width, if one is given and has as many pixels as there are columns.
    #[must_use]
    pub fn with_image(mut self, image: Option<[usize; 2]>) -> Self {
        let fits = |[height, width]: &[usize; 2]| height * width == self.schema.n_features();
        self.schema.image = image.filter(fits).or(self.schema.image);
        self
    }

    /// What it has learnt.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// The same model without its rows and the figures of its stream: smaller, and it learns no more. It tells intervals only if they were
    /// [kept](Self::keep_true_probability).
    #[must_use]
    pub fn without_rows(self) -> Self {
        let model = Self {
            learner: self.learner.frozen(),
            history: None,
            reference: None,
            nearby: Nearby::default(),
            rows: None,
            ..self
        };
        #[cfg(feature = "hybrid")]
        let model = model.with_kept_intervals();
        model
    }

    /// Predicts rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is the model's own, grown by the
    /// classes and categories that have come since; a class becomes known with its first row.
    pub fn learn_rows(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Update> {
        self.check_can_learn()?;
        self.schema.check_growth(schema)?;
        let n_known = self.schema.n_classes();
        let is_new = self.learner.get().n_seen() == 0;
        self.nearby = Nearby::default();
        let mut update = self.learner.get_mut().learn(schema, rows, training);
        let n_classes = self.learner.get().predictor().n_classes();
        // Rows that were refused change nothing; classes that were learnt before an error stay.
        if update.is_ok() || n_classes > self.schema.n_classes() {
            let known = schema.with_classes(n_classes);
            if self.schema != *known {
                self.schema = known.into_owned();
            }
        }
        #[cfg(feature = "hybrid")]
        self.forget_intervals();
        if let Ok(update) = &mut update {
            self.calibrate_learnt(rows, n_known, update);
            self.conform(rows, n_known, update);
            let learnt = rows.slice(0..update.n_learnt);
            self.note_learnt(learnt, &update.drifts);
            self.note_reference(learnt, update.predictions.view(), is_new, training.budget.bytes);
        }
        update
    }

    fn note_learnt(&mut self, rows: Rows<'_>, drifts: &[Drift]) {
        if self.schema.task() != Task::Classification || rows.labels().is_empty() {
            return;
        }
        let n_before = self.n_seen().unwrap_or(0).saturating_sub(rows.labels().len() as u64);
        let n_recent = self.learner.get().n_best_by_short_memory();
        let history = self.history.get_or_insert_with(|| Box::new(StreamHistory::after(n_before)));
        history.add(rows, drifts, n_recent);
    }

    /// What the stream of rows learnt online was like; none if there was none.
    pub fn stream_summary(&self) -> Option<StreamSummary> {
        self.history.as_ref().map(|history| history.summary())
    }

    /// Takes back a label that turned out to be wrong: the model forgets the row with these values and this class, if it retains it and its kind can
    /// forget. Says whether it did. Other kinds learn the row again with the right label.
    pub fn forget(&mut self, row: ArrayView1<'_, f32>, class: ClassId, par: &Par) -> bool {
        if let Some(reference) = &mut self.reference {
            reference.forget(row, class);
        }
        self.nearby = Nearby::default();
        #[cfg(feature = "hybrid")]
        self.forget_intervals();
        self.learner.get_mut().forget(row, class, par)
    }

    /// Fails, and says why, if the model cannot go on learning.
    pub fn check_can_learn(&self) -> Result<()> {
        match (self.learner.get().can_learn(), self.kind().learns()) {
            (true, _) => Ok(()),
            (false, true) => Err(Error::Frozen),
            (false, false) => Err(self.kind().unable("learn row by row", Kind::learns)),
        }
    }

    /// The retained rows, the oldest first; none if it was saved without them or does not keep them as they came.
    pub fn retained_rows(&self) -> Result<Option<Dataset>> {
        self.learner.get().retained_rows(&self.schema)
    }

    /// How many rows it has learnt since it began; none if it cannot go on learning.
    pub fn n_seen(&self) -> Option<u64> {
        self.learner.get().online_status().map(|status| status.n_seen)
    }

    /// How many rows it retains to learn from; none if it cannot go on learning.
    pub fn n_retained(&self) -> Option<usize> {
        self.learner.get().online_status().map(|status| status.n_retained)
    }

    /// Brings the model into the order in which it is saved, so that saving needs no copy.
    pub fn put_in_order(&mut self) {
        self.learner.get_mut().put_in_order();
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.learner.kind()
    }

    /// The parameters it was made with.
    pub fn params(&self) -> ModelParams {
        self.learner.params()
    }

    /// What it is made of.
    pub fn summary(&self) -> Summary {
        self.learner.get().summary(self.schema.labels.names())
    }

    /// The forest, if it is one.
    #[cfg(feature = "forest")]
    pub fn as_forest(&self) -> Option<&hedgerow_forest::Forest> {
        self.downcast::<hedgerow_forest::ForestModel>().map(hedgerow_forest::ForestModel::forest)
    }

    /// How much the memory of all rows and those of the newest 20, 100, 300 and 1,000 rows count in predictions of a forest that has learnt online;
    /// empty for other models.
    pub fn memory_weights(&self) -> Vec<f64> {
        self.learner.get().memory_weights()
    }

    /// The model itself, if it is of this type: `model.downcast::<IvmClassifier>()`.
    pub fn downcast<M: OnlineModel>(&self) -> Option<&M> {
        let model = self.learner.get();
        let model: &dyn Any = model.inner().unwrap_or(model);
        model.downcast_ref()
    }

    /// The parameters of the kernel by name, where the model has one.
    pub fn kernel(&self) -> Vec<(String, f64)> {
        self.summary().kernel
    }

    /// The rows that predictions are computed from, in the table's own columns, where the model has such rows.
    pub fn active_rows(&self) -> Option<Array2<f32>> {
        self.learner.get().active_rows()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_rows = self.rows.as_ref().map_or(0, |rows| rows.bytes());
        let of_reference = self.reference.as_ref().map_or(0, |reference| reference.bytes());
        let of_conformal = self.conformal.as_ref().map_or(0, |conformal| conformal.bytes());
        self.learner.get().bytes() + of_rows + of_reference + of_conformal
    }
}
