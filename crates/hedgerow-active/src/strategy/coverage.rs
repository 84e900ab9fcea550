//! Uncertain rows that stand for many others, and for rows that no labelled row stands for yet.
//!
//! Rows that a labelled row is like are covered. A row is worth its own uncertainty times that of all rows that it would cover better than any labelled row
//! does: facility location (Wei, Iyer and Bilmes, 2015, Submodularity in data subset selection and active learning), weighted by uncertainty.

use hedgerow_core::Result;
use ndarray::ArrayView1;

use super::Strategy;
use crate::kernel::RankKernel;
use crate::model::QueryModel;
use crate::situation::Situation;
use crate::space::Targets;

/// What a certain row still counts.
const LEAST_DOUBT: f64 = 1e-3;
/// Labelled rows compared with the targets by one piece of work.
const BLOCK: usize = 64;
/// The exponent below which coverage does not count any more.
const LEAST_EXPONENT: f64 = 0.05;

/// v(x) [Σⱼ v(j) max(K(j, x) − m(j), 0)]^γ over the targets j, with the [kernel](crate::RankSpace) K on ranks of columns, m(j) the largest K of j to a labelled
/// row, and the doubt v = u + νγ(1 − m)(1 − u) with the uncertainty u = 1 − (p₁ − p₂): a model that is sure where no labels are may be wrong. Without a model the doubt
/// is 1, and rows are chosen by coverage alone.
///
/// Only some candidates are compared with all targets, half of them the most uncertain ones; the others are worth nothing.
#[derive(Debug, Clone)]
pub struct Coverage {
    /// Labels at which half of a column's weight in distances comes from its importance for the model; infinite if all columns count alike always.
    pub learn_after: f64,
    /// Labels at which the exponent γ, which is 1 at first, is a half; infinite if it stays 1.
    pub fade_after: f64,
    /// How much the model's certainty is doubted where no label is near, ν, from 0 to 1.
    pub novelty: f64,
    /// The contrast of distances up to which γ and ν are smaller, in proportion: 1 − the squared distance to the tenth neighbor over that of any two rows; 0 for none.
    pub contrast: f64,
    /// Candidates that are compared with all targets.
    pub n_compared: usize,
    /// The share of the targets that each candidate of the last query would cover better, by its place.
    shares: Vec<f64>,
}

impl Default for Coverage {
    fn default() -> Self {
        Self::new(f64::INFINITY, f64::INFINITY, 0.0)
    }
}

impl Coverage {
    /// With numbers of labels, and doubt: see [`Self::learn_after`], [`Self::fade_after`] and [`Self::novelty`].
    pub fn new(learn_after: f64, fade_after: f64, novelty: f64) -> Self {
        Self { learn_after, fade_after, novelty, contrast: 0.0, n_compared: 200, shares: Vec::new() }
    }
}

impl Strategy for Coverage {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        let doubts = situation.by_probabilities(|proba| doubt(situation, proba));
        let n_labels = situation.pool().labelled().len() as f64;
        let exponent = 1.0 / (1.0 + n_labels / self.fade_after);
        self.shares.clear();
        if exponent < LEAST_EXPONENT {
            return Ok(doubts);
        }
        let compared = compared(&doubts, self.n_compared);
        let weights = self.column_weights(situation);
        let (kernel, contrast) = RankKernel::with_contrast(situation.placed_targets(), &weights);
        let exponent = exponent * (f64::from(contrast) / self.contrast).min(1.0);
        let gains =
            Cover::new(situation, &weights, kernel, self.novelty * exponent)?.gains(&compared, &doubts);
        let most = gains.iter().map(|gain| gain.covers).fold(f64::MIN_POSITIVE, f64::max);
        let mut utilities = vec![0.0; doubts.len()];
        self.shares.resize(doubts.len(), 0.0);
        for (&place, gain) in compared.iter().zip(&gains) {
            utilities[place] = gain.own * libm::pow(gain.covers / most, exponent);
            self.shares[place] = gain.share;
        }
        Ok(utilities)
    }

    fn reason(&self, situation: &Situation<'_>, place: usize) -> String {
        let share = self.shares.get(place).copied().unwrap_or(0.0);
        let cover = format!("{:.1} % of the rows are like it and like no labelled row", 100.0 * share);
        match (situation.proba().is_some(), self.shares.is_empty()) {
            (true, true) => situation.between(place),
            (true, false) => format!("{}; {cover}", situation.between(place)),
            (false, _) => cover,
        }
    }
}

