//! What is told about a training run, whatever the model is made of.

use hedgerow_core::StopReason;

use crate::diagnostics;
use crate::target::Profile;
use crate::train::{TracePoint, Trained};

/// Notes that a user gets to read, at most.
const MOST_NOTES: usize = 3;

/// How training went.
#[derive(Default)]
pub(crate) struct TrainingLog {
    pub(crate) stop: Option<StopReason>,
    pub(crate) notes: Vec<String>,
    pub(crate) trace: Vec<TracePoint>,
    pub(crate) profile: Profile,
    /// Candidates added at a time in the first RVM; 0 for all at once.
    pub(crate) partition: usize,
}

impl TrainingLog {
    /// Of RVMs, one after the other, that were fitted to `n_rows` rows.
    pub(crate) fn new(trained: &[Trained], n_rows: usize) -> Self {
        let mut log = Self {
            stop: trained.first().map(|trained| trained.stop),
            partition: trained.first().map_or(0, |trained| trained.partition),
            ..Self::default()
        };
        for trained in trained {
            for note in diagnostics::notes(trained, n_rows) {
                if log.notes.len() < MOST_NOTES && !log.notes.contains(&note) {
                    log.notes.push(note);
                }
            }
            log.profile.add(&trained.profile);
            log.trace.extend(&trained.trace);
        }
        log
    }
}
