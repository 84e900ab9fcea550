//! One regression of all rows on chosen ones, scored without each row's own label.

use hedgerow_core::{Budget, Calibration, ClassId, Par, Result, Source};
use ndarray::{Array2, ArrayView2, Axis, s};

use super::{BLOCK, Refit, Sums, nearness, shares};
use crate::kernel::Kernel;

/// Rows that calibrate, at most: more would not change the curves; and numbers that are kept about them.
pub(crate) const MOST_VALIDATION: usize = 8192;
const MOST_NUMBERS: usize = 32_000_000;

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
    /// The regression, where it was made to find the scores.
    pub(super) refit: Option<Refit>,
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

    /// Scores without those of classes that have no rows, and their calibrated log-loss.
    pub(super) fn known(&self, mut scores: Array2<f64>, validation: &Validation) -> (Array2<f64>, f64) {
        hedgerow_core::scores::mask_unknown(&mut scores, self.labels);
        let loss = self.loss(&scores, &validation.labels);
        (scores, loss)
    }

    /// The calibrated log-loss of the scores of some validation rows, by their places.
    pub(super) fn loss_at(&self, scores: &Array2<f64>, validation: &Validation, places: &[usize]) -> f64 {
        let labels: Vec<ClassId> = places.iter().map(|&at| validation.labels[at]).collect();
        self.loss(&scores.select(Axis(0), places), &labels)
    }

    /// Sums over some rows, for rows chosen from them. None if the budget is spent before all are in.
    pub(super) fn sums_of(
        &self,
        chosen: &[usize],
        rows: &[usize],
        signs: &Array2<f64>,
        length: f64,
    ) -> Result<Option<Sums>> {
        let basis = self.x.select(Axis(0), chosen);
        let mut sums = Sums::new(length, Kernel::rbf(length), basis, self.n_classes, self.par)?;
        for part in rows.chunks(BLOCK) {
            if self.budget.spent().is_some() {
                return Ok(None);
            }
            sums.add(self.x.select(Axis(0), part).view(), signs.select(Axis(0), part).view(), self.par);
        }
        Ok(Some(sums))
    }

    /// The regression with one ridge, whatever the budget.
    pub(super) fn fit(
        &self,
        validation: &Validation,
        chosen: &[usize],
        length: f64,
        ridge: f64,
    ) -> Result<Refit> {
        let all: Vec<usize> = (0..self.labels.len()).collect();
        let open = Fitter { budget: &Budget::open(), ..*self };
        let sums = open.sums_of(chosen, &all, &validation.signs, length)?;
        let x = self.x.select(Axis(0), &validation.rows);
        sums.ok_or(hedgerow_core::Error::Interrupted)?.solve(
            ridge,
            validation.signs.view(),
            x.view(),
            self.par,
        )
    }

    /// The best of some ridges for chosen rows and a length scale, by leave-one-out scores; so chosen rows may be validation rows too.
    pub(super) fn leave_one_out(
        &self,
        validation: &Validation,
        chosen: Vec<usize>,
        length: f64,
        ridges: &[f64],
    ) -> Result<Trial> {
        let (y, rows, par) = (&validation.signs, &validation.rows, self.par);
        let basis = self.x.select(Axis(0), &chosen);
        let mut sums = Sums::new(length, Kernel::rbf(length), basis, y.ncols(), par)?;
        for first in (0..self.x.nrows()).step_by(BLOCK) {
            let part = first..(first + BLOCK).min(self.x.nrows());
            sums.add(self.x.slice(s![part.clone(), ..]), y.slice(s![part, ..]), par);
        }
        let x = self.x.select(Axis(0), rows);
        let features = sums.features(x.view(), par);
        let mut best: Option<(Trial, Array2<f64>)> = None;
        for &ridge in ridges {
            let (factor, w) = sums.solved(ridge, par)?;
            let mut scores = features.dot(&w.t());
            for first in (0..rows.len()).step_by(BLOCK) {
                let part = first..(first + BLOCK).min(rows.len());
                let mut a = features.slice(s![part.clone(), ..]).to_owned();
                factor.forward_rows(&mut a, par);
                let mut scores = scores.slice_mut(s![part.clone(), ..]);
                for ((&row, a), mut scores) in rows[part].iter().zip(a.rows()).zip(scores.rows_mut()) {
                    let h = a.dot(&a).min(1.0 - 1e-9);
                    scores.zip_mut_with(&y.row(row), |score, y| *score = (*score - h * y) / (1.0 - h));
                }
            }
            let (scores, loss) = self.known(scores, validation);
            if best.as_ref().is_none_or(|(best, _)| loss < best.loss) {
                let source = Source::LeaveOneOut;
                let trial = Trial {
                    chosen: Vec::new(),
                    length,
                    ridge,
                    scores,
                    loss,
                    source,
                    places: None,
                    refit: None,
                };
                best = Some((trial, w));
            }
        }
        let Some((trial, mut w)) = best else {
            return Err(hedgerow_core::Error::param("ridges", "one at least", 0));
        };
        sums.lower.backward_rows(&mut w, par);
        let near = nearness(&Kernel::rbf(length), x.view(), sums.wide.view(), par);
        let (ridge, shares) = (trial.ridge, shares(y.view()));
        let refit = Refit { weights: w.t().to_owned(), ridge, length, near, shares };
        Ok(Trial { chosen, refit: Some(refit), ..trial })
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
