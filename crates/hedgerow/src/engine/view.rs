//! What all jobs see, and what comes of their slices.

use std::sync::Arc;

use hedgerow_core::{Dataset, Result};
use hedgerow_forest::{Grove, Sapling};
use hedgerow_gp::ivm::sliced::{Fit, Part};

use super::rows::Stock;
use super::snapshot::Snapshot;
use crate::params::ModelParams;

/// How things stand. Never changed: there is a new one after each merge.
#[derive(Clone)]
pub(super) struct View {
    pub(super) params: Arc<ModelParams>,
    /// How many jobs share one kind of work.
    pub(super) lanes: usize,
    /// None before there are rows to learn from.
    pub(super) stock: Option<Arc<Stock>>,
    /// Rows that have come since.
    pub(super) waiting: Arc<Vec<Arc<Dataset>>>,
    /// How bad the kernels of the search are, and those between the best and its neighbors; none of those that were not tried.
    pub(super) tried: Vec<Option<f64>>,
    /// The kernel of all machines, once it is known.
    pub(super) kernel: Option<[f64; 2]>,
    pub(super) grove: Option<Arc<Grove>>,
    /// A machine for each class, as far as it has come.
    pub(super) parts: Vec<Option<Arc<Part>>>,
    pub(super) fit: Option<Arc<Fit>>,
    /// Slices merged so far.
    pub(super) slices: u64,
}

/// What came of a slice.
pub(super) enum Product {
    /// Rows were taken up, the first so many of those that waited.
    Stock(Result<Arc<Stock>>, usize),
    /// A kernel was tried.
    Trial { generation: u64, at: usize, value: Result<f64> },
    /// A tree was grown in a lane.
    Tree { version: u64, lane: usize, sapling: Box<Sapling> },
    /// A machine has come farther.
    Machine { generation: u64, kernel: [f64; 2], part: Result<Arc<Part>> },
    /// A regression has come farther; it is made of so many rows and holds so many bytes.
    Regression { generation: u64, n_active: usize, bytes: usize, fit: Result<Option<Arc<Fit>>> },
    /// A model was made of what there was after so many slices. None if the published one is better.
    Combined(Result<Option<Box<Snapshot>>>, u64),
    /// There was nothing to do after all.
    Nothing,
}

impl View {
    /// The kernels that can be tried by now: those of the search, then those between the best of them and its neighbors.
    pub(super) fn kernels(&self) -> Vec<[f64; 2]> {
        let Some(trials) = self.stock.as_ref().and_then(|stock| stock.trials.as_ref()) else {
            return Vec::new();
        };
        let mut kernels = trials.kernels.clone();
        let n = kernels.len();
        if n > 1 && self.tried.len() >= n && self.tried[..n].iter().all(Option::is_some) {
            let [length, variance] = self.best(n).unwrap_or(kernels[0]);
            kernels.extend(trials.between.iter().map(|share| [share * length, variance]));
        }
        kernels
    }

    /// The best of the first so many kernels that were tried.
    pub(super) fn best(&self, first: usize) -> Option<[f64; 2]> {
        let trials = self.stock.as_ref().and_then(|stock| stock.trials.as_ref())?;
        let n = trials.kernels.len();
        let mut best: Option<(usize, f64)> = None;
        for (at, value) in self.tried.iter().enumerate().take(first) {
            if let Some(value) = value
                && best.is_none_or(|(_, least)| *value < least)
            {
                best = Some((at, *value));
            }
        }
        let (at, _) = best?;
        if at < n {
            return Some(trials.kernels[at]);
        }
        let [length, variance] = self.best(n)?;
        Some([trials.between.get(at - n)? * length, variance])
    }

    /// The next kernel for one of the jobs that search.
    pub(super) fn next_trial(&self, lane: usize) -> Option<usize> {
        if self.kernel.is_some() {
            return None;
        }
        let open = |at: &usize| self.tried.get(*at).is_none_or(Option::is_none);
        (0..self.kernels().len()).find(|at| at % self.lanes == lane && open(at))
    }

    /// Rows that are active in machines, each machine's counted.
    pub(super) fn n_active(&self) -> usize {
        self.parts.iter().flatten().map(|part| part.active.len()).sum()
    }
}
