//! The active set of each class.

use std::sync::Arc;

use hedgerow_core::{Effort, JobState, JobStatus, Result, Step, Training};

use super::super::one_vs_rest::{ActiveSet, OneVsRest, bytes_needed};
use super::{IvmRun, limited};

/// Active rows that a slice adds.
pub(super) const SLICE: usize = 16;

impl IvmRun {
    pub(super) fn make_sets(&mut self) {
        let kernels = self.kernels();
        let set = |class: usize| (!self.is_set_done[class]).then(|| ActiveSet::new(class, kernels[class]));
        self.sets = (0..kernels.len()).map(set).collect();
    }

    /// The classifiers so far.
    pub(super) fn found(&self) -> Vec<Arc<OneVsRest>> {
        self.found.iter().flatten().cloned().collect()
    }

    pub(super) fn are_sets_done(&self) -> bool {
        let first = self.lanes + 1;
        (0..self.is_set_done.len()).all(|class| self.is_set_done[class] || self.is_dropped[first + class])
    }

    pub(super) fn begin_sets(&mut self, jobs: &[usize], effort: Effort) -> Step {
        let first = self.lanes + 1;
        let mut sets: Vec<(usize, ActiveSet)> = Vec::new();
        for class in jobs.iter().map(|job| job - first) {
            sets.extend(self.sets[class].take().map(|set| (class, set)));
        }
        let (rows, kernels, is_hurried) = (Arc::clone(&self.rows), self.kernels(), self.is_hurried);
        Step::new(move |training: &Training<'_>| {
            let (made, is_lost) = limited(is_hurried, training, |until| {
                if effort == Effort::Whole && sets.iter().all(|(_, set)| set.n_active() == 0) {
                    let classes: Vec<usize> = sets.iter().map(|(class, _)| *class).collect();
                    let found = rows.train_each(&classes, &kernels, until)?;
                    return Ok(found.into_iter().map(|one| (one, None)).collect());
                }
                let slice = |(_, mut set): (usize, ActiveSet)| loop {
                    let one = set.slice(&rows, SLICE, until.par)?;
                    if effort == Effort::Slice || set.is_done || until.budget.spent().is_some() {
                        let rest = (!set.is_done).then_some(set);
                        return Ok((one, rest));
                    }
                };
                sets.into_iter().map(slice).collect::<Result<Vec<_>>>()
            });
            move |run: &mut Self| {
                if is_lost {
                    return Ok(());
                }
                for (one, rest) in made? {
                    let class = one.class;
                    run.is_set_done[class] = rest.is_none();
                    run.sets[class] = rest;
                    run.found[class] = Some(Arc::new(one));
                }
                Ok(())
            }
        })
    }

    pub(super) fn set_status(&self, class: usize, is_open: bool) -> JobStatus {
        let name = self.data.schema.labels.names().get(class).cloned().unwrap_or_default();
        let found = self.found[class].as_ref();
        let n_active = self.rows.params.n_active;
        JobStatus {
            kind: "active set",
            name,
            state: JobState::new(self.is_set_done[class], is_open),
            accuracy: found.map(|one| one.accuracy(&self.rows)),
            points: found.map_or(0, |one| one.sites.active.len()),
            goal: n_active.min(self.rows.n_rows()),
            bytes: found.map_or(0, |_| bytes_needed(self.rows.n_rows(), n_active)),
            ..JobStatus::default()
        }
    }
}
