//! One type for every kind of model, with the schema it was trained on.

use std::path::Path;

use hedgerow_core::saved::Saved as _;
use hedgerow_core::{
    Checked, ClassId, Classifier, Dataset, Error, Par, Params as _, Result, Rows, Schema, StopReason,
    Training, Update,
};
use hedgerow_forest::{Forest, ForestParams, OnlineForest, OutOfBag};
use hedgerow_gp::{GpClassifier, IvmClassifier};
use hedgerow_hybrid::{ForestIvm, ForestIvmParams, ForestKernelClassifier, ForestKernelParams, LeafGp};
use hedgerow_rvm::RvmClassifier;
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use crate::file;
use crate::kind::Kind;
use crate::params::ModelParams;
use crate::values::AnyModelRef;

/// A trained model and what its columns and classes are called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The columns it expects and the classes it knows.
    pub schema: Schema,
    /// What it has learnt.
    pub learner: Learner,
}

/// What has learnt, kind by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// An Informative Vector Machine, which keeps learning unless it was frozen.
    Ivm(Box<IvmClassifier>),
    /// A Gaussian process with all rows.
    Gp(Box<GpClassifier>),
    /// Trees with a Gaussian process in every leaf, which keep learning unless they were frozen.
    LeafGp(Box<LeafGp>),
    /// A forest blended with IVMs, which keeps learning unless it was frozen.
    ForestIvm(Box<ForestIvm>),
    /// A Relevance Vector Machine, which keeps learning unless it was frozen.
    Rvm(Box<RvmClassifier>),
    /// A process whose kernel is a forest, which keeps learning unless it was frozen.
    ForestKernel(Box<ForestKernelClassifier>),
}

/// A fitted model and what was learnt on the way.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Honest answers for the training rows, where the model leaves rows out while it trains.
    pub oob: Option<OutOfBag>,
    /// The logarithm of the probability of the labels, where the model can tell.
    pub log_evidence: Option<f64>,
    /// Why training ended.
    pub stop: StopReason,
    /// What a user should know about the fit, in words; empty if all is well.
    pub notes: Vec<String>,
}

impl Model {
    /// Fits a model of the kind that the parameters are of.
    pub fn fit(data: &Dataset, params: &ModelParams, training: &Training<'_>) -> Result<Fitted> {
        match params {
            ModelParams::Forest(params) => Self::fit_forest(data, &params.clone().check()?, training),
            ModelParams::Ivm(params) => {
                let fitted = IvmClassifier::fit(data, &params.clone().check()?, training)?;
                Ok(Self::fitted(data, Learner::Ivm(Box::new(fitted.classifier)), fitted.stop))
            }
            ModelParams::Gp(params) => {
                let fitted = GpClassifier::fit(data, &params.clone().check()?, training)?;
                let log_evidence = fitted.log_evidence;
                let model = Self::fitted(data, Learner::Gp(Box::new(fitted.classifier)), fitted.stop);
                Ok(Fitted { log_evidence, ..model })
            }
            ModelParams::LeafGp(params) => {
                let fitted = LeafGp::fit(data, &params.clone().check()?, training)?;
                Ok(Self::fitted(data, Learner::LeafGp(Box::new(fitted.model)), fitted.stop))
            }
            ModelParams::ForestIvm(params) => {
                let fitted = ForestIvm::fit(data, &ForestIvmParams::clone(params).check()?, training)?;
                Ok(Self::fitted(data, Learner::ForestIvm(Box::new(fitted.model)), fitted.stop))
            }
            ModelParams::Rvm(params) => {
                let fitted = RvmClassifier::fit(data, &params.clone().check()?, training)?;
                let (log_evidence, notes) = (Some(fitted.log_evidence), fitted.log.notes);
                let model = Self::fitted(data, Learner::Rvm(Box::new(fitted.rvm)), fitted.stop);
                Ok(Fitted { log_evidence, notes, ..model })
            }
            ModelParams::ForestKernel(params) => {
                let params = ForestKernelParams::clone(params).check()?;
                let fitted = ForestKernelClassifier::fit(data, &params, training)?;
                Ok(Self::fitted(data, Learner::ForestKernel(Box::new(fitted.model)), fitted.stop))
            }
        }
    }

