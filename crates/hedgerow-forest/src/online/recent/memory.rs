//! One memory: the newest rows, and trees that hold exactly these.

use hedgerow_core::saved::array;
use hedgerow_core::{ClassId, Par, Rows};
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use super::activity::PAUSES;
use crate::codes::Code;
use crate::horizons::N_TREES;
use crate::leaf_weight::LeafWeight;
use crate::online::live::{LiveTree, OnlineRows, Workspace};
use crate::online::pool::Pool;
use crate::online::table::with_table;
use crate::online::{Birth, OnlineInput};
use crate::tree::Tree;

/// Numbers of the trees, beside those of the forest.
const FIRST_SERIAL: u64 = 1 << 22;
/// Marks the random numbers of trees that are grown anew.
const ANEW: u64 = 1 << 39;
/// Fewest rows between two times that a tree is grown anew. Trees of few rows change by themselves.
const LEAST_BETWEEN: u64 = 100;

/// The newest rows, a few of each class at least, and the trees that learn them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) pool: Pool,
    /// How wide the columns were at the last decision; see `OnlineRows`.
    #[serde(with = "array")]
    pub(super) scales: Vec<f64>,
    /// The trees with their lists of rows; none while the short memories rest. The trees themselves are with the forest while nothing is learnt.
    #[serde(skip)]
    pub(super) live: Vec<LiveTree>,
}

/// A row that waits to be learnt, and the one that has to go for it.
pub(super) struct Staged {
    slot: u32,
    number: u64,
    evicted: Option<u32>,
}

/// One tree's part of the work.
struct Job<'a> {
    live: &'a mut LiveTree,
    staged: &'a [Staged],
    /// Rows between two times that the tree is grown anew, and when it is its turn.
    between: u64,
    turn: u64,
    /// Its votes for each row and class.
    votes: Vec<f64>,
}

/// Does the same with every tree of a memory and its rows: `|tree, rows| work`.
macro_rules! with_trees {
    ($memory:ident, $input:expr, $par:expr, |$live:ident, $rows:ident| $work:expr) => {{
        let mut all = std::mem::take(&mut $memory.live);
        with_table!(&$memory.pool.values, |table| {
            $input.with_rows(&$memory.pool, table, &$memory.scales, usize::MAX, |$rows| {
                $par.for_chunks(&mut all, 1, |_, live| live.iter_mut().for_each(|$live| $work));
            });
        });
        $memory.live = all;
    }};
}

impl Memory {
    pub(super) fn new(n_features: usize) -> Self {
        Self { pool: Pool::new(n_features), scales: vec![0.0; n_features], live: Vec::new() }
    }

    /// Puts rows into the pool, of which `first` were learnt before, and takes the oldest out where there are more than `len`.
    pub(super) fn stage(&mut self, rows: Rows<'_>, first: u64, len: u64) -> Vec<Staged> {
        let mut buffer = vec![0.0; self.pool.width];
        let stage = |(i, class): (usize, &ClassId)| {
            buffer.iter_mut().zip(rows.x.row(i)).for_each(|(to, from)| *to = *from);
            let (number, weight) = (first + i as u64, rows.weights.map_or(1.0, |w| w[i]));
            let slot = self.pool.push(&buffer, class.0 as u16, weight, number);
            let evicted = if self.pool.n_rows as u64 > len { self.pool.evict() } else { None };
            Staged { slot, number, evicted }
        };
        rows.labels().iter().enumerate().map(stage).collect()
    }

    /// Lets the trees predict and learn rows. Returns the summed votes for each row and class; none while the memory rests.
    pub(super) fn learn(
        &mut self,
        staged: &[Staged],
        len: u64,
        n_classes: usize,
        input: &OnlineInput<'_>,
        par: &Par,
    ) -> Option<Vec<f64>> {
        let between = if len > 100 { 2 * len } else { len.max(LEAST_BETWEEN) };
        let job = |(number, live)| Job {
            live,
            staged,
            between,
            turn: number as u64 * between / N_TREES as u64,
            votes: vec![0.0; staged.len() * n_classes],
        };
        let mut jobs: Vec<Job<'_>> = self.live.iter_mut().enumerate().map(job).collect();
        with_table!(&self.pool.values, |table| {
            input.with_rows(&self.pool, table, &self.scales, usize::MAX, |online_rows| {
                par.for_chunks(&mut jobs, 1, |_, jobs| jobs[0].run(online_rows));
            });
        });
        let mut jobs = jobs.into_iter();
        let mut votes = jobs.next()?.votes;
        jobs.for_each(|job| votes.iter_mut().zip(&job.votes).for_each(|(sum, vote)| *sum += vote));
        Some(votes)
    }

