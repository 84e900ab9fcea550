//! The model file: a safetensors file with our metadata and a checksum at its end. `docs/model-file.md` is its description.
//!
//! Models say themselves what text and arrays they are, see [`hedgerow_core::saved`]. `layout` puts these into one file and takes them out again,
//! `disk` replaces files in one step.

mod disk;
mod layout;

use std::io::Write;
use std::path::Path;

use hedgerow_core::{Error, ModelProblem, Result, Schema, saved};

use crate::model::Model;
use layout::Layout;

/// The version of the format that this program writes, and the only one that it reads.
pub const FORMAT_VERSION: u32 = 3;

pub(crate) fn save(model: &Model, path: &Path) -> Result<u64> {
    let layout = Layout::new(model)?;
    disk::replace(path, |out| layout.write(out)).map_err(|source| Error::io(path, source))?;
    Ok(layout.len())
}

pub(crate) fn len(model: &Model) -> Result<u64> {
    Ok(Layout::new(model)?.len())
}

pub(crate) fn write(model: &Model, out: &mut dyn Write) -> Result<()> {
    Layout::new(model)?.write(out).map_err(|source| Error::io("the model's place", source))
}

pub(crate) fn to_bytes(model: &Model) -> Result<Vec<u8>> {
    let layout = Layout::new(model)?;
    let mut bytes = Vec::with_capacity(layout.len() as usize);
    layout.write(&mut bytes).map_err(|source| Error::io("memory", source))?;
    Ok(bytes)
}

pub(crate) fn load(path: &Path) -> Result<Model> {
    let bytes = disk::read(path)?;
    from_bytes(&bytes).map_err(|error| error.in_file(path))
}

pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Model> {
    let (text, arrays) = layout::open(bytes)?;
    let mut model: Model = saved::read(&text, arrays)?;
    check_schema(&model.schema)?;
    model.complete().map_err(|error| match error {
        Error::ModelFile { .. } => error,
        other => Error::model(ModelProblem::Inconsistent { detail: other.to_string() }),
    })?;
    Ok(model)
}

/// Whether a file starts like one of ours. It may still be damaged.
pub fn is_model_file(path: &Path) -> bool {
    disk::starts_like_ours(path)
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
