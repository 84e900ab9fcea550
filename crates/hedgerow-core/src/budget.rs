//! Limits on a training run: time, memory, rounds and a stop flag.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::Error;

/// A flag that any thread (a Ctrl-C handler, for example) may set to end the work early with the best model so far.
#[derive(Debug, Clone, Default)]
pub struct StopFlag {
    own: Arc<AtomicBool>,
    parent: Option<Arc<StopFlag>>,
}

impl StopFlag {
    /// Sets the flag.
    pub fn stop(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// Whether this flag, or the one it is a child of, is set.
    pub fn is_stopped(&self) -> bool {
        self.own.load(Ordering::Relaxed) || self.parent.as_ref().is_some_and(|parent| parent.is_stopped())
    }

    /// A flag for a part of the work: set together with this one, or by itself.
    #[must_use]
    pub fn child(&self) -> Self {
        Self { own: Arc::default(), parent: Some(Arc::new(self.clone())) }
    }
}

/// Limits on a training run. Absent limits do not apply.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    /// When the work must be done.
    pub deadline: Option<Instant>,
    /// Bytes the work may add to what is in memory when it starts: model and working space together.
    pub bytes: Option<u64>,
    /// Copies of the model that are held within these bytes beside the one in training, such as published snapshots.
    pub copies: u64,
    /// Rounds of work: trees or passes, depending on the model.
    pub rounds: Option<usize>,
    /// Ends the work early.
    pub stop: StopFlag,
}

/// Why a training run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Everything asked for was done.
    Done,
    /// Further work no longer improved the model.
    Converged,
    /// The time was up.
    Time,
    /// The memory was used up.
    Memory,
    /// The stop flag was set.
    Interrupted,
}

impl Budget {
    /// No limits.
    pub fn open() -> Self {
        Self::default()
    }

    /// At most this long from now.
    #[must_use]
    pub fn with_time(mut self, limit: Duration) -> Self {
        self.deadline = Instant::now().checked_add(limit);
        self
    }

    /// The same with half of the time that is left.
    #[must_use]
    pub fn half_of_time(&self) -> Self {
        let now = Instant::now();
        let half = |end: Instant| now + end.saturating_duration_since(now) / 2;
        Self { deadline: self.deadline.map(half), ..self.clone() }
    }

    /// At most this many bytes more than are in use now.
    #[must_use]
    pub fn with_bytes(mut self, limit: u64) -> Self {
        self.bytes = Some(limit);
        self
    }

    /// Why there is no model, where there is none: the work was interrupted, or came to its end without one.
    pub fn no_model(&self) -> Error {
        if self.stop.is_stopped() { Error::Interrupted } else { Error::NoModel }
    }

    /// Whether the work must end now, and why.
    pub fn spent(&self) -> Option<StopReason> {
        if self.stop.is_stopped() {
            return Some(StopReason::Interrupted);
        }
        self.deadline.filter(|&end| Instant::now() >= end).map(|_| StopReason::Time)
    }
}
