//! The memories of the newest rows while they learn.
//!
//! Each of the short memories is a small forest that holds exactly the newest rows: its trees learn a row and forget the oldest, and take turns to be
//! grown anew.
//!
//! Rows are worked through tree by tree, in blocks that end at fixed numbers of rows. The mixture then goes through the rows in order.

mod activity;
mod memory;
mod saved;
#[cfg(test)]
mod tests;

use std::ops::Range;

use hedgerow_core::{ClassId, Par, Rows};
use ndarray::{ArrayView1, ArrayViewMut2, s};
use serde::{Deserialize, Serialize};

use super::OnlineInput;
use crate::horizons::{Horizons, MEMORIES, N_TREES, normalize};
use activity::{Activity, Decision};
use memory::{Memory, most_bytes};

/// What the short memories are behind the forest when they are tried, in units of loss: they must show first that they are better.
const BEHIND: f64 = 4.0;

/// The short memories, and when they learn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Recent {
    /// The shortest first. The longest may be missing for lack of memory.
    memories: Vec<Memory>,
    /// Rows learnt.
    n_seen: u64,
    activity: Activity,
}

impl Recent {
    pub(super) fn new(n_features: usize) -> Self {
        Self {
            memories: vec![Memory::new(n_features); MEMORIES.len()],
            n_seen: 0,
            activity: Activity::default(),
        }
    }

    /// Mixes the forest's predictions of some rows with those of the short memories, and learns the rows.
    pub(super) fn learn(
        &mut self,
        horizons: &mut Horizons,
        rows: Rows<'_>,
        range: Range<usize>,
        predictions: &mut ArrayViewMut2<'_, f64>,
        input: &OnlineInput<'_>,
        par: &Par,
    ) {
        self.take_trees(horizons, input, par);
        let weight = |i: usize| rows.weights.map_or(1.0, |w| w[i]);
        let mut first = range.start;
        while first < range.end {
            if weight(first) == 0.0 {
                let mut out = predictions.row_mut(first);
                let row = rows.x.row(first).to_vec();
                self.give_trees(horizons);
                out.as_slice_mut().into_iter().for_each(|out| horizons.mix_row(&row, input.params, out));
                self.take_trees(horizons, input, par);
                first += 1;
                continue;
            }
            let pause = self.activity.pause();
            let most = (range.end - first).min((pause - self.n_seen % pause) as usize);
            // Rows that change how values are kept begin a block of their own.
            let changes = |i: usize| {
                self.memories.iter().any(|memory| memory.pool.must_change_for(rows.x.row(i), weight(i)))
            };
            let end =
                (first + 1..first + most).find(|&i| weight(i) == 0.0 || changes(i)).unwrap_or(first + most);
            self.learn_block(
                horizons,
                rows.slice(first..end),
                predictions.slice_mut(s![first..end, ..]),
                input,
                par,
            );
            first = end;
            if self.n_seen.is_multiple_of(pause) {
                self.memories.iter_mut().for_each(|memory| memory.scales = memory.pool.scales());
                self.decide(horizons, input, par);
            }
        }
        self.give_trees(horizons);
    }

    /// Predicts and learns some rows, all within one block.
    fn learn_block(
        &mut self,
        horizons: &mut Horizons,
        rows: Rows<'_>,
        mut predictions: ArrayViewMut2<'_, f64>,
        input: &OnlineInput<'_>,
        par: &Par,
    ) {
        let n_classes = predictions.ncols();
        let weight = |i: usize| rows.weights.map_or(1.0, |w| w[i]);
        let votes = self.learn_in_trees(rows, n_classes, input, par);
        let mut members = Vec::with_capacity((1 + votes.len()) * n_classes);
        for (i, (class, mut out)) in rows.labels().iter().zip(predictions.rows_mut()).enumerate() {
            members.clear();
            members.extend(out.iter());
            votes.iter().for_each(|votes| members.extend(&votes[i * n_classes..(i + 1) * n_classes]));
            horizons.note_leader(1 + votes.len());
            let now = horizons.mixture.predict(&members, n_classes);
            horizons.note_weight(now.weight_of_first);
            let chosen = horizons.chosen(&now, input.params.calibrate);
            out.iter_mut().zip(chosen).for_each(|(to, p)| *to = *p);
            let mixed = rows.earlier.map_or(&now, |earlier| &earlier[i]);
            self.activity.note(mixed, class.index());
            horizons.is_trusted = self.activity.is_trusted();
            let counts = f64::from(weight(i)) * input.class_weights[class.index()];
            horizons.mixture.learn(mixed, class.index(), counts);
        }
        self.n_seen += rows.labels().len() as u64;
    }

