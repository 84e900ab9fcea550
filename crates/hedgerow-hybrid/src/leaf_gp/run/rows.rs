//! The rows of a run, prepared.

use hedgerow_core::{Dataset, Par, Training};
use hedgerow_gp::prepare::Preparation;
use ndarray::ArcArray2;

use super::super::params::LeafGpParams;

/// Rows of a model that is interrupted before it has trees, at most.
const ROWS_IN_HASTE: usize = 1000;

/// Training rows, shared by all steps of a run.
pub(in super::super) struct TrainingRows {
    pub(in super::super) data: Dataset,
    pub(in super::super) params: LeafGpParams,
    pub(super) preparation: Preparation,
    pub(in super::super) x: ArcArray2<f32>,
    /// Rows seen, those that were forgotten among them.
    pub(super) n_seen: u64,
    /// The place of the first row among those that the run was given, and the distance to the next.
    origin: [usize; 2],
}

impl TrainingRows {
    /// Prepares the newest rows, as many as the parameters allow. They are incomplete if the switch is thrown meanwhile.
    pub(super) fn new(data: &Dataset, params: LeafGpParams, training: &Training<'_>) -> Self {
        let (n, stop) = (data.n_rows(), &training.budget.stop);
        let first = n.saturating_sub(params.most_rows());
        let data = if first == 0 { data.clone() } else { data.select(&(first..n).collect::<Vec<_>>()) };
        let preparation = Preparation::until(stop, &data.schema, &data.features);
        let x = preparation.map_all_narrow(&data.features, &training.par.until(stop)).into_shared();
        Self { data, params, preparation, x, n_seen: n as u64, origin: [first, 1] }
    }

    /// A few of them, spread over all: enough for a model that is wanted at once.
    pub(super) fn few(&self) -> Self {
        let (n, [first, _]) = (self.data.n_rows(), self.origin);
        let step = n.div_ceil(ROWS_IN_HASTE).max(1);
        let data = self.data.select(&(0..n).step_by(step).collect::<Vec<_>>());
        let preparation = Preparation::new(&data);
        let x = preparation.map_all_narrow(&data.features, &Par::sequential()).into_shared();
        let n_seen = if step == 1 { self.n_seen } else { data.n_rows() as u64 };
        Self { data, params: self.params.clone(), preparation, x, n_seen, origin: [first, step] }
    }

    /// Whether they are all rows that the parameters allow.
    pub(super) fn is_whole(&self) -> bool {
        self.origin[1] == 1
    }

    /// The place of a row among those that the run was given.
    pub(super) fn origin(&self, row: usize) -> usize {
        self.origin[0] + row * self.origin[1]
    }

    pub(in super::super) fn n_classes(&self) -> usize {
        self.data.schema.n_classes()
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.data.features.bytes() + 4 * (self.x.len() + self.data.labels().len())
    }
}
