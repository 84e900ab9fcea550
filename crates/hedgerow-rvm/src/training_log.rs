//! What a user learns about a training run, whatever the model is made of.

use crate::diagnostics;
use crate::target::Profile;
use crate::train::{TracePoint, Trained};

/// Notes that a user gets to read, at most.
const MOST_NOTES: usize = 3;

/// How training went.
#[derive(Debug, Clone, Default)]
pub struct TrainingLog {
    /// What is wrong, in words; empty if nothing is.
    pub notes: Vec<String>,
    /// The trace of the training; of several binary RVMs, one after the other.
    pub trace: Vec<TracePoint>,
    /// Where the time went.
    pub profile: Profile,
    /// Rows tried at a time, in the first of several binary RVMs; 0 for all at once.
    pub partition_size: usize,
    /// The share of a probe that was relevant, where there was one.
    pub(crate) probe_share: Option<f64>,
    /// The most candidates of a solve.
    pub(crate) most_candidates: usize,
}

impl TrainingLog {
    /// Of RVMs, one after the other, that were fitted to `n_rows` rows.
    pub(crate) fn new(trained: &[Trained], n_rows: usize) -> Self {
        let mut log = Self::default();
        for trained in trained {
            for note in diagnostics::notes(trained, n_rows) {
                if log.notes.len() < MOST_NOTES && !log.notes.contains(&note) {
                    log.notes.push(note);
                }
            }
            log.profile.add(&trained.log.profile);
            log.trace.extend(&trained.log.trace);
        }
        log.partition_size = trained.first().map_or(0, |trained| trained.log.partition_size);
        log
    }
}
