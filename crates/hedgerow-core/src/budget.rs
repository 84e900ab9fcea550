//! How much a training run may use: time, memory, rounds, or until somebody says stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A switch that any thread (a Ctrl-C handler, say) may throw to end the work early with the best model so far.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Asks the work to end.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Limits on a training run. Whatever is left open does not limit it.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    /// When the work must be done.
    pub deadline: Option<Instant>,
    /// Bytes the work may add to what is in memory when it starts: model and working space together.
    pub bytes: Option<u64>,
    /// Rounds of work (trees, passes), whatever a round is for the model.
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
    /// It no longer paid to go on.
    Converged,
    /// The time was up.
    Time,
    /// The memory was used up.
    Memory,
    /// Somebody threw the switch.
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

    /// At most this many bytes more than are in use now.
    #[must_use]
    pub fn with_bytes(mut self, limit: u64) -> Self {
        self.bytes = Some(limit);
        self
    }

    /// Whether the work must end now, and why.
    pub fn spent(&self) -> Option<StopReason> {
        if self.stop.is_stopped() {
            return Some(StopReason::Interrupted);
        }
        self.deadline.filter(|&end| Instant::now() >= end).map(|_| StopReason::Time)
    }

    /// Whether time or the switch can end the work at all; if not, inner loops need not look.
    pub fn is_limited_in_time(&self) -> bool {
        self.deadline.is_some()
    }
}
