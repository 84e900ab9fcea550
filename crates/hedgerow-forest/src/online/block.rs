//! Some rows through all trees: answered, then learnt.

use hedgerow_core::Par;
use hedgerow_core::traits::largest;

use super::arms::COMPARED;
use super::live::{Hands, LiveTree, Soil};
use super::window::Record;
use crate::codes::Code;
use crate::params::Probabilities;
use crate::say::Say;
use crate::tree::{Link, Target, Value};

/// Rows whose answers are added up together.
const ROWS: usize = 64;
/// Walks that run side by side.
const LANES: usize = 8;

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

/// What one tree said about some rows.
#[derive(Debug, Default)]
struct Votes {
    shares: Vec<(u32, f64)>,
    /// Where the shares of each row end, and the size of its leaf.
    ends: Vec<(u32, f32)>,
}

/// What all trees together said about some rows, and what their new splits removed of impurity.
pub(super) struct Outcome {
    /// Shares summed over trees, for each row and each way to weigh leaves `n_classes` numbers.
    pub(super) sums: Vec<f64>,
    /// The same over a few trees that all count the same: exact ones, tolerant ones. None where there are not enough of either.
    pub(super) arms: Option<[Vec<f64>; 2]>,
    pub(super) gains: Vec<f64>,
}

/// Lets every tree answer and learn the rows.
pub(super) fn run<C: Code + Value>(
    live: &mut [LiveTree],
    records: &mut [Record],
    staged: &[Staged],
    n_classes: usize,
    says: &[Say],
    soil: &Soil<'_, C>,
    par: &Par,
) -> Outcome {
    let mut jobs: Vec<Job<'_>> = live
        .iter_mut()
        .zip(records)
        .map(|(live, record)| Job { live, record, votes: Votes::default(), gains: Vec::new() })
        .collect();
    par.for_chunks(&mut jobs, 1, |_, jobs| {
        for job in jobs {
            job.run(staged, soil);
        }
    });
    let len = staged.len() * n_classes;
    let n_tolerant = jobs.iter().filter(|job| job.live.birth.is_tolerant).count();
    let n_compared = COMPARED.min(n_tolerant).min(jobs.len() - n_tolerant);
    let mut arms = [vec![0.0; len], vec![0.0; len]];
    let mut left = [n_compared; 2];
    let plain = [Say::new(0.0)];
    let mut outcome = Outcome { sums: vec![0.0; says.len() * len], arms: None, gains: vec![0.0; soil.width] };
    // In the order of the trees: sums of floats depend on it.
    par.for_chunks(&mut outcome.sums, ROWS * says.len() * n_classes, |chunk, sums| {
        for job in &jobs {
            job.votes.add_to(sums, chunk * ROWS, n_classes, says);
        }
    });
    for job in &jobs {
        let arm = usize::from(job.live.birth.is_tolerant);
        if left[arm] > 0 {
            left[arm] -= 1;
            job.votes.add_to(&mut arms[arm], 0, n_classes, &plain);
        }
        for (sum, gain) in outcome.gains.iter_mut().zip(&job.gains) {
            *sum += gain;
        }
    }
    outcome.arms = (n_compared > 1).then_some(arms);
    outcome
}

impl Votes {
    /// Adds what the tree said about the rows from `first` on to sums of `n_classes` numbers for each row and way to weigh
    /// leaves.
    fn add_to(&self, sums: &mut [f64], first: usize, n_classes: usize, says: &[Say]) {
        let mut start = if first == 0 { 0 } else { self.ends[first - 1].0 as usize };
        for (sums, &(end, size)) in sums.chunks_mut(says.len() * n_classes).zip(&self.ends[first..]) {
            add_weighed(&self.shares[start..end as usize], size, says, sums);
            start = end as usize;
        }
    }
}

impl Job<'_> {
    fn run<C: Code + Value>(&mut self, staged: &[Staged], soil: &Soil<'_, C>) {
        // Most leaves name one class.
        self.votes.shares.reserve(2 * staged.len());
        self.votes.ends.reserve(staged.len());
        let ground = soil.ground.tolerating(self.live.birth.is_tolerant);
        let soil = &Soil { ground: &ground, ..*soil };
        let mut hands = Hands::new(soil);
        self.live.fit(soil);
        for rows in staged.chunks(LANES) {
            let row = |lane: usize| soil.row(rows[lane.min(rows.len() - 1)].slot);
            let ends = self.live.walk_together::<C, LANES>(std::array::from_fn(row));
            let n_changes = self.live.n_changes();
            for (row, end) in rows.iter().zip(ends) {
                // Rows learnt since may have split the leaf; forgotten ones may have moved it.
                let end = if self.live.n_changes() == n_changes {
                    self.live.walk_on(soil.row(row.slot), end)
                } else {
                    self.live.walk(soil.row(row.slot))
                };
                self.answer(row, end.leaf, soil.ground.params.probabilities);
                self.live.learn(row.slot, end, row.age, soil, &mut hands);
                if let Some(evicted) = row.evicted {
                    self.live.forget(evicted, soil);
                }
            }
        }
        self.gains = hands.gains();
    }

    /// Notes what the tree says about a row, and whether it is right.
    #[inline]
    fn answer(&mut self, row: &Staged, leaf: Link, probabilities: Probabilities) {
        let start = self.votes.shares.len();
        let (size, right) = if let Target::Pure { class, rows: rows @ 1.. } = leaf.target() {
            self.votes.shares.push((class as u32, 1.0));
            (rows as f32, class == usize::from(row.class))
        } else {
            let size = add_shares(self.live, leaf, probabilities, &mut self.votes.shares);
            let said = &self.votes.shares[start..];
            let favorite = largest(said.iter().map(|(_, share)| share)).map(|at| said[at].0);
            (size, favorite == Some(u32::from(row.class)))
        };
        self.votes.ends.push((self.votes.shares.len() as u32, size));
        self.record.note(row.age, right);
    }
}

/// Adds shares of a leaf of some size to `sums`, for each way to weigh leaves.
pub(super) fn add_weighed(shares: &[(u32, f64)], size: f32, says: &[Say], sums: &mut [f64]) {
    let n_classes = sums.len() / says.len();
    for (say, sums) in says.iter().zip(sums.chunks_mut(n_classes)) {
        let counts = say.of(size);
        for &(class, share) in shares {
            sums[class as usize] += counts * share;
        }
    }
}

/// Adds what a leaf says: its shares, or a vote for its favorite. An empty leaf says nothing. Returns the size of the leaf.
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