    /// Lets every memory predict and learn the rows. Returns for each that is at work the probabilities of each row.
    fn learn_in_trees(
        &mut self,
        rows: Rows<'_>,
        n_classes: usize,
        input: &OnlineInput<'_>,
        par: &Par,
    ) -> Vec<Vec<f64>> {
        let n_seen = self.n_seen;
        let mut memories: Vec<_> =
            self.memories.iter_mut().zip(MEMORIES).map(|(memory, len)| (memory, len, None)).collect();
        par.for_chunks(&mut memories, 1, |_, memories| {
            for (memory, len, votes) in memories {
                let staged = memory.stage(rows, n_seen, *len);
                *votes = memory.learn(&staged, *len, n_classes, input, par);
                memory.release(&staged);
                votes.iter_mut().for_each(|votes| votes.chunks_mut(n_classes).for_each(normalize));
            }
        });
        memories.into_iter().filter_map(|(_, _, votes)| votes).collect()
    }

    /// Wakes the short memories, or lets them rest.
    fn decide(&mut self, horizons: &mut Horizons, input: &OnlineInput<'_>, par: &Par) {
        let behind = match self.activity.decide(self.n_seen) {
            Decision::Stay => return,
            Decision::Rest => {
                horizons.trees.clear();
                horizons.is_trusted = false;
                self.memories.iter_mut().for_each(|memory| memory.live.clear());
                return;
            }
            _ if self.memories.is_empty() => return,
            Decision::Wake => 0.0,
            Decision::Try => BEHIND,
        };
        horizons.mixture.restart(behind);
        for (number, memory) in self.memories.iter_mut().enumerate() {
            memory.grow_trees(number * N_TREES, self.n_seen, input, par);
        }
    }

    /// Takes the trees from the forest.
    fn take_trees(&mut self, horizons: &mut Horizons, input: &OnlineInput<'_>, par: &Par) {
        let trees = horizons.trees.chunks_mut(N_TREES).enumerate();
        for (memory, (number, trees)) in self.memories.iter_mut().zip(trees) {
            memory.take_trees(trees, number * N_TREES, input, par);
        }
    }

    /// Gives the trees to the forest, which predicts with them.
    fn give_trees(&mut self, horizons: &mut Horizons) {
        let live = self.memories.iter_mut().flat_map(|memory| &mut memory.live);
        horizons.trees.clear();
        horizons.trees.extend(live.map(|live| std::mem::take(&mut live.tree)));
    }

    /// Forgets a row: of those with these values and this class, the newest.
    pub(super) fn forget(
        &mut self,
        horizons: &mut Horizons,
        row: ArrayView1<'_, f32>,
        class: ClassId,
        input: &OnlineInput<'_>,
        par: &Par,
    ) {
        self.take_trees(horizons, input, par);
        self.memories.iter_mut().for_each(|memory| memory.forget(row, class, input, par));
        self.give_trees(horizons);
    }

    /// Puts all trees into the order in which they are saved.
    pub(super) fn put_in_order(&mut self, horizons: &mut Horizons) {
        let live = self.memories.iter_mut().flat_map(|memory| &mut memory.live);
        for (live, tree) in live.zip(&mut horizons.trees) {
            live.tree = std::mem::take(tree);
            live.put_in_order();
            *tree = std::mem::take(&mut live.tree);
        }
    }

    /// Bytes in memory, without the trees.
    pub(super) fn bytes(&self) -> usize {
        self.memories.iter().map(Memory::bytes).sum()
    }

    /// Bytes that it takes at most with the memories that there are.
    pub(super) fn most_bytes(&self) -> u64 {
        self.memories
            .iter()
            .zip(&MEMORIES)
            .map(|(memory, &len)| most_bytes(len, memory.pool.bytes_a_row()))
            .sum()
    }

    /// Does without the longest of the memories where there is a limit on bytes: they may take an eighth of it.
    pub(super) fn keep_within(&mut self, horizons: &mut Horizons, limit: Option<u64>) {
        while limit.is_some_and(|limit| self.most_bytes() > limit / 8) && self.memories.pop().is_some() {
            let n_trees = self.memories.len() * N_TREES;
            horizons.trees.truncate(n_trees);
        }
    }
}