    /// Grows a forest.
    pub fn fit_forest(
        data: &Dataset,
        params: &Checked<ForestParams>,
        training: &Training<'_>,
    ) -> Result<Fitted> {
        let fitted = Forest::fit(data, params, training)?;
        Ok(Fitted { oob: fitted.oob, ..Self::fitted(data, Learner::Forest(fitted.forest), fitted.stop) })
    }

    fn fitted(data: &Dataset, learner: Learner, stop: StopReason) -> Fitted {
        let model = Self { schema: data.schema.clone(), learner };
        Fitted { model, oob: None, log_evidence: None, stop, notes: Vec::new() }
    }

    /// A model that knows nothing yet and learns what it is given; fails for kinds that do not learn row by row.
    pub fn new(schema: Schema, params: &ModelParams) -> Result<Self> {
        let learner = match params {
            ModelParams::Forest(params) => return Self::new_forest(schema, &params.clone().check()?),
            ModelParams::Ivm(params) => {
                Learner::Ivm(Box::new(IvmClassifier::new(&schema, &params.clone().check()?)?))
            }
            ModelParams::LeafGp(params) => {
                Learner::LeafGp(Box::new(LeafGp::new(&schema, &params.clone().check()?)?))
            }
            ModelParams::ForestIvm(params) => {
                let params = ForestIvmParams::clone(params).check()?;
                Learner::ForestIvm(Box::new(ForestIvm::new(&schema, &params)?))
            }
            ModelParams::Rvm(params) => {
                Learner::Rvm(Box::new(RvmClassifier::new(&schema, &params.clone().check()?)?))
            }
            ModelParams::ForestKernel(params) => {
                let params = ForestKernelParams::clone(params).check()?;
                Learner::ForestKernel(Box::new(ForestKernelClassifier::new(&schema, &params)?))
            }
            ModelParams::Gp(_) => return Err(Kind::Gp.unable("learn row by row", Kind::learns)),
        };
        Ok(Self { schema, learner })
    }

    /// A model that predicts with its prior until something was learnt; a forest that grows without end has a tree to begin with.
    pub(crate) fn prior(schema: Schema, params: &ModelParams) -> Result<Self> {
        let mut params = params.clone();
        match &mut params {
            ModelParams::Forest(params) => params.n_trees = params.n_trees.max(1),
            ModelParams::ForestIvm(params) => params.forest.n_trees = params.forest.n_trees.max(1),
            ModelParams::ForestKernel(params) => params.forest.n_trees = params.forest.n_trees.max(1),
            ModelParams::Ivm(_) | ModelParams::Gp(_) | ModelParams::LeafGp(_) | ModelParams::Rvm(_) => {}
        }
        Self::new(schema, &params)
    }

    /// A forest that knows nothing yet and learns what it is given.
    pub fn new_forest(schema: Schema, params: &Checked<ForestParams>) -> Result<Self> {
        let forest = OnlineForest::new(&schema, params)?;
        Ok(Self { schema, learner: Learner::OnlineForest(Box::new(forest)) })
    }

    /// The same model together with the rows it was fitted to, so that it can go on learning. Other kinds than forests have
    /// kept what they need.
    #[must_use]
    pub fn with_rows(self, data: Dataset) -> Self {
        let learner = match self.learner {
            Learner::Forest(forest) => {
                Learner::OnlineForest(Box::new(OnlineForest::from_fitted(forest, data)))
            }
            learner => learner,
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
            Learner::Ivm(ivm) => Learner::Ivm(Box::new(ivm.frozen())),
            Learner::LeafGp(model) => Learner::LeafGp(Box::new(model.frozen())),
            Learner::ForestIvm(model) => Learner::ForestIvm(Box::new(model.frozen())),
            Learner::Rvm(rvm) => Learner::Rvm(Box::new(rvm.frozen())),
            Learner::ForestKernel(model) => Learner::ForestKernel(Box::new(model.frozen())),
            learner @ (Learner::Forest(_) | Learner::Gp(_)) => learner,
        };
        Self { schema: self.schema, learner }
    }

