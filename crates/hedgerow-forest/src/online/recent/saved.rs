//! The memories of the newest rows in a file: rows in the order of their ages.

use hedgerow_core::saved::require;
use hedgerow_core::{Error, ModelProblem, Result, Schema};

use super::memory::Memory;
use super::{MEMORIES, Recent};
use crate::horizons::{Horizons, N_TREES};

impl Recent {
    /// Whether it is in the form in which it is written.
    pub(in crate::online) fn is_as_saved(&self) -> bool {
        self.memories.iter().all(|memory| memory.live.is_empty() && memory.pool.is_by_age())
    }

    /// The same in the form in which it is written, with the trees that go with it.
    pub(in crate::online) fn as_saved(&self, horizons: &mut Horizons) -> Self {
        self.clone().put_in_order(horizons);
        let memory = |memory: &Memory| Memory {
            pool: memory.pool.by_age_only(),
            scales: memory.scales.clone(),
            live: Vec::new(),
        };
        let memories = self.memories.iter().map(memory).collect();
        Self { memories, activity: self.activity.clone(), n_seen: self.n_seen }
    }

    /// Makes what a file does not have. Fails unless what was read fits together.
    pub(in crate::online) fn complete(&mut self, schema: &Schema, horizons: &Horizons) -> Result<()> {
        let wrong = || "the newest rows: rows, classes, ages and columns do not fit together";
        let (n_features, n_seen) = (schema.n_features(), self.n_seen);
        let fits = |(memory, &len): (&Memory, &u64)| {
            memory.pool.fits(n_features)
                && memory.pool.ages.last().is_none_or(|&number| number < n_seen)
                && memory.pool.ages.len() as u64 <= len
                && memory.scales.len() == n_features
                && memory.scales.iter().all(|scale| *scale >= 0.0)
        };
        let n_trees = if self.activity.is_awake { self.memories.len() * N_TREES } else { 0 };
        let fits = self.memories.len() <= MEMORIES.len()
            && self.memories.iter().zip(&MEMORIES).all(fits)
            && n_seen < 1 << 38
            && self.activity.is_valid(n_seen)
            && horizons.trees.len() == n_trees;
        require(fits, wrong)?;
        self.memories.iter_mut().try_for_each(|memory| {
            memory.pool.make_queues();
            let data = memory.pool.dataset(schema);
            data.map(drop).map_err(|e| Error::model(ModelProblem::Inconsistent { detail: e.to_string() }))
        })
    }
}
