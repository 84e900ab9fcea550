//! Growing one tree.
//!
//! The rows of a node are a run of one index array, grouped by class: the bag starts grouped, and splitting keeps the
//! order. So the class counts of a node are the lengths of its groups, and the class counts left of a threshold are
//! plain counts over short runs of codes, which the compiler turns into vector instructions.
//!
//! Nodes wait on a stack, the larger child on top, so its splits come right behind its parent's.
//!
//! Rows that the bag leaves out travel along: behind the bag's rows in each node's run. They take no part in the search for
//! splits until the bag has nothing left to split. There the leaf votes for them, which is the out-of-bag
//! prediction, and then they are learnt too: leaf and growth go on with all rows. So every tree has out-of-bag predictions
//! and still learns all rows.

mod candidate;
mod columns;
mod left_one;
mod left_out_votes;
mod nearby;
mod open_node;
mod score;
mod search;

use std::ops::Range;

use hedgerow_core::Budget;
use hedgerow_core::rng::{Purpose, Rng};

use crate::codes::{Code, ColumnCodes};
use crate::params::ForestParams;
use crate::tree::{Above, Link, Split, Tree};
use candidate::{Candidate, Question};
use columns::{ColumnOrder, Known};
use nearby::{Nearby, Numbers};
use open_node::{Group, OpenNode};
use search::SplitSearch;

pub(crate) use left_out_votes::LeftOutVotes;
pub(crate) use nearby::MOST_BYTES as NEARBY_BYTES;
pub(crate) use score::Scorer;

/// Rows at which a node is searched again for constant columns: few enough for the search to be cheap.
const FEW_ROWS: usize = 32;

/// What all trees of a forest share while they grow.
#[derive(Clone, Copy)]
pub(crate) struct GrowthInput<'a> {
    pub(crate) columns: &'a [ColumnCodes],
    /// Columns that have one value in all rows of the data.
    pub(crate) constant: &'a [u32],
    /// The rows that have any weight, grouped by class, and the class of each row.
    pub(crate) by_class: &'a [u32],
    pub(crate) classes: &'a [u16],
    pub(crate) row_weights: Option<&'a [f32]>,
    /// What a row of each class counts.
    pub(crate) class_weights: &'a [f64],
    pub(crate) params: &'a ForestParams,
    pub(crate) budget: &'a Budget,
    /// Bytes the tree may have.
    pub(crate) max_bytes: usize,
    /// Whether to collect the votes for rows left out.
    pub(crate) votes_for_left_out: bool,
    /// Every so many rows get votes of leaves that have learnt the other rows left out; 0 for none.
    pub(crate) set_stride: usize,
    /// Whether they are to be learnt in the end.
    pub(crate) learn: bool,
    /// Whether to tell which rows each leaf has.
    pub(crate) tell_leaves: bool,
    /// The share of rows outside a leaf's most frequent class that noise may explain; 0 splits until leaves are pure.
    pub(crate) noise: f64,
}

impl GrowthInput<'_> {
    /// The same input, for trees that tolerate noise or for those that do not.
    pub(crate) fn tolerating(&self, noise: bool) -> Self {
        Self { noise: if noise { self.noise } else { 0.0 }, ..*self }
    }

    /// Whether every row counts 1.
    pub(crate) fn is_unweighted(&self) -> bool {
        self.row_weights.is_none() && self.class_weights.iter().all(|&w| w == 1.0)
    }

    /// Whether so many rows outside the most frequent class, of so many, are more than noise would leave in a leaf: more than
    /// one standard deviation above what it leaves on average.
    #[inline]
    pub(crate) fn is_worth_splitting(&self, others: f64, n: f64) -> bool {
        let expected = self.noise * n;
        others > expected + libm::sqrt(expected * (1.0 - self.noise))
    }
}

