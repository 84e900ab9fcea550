//! The kernel: the search for one that all classes share, and a kernel for each class.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hedgerow_core::{Budget, Effort, JobState, JobStatus, Progress, Step, Training};

use super::super::class_kernels;
use super::IvmRun;

impl IvmRun {
    /// Kernels that have not been tried, by their places.
    pub(super) fn open_trials(&self) -> Vec<usize> {
        let Some(search) = self.search.as_ref().filter(|_| self.known.kernel.is_none()) else {
            return Vec::new();
        };
        let is_open =
            |at: &usize| self.tried.get(*at).is_none_or(Option::is_none) && !self.is_dropped[at % self.lanes];
        (0..search.kernels(&self.tried).len()).filter(is_open).collect()
    }

    /// Settles the kernel when nothing is left to try.
    pub(super) fn settle_kernel(&mut self) {
        let Some(search) = &self.search else { return };
        if self.known.kernel.is_none() && (search.is_done(&self.tried) || self.open_trials().is_empty()) {
            self.known.kernel = Some(search.best(&self.tried));
            self.search = None;
            self.make_sets();
        }
    }

    pub(super) fn begin_search(&self, jobs: &[usize], effort: Effort) -> Step {
        let open = self.open_trials();
        let mine = |lane: usize| open.iter().copied().find(|at| at % self.lanes == lane);
        let chosen: Vec<usize> = match effort {
            Effort::Whole => open.clone(),
            Effort::Slice => jobs.iter().filter_map(|&lane| mine(lane)).collect(),
        };
        let Some(search) = self.search.clone() else { return Step::nothing::<Self>() };
        let all = search.kernels(&self.tried);
        let kernels: Vec<[f64; 2]> = chosen.iter().map(|&at| all[at]).collect();
        let (end, n_before, total) = (self.search_end, self.tried.iter().flatten().count(), all.len());
        Step::new(move |training: &Training<'_>| {
            let budget = Budget { deadline: end, ..training.budget.clone() };
            let done = AtomicUsize::new(n_before);
            let alone = training.par.until(&budget.stop).alone();
            let one = Training { par: &alone, budget: &budget, observer: training.observer };
            let values = training.par.map(kernels.len(), |i| {
                let value = search.objective(kernels[i], &one);
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                training.observer.progress(Progress { done, total: Some(total), accuracy: None });
                value
            });
            move |run: &mut Self| {
                for (at, value) in chosen.into_iter().zip(values) {
                    if run.tried.len() <= at {
                        run.tried.resize(at + 1, None);
                    }
                    match value? {
                        Some(value) => run.tried[at] = Some(value),
                        // The time of the search is over.
                        None => run.is_dropped[..run.lanes].fill(true),
                    }
                }
                run.settle_kernel();
                Ok(())
            }
        })
    }

    pub(super) fn begin_class_kernels(&self) -> Step {
        let rows = Arc::clone(&self.rows);
        let (Some(kernel), end) = (self.known.kernel, self.search_end) else {
            return Step::nothing::<Self>();
        };
        Step::new(move |training: &Training<'_>| {
            let budget = Budget { deadline: end, ..training.budget.clone() };
            let found = class_kernels::find(&rows, kernel, &Training { budget: &budget, ..*training });
            move |run: &mut Self| {
                run.has_class_kernels = true;
                run.known.class_kernels = found?;
                run.make_sets();
                Ok(())
            }
        })
    }

    /// The status of a lane, given the places of all open trials.
    pub(super) fn search_status(&self, lane: usize, open: &[usize]) -> JobStatus {
        let is_open = open.iter().any(|at| at % self.lanes == lane);
        let own = self.tried.iter().skip(lane).step_by(self.lanes);
        JobStatus {
            kind: "kernel search",
            name: format!("{}", lane + 1),
            state: if is_open { JobState::Ready } else { JobState::Done },
            points: own.filter(|value| value.is_some()).count(),
            bytes: self.search.as_ref().map_or(0, |search| search.bytes() as u64),
            priority: 1,
            ..JobStatus::default()
        }
    }

    pub(super) fn class_kernels_status(&self) -> JobStatus {
        let state = JobState::new(self.has_class_kernels, self.known.kernel.is_some());
        JobStatus { kind: "class kernels", state, priority: 1, ..JobStatus::default() }
    }
}
