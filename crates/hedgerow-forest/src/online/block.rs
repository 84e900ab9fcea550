//! Some rows through all trees: predicted, then learnt.

use hedgerow_core::Par;
use hedgerow_core::traits::largest;

use super::arms::COMPARED;
use super::live::{LiveTree, OnlineRows, Workspace};
use super::window::Record;
use crate::codes::Code;
use crate::grow::add_gains;
use crate::leaf_weight::LeafWeight;
use crate::params::Probabilities;
use crate::tree::walk::LANES;
use crate::tree::{Link, Target};

/// Rows whose votes are added up together.
const ROWS: usize = 64;

/// A row that waits in the pool to be learnt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Staged {
    pub(super) slot: u32,
    pub(super) class: u16,
    /// Its number in the stream.
    pub(super) age: u64,
    /// The row that has to go for it.
    pub(super) evicted: Option<u32>,
}

/// One tree's part of the work.
struct Job<'a> {
    live: &'a mut LiveTree,
    record: &'a mut Record,
    votes: Votes,
    gains: Vec<f64>,
}

/// The votes of one tree for some rows.
#[derive(Debug, Default)]
struct Votes {
    shares: Vec<(u32, f64)>,
    /// Where the shares of each row end, and the size of its leaf.
    ends: Vec<(u32, f32)>,
}

/// The summed votes of all trees for some rows, and the impurity that their new splits removed.
pub(super) struct Outcome {
    /// Shares summed over trees, for each row and each leaf weight `n_classes` numbers.
    pub(super) sums: Vec<f64>,
    /// The same over a few trees that all count the same: exact ones, tolerant ones. None where there are not enough of either.
    pub(super) arms: Option<[Vec<f64>; 2]>,
    pub(super) gains: Vec<f64>,
}

/// Lets every tree predict and learn the rows.
pub(super) fn run<C: Code>(
    live: &mut [LiveTree],
    records: &mut [Record],
    staged: &[Staged],
    n_classes: usize,
    leaf_weights: &[LeafWeight],
    online_rows: &OnlineRows<'_, C>,
    par: &Par,
) -> Outcome {
    let mut jobs: Vec<Job<'_>> = live
        .iter_mut()
        .zip(records)
        .map(|(live, record)| Job { live, record, votes: Votes::default(), gains: Vec::new() })
        .collect();
    par.for_chunks(&mut jobs, 1, |_, jobs| {
        for job in jobs {
            job.run(staged, online_rows);
        }
    });
    let len = staged.len() * n_classes;
    let n_tolerant = jobs.iter().filter(|job| job.live.birth.is_tolerant).count();
    let n_compared = COMPARED.min(n_tolerant).min(jobs.len() - n_tolerant);
    let mut arms = [vec![0.0; len], vec![0.0; len]];
    let mut left = [n_compared; 2];
    let plain = [LeafWeight::new(0.0)];
    let (mut sums, mut gains) = (vec![0.0; leaf_weights.len() * len], vec![0.0; online_rows.width]);
    // In the order of the trees: sums of floats depend on it.
    par.for_chunks(&mut sums, ROWS * leaf_weights.len() * n_classes, |chunk, sums| {
        for job in &jobs {
            job.votes.add_to(sums, chunk * ROWS, n_classes, leaf_weights);
        }
    });
    for job in &jobs {
        let arm = usize::from(job.live.birth.is_tolerant);
        if left[arm] > 0 {
            left[arm] -= 1;
            job.votes.add_to(&mut arms[arm], 0, n_classes, &plain);
        }
        add_gains(&mut gains, &job.gains);
    }
    Outcome { sums, arms: (n_compared > 1).then_some(arms), gains }
}

impl Votes {
    /// Adds the votes for the rows from `first` on to sums of `n_classes` numbers for each row and leaf weight.
    fn add_to(&self, sums: &mut [f64], first: usize, n_classes: usize, leaf_weights: &[LeafWeight]) {
        let mut start = if first == 0 { 0 } else { self.ends[first - 1].0 as usize };
        for (sums, &(end, size)) in sums.chunks_mut(leaf_weights.len() * n_classes).zip(&self.ends[first..]) {
            add_weighed(&self.shares[start..end as usize], size, leaf_weights, sums);
            start = end as usize;
        }
    }
}

