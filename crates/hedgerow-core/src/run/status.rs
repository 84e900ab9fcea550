//! What is known about a job.

use serde::{Deserialize, Serialize};

/// What can be done with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// A step of it is worth doing.
    #[default]
    Ready,
    /// It needs what another job has not made yet, or rows that have not come.
    Waiting,
    /// Nothing is left to do.
    Done,
}

impl JobState {
    /// Done, else ready, else waiting.
    pub fn new(is_done: bool, is_ready: bool) -> Self {
        match (is_done, is_ready) {
            (true, _) => Self::Done,
            (false, true) => Self::Ready,
            (false, false) => Self::Waiting,
        }
    }
}

/// How a job stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct JobStatus {
    /// What it works on: trees, an active set, a kernel search.
    pub kind: &'static str,
    /// Which one of its kind, in words: a class, say.
    pub name: String,
    /// What can be done with it.
    pub state: JobState,
    /// Jobs of higher priority go first, whatever the policy.
    pub priority: u8,
    /// Accuracy on rows that it was not trained on; none if that is not known yet.
    pub accuracy: Option<f64>,
    /// How much it has gathered: active rows, trees, kernels tried.
    pub points: usize,
    /// How much it may gather.
    pub goal: usize,
    /// Bytes it holds.
    pub bytes: u64,
    /// Why it can do no more, if something went wrong.
    pub problem: Option<String>,
}