/// A grown tree.
pub(crate) struct Grown {
    pub(crate) tree: Tree,
    /// For each column, how much impurity its splits removed, as a share of the tree's rows.
    pub(crate) gains: Vec<f64>,
    /// The votes for the rows left out.
    pub(crate) left_out_votes: LeftOutVotes,
    /// The same for some of them by their leaves with the other rows left out, which are learnt there.
    pub(crate) left_one_votes: LeftOutVotes,
    /// Which rows ended up in which leaf, if that was asked for.
    pub(crate) leaf_rows: LeafRows,
    /// Whether a limit ended the work before the tree was done.
    pub(crate) cut_short: bool,
}

/// The rows of each leaf.
#[derive(Debug, Default)]
pub(crate) struct LeafRows {
    pub(crate) rows: Vec<u32>,
    /// The split above each leaf, whether the leaf is on its right side, and where its rows are.
    pub(crate) leaves: Vec<(Above, Range<usize>)>,
}

impl LeafRows {
    /// Hands the split above each leaf, and whether the leaf is on its right side, and the leaf's rows to `visit`.
    pub(crate) fn visit(&self, mut visit: impl FnMut(Above, &[u32])) {
        for (above, rows) in &self.leaves {
            visit(*above, &self.rows[rows.clone()]);
        }
    }
}

/// The codes, row after row, and once more column after column (or nothing, where there is no such copy).
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, C> {
    pub(crate) by_row: &'a [C],
    pub(crate) by_column: &'a [C],
    /// Rows that each column has room for.
    pub(crate) room: usize,
}

impl<'a, C> Matrix<'a, C> {
    /// Without a copy by column.
    pub(crate) fn of_rows(by_row: &'a [C]) -> Self {
        Self { by_row, by_column: &[], room: 0 }
    }
}

/// Grows a tree on the rows of a bag: `times[row]` counts how often a row is in it.
pub(crate) fn grow<C: Code>(input: &GrowthInput<'_>, matrix: Matrix<'_, C>, times: &[u8], rng: Rng) -> Grown {
    let mut grower = Grower::new(input, matrix, Nearby::most_rows(matrix.by_row, input.columns.len()));
    grower.begin_bag(times, rng);
    grower.run();
    let Grower { mut tree, gains, left_out_votes, left_one_votes, leaf_rows, cut_short, .. } = grower;
    tree.shrink();
    Grown { tree, gains, left_out_votes, left_one_votes, leaf_rows, cut_short }
}

/// Grows trees, or parts of one, and keeps its working space in between.
pub(crate) struct Grower<'a, C> {
    input: &'a GrowthInput<'a>,
    matrix: Matrix<'a, C>,
    /// How often each row is in the bag; nothing where all rows of the root take part.
    times: &'a [u8],
    rng: Rng,
    /// For each node the rows of the bag, then those left out; both grouped by class. Beside them, which of them are in which
    /// leaf, where that is asked for.
    leaf_rows: LeafRows,
    /// Rows going right, while a node is split.
    aside: Vec<u32>,
    columns: ColumnOrder,
    /// The same for nodes that have taken in the rows left out: what was constant in the bag may not be so any more.
    columns_of_all: ColumnOrder,
    search: SplitSearch<C>,
    nearby: Nearby<C>,
    most_nearby: usize,
    stack: Vec<OpenNode>,
    /// The groups of all waiting nodes, in the order of the stack.
    waiting: Vec<Group>,
    /// The groups of the node at hand, and how many rows of each go left.
    groups: Vec<Group>,
    left_lens: Vec<u32>,
    tree: Tree,
    /// What the splits removed, for each column.
    pub(crate) gains: Vec<f64>,
    left_out_votes: LeftOutVotes,
    left_one_votes: LeftOutVotes,
    total_weight: f64,
    /// Whether every row counts 1.
    counts_rows: bool,
    rows_since_look: usize,
    cut_short: bool,
}

