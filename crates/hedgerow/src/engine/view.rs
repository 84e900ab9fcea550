//! What all jobs see, and what comes of their slices.

use std::sync::Arc;

use hedgerow_core::Result;
use hedgerow_forest::{Grove, Sapling};
use hedgerow_gp::ivm::sliced::{Fit, Part};
use hedgerow_hybrid::forest_kernel::sliced::Process;
use hedgerow_hybrid::leaf_gp::sliced::Stem;

use super::process::Processing;
use super::route::Routed;
use super::rows::{News, Stock};
use super::search::{Kernel, Trials};
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
    /// Rows and labels that have come since.
    pub(super) waiting: Arc<Vec<News>>,
    /// Which of the first rows judge, where an earlier engine has settled that.
    pub(super) judges_before: Arc<Vec<bool>>,
    /// The kernels of the search, once they are known, and how bad they are; none of those that were not tried.
    pub(super) trials: Option<Trials>,
    pub(super) tried: Vec<Option<f64>>,
    /// The kernel of all machines or leaves, once it is known.
    pub(super) kernel: Option<Kernel>,
    pub(super) grove: Option<Arc<Grove>>,
    /// A machine for each class, as far as it has come.
    pub(super) parts: Vec<Option<Arc<Part>>>,
    pub(super) fit: Option<Arc<Fit>>,
    /// A machine for each answer of the forest, as far as it has come, where rows are sent to machines by that.
    pub(super) routes: Vec<Option<Arc<Routed>>>,
    /// The process over the forest.
    pub(super) process: Option<Arc<Process>>,
    /// Trees with leaves that learn, by number, as far as they have come.
    pub(super) stems: Vec<Option<Arc<Stem>>>,
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
    Machine { generation: u64, kernel: Kernel, part: Result<Arc<Part>> },
    /// The machine for an answer of the forest has come farther.
    Route { version: u64, kernel: Kernel, class: usize, routed: Result<Arc<Routed>> },
    /// The process over the forest has come farther.
    Process { version: u64, how: Processing, made: Result<Option<Arc<Process>>> },
    /// A tree was grown whose leaves are to learn; the first brings the kernels to be tried.
    Stem { generation: u64, lane: usize, stem: Arc<Stem>, trials: Option<Trials> },
    /// Leaves of a tree have learnt.
    Leaves { generation: u64, kernel: Kernel, stem: Result<Arc<Stem>> },
    /// A regression has come farther; it is made of so many rows and holds so many bytes.
    Regression { generation: u64, n_active: usize, bytes: usize, fit: Result<Option<Arc<Fit>>> },
    /// A model was made of what there was after so many slices. None if the published one is better.
    Combined(Result<Option<Box<Snapshot>>>, u64),
    /// There was nothing to do after all.
    Nothing,
}

impl View {
    /// Rows that are active in machines, each machine's counted.
    pub(super) fn n_active(&self) -> usize {
        self.parts.iter().flatten().map(|part| part.active.len()).sum()
    }
}
