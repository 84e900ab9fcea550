//! How rows are scored by regressions that have never met them.
//!
//! Rows are chosen because they are answered badly, so they have no like. What a regression says about such a row without its label is not what
//! it would say about a new one: the row's own place in it is still there, and other rows have made use of it. Rows that were chosen look
//! far worse than they are, and the more freely the regression fits, the worse. So parts of the rows are left out altogether, as
//! rows and as chosen ones, and asked afterwards.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Folds, Result};
use ndarray::{Array2, Axis};

use super::fitter::{Fitter, Jury, Trial};
use super::{BLOCK, Number, Sums};

/// Parts.
const FOLDS: usize = 4;

impl<T: Number> Fitter<'_, T> {
    /// The best of some ridges for chosen rows and a length scale, by rows left out. None if the budget is spent before all have been.
    pub(super) fn judged_apart(
        &self,
        jury: &Jury,
        chosen: Vec<usize>,
        length: f64,
        ridges: &[f64],
    ) -> Result<Option<Trial>> {
        let mut of_ridges = vec![Array2::zeros((jury.rows.len(), self.n_classes)); ridges.len()];
        let folds = Folds::new(self.labels.len(), FOLDS, Rng::new(0, Purpose::Judge, 3));
        for fold in 0..FOLDS {
            let [kept, left] = folds.cut(fold);
            let is_kept = |row: &usize| left.binary_search(row).is_err();
            let rows: Vec<usize> = chosen.iter().copied().filter(|row| is_kept(row)).collect();
            let asked: Vec<usize> = (0..jury.rows.len()).filter(|&at| !is_kept(&jury.rows[at])).collect();
            if rows.is_empty() || asked.is_empty() {
                continue;
            }
            let Some(sums) = self.sums_of(&rows, &kept, &jury.signs, length)? else { return Ok(None) };
            let their_rows: Vec<usize> = asked.iter().map(|&at| jury.rows[at]).collect();
            let features = sums.features(self.x.select(Axis(0), &their_rows).view(), self.par);
            for (scores, &ridge) in of_ridges.iter_mut().zip(ridges) {
                if self.budget.spent().is_some() {
                    return Ok(None);
                }
                let (_, w) = sums.solved(ridge, self.par)?;
                let found = features.dot(&w.t());
                asked.iter().zip(found.rows()).for_each(|(&at, from)| scores.row_mut(at).assign(&from));
            }
        }
        let trials = of_ridges.into_iter().zip(ridges).map(|(scores, &ridge)| {
            let scores = jury.known(scores);
            let loss = self.loss(&scores, &jury.labels);
            Trial { chosen: Vec::new(), length, ridge, scores, loss, refit: None }
        });
        let best = trials.min_by(|a, b| a.loss.total_cmp(&b.loss));
        Ok(best.map(|best| Trial { chosen, ..best }))
    }

    /// Sums over some rows, for rows chosen from them. None if the budget is spent before all are in.
    pub(super) fn sums_of(
        &self,
        chosen: &[usize],
        rows: &[usize],
        signs: &Array2<f64>,
        length: f64,
    ) -> Result<Option<Sums<T>>> {
        let kernel = (self.kernel)(length);
        let mut sums = Sums::new(length, kernel, self.x.select(Axis(0), chosen), self.n_classes, self.par)?;
        for part in rows.chunks(BLOCK) {
            if self.budget.spent().is_some() {
                return Ok(None);
            }
            sums.add(self.x.select(Axis(0), part).view(), signs.select(Axis(0), part).view(), self.par);
        }
        Ok(Some(sums))
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{Budget, ClassId, Par};

    use super::*;
    use crate::kernel::Kernel;
    use crate::linalg::Cholesky;

    #[test]
    fn scores_are_those_of_regressions_without_the_part() {
        let (n, par, budget) = (60, Par::sequential(), Budget::open());
        let mut rng = Rng::new(4, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, 2), |_| rng.unit() as f32);
        let labels: Vec<ClassId> = x.rows().into_iter().map(|row| ClassId((row[0] * 3.0) as u32)).collect();
        let kernel = |length: f64| Kernel::rbf(length);
        let fitter = Fitter {
            x: x.view(),
            labels: &labels,
            n_classes: 3,
            kernel: &kernel,
            par: &par,
            budget: &budget,
        };
        let jury = fitter.jury(20);
        let chosen: Vec<usize> = (0..20).map(|i| 3 * i).collect();
        let trial = fitter.judged_apart(&jury, chosen.clone(), 0.3, &[0.01]).unwrap().unwrap();
        let folds = Folds::new(n, FOLDS, Rng::new(0, Purpose::Judge, 3));
        let wide = x.mapv(f64::from);
        for fold in 0..FOLDS {
            let [kept, left] = folds.cut(fold);
            let rows: Vec<usize> = chosen.iter().copied().filter(|row| kept.contains(row)).collect();
            let of = |rows: &[usize]| wide.select(Axis(0), rows);
            let a = kernel(0.3).cross(of(&kept).view(), of(&rows).view(), &par);
            let mut own = kernel(0.3).matrix(of(&rows).view(), &par);
            own.diag_mut().iter_mut().for_each(|v| *v += 1e-6);
            let factor = Cholesky::robust(&(a.t().dot(&a) + 0.01 * &own), &par).unwrap();
            let sums = a.t().dot(&jury.signs.select(Axis(0), &kept));
            let asked = kernel(0.3).cross(of(&left).view(), of(&rows).view(), &par);
            for class in 0..3 {
                let naive = asked.dot(&factor.solve(sums.column(class)));
                for (row, naive) in left.iter().zip(naive) {
                    let got = trial.scores[(*row, class)];
                    assert!((got - naive).abs() < 1e-6, "{got} {naive}");
                }
            }
        }
        budget.stop.stop();
        assert!(fitter.judged_apart(&jury, chosen, 0.3, &[0.01]).unwrap().is_none(), "no time is left");
    }
}