impl<'a, C: Code> Grower<'a, C> {
    /// Without rows yet. Subtrees of up to `most_nearby` rows are grown on a copy of their rows.
    pub(crate) fn new(input: &'a GrowthInput<'a>, matrix: Matrix<'a, C>, most_nearby: usize) -> Self {
        let n_features = input.columns.len();
        Self {
            input,
            matrix,
            times: &[],
            rng: Rng::new(0, Purpose::Tree, 0),
            leaf_rows: LeafRows::default(),
            aside: Vec::new(),
            columns: ColumnOrder::new(n_features, input.constant),
            columns_of_all: ColumnOrder::new(n_features, input.constant),
            search: SplitSearch::new(input),
            nearby: Nearby::default(),
            most_nearby,
            stack: Vec::new(),
            waiting: Vec::new(),
            groups: Vec::new(),
            left_lens: Vec::new(),
            tree: Tree::default(),
            gains: vec![0.0; n_features],
            left_out_votes: LeftOutVotes::default(),
            left_one_votes: LeftOutVotes::default(),
            total_weight: 0.0,
            counts_rows: input.is_unweighted(),
            rows_since_look: usize::MAX / 2,
            cut_short: false,
        }
    }

    /// Begins a tree on a bag.
    fn begin_bag(&mut self, times: &'a [u8], rng: Rng) {
        let times_of = |row: &u32| usize::from(times[*row as usize]);
        let by_class = self.input.by_class;
        self.leaf_rows.rows =
            by_class.iter().flat_map(|row| std::iter::repeat_n(*row, times_of(row))).collect();
        let len = self.leaf_rows.rows.len();
        if self.input.votes_for_left_out || self.input.learn {
            self.leaf_rows.rows.extend(by_class.iter().copied().filter(|row| times_of(row) == 0));
        }
        self.times = times;
        self.rng = rng;
        self.begin_root(len, 0, false);
        self.total_weight = self.weights(&self.stack[0], &self.waiting).iter().map(|w| w.1).sum();
    }

    /// Grows what should stand in the place of a leaf at a depth: all `rows`, ordered by class, take part. The tree is none if
    /// nothing separates them. `total_weight` is that of the whole tree, for the sake of the gains.
    pub(crate) fn grow_from_leaf(
        &mut self,
        rows: &[u32],
        depth: usize,
        total_weight: f64,
        rng: Rng,
    ) -> Option<(&Tree, &LeafRows)> {
        self.leaf_rows.rows.clear();
        self.leaf_rows.rows.extend_from_slice(rows);
        self.tree.clear();
        self.leaf_rows.leaves.clear();
        self.columns_of_all.reset(self.input.constant);
        self.rng = rng;
        self.total_weight = total_weight;
        self.begin_root(rows.len(), depth, true);
        self.run();
        (!self.tree.splits.is_empty()).then_some((&self.tree, &self.leaf_rows))
    }

    fn begin_root(&mut self, len: usize, depth: usize, knows_all: bool) {
        let classes = self.input.classes;
        group(&self.leaf_rows.rows[..len], |row| classes[row as usize], &mut self.waiting);
        self.stack.push(OpenNode {
            start: 0,
            len,
            n_held: self.leaf_rows.rows.len() - len,
            n_groups: self.waiting.len(),
            depth,
            n_constant: self.input.constant.len(),
            parent: None,
            knows_all,
            is_nearby: false,
            look_at_all: false,
        });
    }

    fn run(&mut self) {
        let mut groups = std::mem::take(&mut self.groups);
        while let Some(mut task) = self.stack.pop() {
            groups.clear();
            groups.extend(self.waiting.drain(self.waiting.len() - task.n_groups..));
            self.look_at_the_clock(&task);
            if !task.is_nearby && task.len + task.n_held <= self.most_nearby && groups.len() > 1 {
                let rows = &mut self.leaf_rows.rows[task.all_rows()];
                self.nearby.take(rows, self.matrix.by_row, self.input.columns.len());
                task.is_nearby = true;
                task.look_at_all = true;
            }
            let mut link = self.try_split(task, &groups);
            if link.is_none() && task.n_held > 0 {
                if self.input.votes_for_left_out {
                    let weights = self.weights(&task, &groups);
                    let held = &self.leaf_rows.rows[task.all_rows()][task.len..];
                    let numbers = Numbers::new(&self.nearby, task.is_nearby);
                    let held = held.iter().map(|&row| numbers.of(row) as u32);
                    self.left_out_votes.add(held, &weights, self.input.params.probabilities);
                    self.vote_without_one(&task, &weights);
                }
                if self.input.learn {
                    self.take_in(&mut task, &mut groups);
                    link = self.try_split(task, &groups);
                }
            }
            let link = link.unwrap_or_else(|| {
                let leaf = match groups[..] {
                    // Most leaves: no list of weights is needed.
                    [group] if self.counts_rows => Link::pure(usize::from(group.class), group.len),
                    _ => None,
                };
                if self.input.tell_leaves {
                    self.note_leaf(&task);
                }
                leaf.unwrap_or_else(|| {
                    let weights = self.weights(&task, &groups);
                    self.tree.add_leaf(&weights)
                })
            });
            self.tree.set_link(task.parent, link);
        }
        self.groups = groups;
    }