impl Coverage {
    /// How much each column counts in distances: all alike, and more and more by importance.
    fn column_weights(&self, situation: &Situation<'_>) -> Vec<f32> {
        let n_features = situation.pool().space().n_features();
        let n_labels = situation.pool().labelled().len() as f64;
        let importances = situation.model().and_then(QueryModel::importances);
        let sum = importances.as_ref().map_or(0.0, |all| all.iter().sum::<f64>());
        match importances {
            Some(importances) if importances.len() == n_features && sum > 0.0 => {
                let share = n_labels / (n_labels + self.learn_after);
                let share = if share.is_finite() { share } else { 0.0 };
                let of = |v: &f64| 1.0 - share + share * n_features as f64 * v.max(0.0) / sum;
                importances.iter().map(|v| of(v) as f32).collect()
            }
            _ => vec![1.0; n_features],
        }
    }
}

/// How uncertain a prediction is, and a little more.
fn doubt(situation: &Situation<'_>, proba: ArrayView1<'_, f64>) -> f64 {
    1.0 - situation.margin(proba) + LEAST_DOUBT
}

/// Candidates to be compared with all targets: the first ones, which are drawn at random, and as many of the most uncertain ones.
fn compared(doubts: &[f64], n: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..doubts.len()).collect();
    if places.len() > n {
        places[n / 2..].sort_by(|&a, &b| doubts[b].total_cmp(&doubts[a]).then(a.cmp(&b)));
        places.truncate(n);
    }
    places
}

/// How well labelled rows cover the targets.
struct Cover<'a> {
    situation: &'a Situation<'a>,
    weights: &'a [f32],
    kernel: RankKernel,
    /// How much certainty is doubted where no label is near.
    novelty: f64,
    targets: &'a Targets,
    labelled: Targets,
    /// Of each target, its doubt, and how like it is to the labelled row that is most like it.
    doubts: Vec<f64>,
    covered: Vec<f32>,
}

/// What a label would cover.
struct Gain {
    /// The row's own doubt.
    own: f64,
    /// The doubt of what it would cover.
    covers: f64,
    /// As a share of all targets.
    share: f64,
}

impl<'a> Cover<'a> {
    fn new(
        situation: &'a Situation<'a>,
        weights: &'a [f32],
        kernel: RankKernel,
        novelty: f64,
    ) -> Result<Self> {
        let targets = situation.placed_targets();
        let labelled = situation.placed_labelled();
        let blocks = situation.par().map(labelled.len().div_ceil(BLOCK), |block| {
            let mut nearest = vec![f32::INFINITY; targets.len()];
            for place in block * BLOCK..((block + 1) * BLOCK).min(labelled.len()) {
                let squares = targets.squared_distances(&labelled.row(place), weights);
                nearest.iter_mut().zip(squares).for_each(|(least, square)| *least = least.min(square));
            }
            nearest
        });
        let nearest = |target: usize| blocks.iter().map(|block| block[target]).fold(f32::INFINITY, f32::min);
        let covered: Vec<f32> = (0..targets.len()).map(|target| kernel.at(nearest(target))).collect();
        let doubts = match situation.target_proba()? {
            Some(proba) => proba
                .rows()
                .into_iter()
                .zip(&covered)
                .map(|(proba, covered)| doubted(doubt(situation, proba), *covered, novelty))
                .collect(),
            None => vec![1.0; targets.len()],
        };
        Ok(Self { situation, weights, kernel, novelty, targets, labelled, doubts, covered })
    }

    /// Of the candidates at these places, with the doubts of all candidates.
    fn gains(&self, places: &[usize], doubts: &[f64]) -> Vec<Gain> {
        let candidates = self.situation.placed_candidates();
        self.situation.par().map(places.len(), |i| {
            let from = candidates.row(places[i]);
            let near = self.labelled.squared_distances(&from, self.weights);
            let covered = self.kernel.at(near.into_iter().fold(f32::INFINITY, f32::min));
            let own = doubted(doubts[places[i]], covered, self.novelty);
            let mut gain = Gain { own, covers: 0.0, share: 0.0 };
            let squares = self.targets.squared_distances(&from, self.weights);
            for ((square, covered), doubt) in squares.iter().zip(&self.covered).zip(&self.doubts) {
                let better = f64::from((self.kernel.at(*square) - covered).max(0.0));
                gain.covers += doubt * better;
                gain.share += better;
            }
            gain.share /= self.targets.len().max(1) as f64;
            gain
        })
    }
}

/// A model's uncertainty, and more where no label is near.
fn doubted(doubt: f64, covered: f32, novelty: f64) -> f64 {
    doubt + novelty * f64::from(1.0 - covered) * (1.0 - doubt).max(0.0)
}
