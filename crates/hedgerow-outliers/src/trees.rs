//! Trees of random cuts: how deep a row gets before it is alone.
//!
//! Each tree is grown from a small sample of the rows: a column that varies is drawn, then a cut between its smallest and largest value,
//! until rows are alone or equal (Liu, Ting and Zhou, 2008, Isolation forest). Two depths can be read from it.
//!
//! - *Isolation depth*: the depth of the leaf that a row falls into, in trees that end at the depth of a balanced tree.
//! - *Separation depth*: a node knows the range of its column among its rows. A row that lies outside of it by η would have been parted from
//!   all of them by a share η / (η + range) of the cuts that the larger range allows (Lakshminarayanan, Roy and Teh, 2014, Mondrian forests;
//!   Guha et al., 2016, Robust random cut forest). The expected depth at which that happens tells strange rows apart that fall into
//!   the same leaf as others.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Features, Par, saved};
use serde::{Deserialize, Serialize};

use crate::columns::Columns;
use crate::ensemble::Ensemble;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;
/// Trees grown between two looks at the clock.
const ROUND: usize = 20;
/// Rows that go down a tree side by side: while one waits for its next node, others go on.
const LANES: usize = 8;

/// Which depth is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Depth {
    Isolation,
    Separation,
}

/// A node: a cut, or a leaf. Leaves lead back to themselves, so that rows can go down side by side until the last has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Node {
    /// Values above the cut go to `child + 1`, others to `child`.
    column: u32,
    cut: f32,
    child: u32,
    /// What the rows of the node span in the column; everything in a leaf.
    low: f32,
    high: f32,
    range: f32,
    /// 1 in a cut, 0 in a leaf.
    is_cut: f32,
    /// The number of the leaf.
    leaf: u32,
}

/// The rows at a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Leaf {
    hash: u64,
    /// What a row that equals those of the leaf would go deeper.
    below: f32,
}

/// One tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tree {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    #[serde(with = "saved::array")]
    made_from: Vec<u32>,
}

/// Trees of random cuts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trees {
    depth: Depth,
    sample_rows: usize,
    width: usize,
    members: Vec<Tree>,
}

/// The mean depth of a search that fails in a binary tree of `n` rows (Liu, Ting and Zhou, equation 1).
pub(crate) fn mean_depth(n: usize) -> f64 {
    match n {
        0 | 1 => 0.0,
        2 => 1.0,
        _ => {
            let n = n as f64;
            2.0 * (libm::log(n - 1.0) + EULER) - 2.0 * (n - 1.0) / n
        }
    }
}