    /// Whether noise may explain all rows of a node outside its most frequent class.
    fn is_noise(&self, task: &OpenNode, groups: &[Group]) -> bool {
        let most = groups.iter().map(|group| group.len).max().unwrap_or(0) as f64;
        !self.input.is_worth_splitting(task.len as f64 - most, task.len as f64)
    }

    /// Notes which rows a leaf has, by their numbers in the data.
    fn note_leaf(&mut self, task: &OpenNode) {
        if task.is_nearby {
            let numbers = Numbers::new(&self.nearby, true);
            let rows = &mut self.leaf_rows.rows[task.rows()];
            rows.iter_mut().for_each(|row| *row = numbers.of(*row) as u32);
        }
        self.leaf_rows.leaves.push((task.parent, task.rows()));
    }

    /// Splits a node; none if it must be a leaf. A sample may promise sides that turn out too small: then it is drawn anew.
    fn try_split(&mut self, task: OpenNode, groups: &[Group]) -> Option<Link> {
        const TIMES: usize = 4;
        for _ in 0..TIMES {
            let (candidate, n_constant) = self.find_split(&task, groups)?;
            let link = self.split(task, groups, &candidate, n_constant);
            if link.is_some() || self.search.sees_all {
                return link;
            }
        }
        None
    }

    /// Makes the rows left out rows of the node like the others, all grouped by class again.
    fn take_in(&mut self, task: &mut OpenNode, groups: &mut Vec<Group>) {
        let numbers = Numbers::new(&self.nearby, task.is_nearby);
        let class_of = |row: u32| self.input.classes[numbers.of(row)];
        let rows = &mut self.leaf_rows.rows[task.all_rows()];
        // Two runs in class order: the sort is a merge of them.
        rows.sort_by_key(|&row| class_of(row));
        group(rows, class_of, groups);
        task.len = rows.len();
        task.n_held = 0;
        task.n_groups = groups.len();
        task.n_constant = self.input.constant.len();
        task.knows_all = true;
        task.look_at_all = false;
    }

    /// The best split of a node, and how many columns are now known to be constant in it; none if it must be a leaf.
    fn find_split(&mut self, task: &OpenNode, groups: &[Group]) -> Option<(Candidate<C>, usize)> {
        let params = self.input.params;
        let done = groups.len() < 2
            || task.len < (2 * params.min_leaf_rows).max(params.min_split_rows)
            || (params.max_height > 0 && task.depth >= params.max_height)
            || (self.input.noise > 0.0 && self.is_noise(task, groups))
            || self.cut_short;
        if done {
            return None;
        }
        let rows = &self.leaf_rows.rows[task.rows()];
        let columns = if task.knows_all { &mut self.columns_of_all } else { &mut self.columns };
        let mut known = Known::new(task.n_constant);
        if task.look_at_all {
            let varies = self.nearby.look_for_differences(rows, self.input.columns.len());
            columns.mark_all_constant(&mut known, varies);
        }
        let numbers = Numbers::new(&self.nearby, task.is_nearby);
        let matrix = if task.is_nearby { &self.nearby.codes } else { self.matrix.by_row };
        self.search.start(rows, groups, numbers, self.input, &mut self.rng);
        let mut wanted = self.search.max_features;
        while wanted > 0 && !self.search.is_perfect() {
            let Some(column) = columns.draw(&mut known, &mut self.rng) else { break };
            if self.search.try_column(column, matrix, self.input, &mut self.rng) {
                wanted -= 1;
            } else if self.search.sees_all {
                columns.mark_constant(&mut known);
            }
        }
        self.search.best.take().map(|best| (best, known.n_constant))
    }

