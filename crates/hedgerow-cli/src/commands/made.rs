//! What is told about a model that was made, whether fitted, trained in slices or updated.

use std::path::{Path, PathBuf};
use std::time::Instant;

use hedgerow::core::{Result, StopReason, Summary, Task};
use hedgerow::{Kind, Model, ModelParams};
use serde::{Deserialize, Serialize};

use crate::process;

/// A model and what it takes.
#[derive(Debug, Serialize)]
pub(crate) struct Described {
    pub(crate) model: Kind,
    pub(crate) task: Task,
    pub(crate) target: Option<String>,
    pub(crate) params: ModelParams,
    pub(crate) features: usize,
    pub(crate) classes: Vec<String>,
    /// Bytes of the model file.
    pub(crate) bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
}

impl Described {
    pub(super) fn new(model: &Model, bytes: u64) -> Self {
        let schema = model.schema();
        Self {
            model: model.kind(),
            task: model.task(),
            target: schema.target.clone(),
            params: model.params(),
            features: schema.n_features(),
            classes: schema.labels.names().to_vec(),
            bytes,
            peak_memory_bytes: process::peak_memory(),
        }
    }
}

/// A model that was made.
#[derive(Debug, Serialize)]
pub(crate) struct Made {
    #[serde(flatten)]
    pub(crate) about: Described,
    /// Rows it was made from.
    pub(crate) rows: usize,
    pub(crate) seconds: Seconds,
    /// Bytes of the model in memory.
    pub(crate) model_memory_bytes: u64,
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

/// Where the time went.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Seconds {
    pub(crate) read: f64,
    pub(crate) fit: f64,
    pub(crate) predict: f64,
}

/// Does some work and adds the time it takes.
pub(crate) fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *seconds += start.elapsed().as_secs_f64();
    result
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
        let bytes = saved.map_or_else(|| model.file_len(), |(_, bytes)| Ok(bytes))?;
        Ok(Self {
            about: Described::new(model, bytes),
            rows,
            seconds,
            model_memory_bytes: model.bytes() as u64,
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