impl Job<'_> {
    fn run<C: Code>(&mut self, staged: &[Staged], online_rows: &OnlineRows<'_, C>) {
        // Most leaves name one class.
        self.votes.shares.reserve(2 * staged.len());
        self.votes.ends.reserve(staged.len());
        let input = online_rows.input.tolerating(self.live.birth.is_tolerant);
        let online_rows = &OnlineRows { input: &input, ..*online_rows };
        let mut workspace = Workspace::new(online_rows);
        self.live.fit(online_rows);
        for rows in staged.chunks(LANES) {
            let row = |lane: usize| online_rows.row(rows[lane.min(rows.len() - 1)].slot);
            let ends = self.live.walk_together(std::array::from_fn(row));
            let n_changes = self.live.n_changes;
            for (row, end) in rows.iter().zip(ends) {
                // Rows learnt since may have split the leaf; forgotten ones may have moved it.
                let end = if self.live.n_changes == n_changes {
                    self.live.walk_on(online_rows.row(row.slot), end)
                } else {
                    self.live.walk(online_rows.row(row.slot))
                };
                self.vote(row, end.leaf, online_rows.input.params.probabilities);
                self.live.learn(row.slot, end, row.age, &mut workspace);
                if let Some(evicted) = row.evicted {
                    self.live.forget(evicted, online_rows);
                }
            }
        }
        self.gains = workspace.into_gains();
    }

    /// Records the vote of the tree for a row, and whether it is right.
    #[inline]
    fn vote(&mut self, row: &Staged, leaf: Link, probabilities: Probabilities) {
        let start = self.votes.shares.len();
        let (size, right) = if let Target::Pure { class, rows: rows @ 1.. } = leaf.target() {
            self.votes.shares.push((class as u32, 1.0));
            (rows as f32, class == usize::from(row.class))
        } else {
            let size = add_shares(self.live, leaf, probabilities, &mut self.votes.shares);
            let shares = &self.votes.shares[start..];
            let favorite = largest(shares.iter().map(|(_, share)| share)).map(|at| shares[at].0);
            (size, favorite == Some(u32::from(row.class)))
        };
        self.votes.ends.push((self.votes.shares.len() as u32, size));
        self.record.note(row.age, right);
    }
}

/// Adds shares of a leaf of some size to `sums`, for each leaf weight.
pub(super) fn add_weighed(shares: &[(u32, f64)], size: f32, leaf_weights: &[LeafWeight], sums: &mut [f64]) {
    let n_classes = sums.len() / leaf_weights.len();
    for (leaf_weight, sums) in leaf_weights.iter().zip(sums.chunks_mut(n_classes)) {
        let counts = leaf_weight.of(size);
        for &(class, share) in shares {
            sums[class as usize] += counts * share;
        }
    }
}

/// Adds the vote of a leaf: its class frequencies, or its most frequent class. An empty leaf has no vote. Returns the size of the leaf.
pub(super) fn add_shares(
    live: &LiveTree,
    leaf: Link,
    probabilities: Probabilities,
    out: &mut Vec<(u32, f64)>,
) -> f32 {
    let start = out.len();
    let mut total = 0.0;
    live.tree.visit_leaf(leaf, |class, weight| {
        if weight > 0.0 {
            out.push((class as u32, f64::from(weight)));
            total += f64::from(weight);
        }
    });
    match probabilities {
        Probabilities::Leaf => out[start..].iter_mut().for_each(|entry| entry.1 /= total),
        Probabilities::Votes => {
            if let Some(at) = largest(out[start..].iter().map(|(_, weight)| weight)) {
                out[start] = (out[start + at].0, 1.0);
                out.truncate(start + 1);
            }
        }
    }
    total as f32
}
