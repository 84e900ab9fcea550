//! The model file: a safetensors file with our metadata and a checksum at its end. `docs/model-file.md` is its description.
//!
//! `layout` writes and reads named arrays, `forest` says which arrays a forest is, `online` which it needs to go on learning, `disk` replaces files in one step.

mod disk;
mod forest;
mod layout;
mod online;

use std::borrow::Cow;
use std::path::Path;

use hedgerow_core::{Error, ModelProblem, Result, Schema};
use hedgerow_forest::tree::Tree;
use hedgerow_forest::{Forest, Saved};
use serde::de::DeserializeOwned;

use crate::model::{Learner, Model};
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
    let parts = Parts::open(bytes)?;
    let schema: Schema = json(&parts, "schema")?;
    check_schema(&schema)?;
    let learner = match parts.text("kind")? {
        "forest" => {
            let forest = forest::read(&parts, &schema)?;
            if online::is_there(&parts) {
                Learner::OnlineForest(Box::new(online::read(&parts, &schema, forest)?))
            } else {
                Learner::Forest(forest)
            }
        }
        kind => return Err(Error::model(ModelProblem::Kind { kind: kind.to_string() })),
    };
    Ok(Model { schema, learner })
}

/// Whether a file starts like one of ours. It may still be damaged.
pub fn is_model_file(path: &Path) -> bool {
    disk::starts_like_ours(path)
}

/// What goes into a file, with what had to be made for it.
struct Contents<'a> {
    model: &'a Model,
    forest: &'a Forest,
    trees: Cow<'a, [Tree]>,
    saved: Option<Saved>,
}

impl<'a> Contents<'a> {
    fn new(model: &'a Model) -> Self {
        match &model.learner {
            Learner::Forest(forest) => {
                Self { model, forest, trees: Cow::Borrowed(forest.trees()), saved: None }
            }
            Learner::OnlineForest(online) => Self {
                model,
                forest: online.forest(),
                trees: online.ordered_trees(),
                saved: Some(online.saved()),
            },
        }
    }

    fn plan(&self) -> Result<Plan<'_>> {
        let mut plan = Plan::new(self.model.kind());
        plan.json("schema", &self.model.schema)?;
        forest::plan(self.forest, &self.trees, &mut plan)?;
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