    /// Splits a node; none if the split turns out to leave too few rows on a side.
    fn split(
        &mut self,
        task: OpenNode,
        groups: &[Group],
        candidate: &Candidate<C>,
        n_constant: usize,
    ) -> Option<Link> {
        let (n_left, held_left) = self.partition(&task, groups, candidate);
        let n_right = task.len - n_left;
        let least = self.input.params.min_leaf_rows;
        if n_left < least || n_right < least {
            self.regroup(&task);
            return None;
        }
        let index = self.tree.splits.len();
        let feature = candidate.column as u16;
        let mut split =
            Split::from_parts(0.0, feature, u16::from(candidate.missing_left), [Link::default(); 2]);
        match &candidate.question {
            Question::UpTo(last) => {
                split.threshold = last.threshold(&self.input.columns[candidate.column]);
            }
            Question::In(set) => split.set_categories(set, &mut self.tree.sets),
        }
        self.tree.splits.push(split);
        let share = self.search.weight_of(task.len) / self.total_weight;
        self.gains[candidate.column] += on_grid(candidate.gain * share);

        let child = |start, len, n_held, right| OpenNode {
            start,
            len,
            n_held,
            depth: task.depth + 1,
            n_constant,
            parent: Some((index, right)),
            look_at_all: task.is_nearby && task.len > FEW_ROWS && len <= FEW_ROWS,
            ..task
        };
        let children = [
            child(task.start, n_left, held_left, false),
            child(task.start + n_left + held_left, n_right, task.n_held - held_left, true),
        ];
        // The larger child goes on top of the stack and is split next.
        let order = if n_left > n_right { [1, 0] } else { [0, 1] };
        for side in order {
            let before = self.waiting.len();
            self.waiting.extend(groups.iter().zip(&self.left_lens).filter_map(|(group, &left)| {
                let len = if side == 0 { left } else { group.len - left };
                (len > 0).then_some(Group { class: group.class, len })
            }));
            self.stack.push(OpenNode { n_groups: self.waiting.len() - before, ..children[side] });
        }
        Some(Link::to_split(index))
    }

    /// Moves the rows that go left to the front, keeping the order on both sides, and counts them group by group. Rows left
    /// out end up behind the rows of their side. Returns how many of both went left.
    fn partition(&mut self, task: &OpenNode, groups: &[Group], candidate: &Candidate<C>) -> (usize, usize) {
        let missing = self.input.columns[candidate.column].has_missing.then_some(candidate.missing_left);
        let column = candidate.column;
        match (&candidate.question, missing) {
            (&Question::UpTo(last), None) => self.partition_by(task, groups, column, |c| c <= last),
            (&Question::UpTo(last), Some(missing)) => {
                let goes_left = |c| if c == C::MISSING { missing } else { c <= last };
                self.partition_by(task, groups, column, goes_left)
            }
            (Question::In(set), missing) => {
                let goes_left = |c: C| match missing {
                    Some(left) if c == C::MISSING => left,
                    _ => set.contains(c.wide()),
                };
                self.partition_by(task, groups, column, goes_left)
            }
        }
    }

