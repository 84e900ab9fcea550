//! One regression of all rows on chosen ones, scored without each row's own label.

use hedgerow_core::{Budget, Calibration, ClassId, Error, Par, Result, Source};
use ndarray::{Array2, ArrayView2, Axis, s};

use super::equations::NormalEquations;
use super::{BLOCK, Refit, nearness, shares};
use crate::kernel::Kernel;
use crate::linalg::{Cholesky, mat_mul};

/// Rows that calibrate, at most: more would not change the curves; and numbers that are kept about them.
pub(crate) const MOST_VALIDATION: usize = 8192;
const MOST_NUMBERS: usize = 32_000_000;
/// Rows that are enough to choose a ridge by.
pub(super) const ENOUGH_ROWS: usize = 1000;

/// Fits scores of classes to rows.
#[derive(Clone, Copy)]
pub(crate) struct Fitter<'a> {
    /// All rows, prepared.
    pub(crate) x: ArrayView2<'a, f32>,
    /// Their classes.
    pub(crate) labels: &'a [ClassId],
    /// How many classes there are, with or without rows.
    pub(crate) n_classes: usize,
    /// Threads.
    pub(crate) par: &'a Par,
    /// When no more is tried.
    pub(crate) budget: &'a Budget,
}

/// The rows that regressions are compared by, and what is fitted.
pub(super) struct Validation {
    pub(super) rows: Vec<usize>,
    pub(super) labels: Vec<ClassId>,
    /// Labels of all rows as numbers: ±1, a column a class, less their means.
    pub(super) signs: Array2<f64>,
}

/// A regression that was tried.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    pub(super) chosen: Vec<usize>,
    pub(super) length: f64,
    pub(super) ridge: f64,
    /// Scores of the validation rows, and their calibrated log-loss.
    pub(super) scores: Array2<f64>,
    pub(super) loss: f64,
    pub(super) source: Source,
    /// The places of the validation rows that were scored; none if all were.
    pub(super) places: Option<Vec<usize>>,
    /// The weights of the basis rows, where they are known.
    pub(super) weights: Option<Array2<f64>>,
}

