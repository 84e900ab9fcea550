//! The model file: a safetensors file with our metadata and a checksum at its end. `docs/model-file.md` is its description.
//!
//! `layout` writes and reads named arrays, `forest` says which arrays a forest is, `online` which it needs to go on learning, `kernel`
//! writes and reads kernel models, which say themselves what they are, `leaf_gp`, `forest_ivm` and `forest_kernel` forests
//! together with such models; `disk` replaces files in one
//! step.

mod disk;
mod forest;
mod forest_ivm;
mod forest_kernel;
mod kernel;
mod layout;
mod leaf_gp;
mod online;
mod rows;

use std::borrow::Cow;
use std::path::Path;

use hedgerow_core::{Error, ModelProblem, OnlineModel, Result, Schema};
use hedgerow_forest::Saved;
use hedgerow_forest::tree::Tree;
use serde::de::DeserializeOwned;

use crate::kinds::{Kind, Learner};
use crate::model::Model;
use layout::{Parts, Plan};

/// The version of the format that this program writes.
pub const FORMAT_VERSION: u32 = 2;
/// The oldest version that it reads.
const OLDEST_VERSION: u32 = 1;

pub(crate) fn save(model: &Model, path: &Path) -> Result<u64> {
    let contents = Contents::new(model);
    let plan = contents.plan()?;
    disk::replace(path, |out| plan.write(out)).map_err(|source| Error::io(path, source))?;
    Ok(plan.len())
}

pub(crate) fn len(model: &Model) -> Result<u64> {
    Ok(Contents::new(model).plan()?.len())
}

pub(crate) fn write(model: &Model, out: &mut dyn std::io::Write) -> Result<()> {
    let contents = Contents::new(model);
    contents.plan()?.write(out).map_err(|source| Error::io("the model's place", source))
}

pub(crate) fn to_bytes(model: &Model) -> Result<Vec<u8>> {
    let contents = Contents::new(model);
    let plan = contents.plan()?;
    let mut bytes = Vec::with_capacity(plan.len() as usize);
    plan.write(&mut bytes).map_err(|source| Error::io("memory", source))?;
    Ok(bytes)
}

pub(crate) fn load(path: &Path) -> Result<Model> {
    let bytes = disk::read(path)?;
    from_bytes(&bytes).map_err(|error| error.in_file(path))
}

pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Model> {
    let parts = &Parts::open(bytes)?;
    let schema: Schema = json(parts, "schema")?;
    check_schema(&schema)?;
    let kind = parts.text("kind")?;
    let Ok(kind) = kind.parse() else {
        return Err(Error::model(ModelProblem::Kind { kind: kind.to_string() }));
    };
    let learner = match kind {
        Kind::Forest => {
            let model = fitting(forest_ivm::part(parts, &schema)?, &schema)?;
            if model.forest().trees().is_empty() && !online::is_there(parts) {
                return Err(malformed("trees.roots", "there are no trees"));
            }
            Learner::Forest(Box::new(model))
        }
        Kind::Ivm => Learner::Ivm(Box::new(fitting(kernel::read(parts)?, &schema)?)),
        Kind::Gp => Learner::Gp(Box::new(fitting(kernel::read_task(parts, schema.task)?, &schema)?)),
        Kind::ForestIvm => Learner::ForestIvm(Box::new(fitting(forest_ivm::read(parts, &schema)?, &schema)?)),
        Kind::LeafGp => Learner::LeafGp(Box::new(fitting(leaf_gp::read(parts, &schema)?, &schema)?)),
        Kind::Rvm => Learner::Rvm(Box::new(fitting(kernel::read_task(parts, schema.task)?, &schema)?)),
        Kind::ForestKernel => {
            Learner::ForestKernel(Box::new(fitting(forest_kernel::read(parts, &schema)?, &schema)?))
        }
    };
    Ok(Model { schema, learner })
}

/// Whether a file starts like one of ours. It may still be damaged.
pub fn is_model_file(path: &Path) -> bool {
    disk::starts_like_ours(path)
}

