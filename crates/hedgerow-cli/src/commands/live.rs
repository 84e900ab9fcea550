//! How a training goes, for other programs: a small file beside the model to be, and `info --live`, which reads it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use hedgerow::core::{JobState, Quality};
use hedgerow::trainer::JobReport;
use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::output;

/// How often the file is written.
const WRITE: Duration = Duration::from_millis(500);
/// A file that is older tells of nothing that still goes on, in seconds.
const STALE: f64 = 10.0;

/// The status of a job, as other processes read it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct JobLine {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) state: JobState,
    pub(crate) accuracy: Option<f64>,
    pub(crate) points: usize,
    /// None where there is no end.
    pub(crate) goal: Option<usize>,
    pub(crate) attraction: f64,
    pub(crate) is_running: bool,
    pub(crate) is_paused: bool,
    pub(crate) is_cancelled: bool,
    pub(crate) slices: u64,
    pub(crate) worked_seconds: f64,
    pub(crate) problem: Option<String>,
}

impl JobLine {
    pub(crate) fn new(job: &JobReport) -> Self {
        Self {
            kind: job.status.kind.to_string(),
            name: job.status.name.clone(),
            state: job.status.state,
            accuracy: job.status.accuracy,
            points: job.status.points,
            goal: Some(job.status.goal).filter(|goal| *goal != 0 && *goal != usize::MAX),
            attraction: job.attraction,
            is_running: job.is_running,
            is_paused: job.is_paused,
            is_cancelled: job.is_cancelled,
            slices: job.slices,
            worked_seconds: job.worked_seconds,
            problem: job.status.problem.clone(),
        }
    }
}

/// What the file tells.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LiveStatus {
    pub(crate) model: String,
    /// What is being done: `training`, `reading and training`.
    pub(crate) state: String,
    pub(crate) process: u32,
    pub(crate) elapsed_seconds: f64,
    pub(crate) left_seconds: Option<f64>,
    /// Rounds done, where the end is in rounds.
    pub(crate) rounds: Option<usize>,
    /// How good the out-of-sample predictions of the published model are.
    pub(crate) validation: Option<Quality>,
    pub(crate) jobs: Vec<JobLine>,
    /// Seconds since 1970.
    pub(crate) written: f64,
}

/// What `info --live` tells.
#[derive(Debug, Serialize)]
pub(crate) struct Watched {
    pub(crate) is_running: bool,
    /// Why nothing is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    #[serde(flatten)]
    pub(crate) status: Option<LiveStatus>,
}

/// The file beside a model to be.
pub(crate) fn path_beside(model: &Path) -> PathBuf {
    let mut name = model.as_os_str().to_os_string();
    name.push(".live.json");
    name.into()
}

/// Writes the file every now and then, and removes it at the end.
pub(crate) struct Broadcast {
    path: Option<PathBuf>,
    written: Option<Instant>,
}

impl Broadcast {
    /// Beside the model to be; nothing is written where it is not saved.
    pub(crate) fn new(out: Option<&Path>) -> Self {
        Self { path: out.map(path_beside), written: None }
    }

    /// Writes the status, if it is time to. That it cannot be written does no harm to the training.
    pub(crate) fn tell(&mut self, status: impl FnOnce() -> LiveStatus) {
        let Some(path) = &self.path else { return };
        if self.written.is_some_and(|written| written.elapsed() < WRITE) {
            return;
        }
        self.written = Some(Instant::now());
        // Under another name first, so that a reader never sees half of it.
        let half = path.with_extension("json.part");
        let written = serde_json::to_vec(&status()).map_err(io::Error::other);
        let _ = written.and_then(|bytes| fs::write(&half, bytes)).and_then(|()| fs::rename(&half, path));
    }
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        if let (Some(path), Some(_)) = (&self.path, self.written) {
            let _ = fs::remove_file(path);
        }
    }
}

/// `info --live`.
pub(crate) fn tell(model: &Path, json: bool) -> anyhow::Result<Outcome> {
    let path = path_beside(model);
    let running = match fs::read(&path) {
        Ok(bytes) => {
            let status: LiveStatus =
                serde_json::from_slice(&bytes).with_context(|| path.display().to_string())?;
            let reason = gone(&status, &path).unwrap_or_default();
            Watched { is_running: reason.is_empty(), reason, status: Some(status) }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let reason = format!("there is no {}, which `hedgerow train --out` writes", path.display());
            Watched { is_running: false, reason, status: None }
        }
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    output::show(&running, json)
}

/// Why a training is not going on, if it is not.
fn gone(status: &LiveStatus, path: &Path) -> Option<String> {
    let age = (now() - status.written).max(0.0);
    if age < STALE {
        return None;
    }
    let (age, path) = (output::seconds(age), path.display());
    Some(format!(
        "{path} was written {age} ago by process {}, which did not end as it should",
        status.process
    ))
}

/// Seconds since 1970.
pub(super) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
