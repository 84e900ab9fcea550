//! Saving the best model so far while it is being trained, so that whatever ends the program takes little of what was learnt.
//!
//! A thread of its own looks whether something better was published. Training and predictions do not wait for it: it writes files without holding anything that
//! they need. Files are replaced in one step, so there is a whole one at any moment.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hedgerow::Engine;
use hedgerow::engine::Snapshot;

use super::LOOK;
use super::kept::CheckpointState;
use crate::commands::store::learner::Learner;

/// Saving takes one part in so many of the time, at most.
const SHARE: u32 = 20;

/// Where models are saved while they are being trained, and how often.
pub(super) struct Saver<'a> {
    pub(super) engine: &'a Engine,
    pub(super) learner: Option<&'a Learner>,
    pub(super) out: Option<&'a Path>,
    /// Whether the file at `out` is to be without rows.
    pub(super) is_frozen: bool,
    pub(super) every: Duration,
}

impl Saver<'_> {
    /// Saves models until it is told that all is over. Returns the last thing that went wrong.
    pub(super) fn run(&self, is_over: &AtomicBool) -> Option<anyhow::Error> {
        // A pipe would get one model after the other.
        let out = self.out.filter(|out| !out.exists() || out.is_file());
        if out.is_none() && self.learner.is_none() {
            return None;
        }
        let (mut saved, mut problem): (Option<Arc<Snapshot>>, _) = (None, None);
        let (mut last, mut pause) = (Instant::now(), Duration::ZERO);
        while !is_over.load(Ordering::Acquire) {
            let newest = self.engine.snapshot();
            let is_new =
                newest.is_trained() && saved.as_ref().is_none_or(|saved| !Arc::ptr_eq(saved, &newest));
            if is_new && last.elapsed() >= pause {
                let start = Instant::now();
                problem = self.save(&newest, out).err();
                // What could not be saved is tried again.
                saved = if problem.is_none() { Some(newest) } else { saved };
                last = Instant::now();
                pause = self.every.max(SHARE * start.elapsed());
            }
            std::thread::sleep(LOOK);
        }
        problem
    }

    fn save(&self, snapshot: &Snapshot, out: Option<&Path>) -> anyhow::Result<()> {
        // In this order: the engine has been given as much by then, or more.
        let cursor = self.engine.observed().map_or(0, |observed| observed.cursor);
        // What an earlier run has left is in the store.
        let is_found = snapshot.steps == 0;
        if let Some(learner) = self.learner.filter(|_| !is_found) {
            let state = CheckpointState { validation: snapshot.validation.clone() };
            learner.save(cursor, &state, &snapshot.model)?;
        }
        if let Some(out) = out {
            if self.is_frozen {
                snapshot.model.clone().without_rows().save(out)?;
            } else {
                snapshot.model.save(out)?;
            }
        }
        Ok(())
    }
}