impl Fitter<'_> {
    /// Rows that regressions on at most so many rows are compared by: spread over all, and the same for all that is tried.
    pub(super) fn validation(&self, n_chosen: usize) -> Validation {
        let n = self.labels.len();
        let most = (MOST_NUMBERS / n_chosen.max(1)).clamp(1, MOST_VALIDATION);
        let rows: Vec<usize> = (0..n).step_by(n.div_ceil(most).max(1)).collect();
        let labels = rows.iter().map(|&row| self.labels[row]).collect();
        Validation { rows, labels, signs: self.centered_signs() }
    }

    /// Labels as ±1, a column a class, less their means: a class that is rare would otherwise use up most of the regression.
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

    /// The calibrated log-loss of scores of rows with these labels.
    pub(crate) fn loss(&self, scores: &Array2<f64>, labels: &[ClassId]) -> f64 {
        Calibration::fit(scores, labels, self.par).loss(scores, labels)
    }

    /// Takes the scores of classes that have no rows away.
    pub(super) fn mask(&self, scores: &mut Array2<f64>) {
        hedgerow_core::scores::mask_unknown(scores, self.labels);
    }

    /// The calibrated log-loss of the scores of some validation rows, by their places.
    pub(super) fn loss_at(&self, scores: &Array2<f64>, validation: &Validation, places: &[usize]) -> f64 {
        let labels: Vec<ClassId> = places.iter().map(|&at| validation.labels[at]).collect();
        self.loss(&scores.select(Axis(0), places), &labels)
    }

    /// The equations of some rows, for basis rows. None if the budget is spent before all are in.
    pub(super) fn equations(
        &self,
        chosen: &[usize],
        rows: &[usize],
        signs: &Array2<f64>,
        length: f64,
    ) -> Option<NormalEquations> {
        let basis = self.x.select(Axis(0), chosen);
        let mut equations = NormalEquations::new(length, &basis, self.n_classes, self.par);
        for part in rows.chunks(BLOCK) {
            if self.budget.spent().is_some() {
                return None;
            }
            let covariances = equations.covariances(self.x.select(Axis(0), part).view(), self.par);
            equations.add(&covariances, signs.select(Axis(0), part).view(), self.par);
        }
        Some(equations)
    }

    /// The regression that a trial has found; its weights are fitted again if they are not known.
    pub(super) fn fit(&self, validation: &Validation, trial: &Trial) -> Result<Refit> {
        let Trial { chosen, length, ridge, weights, .. } = trial;
        let weights = if let Some(weights) = weights {
            weights.clone()
        } else {
            let all: Vec<usize> = (0..self.labels.len()).collect();
            let open = Fitter { budget: &Budget::open(), ..*self };
            let equations = open.equations(chosen, &all, &validation.signs, *length);
            equations.ok_or(Error::Interrupted)?.solve(*ridge, self.par)?.1
        };
        let (x, basis) = (self.x.select(Axis(0), &validation.rows), self.x.select(Axis(0), chosen));
        let near = nearness(&Kernel::rbf(*length), x.view(), basis.mapv(f64::from).view(), self.par);
        let shares = shares(validation.signs.view());
        Ok(Refit { weights, ridge: *ridge, length: *length, near, shares })
    }

    /// The best of some ridges for chosen rows and a length scale, by leave-one-out scores; so chosen rows may be validation rows too.
    pub(super) fn leave_one_out(
        &self,
        validation: &Validation,
        chosen: Vec<usize>,
        length: f64,
        ridges: &[f64],
    ) -> Result<Trial> {
        let (rows, n) = (&validation.rows, self.labels.len());
        let basis = self.x.select(Axis(0), &chosen);
        let mut equations = NormalEquations::new(length, &basis, self.n_classes, self.par);
        // What is known about validation rows is kept, so that it need not be computed again.
        let mut kept = Array2::zeros((rows.len(), chosen.len()));
        let mut places = 0..rows.len();
        for first in (0..n).step_by(BLOCK) {
            let end = (first + BLOCK).min(n);
            let covariances = equations.covariances(self.x.slice(s![first..end, ..]), self.par);
            equations.add(&covariances, validation.signs.slice(s![first..end, ..]), self.par);
            while places.start < places.end && rows[places.start] < end {
                kept.row_mut(places.start).assign(&covariances.row(rows[places.start] - first));
                places.start += 1;
            }
        }
        let ridge = match ridges {
            [only] => *only,
            _ => self.best_ridge(validation, &equations, &kept, ridges)?,
        };
        let (factor, weights) = equations.solve(ridge, self.par)?;
        drop(equations);
        let scores = self.scores_without_each(validation, rows, kept, &factor, &weights);
        let (loss, source) = (self.loss(&scores, &validation.labels), Source::LeaveOneOut);
        Ok(Trial { chosen, length, ridge, scores, loss, source, places: None, weights: Some(weights) })
    }

    /// The ridge of the least loss on some of the validation rows, whose covariances are given.
    fn best_ridge(
        &self,
        validation: &Validation,
        equations: &NormalEquations,
        covariances: &Array2<f64>,
        ridges: &[f64],
    ) -> Result<f64> {
        let n = validation.rows.len();
        let places: Vec<usize> = (0..n).step_by(n.div_ceil(ENOUGH_ROWS).max(1)).collect();
        let rows: Vec<usize> = places.iter().map(|&at| validation.rows[at]).collect();
        let labels: Vec<ClassId> = places.iter().map(|&at| validation.labels[at]).collect();
        let some = covariances.select(Axis(0), &places);
        let mut best = None;
        for &ridge in ridges {
            let (factor, weights) = equations.solve(ridge, self.par)?;
            let scores = self.scores_without_each(validation, &rows, some.clone(), &factor, &weights);
            let loss = self.loss(&scores, &labels);
            if best.is_none_or(|(_, least)| loss < least) {
                best = Some((ridge, loss));
            }
        }
        best.map(|(ridge, _)| ridge).ok_or_else(|| Error::param("ridges", "one at least", 0))
    }

    /// Leave-one-out scores of rows with these covariances: `(f_i − h_i y_i)/(1 − h_i)`, `h_i = k_iᵀ (K_un K_nu + s² K_uu)⁻¹ k_i`.
    fn scores_without_each(
        &self,
        validation: &Validation,
        rows: &[usize],
        mut covariances: Array2<f64>,
        factor: &Cholesky,
        weights: &Array2<f64>,
    ) -> Array2<f64> {
        let mut scores = mat_mul(covariances.view(), weights.view(), self.par);
        factor.forward_rows(&mut covariances, self.par);
        for ((&row, half), mut scores) in rows.iter().zip(covariances.rows()).zip(scores.rows_mut()) {
            let h = half.dot(&half).min(1.0 - 1e-9);
            let y = validation.signs.row(row);
            scores.zip_mut_with(&y, |score, y| *score = (*score - h * y) / (1.0 - h));
        }
        self.mask(&mut scores);
        scores
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;
    use crate::linalg::Cholesky;

    #[test]
    fn scores_without_a_row_are_those_of_a_fit_without_it() {
        let (par, budget) = (Par::sequential(), Budget::open());
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let x = Array2::from_shape_fn((40, 2), |_| rng.unit() as f32);
        let labels: Vec<ClassId> =
            x.rows().into_iter().map(|row| ClassId(u32::from(row[0] <= 0.5))).collect();
        let fitter = Fitter { x: x.view(), labels: &labels, n_classes: 2, par: &par, budget: &budget };
        let validation = fitter.validation(5);
        let (chosen, kernel) = ([1, 5, 9, 20, 33], Kernel::rbf(0.4));
        let trial = fitter.leave_one_out(&validation, chosen.to_vec(), 0.4, &[0.01]).unwrap();
        let rows = x.select(Axis(0), &chosen).mapv(f64::from);
        for left in [0, 5, 17] {
            // A row that is left out weighs nothing, but stays in the basis if others are measured from it.
            let others: Vec<usize> = (0..40).filter(|r| *r != left).collect();
            let a = kernel.cross(x.mapv(f64::from).view(), rows.view(), &par);
            let mut own = kernel.matrix(rows.view(), &par);
            own.diag_mut().iter_mut().for_each(|v| *v += 1e-6);
            let part = a.select(Axis(0), &others);
            let ridged = part.t().dot(&part) + 0.01 * &own;
            let factor = Cholesky::robust(&ridged, &par).unwrap();
            let sums = part.t().dot(&validation.signs.select(Axis(0), &others));
            for class in 0..2 {
                let naive = a.row(left).dot(&factor.solve(sums.column(class)));
                let got = trial.scores[(left, class)];
                assert!((naive - got).abs() < 1e-7, "{naive} {got}");
            }
        }
    }
}
