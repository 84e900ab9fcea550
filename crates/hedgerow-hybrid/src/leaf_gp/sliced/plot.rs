//! The rows of all stems.

use std::sync::Arc;

use hedgerow_core::{ClassId, Dataset, Features, Par, Schema};
use hedgerow_gp::prepare::Preparation;
use ndarray::{ArcArray2, Axis, concatenate};

use super::super::params::LeafGpParams;

/// Rows made ready for leaves, shared by all models that are made of them.
pub struct Plot {
    pub(super) params: LeafGpParams,
    pub(super) schema: Schema,
    pub(super) preparation: Preparation,
    pub(super) features: Arc<Features>,
    pub(super) labels: Vec<ClassId>,
    /// All rows, prepared.
    pub(super) x: ArcArray2<f32>,
    /// Rows that are learnt, and rows that judge.
    pub(super) learnt: Vec<u32>,
    pub(super) judges: Vec<u32>,
}

impl Plot {
    /// Rows, and which of them judge instead of being learnt. Columns are prepared by what is learnt.
    pub fn new(data: &Dataset, is_judge: &[bool], params: &LeafGpParams) -> Self {
        let [learnt, _] = parts(data.n_rows(), is_judge);
        let own: Vec<usize> = learnt.iter().map(|&row| row as usize).collect();
        let preparation = if own.len() == data.n_rows() {
            Preparation::of(&data.schema, &data.features)
        } else {
            Preparation::of(&data.schema, &data.features.select(&own))
        };
        let x = preparation.map_all_narrow(&data.features, &Par::sequential()).into_shared();
        Self::with(data, is_judge, params, preparation, x)
    }

    /// The same columns with more rows at the end.
    #[must_use]
    pub fn grown(&self, data: &Dataset, is_judge: &[bool]) -> Self {
        let new = self.preparation.map_narrow(data.features.to_array(self.x.nrows()..data.n_rows()).view());
        let all = concatenate(Axis(0), &[self.x.view(), new.view()]);
        let x = all.map_or_else(
            |_| self.preparation.map_all_narrow(&data.features, &Par::sequential()).into_shared(),
            ndarray::ArrayBase::into_shared,
        );
        Self::with(data, is_judge, &self.params, self.preparation.clone(), x)
    }

    fn with(
        data: &Dataset,
        is_judge: &[bool],
        params: &LeafGpParams,
        preparation: Preparation,
        x: ArcArray2<f32>,
    ) -> Self {
        let [learnt, judges] = parts(data.n_rows(), is_judge);
        Self {
            params: params.clone(),
            schema: data.schema.clone(),
            preparation,
            features: Arc::new(data.features.clone()),
            labels: data.labels.clone(),
            x,
            learnt,
            judges,
        }
    }

    /// Rows, judges among them.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }

    pub(super) fn n_classes(&self) -> usize {
        self.schema.n_classes()
    }

    /// The classes of the rows that judge.
    pub(super) fn judge_labels(&self) -> Vec<ClassId> {
        self.judges.iter().map(|&row| self.labels[row as usize]).collect()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.features.bytes() + 4 * (self.x.len() + 2 * self.labels.len())
    }
}

/// Rows that are learnt, and rows that judge.
fn parts(n: usize, is_judge: &[bool]) -> [Vec<u32>; 2] {
    let judges_at = |row: &u32| is_judge.get(*row as usize).copied().unwrap_or(false);
    let (judges, learnt) = (0..n as u32).partition(judges_at);
    [learnt, judges]
}
