//! What follows from reference rows: how far known rows lie from each other, how uncertain the model is of them, and what sums of both are usual.

use ndarray::{ArrayView1, ArrayView2};

use super::known::Known;
use super::reference::ReferenceRows;
use super::space::{NEAREST, Nearest, Space};
use crate::data::Schema;
use crate::par::Par;

/// Rows that nothing is known of are neither strange nor usual.
const UNKNOWN: f64 = 0.5;
/// The share of the usual distance around a row that is taken off its own: with 1, rows in thin regions are as usual as others.
const LOCAL: f64 = 0.7;
/// Distances are taken from this share of their median upwards, so that equal rows have a logarithm.
const LEAST_DISTANCE: f64 = 1e-3;
/// Differences of logarithms of distances, of uncertainties and of sums of surprises that are small beside these tell nothing.
const LEAST_UNITS: [f64; 3] = [0.01, 0.01, 0.1];
/// A part of the trees, those that have a row out of bag, is less certain than all of them: what its surprise counts among known rows.
const PART: f64 = 0.85;
/// Rows with a known uncertainty, from which on it counts.
const LEAST_UNCERTAINTIES: usize = 30;

/// Scores rows by the [`ReferenceRows`] of a model.
#[derive(Debug)]
pub struct OutlierScorer {
    space: Space,
    /// The logarithm of each reference row's own distance.
    usual: Vec<f64>,
    least: f64,
    distances: Known,
    uncertainties: Option<Known>,
    /// Sums of the surprises of both, of rows whose uncertainty is known; where it does not count, surprises of distances.
    sums: Known,
}

/// How uncertain a prediction is.
pub(super) fn uncertainty(proba: ArrayView1<'_, f64>) -> f32 {
    let largest = proba.iter().copied().fold(0.0, f64::max);
    (1.0 - largest).clamp(0.0, 1.0) as f32
}

/// The mean distance to the nearest points, of which one may be left out.
fn mean_distance(nearest: &[(f32, u32)], left_out: Option<usize>) -> f64 {
    let counted = nearest.iter().filter(|(_, place)| Some(*place as usize) != left_out).take(NEAREST);
    let (sum, n) =
        counted.fold((0.0, 0.0), |(sum, n), (square, _)| (sum + libm::sqrt(f64::from(*square)), n + 1.0));
    sum / f64::max(n, 1.0)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl OutlierScorer {
    /// Looks at reference rows.
    pub(super) fn new(schema: &Schema, rows: &ReferenceRows, par: &Par) -> Self {
        let space = Space::new(schema, rows.features(), par);
        // With one row there is no distance.
        let nearest = if rows.len() > 1 { space.nearest_others(par) } else { Vec::new() };
        let means: Vec<f64> = nearest.iter().map(|nearest| mean_distance(nearest, None)).collect();
        let typical = median(means.iter().copied().filter(|mean| *mean > 0.0).collect()).unwrap_or(1.0);
        let least = LEAST_DISTANCE * typical;
        let mut scorer = Self {
            space,
            usual: means.iter().map(|mean| libm::log(mean + least)).collect(),
            least,
            distances: Known::new(Vec::new(), 1.0),
            uncertainties: None,
            sums: Known::new(Vec::new(), 1.0),
        };
        // A row that is not known is not among the nearest of its neighbors: neither is this one.
        let relative = |row: usize| {
            let without = |place: usize| libm::log(mean_distance(&nearest[place], Some(row)) + least);
            scorer.relative(&nearest[row], without)
        };
        let distances: Vec<f64> = (0..nearest.len()).map(relative).collect();
        scorer.distances = Known::new(distances.clone(), LEAST_UNITS[0]);
        let known: Vec<f64> = rows.uncertainties().map(|(u, _)| u).filter(|u| !u.is_nan()).collect();
        if known.len() >= LEAST_UNCERTAINTIES {
            scorer.uncertainties = Some(Known::new(known, LEAST_UNITS[1]));
        }
        let counts = |u: f64| scorer.uncertainties.is_none() || !u.is_nan();
        let with_both = distances.iter().zip(rows.uncertainties()).filter(|(_, (u, _))| counts(*u));
        let sum = |(distance, (u, by_part)): (&f64, (f64, bool))| {
            scorer.sum(*distance, Some(u), if by_part { PART } else { 1.0 })
        };
        let sums = with_both.map(sum).collect();
        scorer.sums = Known::new(sums, LEAST_UNITS[2]);
        scorer
    }

    /// The logarithm of the distance to the nearest points, less a share of theirs to their nearest ones.
    fn relative(&self, nearest: &Nearest, usual: impl Fn(usize) -> f64) -> f64 {
        let places = nearest.iter().take(NEAREST).map(|(_, place)| *place as usize);
        let n = nearest.len().clamp(1, NEAREST) as f64;
        libm::log(mean_distance(nearest, None) + self.least) - LOCAL * places.map(usual).sum::<f64>() / n
    }

    fn sum(&self, distance: f64, uncertainty: Option<f64>, share: f64) -> f64 {
        let of_model = match (&self.uncertainties, uncertainty) {
            (Some(known), Some(uncertainty)) => share * known.surprise(uncertainty),
            _ => 0.0,
        };
        self.distances.surprise(distance) + of_model
    }

    /// The scores of rows, with what the model predicts for them; none for a regression.
    pub fn score(&self, x: ArrayView2<'_, f32>, proba: Option<ArrayView2<'_, f64>>, par: &Par) -> Vec<f64> {
        if self.sums.len() == 0 {
            return vec![UNKNOWN; x.nrows()];
        }
        let nearest = self.space.nearest(x, par);
        let score = |(row, nearest): (usize, &Nearest)| {
            let uncertainty = proba.map(|proba| f64::from(uncertainty(proba.row(row))));
            self.sums.share_below(self.sum(
                self.relative(nearest, |place| self.usual[place]),
                uncertainty,
                1.0,
            ))
        };
        nearest.iter().enumerate().map(score).collect()
    }
}
