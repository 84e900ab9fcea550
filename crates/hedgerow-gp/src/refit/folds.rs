//! Out-of-fold scores of a regression.
//!
//! Basis rows are chosen because they are predicted badly, so they have no like. The leave-one-out prediction of such a row is not what
//! a new row would get: the row's own place in the basis is still there, and other rows have made use of it. Chosen rows look
//! far worse than they are, and the more freely the regression fits, the worse. So folds are left out altogether, as
//! rows and as basis rows, and scored afterwards.
//!
//! The equations of all rows are added up once. What a fold adds to them is taken away again, and the weights of all rows come for free.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Folds, Result, Source};
use ndarray::{Array2, Axis};

use super::BLOCK;
use super::equations::NormalEquations;
use super::fitter::{ENOUGH_ROWS, Fitter, Trial, Validation};

/// Folds.
const FOLDS: usize = 4;

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
    n_folds: usize,
}

impl FoldTrial {
    pub(super) fn new(chosen: Vec<usize>, length: f64, ridges: &[f64]) -> Self {
        let ridges = ridges.to_vec();
        Self { chosen, length, ridges, scores: Vec::new(), whole: None, n_done: 0, n_folds: FOLDS }
    }

    /// The first fold only: enough to compare length scales.
    #[must_use]
    pub(super) fn first_fold(self) -> Self {
        Self { n_folds: 1, ..self }
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
        let [kept, left] = folds(fitter).cut(self.n_done);
        let is_kept = |place: &usize| left.binary_search(&self.chosen[*place]).is_err();
        let basis: Vec<usize> = (0..self.chosen.len()).filter(is_kept).collect();
        let places = places(validation, &left);
        if !basis.is_empty() && !places.is_empty() {
            let Some(equations) = self.equations(&basis, &kept, &left, fitter, validation) else {
                return Ok(());
            };
            let rows: Vec<usize> = places.iter().map(|&at| validation.rows[at]).collect();
            let covariances = equations.covariances(fitter.x.select(Axis(0), &rows).view(), fitter.par);
            for (scores, &ridge) in self.scores.iter_mut().zip(&self.ridges) {
                let found = covariances.dot(&equations.solve(ridge, fitter.par)?.1);
                places.iter().zip(found.rows()).for_each(|(&at, from)| scores.row_mut(at).assign(&from));
            }
        }
        self.n_done += 1;
        if self.n_done == 1 && self.n_folds > 1 && self.ridges.len() > 1 && places.len() >= ENOUGH_ROWS {
            self.keep_best_ridge(fitter, validation, &places);
        }
        Ok(())
    }

    /// The equations without a fold, for basis rows given by their places. None if the budget is spent before that.
    fn equations(
        &mut self,
        basis: &[usize],
        kept: &[usize],
        left: &[usize],
        fitter: &Fitter<'_>,
        validation: &Validation,
    ) -> Option<NormalEquations> {
        let signs = &validation.signs;
        if self.n_folds == 1 {
            let basis: Vec<usize> = basis.iter().map(|&place| self.chosen[place]).collect();
            return fitter.equations(&basis, kept, signs, self.length);
        }
        if self.whole.is_none() {
            let all: Vec<usize> = (0..fitter.labels.len()).collect();
            self.whole = fitter.equations(&self.chosen, &all, signs, self.length);
        }
        let mut equations = self.whole.as_ref()?.part(basis);
        for rows in left.chunks(BLOCK) {
            if fitter.budget.spent().is_some() {
                return None;
            }
            let covariances = equations.covariances(fitter.x.select(Axis(0), rows).view(), fitter.par);
            equations.remove(&covariances, signs.select(Axis(0), rows).view(), fitter.par);
        }
        Some(equations)
    }

    /// Goes on with the ridge that has the least loss on the validation rows at some places. Returns that loss.
    fn keep_best_ridge(&mut self, fitter: &Fitter<'_>, validation: &Validation, places: &[usize]) -> f64 {
        let loss = |scores: &Array2<f64>| fitter.loss_at(scores, validation, places);
        self.scores.iter_mut().for_each(|scores| fitter.mask(scores));
        let losses: Vec<f64> = self.scores.iter().map(loss).collect();
        let best = (0..losses.len()).min_by(|a, b| losses[*a].total_cmp(&losses[*b])).unwrap_or(0);
        self.scores = vec![self.scores.swap_remove(best)];
        self.ridges = vec![self.ridges[best]];
        losses[best]
    }

    /// The regression with the best of the ridges, once all folds are scored.
    pub(super) fn finish(mut self, fitter: &Fitter<'_>, validation: &Validation) -> Result<Trial> {
        let scored = (self.n_folds < FOLDS).then(|| first_places(fitter, validation));
        let all = || (0..validation.rows.len()).collect();
        let places = scored.clone().unwrap_or_else(all);
        let loss = self.keep_best_ridge(fitter, validation, &places);
        let Self { chosen, length, ridges, mut scores, whole, .. } = self;
        let (ridge, scores) = (ridges[0], scores.swap_remove(0));
        let weights = match whole {
            Some(whole) => Some(whole.solve(ridge, fitter.par)?.1),
            None => None,
        };
        Ok(Trial { chosen, length, ridge, scores, loss, source: Source::OutOfFold, places: scored, weights })
    }
}

fn folds(fitter: &Fitter<'_>) -> Folds {
    Folds::new(fitter.labels.len(), FOLDS, Rng::new(0, Purpose::Validation, 3))
}

/// The places of the validation rows that are among some rows, which rise.
fn places(validation: &Validation, rows: &[usize]) -> Vec<usize> {
    (0..validation.rows.len()).filter(|&at| rows.binary_search(&validation.rows[at]).is_ok()).collect()
}

/// The places of the validation rows of the first fold.
fn first_places(fitter: &Fitter<'_>, validation: &Validation) -> Vec<usize> {
    let [_, left] = folds(fitter).cut(0);
    places(validation, &left)
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{Budget, ClassId, Par};

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
