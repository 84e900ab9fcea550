//! What is told about a model that was made, whether fitted or trained in slices.

use std::path::{Path, PathBuf};

use hedgerow::core::{Result, StopReason, Summary, Task};
use hedgerow::{Kind, Model, ModelParams};
use serde::Serialize;

use super::fit::Seconds;

/// A model that was made.
#[derive(Debug, Serialize)]
pub(crate) struct Made {
    pub(crate) model: Kind,
    pub(crate) task: Task,
    pub(crate) target: Option<String>,
    pub(crate) params: ModelParams,
    pub(crate) rows: usize,
    pub(crate) features: usize,
    pub(crate) classes: Vec<String>,
    pub(crate) seconds: Seconds,
    /// Bytes of the model file.
    pub(crate) bytes: u64,
    /// Bytes of the model in memory.
    pub(crate) model_memory_bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    /// What is told of this kind of model only.
    #[serde(flatten)]
    pub(crate) inside: Summary,
    /// Rows kept with the model, so that it can go on learning; none with --frozen.
    pub(crate) rows_retained: Option<usize>,
    /// Why training ended.
    pub(crate) stop: StopReason,
    /// Where the file was saved.
    pub(crate) out: Option<PathBuf>,
}

impl Made {
    /// A model made from so many rows, and where it was saved with how many bytes.
    pub(super) fn new(
        model: &Model,
        rows: usize,
        seconds: Seconds,
        stop: StopReason,
        saved: Option<(&Path, u64)>,
    ) -> Result<Self> {
        Ok(Self {
            model: model.kind(),
            task: model.task(),
            target: model.schema().target.clone(),
            params: model.params(),
            rows,
            features: model.schema().n_features(),
            classes: model.schema().labels.names().to_vec(),
            seconds,
            bytes: saved.map_or_else(|| model.file_len(), |(_, bytes)| Ok(bytes))?,
            model_memory_bytes: model.bytes() as u64,
            peak_memory_bytes: None,
            inside: model.summary(),
            rows_retained: model.n_retained(),
            stop,
            out: saved.map(|(path, _)| path.to_path_buf()),
        })
    }

    /// Saves a model where that was asked for. Returns where, and how many bytes it took.
    pub(super) fn save<'a>(model: &Model, out: Option<&'a PathBuf>) -> Result<Option<(&'a Path, u64)>> {
        out.map(|out| Ok((out.as_path(), model.save(out)?))).transpose()
    }
}