    /// Answers rows and learns them, one after the other; see [`OnlineForest::learn`]. `schema` is the model's own, grown by the
    /// classes and categories that have come since.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Update> {
        self.check_can_learn()?;
        check_growth(&self.schema, schema)?;
        let update = match &mut self.learner {
            Learner::OnlineForest(online) => online.learn(schema, rows, training)?,
            Learner::Ivm(ivm) => ivm.learn(schema, rows, training)?,
            Learner::LeafGp(model) => model.learn(schema, rows, training)?,
            Learner::ForestIvm(model) => model.learn(schema, rows, training)?,
            Learner::Rvm(rvm) => rvm.learn(schema, rows, training)?,
            Learner::ForestKernel(model) => model.learn(schema, rows, training)?,
            Learner::Forest(_) | Learner::Gp(_) => return Err(Error::NoRows),
        };
        if self.schema != *schema {
            self.schema = schema.clone();
        }
        Ok(update)
    }

    /// Takes back a label that turned out to be wrong: the model forgets the row with these values and this class, if it is a forest and
    /// remembers it. Says whether it did. Other kinds cannot take a row out of what they have learnt; they learn it again with the right label.
    pub fn forget(&mut self, row: ArrayView1<'_, f32>, class: ClassId, par: &Par) -> bool {
        match &mut self.learner {
            Learner::OnlineForest(online) => online.forget(row, class, par),
            _ => false,
        }
    }

    /// Fails, and says why, if the model cannot go on learning.
    pub fn check_can_learn(&self) -> Result<()> {
        let can = match &self.learner {
            Learner::OnlineForest(_) => true,
            Learner::Ivm(ivm) => ivm.can_learn(),
            Learner::LeafGp(model) => model.can_learn(),
            Learner::ForestIvm(model) => model.can_learn(),
            Learner::Rvm(rvm) => rvm.can_learn(),
            Learner::ForestKernel(model) => model.can_learn(),
            Learner::Forest(_) | Learner::Gp(_) => false,
        };
        match (can, self.kind().learns()) {
            (true, _) => Ok(()),
            (false, true) => Err(Error::NoRows),
            (false, false) => Err(self.kind().unable("learn row by row", Kind::learns)),
        }
    }

    /// The rows it remembers, the oldest first; none if it was saved without them or does not keep them as they came.
    pub fn remembered(&self) -> Result<Option<Dataset>> {
        match &self.learner {
            Learner::OnlineForest(online) => online.remembered(&self.schema).map(Some),
            Learner::Ivm(ivm) => ivm.remembered(&self.schema),
            Learner::LeafGp(model) => model.remembered(&self.schema),
            Learner::ForestIvm(model) => model.remembered(&self.schema),
            Learner::Rvm(rvm) => rvm.remembered(&self.schema),
            Learner::ForestKernel(model) => model.remembered(&self.schema),
            Learner::Forest(_) | Learner::Gp(_) => Ok(None),
        }
    }

    /// How many rows it has learnt since it began; none if it cannot go on learning.
    pub fn n_seen(&self) -> Option<u64> {
        self.check_can_learn().ok()?;
        match &self.learner {
            Learner::OnlineForest(online) => Some(online.n_seen()),
            Learner::Ivm(ivm) => Some(ivm.n_seen()),
            Learner::LeafGp(model) => Some(model.n_seen()),
            Learner::ForestIvm(model) => Some(model.n_seen()),
            Learner::Rvm(rvm) => Some(rvm.n_seen()),
            Learner::ForestKernel(model) => Some(model.n_seen()),
            Learner::Forest(_) | Learner::Gp(_) => None,
        }
    }

    /// How many rows it remembers to learn from; none if it cannot go on learning.
    pub fn n_remembered(&self) -> Option<usize> {
        self.check_can_learn().ok()?;
        match &self.learner {
            Learner::OnlineForest(online) => Some(online.n_remembered()),
            Learner::Ivm(ivm) => Some(ivm.n_remembered()),
            Learner::LeafGp(model) => Some(model.n_remembered()),
            Learner::ForestIvm(model) => Some(model.n_remembered()),
            Learner::Rvm(rvm) => Some(rvm.n_remembered()),
            Learner::ForestKernel(model) => Some(model.n_remembered()),
            Learner::Forest(_) | Learner::Gp(_) => None,
        }
    }

    /// Checks a model that was read from a file, and makes what the file does not hold.
    pub(crate) fn complete(&mut self) -> Result<()> {
        let schema = &self.schema;
        match &mut self.learner {
            Learner::Forest(forest) => forest.complete(schema),
            Learner::OnlineForest(online) => online.complete(schema),
            Learner::Ivm(ivm) => ivm.complete(schema),
            Learner::Gp(gp) => gp.complete(schema),
            Learner::LeafGp(model) => model.complete(schema),
            Learner::ForestIvm(model) => model.complete(schema),
            Learner::Rvm(rvm) => rvm.complete(schema),
            Learner::ForestKernel(model) => model.complete(schema),
        }
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        match &self.learner {
            Learner::Forest(_) | Learner::OnlineForest(_) => Kind::Forest,
            Learner::Ivm(_) => Kind::Ivm,
            Learner::Gp(_) => Kind::Gp,
            Learner::LeafGp(_) => Kind::LeafGp,
            Learner::ForestIvm(_) => Kind::ForestIvm,
            Learner::Rvm(_) => Kind::Rvm,
            Learner::ForestKernel(_) => Kind::ForestKernel,
        }
    }

    /// The parameters it was made with.
    pub fn params(&self) -> ModelParams {
        match &self.learner {
            Learner::Forest(forest) => forest.params().clone().into(),
            Learner::OnlineForest(online) => online.forest().params().clone().into(),
            Learner::Ivm(ivm) => ivm.params().clone().into(),
            Learner::Gp(gp) => gp.params().clone().into(),
            Learner::LeafGp(model) => model.params().clone().into(),
            Learner::ForestIvm(model) => model.params().clone().into(),
            Learner::Rvm(rvm) => rvm.params().clone().into(),
            Learner::ForestKernel(model) => model.params().clone().into(),
        }
    }

    /// The forest, if it is one.
    pub fn as_forest(&self) -> Option<&Forest> {
        match &self.learner {
            Learner::Forest(forest) => Some(forest),
            Learner::OnlineForest(online) => Some(online.forest()),
            _ => None,
        }
    }

    /// The forest that keeps learning, if it is one.
    pub fn as_online(&self) -> Option<&OnlineForest> {
        if let Learner::OnlineForest(online) = &self.learner { Some(online) } else { None }
    }

    /// The Informative Vector Machine, if it is one.
    pub fn as_ivm(&self) -> Option<&IvmClassifier> {
        if let Learner::Ivm(ivm) = &self.learner { Some(ivm) } else { None }
    }

    /// The Gaussian process with all rows, if it is one.
    pub fn as_gp(&self) -> Option<&GpClassifier> {
        if let Learner::Gp(gp) = &self.learner { Some(gp) } else { None }
    }

    /// The trees with processes in their leaves, if it is such a model.
    pub fn as_leaf_gp(&self) -> Option<&LeafGp> {
        if let Learner::LeafGp(model) = &self.learner { Some(model) } else { None }
    }

    /// The forest blended with IVMs, if it is such a model.
    pub fn as_forest_ivm(&self) -> Option<&ForestIvm> {
        if let Learner::ForestIvm(model) = &self.learner { Some(model) } else { None }
    }

    /// The process whose kernel is a forest, if it is one.
    pub fn as_forest_kernel(&self) -> Option<&ForestKernelClassifier> {
        if let Learner::ForestKernel(model) = &self.learner { Some(model) } else { None }
    }

    /// The Relevance Vector Machine, if it is one.
    pub fn as_rvm(&self) -> Option<&RvmClassifier> {
        if let Learner::Rvm(rvm) = &self.learner { Some(rvm) } else { None }
    }

    /// The parameters of the kernel by name, where the model has one.
    pub fn kernel(&self) -> Vec<(String, f64)> {
        match &self.learner {
            Learner::Ivm(ivm) => length_and_variance(ivm.kernel()),
            Learner::ForestIvm(model) => length_and_variance(model.kernel()),
            Learner::Gp(gp) => {
                let kernel = gp.kernel();
                // They are kept as logarithms: the last digits are noise.
                let plain = |log: f64| format!("{:.12e}", log.exp()).parse().unwrap_or(f64::NAN);
                kernel.parameter_names().into_iter().zip(kernel.parameters().into_iter().map(plain)).collect()
            }
            Learner::LeafGp(model) => model.kernel().map_or_else(Vec::new, |kernel| {
                let named = [
                    ("length_scale", kernel.length_scale),
                    ("noise_variance", kernel.noise_variance),
                    ("signal_variance", kernel.signal_variance),
                ];
                named.map(|(name, value)| (name.to_string(), value)).to_vec()
            }),
            Learner::Rvm(rvm) => crate::values::named_lengths(&rvm.lengths()),
            Learner::ForestKernel(model) => model
                .noise_variance()
                .map(|noise| ("noise_variance".to_string(), noise))
                .into_iter()
                .collect(),
            Learner::Forest(_) | Learner::OnlineForest(_) => Vec::new(),
        }
    }

    /// The rows that answers are computed from, in the table's own columns, where the model has such rows.
    pub fn active_rows(&self) -> Option<Array2<f32>> {
        match &self.learner {
            Learner::Ivm(ivm) => Some(ivm.active_rows()),
            Learner::Rvm(rvm) => Some(rvm.relevant_rows()),
            _ => None,
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        match &self.learner {
            Learner::Forest(forest) => forest.bytes(),
            Learner::OnlineForest(online) => online.bytes(),
            Learner::Ivm(ivm) => ivm.bytes(),
            Learner::Gp(gp) => gp.bytes(),
            Learner::LeafGp(model) => model.bytes(),
            Learner::ForestIvm(model) => model.bytes(),
            Learner::Rvm(rvm) => rvm.bytes(),
            Learner::ForestKernel(model) => model.bytes(),
        }
    }

    /// Bytes of the model file.
    pub fn file_len(&self) -> Result<u64> {
        file::len(AnyModelRef::Classes(self))
    }

    /// Writes the model to a file: all of it or, if that fails, nothing. An older file stays until the new one is whole.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<u64> {
        file::save(AnyModelRef::Classes(self), path.as_ref())
    }

    /// Reads a model from a file, after checking every byte of it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        file::load(path.as_ref())
    }

    /// Writes the bytes of a model file to any place.
    pub fn write(&self, out: &mut dyn std::io::Write) -> Result<()> {
        file::write(AnyModelRef::Classes(self), out)
    }

    /// The model as the bytes of a model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        file::to_bytes(AnyModelRef::Classes(self))
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
            Learner::Ivm(ivm) => ivm.predict_proba_impl(x, par, out),
            Learner::Gp(gp) => gp.predict_proba_impl(x, par, out),
            Learner::LeafGp(model) => model.predict_proba_impl(x, par, out),
            Learner::ForestIvm(model) => model.predict_proba_impl(x, par, out),
            Learner::Rvm(rvm) => rvm.predict_proba_impl(x, par, out),
            Learner::ForestKernel(model) => model.predict_proba_impl(x, par, out),
        }
    }
}

fn length_and_variance(kernel: Option<[f64; 2]>) -> Vec<(String, f64)> {
    let names = ["length_scale", "signal_variance"].map(String::from);
    kernel.map(|values| names.into_iter().zip(values).collect()).unwrap_or_default()
}

/// Fails unless a schema is another with classes and categories added at the ends.
pub(crate) fn check_growth(before: &Schema, after: &Schema) -> Result<()> {
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
