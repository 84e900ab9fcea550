//! How a classifier came about, whatever it is made of.

use hedgerow_core::StopReason;

use super::machines::Machines;
use super::shared::Grown;
use crate::diagnosis;
use crate::machine::Profile;
use crate::train::TracePoint;

/// Notes that a user gets to read, at most.
const MOST_NOTES: usize = 3;

/// How training went.
#[derive(Default)]
pub(super) struct Story {
    pub(super) stop: Option<StopReason>,
    pub(super) notes: Vec<String>,
    pub(super) trace: Vec<TracePoint>,
    pub(super) profile: Profile,
    /// Rows tried at a time in the first machine; 0 for all at once.
    pub(super) partition: usize,
}

impl Story {
    /// Of machines, one after the other.
    pub(super) fn of_machines(machines: &Machines, n_rows: usize) -> Self {
        let mut story = Self::default();
        for trained in &machines.trained {
            for note in diagnosis::notes(trained, n_rows) {
                if story.notes.len() < MOST_NOTES && !story.notes.contains(&note) {
                    story.notes.push(note);
                }
            }
            story.profile.add(&trained.profile);
            story.trace.extend(&trained.trace);
        }
        let first = machines.trained.first();
        story.stop = first.map(|trained| trained.stop);
        story.partition = first.map_or(0, |trained| trained.partition);
        story
    }

    /// Of one regression.
    pub(super) fn of_shared(grown: &Grown, n_rows: usize) -> Self {
        Self {
            stop: Some(grown.stop),
            notes: diagnosis::of_shared(grown.relevant.len(), n_rows, grown.is_cut),
            trace: grown.trace.clone(),
            profile: grown.profile,
            partition: 0,
        }
    }
}
