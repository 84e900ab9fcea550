//! From which score on a class is not in a set.
//!
//! Of n scores the one of rank ⌈(n + 1) · level⌉ is exceeded by that of a new row with a probability of at most 1 − level, if the row is exchangeable with
//! them (Vovk, Gammerman & Shafer, 2005).

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut1};

use super::sample::Sample;
use super::score::{Scores, ambiguity, masses_before};
use super::sets::PredictionSets;
use super::{SetMethod, SetOptions};
use crate::traits::largest;

/// Rows of a class from which on it has a threshold of its own.
const LEAST_ROWS: u64 = 30;
/// With balanced sets, a class may miss so many times the share of rows that may miss on the whole.
const MOST_MISSES: f64 = 1.2;

/// The largest score with which a class is in a set.
#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    of_class: Vec<f32>,
    /// For classes without one of their own.
    rest: f32,
    is_adaptive: bool,
    never_empty: bool,
}

impl Thresholds {
    pub(super) fn new(sample: &Sample, level: f64, options: &SetOptions) -> Self {
        let (is_adaptive, never_empty) = (options.method == SetMethod::Adaptive, options.never_empty);
        let nothing = Self { of_class: Vec::new(), rest: f32::NEG_INFINITY, is_adaptive, never_empty };
        match options.method {
            SetMethod::Adaptive => {
                let rest = sample.masses().of_rank(rank(sample.n_rows(), level)).max(0.0);
                Self { rest, ..nothing }
            }
            _ if level <= 0.0 => nothing,
            SetMethod::Marginal => Self { rest: pooled(sample, &[], level), ..nothing },
            SetMethod::PerClass => {
                let rest = pooled(sample, &[], level);
                let threshold = |class| own(sample, class, level).unwrap_or(rest);
                Self { of_class: (0..sample.n_classes()).map(threshold).collect(), rest, ..nothing }
            }
            SetMethod::Balanced => {
                let mut of_class = floors(sample, level);
                let rest = pooled(sample, &of_class, level);
                of_class.iter_mut().for_each(|threshold| *threshold = threshold.max(rest));
                Self { of_class, rest, ..nothing }
            }
        }
    }

    /// The threshold of a class.
    pub fn of_class(&self, class: usize) -> f32 {
        self.of_class.get(class).copied().unwrap_or(self.rest)
    }

    /// Writes for every class whether it is in the set of a row with these probabilities.
    pub fn set_into(&self, proba: ArrayView1<'_, f64>, mut set: ArrayViewMut1<'_, bool>) {
        let proba = proba.to_vec();
        let masses = if self.is_adaptive { masses_before(&proba) } else { Vec::new() };
        for (class, is_in) in set.iter_mut().enumerate() {
            let score = masses.get(class).copied().unwrap_or_else(|| ambiguity(&proba, class));
            *is_in = score <= self.of_class(class);
        }
        if self.never_empty
            && !set.iter().any(|is_in| *is_in)
            && let Some(is_in) = largest(&proba).and_then(|best| set.get_mut(best))
        {
            *is_in = true;
        }
    }

    /// The sets of rows with these probabilities.
    pub fn sets(&self, proba: ArrayView2<'_, f64>) -> PredictionSets {
        let mut sets = PredictionSets::empty(proba.nrows(), proba.ncols());
        for (row, set) in proba.rows().into_iter().zip(sets.rows_mut()) {
            self.set_into(row, set);
        }
        sets
    }
}

/// Whether a row is in its set, by its class, its score and its mass: what [`Thresholds`] tell, without looking for them.
pub(super) fn covers(sample: &Sample, method: SetMethod, level: f64, row: Scores) -> bool {
    let Scores { class, ambiguity, mass } = row;
    let rank_of_all = rank(sample.n_rows(), level);
    match method {
        SetMethod::Adaptive => mass <= 0.0 || sample.masses().below(mass) < rank_of_all,
        _ if level <= 0.0 => false,
        SetMethod::Marginal => below(sample, &[], ambiguity) < rank_of_all,
        SetMethod::PerClass => match own(sample, class, level) {
            Some(own) => ambiguity <= own,
            None => below(sample, &[], ambiguity) < rank_of_all,
        },
        SetMethod::Balanced => {
            let floors = floors(sample, level);
            floors.get(class).is_some_and(|floor| ambiguity <= *floor)
                || below(sample, &floors, ambiguity) < rank_of_all
        }
    }
}

/// How many classes are in the balanced set of a row with these probabilities.
pub(super) fn size_of_balanced(sample: &Sample, level: f64, proba: &[f64]) -> usize {
    if level <= 0.0 {
        return 0;
    }
    let (floors, rank) = (floors(sample, level), rank(sample.n_rows(), level));
    let mut above: Vec<f32> = (0..proba.len())
        .map(|class| (class, ambiguity(proba, class)))
        .filter(|(class, score)| floors.get(*class).is_none_or(|floor| score > floor))
        .map(|(_, score)| score)
        .collect();
    above.sort_unstable_by(f32::total_cmp);
    proba.len() - above.len() + above.partition_point(|score| below(sample, &floors, *score) < rank)
}

/// The rank of a score among so many that a share `level` of new rows does not exceed.
fn rank(n_rows: u64, level: f64) -> f64 {
    ((n_rows as f64 + 1.0) * level - 1e-9).ceil().max(1.0)
}

/// The threshold of a class by its own rows; none if they are too few.
fn own(sample: &Sample, class: usize, level: f64) -> Option<f32> {
    let scored = sample.of_class(class);
    let rank = rank(scored.n_rows, level);
    (scored.n_rows >= LEAST_ROWS && rank <= scored.n_rows as f64).then(|| scored.of_rank(rank))
}

/// The least thresholds of classes with balanced sets.
fn floors(sample: &Sample, level: f64) -> Vec<f32> {
    let least = 1.0 - MOST_MISSES * (1.0 - level);
    let floor = |class| if least > 0.0 { own(sample, class, least) } else { None };
    (0..sample.n_classes()).map(|class| floor(class).unwrap_or(f32::NEG_INFINITY)).collect()
}

/// Rows that would be covered by the floors, or by a threshold below this score.
fn below(sample: &Sample, floors: &[f32], score: f32) -> f64 {
    let covered = |class: usize| {
        let scored = sample.of_class(class);
        match floors.get(class) {
            Some(floor) if *floor >= score => scored.up_to(*floor),
            _ => scored.below(score),
        }
    };
    (0..sample.n_classes()).map(covered).sum()
}

/// The smallest threshold for all classes that covers the wanted share of rows, where classes have floors; minus infinity if these do.
fn pooled(sample: &Sample, floors: &[f32], level: f64) -> f32 {
    let rank = rank(sample.n_rows(), level);
    if rank > sample.n_rows() as f64 {
        return f32::INFINITY;
    }
    let up_to = |score: f32| {
        let covered = |class: usize| {
            let floor = floors.get(class).copied().unwrap_or(f32::NEG_INFINITY);
            sample.of_class(class).up_to(score.max(floor))
        };
        (0..sample.n_classes()).map(covered).sum::<f64>()
    };
    // Sums of shares of rows are rounded.
    let rank = rank - 1e-6;
    if up_to(f32::NEG_INFINITY) >= rank {
        return f32::NEG_INFINITY;
    }
    // The bits of numbers that are not negative have the order of the numbers.
    if up_to(0.0) >= rank {
        return 0.0;
    }
    let (mut below, mut enough) = (0, 1.0_f32.to_bits());
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        if up_to(f32::from_bits(middle)) >= rank { enough = middle } else { below = middle }
    }
    f32::from_bits(enough)
}
