//! Out-of-fold scores of a regression.
//!
//! Basis rows are chosen because they are predicted badly, so they have no like. The leave-one-out prediction of such a row is not what
//! a new row would get: the row's own place in the basis is still there, and other rows have made use of it. Chosen rows look
//! far worse than they are, and the more freely the regression fits, the worse. So folds are left out altogether, as
//! rows and as basis rows, and scored afterwards.
//!
//! The equations of all rows are added up once. What a fold adds to them is taken away again, and the weights of all rows come for free.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::scores::mask_unknown;
use hedgerow_core::{Folds, Result, Source};
use ndarray::Array2;

use super::equations::NormalEquations;
use super::fitter::{ENOUGH_ROWS, Fitter, Trial, Validation, least_from_middle, places};
use crate::linalg::mat_mul;

/// Folds that choices are made by.
const FOLDS: usize = 4;
/// Folds for scores that another prediction is blended by: a regression without a quarter of its rows and basis rows looks weaker than it is.
const FINE_FOLDS: usize = 10;

/// A regression that is being scored, fold by fold.
pub(super) struct FoldTrial {
    chosen: Vec<usize>,
    length: f64,
    /// The ridges that are still compared.
    ridges: Vec<f64>,
    /// Scores of the validation rows, a table a ridge.
    scores: Vec<Array2<f64>>,
    /// The equations of all rows; none before the first fold, and where one fold is enough.
    whole: Option<NormalEquations>,
    n_done: usize,
    /// Folds that are scored, of so many.
    n_folds: usize,
    n_cut: usize,
}

impl FoldTrial {
    pub(super) fn new(chosen: Vec<usize>, length: f64, ridges: &[f64]) -> Self {
        let ridges = ridges.to_vec();
        Self {
            chosen,
            length,
            ridges,
            scores: Vec::new(),
            whole: None,
            n_done: 0,
            n_folds: FOLDS,
            n_cut: FOLDS,
        }
    }

    /// The first fold only: enough to compare length scales.
    #[must_use]
    pub(super) fn first_fold(self) -> Self {
        Self { n_folds: 1, ..self }
    }

    /// More folds, each without fewer rows.
    #[must_use]
    pub(super) fn fine(self) -> Self {
        Self { n_folds: FINE_FOLDS, n_cut: FINE_FOLDS, ..self }
    }

    pub(super) fn is_done(&self) -> bool {
        self.n_done == self.n_folds
    }

    /// Scores the rows of the next fold. If the budget is spent before that is done, the fold stays open.
    pub(super) fn score_fold(&mut self, fitter: &Fitter<'_>, validation: &Validation) -> Result<()> {
        if self.scores.is_empty() {
            let empty = Array2::zeros((validation.rows.len(), fitter.n_classes));
            self.scores = vec![empty; self.ridges.len()];
        }
        let [kept, left] = self.folds(fitter).cut(self.n_done);
        let is_kept = |place: &usize| left.binary_search(&self.chosen[*place]).is_err();
        let basis: Vec<usize> = (0..self.chosen.len()).filter(is_kept).collect();
        let places = places(validation, &left);
        if !basis.is_empty() && !places.is_empty() {
            let Some((equations, covariances)) = self.equations(&basis, &kept, &left, fitter, validation)
            else {
                return Ok(());
            };
            let (n, ridges) = (self.ridges.len(), &self.ridges);
            let score = |at: usize, scores: &mut Array2<f64>| -> Result<()> {
                let weights = equations.solve(ridges[at], fitter.par)?.1;
                let found = mat_mul(covariances.view(), weights.view(), fitter.par);
                places.iter().zip(found.rows()).for_each(|(&at, from)| scores.row_mut(at).assign(&from));
                mask_unknown(scores, fitter.labels);
                Ok(())
            };
            if n > 1 && (self.n_folds == 1 || places.len() >= ENOUGH_ROWS) {
                let best = least_from_middle(n, |at| {
                    score(at, &mut self.scores[at])?;
                    Ok(fitter.loss_at(&self.scores[at], validation, &places))
                })?;
                self.keep_ridge(best);
            } else {
                self.scores.iter_mut().enumerate().try_for_each(|(at, scores)| score(at, scores))?;
            }
        }
        self.n_done += 1;
        Ok(())
    }

