//! A regression for classes, with the best ridge and the best length nearby.

use hedgerow_core::{Budget, ClassId, Par, Result};
use ndarray::{Array2, ArrayView2};

use super::{Goal, Number, Refit};
use crate::calibration::Calibration;
use crate::kernel::Kernel;

/// Rows that calibrate, at most: more would not change the curves; and numbers that are kept about them.
pub(crate) const MOST_JUDGES: usize = 8192;
const MOST_NUMBERS: usize = 16_000_000;
/// How much longer or shorter a length scale is that is tried; and rows times squared chosen rows up to which others are tried.
const STEP: f64 = 0.82;
const MOST_WORK: f64 = 1e11;

/// Fits scores of classes to rows.
pub struct Fitter<'a, T> {
    /// All rows.
    pub x: ArrayView2<'a, T>,
    /// Their classes.
    pub labels: &'a [ClassId],
    /// How many classes there are, with or without rows.
    pub n_classes: usize,
    /// The kernel of some length scale, with variance 1.
    pub kernel: &'a (dyn Fn(f64) -> Kernel + Sync),
    /// Threads.
    pub par: &'a Par,
    /// When no more is tried.
    pub budget: &'a Budget,
}

/// A regression of all rows on chosen ones, and how it was judged.
pub struct Refitted {
    /// The regression.
    pub refit: Refit,
    /// The rows that judge.
    pub judges: Vec<usize>,
    /// Scores that they would have without their own labels: minus infinity for a class without rows.
    pub scores: Array2<f64>,
    /// Their labels.
    pub labels: Vec<ClassId>,
}

impl<T: Number> Fitter<'_, T> {
    /// The best of some ridges with a length scale and, if it may move, with others nearby.
    pub fn best(&self, chosen: &[usize], length: f64, ridges: &[f64], may_move: bool) -> Result<Refitted> {
        let mut best = self.fit(chosen, length, ridges)?;
        let n_chosen = chosen.len() as f64;
        if !may_move || self.labels.len() as f64 * n_chosen * n_chosen > MOST_WORK {
            return Ok(best);
        }
        let mut least = self.loss(&best.scores, &best.labels);
        for step in [STEP, 1.0 / STEP] {
            while self.budget.spent().is_none() {
                let next = self.fit(chosen, best.refit.length * step, ridges)?;
                let loss = self.loss(&next.scores, &next.labels);
                if loss >= least {
                    break;
                }
                (best, least) = (next, loss);
            }
            if best.refit.length != length {
                break;
            }
        }
        Ok(best)
    }

    /// Fits scores of all classes to all rows, from chosen ones. The rows that judge get the scores that they would have without their own
    /// labels; so chosen ones may judge too.
    pub fn fit(&self, chosen: &[usize], length: f64, ridges: &[f64]) -> Result<Refitted> {
        let n = self.labels.len();
        let most = (MOST_NUMBERS / chosen.len().max(1)).clamp(1, MOST_JUDGES);
        let judges: Vec<usize> = (0..n).step_by(n.div_ceil(most).max(1)).collect();
        let labels: Vec<ClassId> = judges.iter().map(|&row| self.labels[row]).collect();
        let mut has_rows = vec![false; self.n_classes];
        self.labels.iter().for_each(|label| has_rows[label.index()] = true);
        let known = |scores: &Array2<f64>| {
            let mut scores = scores.clone();
            for (class, mut column) in scores.columns_mut().into_iter().enumerate() {
                if !has_rows[class] && self.n_classes != 2 {
                    column.fill(f64::NEG_INFINITY);
                }
            }
            scores
        };
        let loss = |scores: &Array2<f64>| self.loss(&known(scores), &labels);
        let goal = Goal { x: self.x, y: &self.centered_signs(), judges: &judges, ridges, loss: &loss };
        let kernel = (self.kernel)(length);
        let (refit, without) = Refit::new(length, &kernel, chosen, &goal, self.par)?;
        let scores = known(&without);
        Ok(Refitted { refit, judges, scores, labels })
    }

    /// The calibrated log-loss of scores of rows with these labels.
    pub fn loss(&self, scores: &Array2<f64>, labels: &[ClassId]) -> f64 {
        Calibration::fit(scores, labels, self.par).loss(scores, labels)
    }

    /// Labels as ±1, a column a class, less their means: a class that is rare would otherwise take most of the regression to say so.
    fn centered_signs(&self) -> Array2<f64> {
        let n = self.labels.len();
        let sign = |(row, class): (usize, usize)| {
            if self.labels[row].index() == class { 1.0 } else { -1.0 }
        };
        let mut signs = Array2::from_shape_fn((n, self.n_classes), sign);
        for mut column in signs.columns_mut() {
            let mean = column.sum() / n as f64;
            column.iter_mut().for_each(|v| *v -= mean);
        }
        signs
    }
}