    /// Gives the slots of rows that are gone to later rows.
    pub(super) fn release(&mut self, staged: &[Staged]) {
        staged.iter().filter_map(|row| row.evicted).for_each(|slot| self.pool.release(slot));
    }

    /// Grows all trees from the rows there are. `place` is the number of the first tree.
    pub(super) fn grow_trees(&mut self, place: usize, n_seen: u64, input: &OnlineInput<'_>, par: &Par) {
        let rows = self.pool.by_class();
        self.live = (0..N_TREES).map(|tree| new_tree(place + tree)).collect();
        with_trees!(self, input, par, |live, online_rows| {
            live.attach(&rows, online_rows);
            live.grow_anew(n_seen | ANEW, &mut Workspace::new(online_rows));
        });
    }

    /// Takes the trees from where they are kept, and makes their lists where there are none yet. `place` is the number of the first tree.
    pub(super) fn take_trees(
        &mut self,
        trees: &mut [Tree],
        place: usize,
        input: &OnlineInput<'_>,
        par: &Par,
    ) {
        let has_lists = self.live.len() == trees.len();
        if !has_lists {
            self.live = (0..trees.len()).map(|tree| new_tree(place + tree)).collect();
        }
        self.live.iter_mut().zip(trees).for_each(|(live, tree)| live.tree = std::mem::take(tree));
        if !has_lists {
            let rows = self.pool.by_class();
            with_trees!(self, input, par, |live, online_rows| live.attach(&rows, online_rows));
        }
    }

    /// Forgets a row: of those with these values and this class, the newest.
    pub(super) fn forget(
        &mut self,
        row: ArrayView1<'_, f32>,
        class: ClassId,
        input: &OnlineInput<'_>,
        par: &Par,
    ) {
        let Some(slot) = self.pool.newest_like(row, class) else { return };
        self.pool.evict_where(|_, other, _| other == slot);
        with_trees!(self, input, par, |live, online_rows| live.forget(slot, online_rows));
        self.pool.release(slot);
    }

    /// Bytes in memory, without the trees.
    pub(super) fn bytes(&self) -> usize {
        self.pool.bytes() + self.live.iter().map(LiveTree::bytes).sum::<usize>()
    }
}

/// Bytes that a memory of so many rows takes at most, trees included, if a row takes so many. All with the room that growing arrays keep.
pub(super) fn most_bytes(len: u64, bytes_a_row: usize) -> u64 {
    /// Bytes of a tree for each row: a split and an entry of a leaf; and for each slot, its place in the lists.
    const A_ROW_OF_A_TREE: usize = 48;
    const A_SLOT_OF_A_TREE: usize = 9;
    let a_slot = bytes_a_row * 9 / 8 + N_TREES * A_SLOT_OF_A_TREE;
    (len + PAUSES[1]) * a_slot as u64 + len * (N_TREES * A_ROW_OF_A_TREE) as u64
}

fn new_tree(place: usize) -> LiveTree {
    let birth = Birth { serial: FIRST_SERIAL + place as u64, n_rows: 0, is_tolerant: false };
    LiveTree::new(Tree::default(), birth)
}

impl Job<'_> {
    /// Predicts and learns the rows.
    fn run<C: Code>(&mut self, online_rows: &OnlineRows<'_, C>) {
        let n_classes = self.votes.len() / self.staged.len();
        let plain = LeafWeight::new(0.0);
        let mut workspace = Workspace::new(online_rows);
        self.live.fit(online_rows);
        for (row, votes) in self.staged.iter().zip(self.votes.chunks_mut(n_classes)) {
            // The trees of a memory take turns.
            if row.number % self.between == self.turn {
                self.live.grow_anew(row.number | ANEW, &mut workspace);
            }
            let end = self.live.walk(online_rows.row(row.slot));
            self.live.tree.add_shares(end.leaf, &plain, votes);
            self.live.learn(row.slot, end, row.number, &mut workspace);
            if let Some(evicted) = row.evicted {
                self.live.forget(evicted, online_rows);
            }
        }
    }
}
