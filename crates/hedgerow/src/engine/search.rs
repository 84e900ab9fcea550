//! The search for a kernel, of machines or of leaves: trials that any number of jobs share.

use std::sync::Arc;
use std::time::Instant;

use hedgerow_core::{Par, Result};
use hedgerow_gp::ivm::sliced::Trials as MachineTrials;
use hedgerow_hybrid::leaf_gp::LeafKernel;
use hedgerow_hybrid::leaf_gp::sliced::Trials as LeafTrials;

use super::host::{EngineHost, Role};
use super::view::View;

/// Kernels that are tried at least.
const LEAST_TRIED: usize = 7;

/// A kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kernel {
    /// Length scale and variance of machines.
    Machines([f64; 2]),
    /// That of leaves.
    Leaves(LeafKernel),
}

/// Kernels to be tried.
#[derive(Clone)]
pub(super) enum Trials {
    Machines(Arc<MachineTrials>),
    Leaves(Arc<LeafTrials>),
}

impl Trials {
    /// Those that can be tried by now. One alone needs no trial.
    fn kernels(&self, tried: &[Option<f64>]) -> Vec<Kernel> {
        match self {
            Self::Machines(trials) => trials.kernels(tried).into_iter().map(Kernel::Machines).collect(),
            Self::Leaves(trials) => trials.kernels(tried).into_iter().map(Kernel::Leaves).collect(),
        }
    }

    fn best(&self, tried: &[Option<f64>]) -> Kernel {
        match self {
            Self::Machines(trials) => Kernel::Machines(trials.best(tried)),
            Self::Leaves(trials) => Kernel::Leaves(trials.best(tried)),
        }
    }

    fn value(&self, kernel: Kernel, par: &Par) -> Result<f64> {
        match (self, kernel) {
            (Self::Machines(trials), Kernel::Machines(kernel)) => trials.value(kernel, par),
            (Self::Leaves(trials), Kernel::Leaves(kernel)) => Ok(trials.value(&kernel, par)),
            _ => Ok(f64::INFINITY),
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Machines(trials) => trials.bytes(),
            Self::Leaves(trials) => trials.bytes(),
        }
    }
}

impl View {
    fn kernels(&self) -> Vec<Kernel> {
        self.trials.as_ref().map_or_else(Vec::new, |trials| trials.kernels(&self.tried))
    }

    /// How many kernels can be tried by now.
    pub(super) fn n_kernels(&self) -> usize {
        self.kernels().len()
    }

    /// The kernel of machines, once it is known.
    pub(super) fn machine_kernel(&self) -> Option<[f64; 2]> {
        if let Some(Kernel::Machines(kernel)) = self.kernel { Some(kernel) } else { None }
    }

    /// The kernel of leaves, once it is known.
    pub(super) fn leaf_kernel(&self) -> Option<LeafKernel> {
        if let Some(Kernel::Leaves(kernel)) = self.kernel { Some(kernel) } else { None }
    }

    /// The next kernel for one of the jobs that search.
    pub(super) fn next_trial(&self, lane: usize) -> Option<usize> {
        if self.kernel.is_some() {
            return None;
        }
        let open = |at: &usize| self.tried.get(*at).is_none_or(Option::is_none);
        (0..self.n_kernels()).find(|at| at % self.lanes == lane && open(at))
    }

    /// Tries the next kernel of a job. Returns its place, and how bad it is.
    pub(super) fn try_next(&self, lane: usize, par: &Par) -> Option<(usize, Result<f64>)> {
        let at = self.next_trial(lane)?;
        Some((at, self.trials.as_ref()?.value(self.kernels()[at], par)))
    }
}

impl EngineHost {
    /// Settles the kernel when the search is over.
    pub(super) fn choose_kernel(&mut self) {
        let view = &self.view;
        let Some(trials) = view.trials.as_ref().filter(|_| view.kernel.is_none()) else { return };
        let n = view.n_kernels();
        let tried = view.tried.iter().filter(|value| value.is_some()).count();
        let is_late = self.search_until.is_some_and(|end| Instant::now() >= end) && tried >= LEAST_TRIED;
        // Nobody will try what belongs to a job that is gone.
        let is_gone = |lane: usize| {
            let mut all = self.roles.iter().zip(&self.problems);
            all.any(|(role, problem)| *role == Role::Search(lane) && problem.is_some())
        };
        let is_open =
            |at: &usize| view.tried.get(*at).is_none_or(Option::is_none) && !is_gone(at % view.lanes);
        if n <= 1 || is_late || !(0..n).any(|at| is_open(&at)) {
            let kernel = trials.best(&view.tried);
            std::sync::Arc::make_mut(&mut self.view).kernel = Some(kernel);
        }
    }
}
