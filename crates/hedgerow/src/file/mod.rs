//! The model file: a safetensors file with our metadata and a checksum at its end. `docs/model-file.md` is its description.
//!
//! Models say themselves what text and arrays they are, see [`hedgerow_core::saved`]. `layout` puts these into one file and takes them out again,
//! `disk` replaces files in one step.

#[cfg(feature = "outliers")]
mod detector;
mod disk;
mod layout;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use hedgerow_core::saved::{self, Saved as _};
use hedgerow_core::{Error, ModelProblem, Result, Schema, Task};

use crate::model::Model;
#[cfg(feature = "outliers")]
pub use detector::{detector_from_bytes, detector_to_bytes};
pub use disk::is_model_file;
use layout::Layout;

/// The version of the format that this program writes, and the only one that it reads.
pub const FORMAT_VERSION: u32 = 3;

impl Model {
    /// Bytes of the model file.
    pub fn file_len(&self) -> Result<u64> {
        Ok(Layout::new(self)?.len())
    }

    /// Writes the model to a file: all of it or, if that fails, nothing. An older file stays until the new one is whole.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<u64> {
        let (layout, path) = (Layout::new(self)?, path.as_ref());
        disk::replace(path, |out| layout.write(out)).map_err(|source| Error::io(path, source))?;
        Ok(layout.len())
    }

    /// Reads a model from a file, after checking every byte of it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(&disk::read(path)?).map_err(|error| error.in_file(path))
    }

    /// Writes the bytes of a model file to any place.
    pub fn write(&self, out: &mut dyn Write) -> Result<()> {
        Layout::new(self)?.write(out).map_err(|source| Error::io("the model's place", source))
    }

    /// The model as the bytes of a model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let layout = Layout::new(self)?;
        let mut bytes = Vec::with_capacity(layout.len() as usize);
        layout.write(&mut bytes).map_err(|source| Error::io("memory", source))?;
        Ok(bytes)
    }

    /// A model from the bytes of a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (text, arrays) = layout::open(bytes)?;
        let mut model: Self = saved::read(&text, arrays)?;
        check_schema(&model.schema)?;
        let of_file = |error| match error {
            Error::ModelFile { .. } => error,
            other => Error::model(ModelProblem::Inconsistent { detail: other.to_string() }),
        };
        model.learner.complete(&model.schema).map_err(of_file)?;
        let reference = model.reference.as_ref();
        reference.map_or(Ok(()), |reference| reference.check(&model.schema)).map_err(of_file)?;
        model.rows.as_ref().map_or(Ok(()), |rows| rows.check(&model.schema)).map_err(of_file)?;
        #[cfg(feature = "hybrid")]
        model.intervals.complete(&model.schema)?;
        let fits = model.prequential.as_ref().is_none_or(|mixture| mixture.is_valid(1));
        saved::require(fits, || "its prequential calibration has impossible numbers")?;
        if let Some(conformal) = &mut model.conformal {
            saved::require(
                model.schema.task() == Task::Classification,
                || "prediction sets of a regression",
            )?;
            conformal.complete(&model.schema)?;
        }
        let fits = model.history.as_ref().is_none_or(|history| history.is_valid());
        saved::require(fits, || "the figures of its stream are impossible")?;
        Ok(model)
    }
}

fn malformed(part: &str, detail: impl Into<String>) -> Error {
    Error::model(ModelProblem::Part { part: part.into(), detail: detail.into() })
}

fn check_schema(schema: &Schema) -> Result<()> {
    use hedgerow_core::data::{MAX_CLASSES, MAX_FEATURES};
    let labels: BTreeSet<&String> = schema.labels.names().iter().collect();
    let image_fits =
        schema.image.is_none_or(|[h, w]| h.checked_mul(w).is_some_and(|n| n == schema.n_features()));
    let fits = (1..=MAX_FEATURES).contains(&schema.n_features())
        && (0..=MAX_CLASSES).contains(&schema.n_classes())
        && labels.len() == schema.n_classes()
        && image_fits;
    if fits { Ok(()) } else { Err(malformed("schema", "it has impossible sizes or a label twice")) }
}