    /// The equations without a fold, for basis rows given by their places, and the covariances of its validation rows. None if the budget is spent before that.
    fn equations(
        &mut self,
        basis: &[usize],
        kept: &[usize],
        left: &[usize],
        fitter: &Fitter<'_>,
        validation: &Validation,
    ) -> Option<(NormalEquations, Array2<f64>)> {
        let mut none = Array2::zeros((0, 0));
        if self.n_folds == 1 {
            let basis: Vec<usize> = basis.iter().map(|&place| self.chosen[place]).collect();
            let mut equations = fitter.equations(&basis, self.length);
            fitter.add(1.0, kept, validation, &mut equations, &mut none)?;
            let rows: Vec<usize> = places(validation, left).iter().map(|&at| validation.rows[at]).collect();
            let covariances = fitter.covariances(&rows, &equations);
            return Some((equations, covariances));
        }
        if self.whole.is_none() {
            let all: Vec<usize> = (0..fitter.labels.len()).collect();
            let mut whole = fitter.equations(&self.chosen, self.length);
            fitter.add(1.0, &all, validation, &mut whole, &mut none)?;
            self.whole = Some(whole);
        }
        let mut equations = self.whole.as_ref()?.part(basis, fitter.par);
        let mut covariances = Array2::zeros((places(validation, left).len(), basis.len()));
        fitter.add(-1.0, left, validation, &mut equations, &mut covariances)?;
        Some((equations, covariances))
    }

    /// Goes on with one ridge only.
    fn keep_ridge(&mut self, at: usize) {
        self.scores = vec![self.scores.swap_remove(at)];
        self.ridges = vec![self.ridges[at]];
    }

    /// The regression with the best of the ridges, once all folds are scored.
    pub(super) fn finish(mut self, fitter: &Fitter<'_>, validation: &Validation) -> Result<Trial> {
        let scored = (self.n_folds < self.n_cut).then(|| places(validation, &self.folds(fitter).cut(0)[1]));
        let all = || (0..validation.rows.len()).collect();
        let places = scored.clone().unwrap_or_else(all);
        let losses: Vec<f64> =
            self.scores.iter().map(|scores| fitter.loss_at(scores, validation, &places)).collect();
        let best = (0..losses.len()).min_by(|a, b| losses[*a].total_cmp(&losses[*b])).unwrap_or(0);
        let loss = losses[best];
        self.keep_ridge(best);
        let Self { chosen, length, ridges, mut scores, whole, .. } = self;
        let (ridge, scores) = (ridges[0], scores.swap_remove(0));
        let weights = match whole {
            Some(whole) => Some(whole.solve(ridge, fitter.par)?.1),
            None => None,
        };
        Ok(Trial { chosen, length, ridge, scores, loss, source: Source::OutOfFold, places: scored, weights })
    }

    fn folds(&self, fitter: &Fitter<'_>) -> Folds {
        Folds::new(fitter.labels.len(), self.n_cut, Rng::new(0, Purpose::Validation, 3))
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{Budget, ClassId, Par};
    use ndarray::Axis;

    use super::*;
    use crate::kernel::Kernel;
    use crate::linalg::Cholesky;

    #[test]
    fn scores_are_those_of_regressions_without_the_fold() {
        let (n, par, budget) = (60, Par::sequential(), Budget::open());
        let mut rng = Rng::new(4, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, 2), |_| rng.unit() as f32);
        let labels: Vec<ClassId> = x.rows().into_iter().map(|row| ClassId((row[0] * 3.0) as u32)).collect();
        let fitter = Fitter { x: x.view(), labels: &labels, n_classes: 3, par: &par, budget: &budget };
        let validation = fitter.validation(20);
        let chosen: Vec<usize> = (0..20).map(|i| 3 * i).collect();
        let mut trial = FoldTrial::new(chosen.clone(), 0.3, &[0.01]);
        while !trial.is_done() {
            trial.score_fold(&fitter, &validation).unwrap();
        }
        let trial = trial.finish(&fitter, &validation).unwrap();
        let folds = Folds::new(n, FOLDS, Rng::new(0, Purpose::Validation, 3));
        let (wide, kernel) = (x.mapv(f64::from), Kernel::rbf(0.3));
        for fold in 0..FOLDS {
            let [kept, left] = folds.cut(fold);
            let rows: Vec<usize> = chosen.iter().copied().filter(|row| kept.contains(row)).collect();
            let of = |rows: &[usize]| wide.select(Axis(0), rows);
            let a = kernel.cross(of(&kept).view(), of(&rows).view(), &par);
            let mut own = kernel.matrix(of(&rows).view(), &par);
            own.diag_mut().iter_mut().for_each(|v| *v += 1e-6);
            let factor = Cholesky::robust(&(a.t().dot(&a) + 0.01 * &own), &par).unwrap();
            let sums = a.t().dot(&validation.signs.select(Axis(0), &kept));
            let asked = kernel.cross(of(&left).view(), of(&rows).view(), &par);
            for class in 0..3 {
                let naive = asked.dot(&factor.solve(sums.column(class)));
                for (row, naive) in left.iter().zip(naive) {
                    let got = trial.scores[(*row, class)];
                    assert!((got - naive).abs() < 1e-6, "{got} {naive}");
                }
            }
        }
    }
}