/// Bits of a row that tell it from rows that are not equal.
fn hash(row: &[f32]) -> u64 {
    // FNV-1a over words; adding 0.0 makes one of the two zeros.
    row.iter().fold(0xcbf2_9ce4_8422_2325, |hash, value| {
        (hash ^ u64::from((value + 0.0).to_bits())).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Rows of a sample that a tree takes from so many.
pub(crate) fn sample_size(wanted: usize, n_rows: usize) -> usize {
    wanted.min((n_rows / 2).max(2)).min(n_rows)
}

impl Trees {
    /// Grows trees; fewer if the budget is spent before, at least one round of them.
    pub(crate) fn grow(
        depth: Depth,
        (n_trees, sample_rows, seed): (usize, usize, u64),
        features: &Features,
        columns: &Columns,
        (par, budget): (&Par, &Budget),
    ) -> Self {
        let sample_rows = sample_size(sample_rows, features.n_rows());
        let mut trees = Vec::new();
        while trees.len() < n_trees && (trees.is_empty() || budget.spent().is_none()) {
            let first = trees.len();
            trees.extend(par.map(ROUND.min(n_trees - first), |number| {
                let number = first + number;
                let made_from = draw(features.n_rows(), sample_rows, seed, Purpose::Bag, number);
                let rows = columns.gather(features, &made_from);
                let mut rng = Rng::new(seed, Purpose::Tree, number as u64);
                let (nodes, leaves) = Growth::new(depth, &rows, columns.width()).grow(&mut rng);
                Tree { nodes, leaves, made_from }
            }));
        }
        Self { depth, sample_rows, width: columns.width(), members: trees }
    }

    /// Whether the trees ask for columns there are, and lead down to leaves.
    pub(crate) fn fits(&self, width: usize) -> bool {
        let is_sound = |tree: &Tree| {
            tree.nodes.iter().enumerate().all(|(at, node)| {
                let (child, is_leaf) = (node.child as usize, node.is_cut == 0.0);
                let leads_on = if is_leaf { child == at } else { child > at && child + 1 < tree.nodes.len() };
                leads_on
                    && (node.column as usize) < width
                    && (!is_leaf || ((node.leaf as usize) < tree.leaves.len() && node.cut == f32::MAX))
            })
        };
        self.width == width && self.members.iter().all(|tree| !tree.nodes.is_empty() && is_sound(tree))
    }

    /// A mean depth as a score from 0 to 1 (Liu, Ting and Zhou, equation 2).
    pub(crate) fn score_of(&self, depth: f64) -> f64 {
        libm::exp2(-depth / mean_depth(self.sample_rows).max(1.0))
    }
}

/// So many of `n` rows, without repetition, in rising order.
pub(crate) fn draw(n: usize, wanted: usize, seed: u64, purpose: Purpose, number: usize) -> Vec<u32> {
    let mut rng = Rng::new(seed, purpose, number as u64);
    if wanted >= n {
        return (0..n as u32).collect();
    }
    // Floyd's algorithm: the time does not depend on n.
    let mut chosen = std::collections::BTreeSet::new();
    for last in n - wanted..n {
        let row = rng.index(last + 1) as u32;
        if !chosen.insert(row) {
            chosen.insert(last as u32);
        }
    }
    chosen.into_iter().collect()
}

impl Node {
    fn leaf(at: usize, leaf: usize) -> Self {
        let (low, high, cut) = (f32::MIN, f32::MAX, f32::MAX);
        Self { column: 0, cut, child: at as u32, low, high, range: 1.0, is_cut: 0.0, leaf: leaf as u32 }
    }
}

impl Tree {
    /// The depths of some rows.
    fn isolation<const N: usize>(&self, rows: [&[f32]; N]) -> [f64; N] {
        let (mut at, mut depth) = ([0; N], [0.0_f32; N]);
        loop {
            let mut n_open = 0.0;
            for lane in 0..N {
                let node = &self.nodes[at[lane]];
                depth[lane] += node.is_cut;
                n_open += node.is_cut;
                let is_above = rows[lane][node.column as usize] > node.cut;
                at[lane] = node.child as usize + usize::from(is_above);
            }
            if n_open == 0.0 {
                let leaf = |lane: usize| self.leaves[self.nodes[at[lane]].leaf as usize];
                return std::array::from_fn(|lane| f64::from(depth[lane] + leaf(lane).below));
            }
        }
    }

    /// The expected depths at which some rows are parted from the sample: the sum over depths of the probability of still being together.
    fn separation<const N: usize>(&self, rows: [&[f32]; N]) -> [f64; N] {
        let (mut at, mut together, mut expected) = ([0; N], [1.0_f32; N], [1.0_f32; N]);
        loop {
            let mut n_open = 0.0;
            for lane in 0..N {
                let node = &self.nodes[at[lane]];
                let value = rows[lane][node.column as usize];
                let (under, over) = (node.low - value, value - node.high);
                let outside = if under > over { under } else { over };
                let outside = if outside > 0.0 { outside } else { 0.0 };
                together[lane] *= node.range / (node.range + outside);
                expected[lane] += together[lane] * node.is_cut;
                n_open += node.is_cut;
                at[lane] = node.child as usize + usize::from(value > node.cut);
            }
            if n_open == 0.0 {
                break;
            }
        }
        std::array::from_fn(|lane| {
            let leaf = self.leaves[self.nodes[at[lane]].leaf as usize];
            // Rows that differ from those of the leaf are parted there.
            let is_equal = leaf.below > 0.0 && leaf.hash == hash(rows[lane]);
            f64::from(expected[lane] + if is_equal { together[lane] * leaf.below } else { 0.0 })
        })
    }
}

/// Scores rows, as many side by side as the processor has use for.
fn side_by_side(
    rows: &[f32],
    width: usize,
    out: &mut [f64],
    many: impl Fn([&[f32]; LANES]) -> [f64; LANES],
    alone: impl Fn([&[f32]; 1]) -> [f64; 1],
) {
    let whole = out.len() / LANES * LANES;
    let row = |at: usize| &rows[at * width..(at + 1) * width];
    let (together, rest) = out.split_at_mut(whole);
    for (block, out) in together.chunks_exact_mut(LANES).enumerate() {
        out.copy_from_slice(&many(std::array::from_fn(|lane| row(block * LANES + lane))));
    }
    for (at, out) in rest.iter_mut().enumerate() {
        [*out] = alone([row(whole + at)]);
    }
}

impl Ensemble for Trees {
    fn n_members(&self) -> usize {
        self.members.len()
    }

    fn made_from(&self, member: usize) -> &[u32] {
        &self.members[member].made_from
    }

    fn score(&self, member: usize, rows: &[f32], out: &mut [f64]) {
        let tree = &self.members[member];
        match self.depth {
            Depth::Isolation => {
                side_by_side(rows, self.width, out, |rows| tree.isolation(rows), |row| tree.isolation(row));
            }
            Depth::Separation => {
                side_by_side(rows, self.width, out, |rows| tree.separation(rows), |row| tree.separation(row));
            }
        }
    }

    fn truncate(&mut self, n_members: usize) {
        self.members.truncate(n_members);
    }
}

/// A tree while it is grown.
struct Growth<'a> {
    depth: Depth,
    rows: &'a [f32],
    width: usize,
    most: usize,
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
}

impl<'a> Growth<'a> {
    fn new(depth: Depth, rows: &'a [f32], width: usize) -> Self {
        let n_rows = rows.len() / width.max(1);
        let balanced = n_rows.max(1).next_power_of_two().ilog2() as usize;
        let most = if depth == Depth::Isolation { balanced } else { usize::MAX };
        Self { depth, rows, width, most, nodes: Vec::new(), leaves: Vec::new() }
    }

    fn grow(mut self, rng: &mut Rng) -> (Vec<Node>, Vec<Leaf>) {
        let mut order: Vec<usize> = (0..self.rows.len() / self.width.max(1)).collect();
        self.nodes.push(Node::leaf(0, 0));
        // What is still to be done: a node, its rows, its depth.
        let mut open = vec![(0, 0..order.len(), 0)];
        while let Some((node, span, depth)) = open.pop() {
            let rows = &mut order[span.clone()];
            let cut = if depth < self.most { self.cut(rows, rng) } else { None };
            let Some((column, cut, low, high)) = cut else {
                self.nodes[node] = Node::leaf(node, self.leaves.len());
                let leaf = self.leaf(rows);
                self.leaves.push(leaf);
                continue;
            };
            let value = |row: usize| self.rows[row * self.width + column];
            let mut n_left = 0;
            for i in 0..rows.len() {
                if value(rows[i]) <= cut {
                    rows.swap(i, n_left);
                    n_left += 1;
                }
            }
            let child = self.nodes.len();
            let (column, range) = (column as u32, high - low);
            self.nodes[node] =
                Node { column, cut, child: child as u32, low, high, range, is_cut: 1.0, leaf: 0 };
            self.nodes.extend([Node::leaf(child, 0), Node::leaf(child + 1, 0)]);
            let middle = span.start + n_left;
            open.push((child, span.start..middle, depth + 1));
            open.push((child + 1, middle..span.end, depth + 1));
        }
        (self.nodes, self.leaves)
    }

    /// A random cut between rows, with the range of its column; none where all are equal.
    fn cut(&self, rows: &[usize], rng: &mut Rng) -> Option<(usize, f32, f32, f32)> {
        if rows.len() < 2 {
            return None;
        }
        let mut ranges = vec![(f32::INFINITY, f32::NEG_INFINITY); self.width];
        for &row in rows {
            for (range, &value) in ranges.iter_mut().zip(&self.rows[row * self.width..]) {
                *range = (range.0.min(value), range.1.max(value));
            }
        }
        let varying: Vec<usize> = (0..self.width).filter(|&c| ranges[c].1 > ranges[c].0).collect();
        if varying.is_empty() {
            return None;
        }
        let column = varying[rng.index(varying.len())];
        let (low, high) = ranges[column];
        let cut = (f64::from(low) + rng.unit() * (f64::from(high) - f64::from(low))) as f32;
        // Rounded up, it would part nothing.
        Some((column, if cut < high { cut } else { low }, low, high))
    }

    fn leaf(&self, rows: &[usize]) -> Leaf {
        match self.depth {
            Depth::Isolation => Leaf { hash: 0, below: mean_depth(rows.len()) as f32 },
            Depth::Separation => Leaf {
                hash: hash(&self.rows[rows[0] * self.width..][..self.width]),
                below: mean_depth(rows.len() + 1) as f32,
            },
        }
    }
}

#[cfg(test)]
mod tests;