    #[inline]
    fn partition_by(
        &mut self,
        task: &OpenNode,
        groups: &[Group],
        column: usize,
        goes_left: impl Fn(C) -> bool,
    ) -> (usize, usize) {
        let width = self.input.columns.len();
        let room = self.matrix.room;
        // Where the column's codes begin, and how far apart they are.
        let (matrix, stride) = if task.is_nearby {
            (&self.nearby.codes[column..], width)
        } else if self.matrix.by_column.is_empty() {
            (&self.matrix.by_row[column..], width)
        } else {
            (&self.matrix.by_column[column * room..(column + 1) * room], 1)
        };
        let rows = &mut self.leaf_rows.rows[task.all_rows()];
        let (aside, left_lens) = (&mut self.aside, &mut self.left_lens);
        left_lens.clear();
        aside.resize(rows.len(), 0);
        let (mut n_left, mut n_right, mut at) = (0, 0, 0);
        let lens = groups.iter().map(|group| group.len as usize).chain([task.n_held]);
        for len in lens {
            let before = n_left;
            for i in at..at + len {
                let row = rows[i];
                let left = goes_left(matrix[row as usize * stride]);
                // Both writes always happen; only the counters depend on the comparison, so there is no branch to guess.
                rows[n_left] = row;
                aside[n_right] = row;
                n_left += usize::from(left);
                n_right += usize::from(!left);
            }
            at += len;
            left_lens.push((n_left - before) as u32);
        }
        rows[n_left..].copy_from_slice(&aside[..n_right]);
        let held_left = left_lens.pop().unwrap_or(0) as usize;
        (n_left - held_left, held_left)
    }

    /// Puts the rows of a node back into groups after a partition that was not wanted.
    fn regroup(&mut self, task: &OpenNode) {
        // Rare: only where a sample promised sides that the whole node does not have. With rows left out, both runs were
        // mixed; which row belongs to which run is told by their number in the bag.
        let numbers = Numbers::new(&self.nearby, task.is_nearby);
        let rows = &mut self.leaf_rows.rows[task.all_rows()];
        rows.sort_by_key(|&row| {
            let held = !task.knows_all && self.times[numbers.of(row)] == 0;
            (held, self.input.classes[numbers.of(row)])
        });
    }

    /// The classes of a node with their weights, classes rising.
    fn weights(&self, task: &OpenNode, groups: &[Group]) -> Vec<(usize, f64)> {
        let mut at = task.start;
        let numbers = Numbers::new(&self.nearby, task.is_nearby);
        groups
            .iter()
            .map(|group| {
                let rows = &self.leaf_rows.rows[at..at + group.len as usize];
                at += group.len as usize;
                let weight = match self.input.row_weights {
                    None => group.len as f64,
                    Some(weights) => rows.iter().map(|&r| f64::from(weights[numbers.of(r)])).sum(),
                };
                (usize::from(group.class), weight * self.input.class_weights[usize::from(group.class)])
            })
            .filter(|&(_, weight)| weight > 0.0)
            .collect()
    }

    /// Every hundred thousand rows, sees whether a limit has been reached; then what is left becomes leaves.
    fn look_at_the_clock(&mut self, task: &OpenNode) {
        const ROWS: usize = 100_000;
        self.rows_since_look += task.len + 16;
        if self.rows_since_look > ROWS {
            self.rows_since_look = 0;
            let is_full = self.tree.bytes() > self.input.max_bytes;
            self.cut_short |= self.input.budget.spent().is_some() || is_full;
        }
    }
}

/// The nearest multiple of 2^-40. Sums of such numbers are exact, so they do not depend on the order of the terms.
pub(crate) fn on_grid(gain: f64) -> f64 {
    const GRID: f64 = (1_u64 << 40) as f64;
    libm::round(gain * GRID) / GRID
}

/// Adds what splits removed to what others did, column by column.
pub(crate) fn add_gains(sums: &mut [f64], gains: &[f64]) {
    sums.iter_mut().zip(gains).for_each(|(sum, gain)| *sum += gain);
}

/// The lengths of the runs of one class in rows ordered by class.
fn group(rows: &[u32], class_of: impl Fn(u32) -> u16, groups: &mut Vec<Group>) {
    groups.clear();
    for &row in rows {
        let class = class_of(row);
        match groups.last_mut() {
            Some(group) if group.class == class => group.len += 1,
            _ => groups.push(Group { class, len: 1 }),
        }
    }
}