/// A model whose task and sizes are those of the schema.
fn fitting<M: OnlineModel>(model: M, schema: &Schema) -> Result<M> {
    let got = model.predictor();
    if got.task() != schema.task {
        let detail = format!("the schema is for {}, the model for {}", schema.task, got.task());
        return Err(Error::model(ModelProblem::Inconsistent { detail }));
    }
    let expected = [schema.n_features(), schema.n_classes()];
    let got = [got.n_features(), got.n_classes()];
    if expected == got {
        return Ok(model);
    }
    let detail = format!("the schema has {expected:?} columns and classes, the model {got:?}");
    Err(Error::model(ModelProblem::Inconsistent { detail }))
}

/// What goes into a file, with what had to be made for it.
struct Contents<'a> {
    model: &'a Model,
    /// The trees of a forest in the order in which they are written.
    trees: Cow<'a, [Tree]>,
    /// What a forest needs to go on learning.
    saved: Option<Saved>,
    /// Rows and trees with processes in their leaves.
    stored: Option<leaf_gp::Whole>,
}

impl<'a> Contents<'a> {
    fn new(model: &'a Model) -> Self {
        let (trees, saved) = match &model.learner {
            Learner::Forest(model) => model.saved(),
            Learner::ForestIvm(model) => model.forest_model().saved(),
            Learner::ForestKernel(model) => model.forest_model().saved(),
            Learner::Ivm(_) | Learner::Gp(_) | Learner::LeafGp(_) | Learner::Rvm(_) => {
                (Cow::Borrowed([].as_slice()), None)
            }
        };
        let stored =
            if let Learner::LeafGp(model) = &model.learner { Some(leaf_gp::Whole::new(model)) } else { None };
        Self { model, trees, saved, stored }
    }

    fn plan(&self) -> Result<Plan<'_>> {
        let mut plan = Plan::new(self.model.kind().name());
        plan.json("schema", &self.model.schema)?;
        match &self.model.learner {
            Learner::Forest(model) => forest::plan(model.forest(), &self.trees, &mut plan)?,
            Learner::Ivm(ivm) => kernel::plan(&**ivm, &mut plan)?,
            Learner::Gp(gp) => kernel::plan_task(gp, &mut plan)?,
            Learner::ForestIvm(model) => forest_ivm::plan(model, &self.trees, &mut plan)?,
            Learner::LeafGp(model) => {
                if let Some(stored) = &self.stored {
                    leaf_gp::plan(model, stored, &mut plan)?;
                }
            }
            Learner::Rvm(rvm) => kernel::plan_task(rvm, &mut plan)?,
            Learner::ForestKernel(model) => forest_kernel::plan(model, &self.trees, &mut plan)?,
        }
        if let Some(saved) = &self.saved {
            online::plan(saved, &mut plan)?;
        }
        plan.finish()
    }
}

/// A part that is JSON.
fn json<T: DeserializeOwned>(parts: &Parts<'_>, name: &str) -> Result<T> {
    serde_json::from_str(parts.text(name)?).map_err(|wrong| malformed(name, wrong.to_string()))
}

fn malformed(part: &str, detail: impl Into<String>) -> Error {
    Error::model(ModelProblem::Part { part: part.into(), detail: detail.into() })
}

fn check_schema(schema: &Schema) -> Result<()> {
    use hedgerow_core::data::{MAX_CLASSES, MAX_FEATURES};
    let mut labels = schema.labels.names().to_vec();
    labels.sort();
    labels.dedup();
    let image_fits =
        schema.image.is_none_or(|[h, w]| h.checked_mul(w).is_some_and(|n| n == schema.n_features()));
    let fits = (1..=MAX_FEATURES).contains(&schema.n_features())
        && (0..=MAX_CLASSES).contains(&schema.n_classes())
        && labels.len() == schema.n_classes()
        && image_fits;
    if fits { Ok(()) } else { Err(malformed("schema", "it has impossible sizes or a label twice")) }
}
