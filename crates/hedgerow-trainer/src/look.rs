//! What is known about a job while it waits or works.

use serde::Serialize;

/// What can be done with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A slice of it is worth doing.
    #[default]
    Ready,
    /// It needs what another job has not made yet, or rows that have not come.
    Waiting,
    /// Nothing is left to do, until there are new rows.
    Done,
}

/// What a host says about one of its jobs.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Look {
    /// What it works on: trees, a machine, a search.
    pub kind: &'static str,
    /// Which one of its kind, in words: a class, say.
    pub name: String,
    /// What can be done with it.
    pub state: State,
    /// Jobs of higher priority go first, whatever their attraction.
    pub priority: u8,
    /// Share of right answers on rows that it was not trained on; none if it was not judged yet.
    pub accuracy: Option<f64>,
    /// How much it has gathered: active rows, trees, kernels tried.
    pub points: usize,
    /// How much it may gather.
    pub goal: usize,
    /// Bytes it holds.
    pub bytes: u64,
    /// Bytes that its next slice may add.
    pub next_bytes: u64,
    /// Why it can do no more, if something went wrong.
    pub problem: Option<String>,
}
