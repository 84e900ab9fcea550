//! One regression of all rows on chosen ones, scored without each row's own label.

use hedgerow_core::scores::mask_unknown;
use hedgerow_core::{Budget, ClassId, OutOfSample, Par, Result, Source};
use ndarray::{Array2, ArrayView2, Axis};

use super::equations::NormalEquations;
use super::{BLOCK, Refit, centered_signs, nearness, shares};
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

impl Validation {
    /// Scores of the validation rows at these places.
    pub(super) fn scored(&self, source: Source, scores: Array2<f64>, places: &[usize]) -> OutOfSample {
        let of_place = |&at: &usize| (self.rows[at], self.labels[at]);
        let (rows, labels) = places.iter().map(of_place).unzip();
        OutOfSample::new(source, rows, scores, labels)
    }
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

/// The places of the validation rows that are among some rows, which rise.
pub(super) fn places(validation: &Validation, rows: &[usize]) -> Vec<usize> {
    (0..validation.rows.len()).filter(|&at| rows.binary_search(&validation.rows[at]).is_ok()).collect()
}

/// The place of the least of some numbers that fall and then rise, found from the middle on: the others need not be computed.
pub(super) fn least_from_middle(n: usize, mut number: impl FnMut(usize) -> Result<f64>) -> Result<usize> {
    let middle = n.saturating_sub(1) / 2;
    let (mut best, mut least) = (middle, number(middle)?);
    for step in [1, -1] {
        while let Some(next) = best.checked_add_signed(step).filter(|next| *next < n) {
            let value = number(next)?;
            if value < least {
                (best, least) = (next, value);
            } else {
                break;
            }
        }
        if best != middle {
            break;
        }
    }
    Ok(best)
}

impl Fitter<'_> {
    /// Rows that regressions on at most so many rows are compared by: spread over all, and the same for all that is tried.
    pub(super) fn validation(&self, n_chosen: usize) -> Validation {
        let n = self.labels.len();
        let most = (MOST_NUMBERS / n_chosen.max(1)).clamp(1, MOST_VALIDATION);
        let rows: Vec<usize> = (0..n).step_by(n.div_ceil(most).max(1)).collect();
        let labels = rows.iter().map(|&row| self.labels[row]).collect();
        Validation { rows, labels, signs: centered_signs(self.labels, self.n_classes) }
    }

    /// The calibrated log-loss of the scores of some validation rows, by their places.
    pub(super) fn loss_at(&self, scores: &Array2<f64>, validation: &Validation, places: &[usize]) -> f64 {
        let scores = scores.select(Axis(0), places);
        validation.scored(Source::OutOfFold, scores, places).calibrated_loss(self.par)
    }

    /// Adds rows to equations, or takes them away again with a sign of −1. The covariances of those that are validation rows go into `kept`, as far as
    /// there is room. None if the budget is spent before all rows are in.
    pub(super) fn add(
        &self,
        sign: f64,
        rows: &[usize],
        validation: &Validation,
        equations: &mut NormalEquations,
        kept: &mut Array2<f64>,
    ) -> Option<()> {
        let mut kept = kept.rows_mut().into_iter();
        for part in rows.chunks(BLOCK) {
            if self.budget.spent().is_some() {
                return None;
            }
            let covariances = self.covariances(part, equations);
            equations.add(sign, &covariances, validation.signs.select(Axis(0), part).view(), self.par);
            let is_kept = |(row, _): &(&usize, _)| validation.rows.binary_search(row).is_ok();
            let from = part.iter().zip(covariances.rows()).filter(is_kept);
            from.zip(&mut kept).for_each(|((_, from), mut to)| to.assign(&from));
        }
        Some(())
    }

    /// Covariances of rows with the basis rows of equations.
    pub(super) fn covariances(&self, rows: &[usize], equations: &NormalEquations) -> Array2<f64> {
        equations.covariances(self.x.select(Axis(0), rows).view(), self.par)
    }

    /// Equations for basis rows, of no rows yet.
    pub(super) fn equations(&self, chosen: &[usize], length: f64) -> NormalEquations {
        NormalEquations::new(length, &self.x.select(Axis(0), chosen), self.n_classes, self.par)
    }

    /// The regression that a trial has found; its weights are fitted again if they are not known.
    pub(super) fn fit(&self, validation: &Validation, trial: &Trial) -> Result<Refit> {
        let Trial { chosen, length, ridge, weights, .. } = trial;
        let weights = if let Some(weights) = weights {
            weights.clone()
        } else {
            self.of_all_rows(chosen, *length, validation)?.0.solve(*ridge, self.par)?.1
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
        let (equations, kept) = self.of_all_rows(&chosen, length, validation)?;
        let ridge = match ridges {
            [only] => *only,
            _ => ridges[self.best_ridge(validation, &equations, &kept, ridges)?],
        };
        let (factor, weights) = equations.solve(ridge, self.par)?;
        drop(equations);
        let scores = self.scores_without_each(validation, &validation.rows, kept, &factor, &weights);
        let source = Source::LeaveOneOut;
        let all: Vec<usize> = (0..validation.rows.len()).collect();
        let loss = validation.scored(source, scores.clone(), &all).calibrated_loss(self.par);
        Ok(Trial { chosen, length, ridge, scores, loss, source, places: None, weights: Some(weights) })
    }

    /// The equations of all rows, whatever the budget, and the covariances of the validation rows.
    fn of_all_rows(
        &self,
        chosen: &[usize],
        length: f64,
        validation: &Validation,
    ) -> Result<(NormalEquations, Array2<f64>)> {
        let all: Vec<usize> = (0..self.labels.len()).collect();
        let mut equations = self.equations(chosen, length);
        let mut kept = Array2::zeros((validation.rows.len(), chosen.len()));
        let open = Fitter { budget: &Budget::open(), ..*self };
        open.add(1.0, &all, validation, &mut equations, &mut kept).ok_or_else(|| self.budget.no_model())?;
        Ok((equations, kept))
    }

    /// The place of the ridge of the least loss on some of the validation rows, whose covariances are given.
    fn best_ridge(
        &self,
        validation: &Validation,
        equations: &NormalEquations,
        covariances: &Array2<f64>,
        ridges: &[f64],
    ) -> Result<usize> {
        let n = validation.rows.len();
        let places: Vec<usize> = (0..n).step_by(n.div_ceil(ENOUGH_ROWS).max(1)).collect();
        let rows: Vec<usize> = places.iter().map(|&at| validation.rows[at]).collect();
        let some = covariances.select(Axis(0), &places);
        least_from_middle(ridges.len(), |at| {
            let (factor, weights) = equations.solve(ridges[at], self.par)?;
            let scores = self.scores_without_each(validation, &rows, some.clone(), &factor, &weights);
            Ok(validation.scored(Source::LeaveOneOut, scores, &places).calibrated_loss(self.par))
        })
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
        mask_unknown(&mut scores, self.labels);
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
