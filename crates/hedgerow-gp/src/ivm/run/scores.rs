//! The last stage: scores that are fitted to all rows by a regression, or out-of-fold scores that calibrate the posteriors.

use std::sync::Arc;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::scores::mask_unknown;
use hedgerow_core::{
    Budget, Effort, Folds, JobState, JobStatus, OutOfSample, Result, Source, Step, Training, TrainingRun as _,
};
use ndarray::{Array2, Axis, concatenate};

use super::super::learnt::{Learnt, Outcome, Scores};
use super::super::one_vs_rest::fold_scores;
use super::super::rows::{TrainingRows, union};
use super::{IvmRun, LEAST_CUT, limited};
use crate::kernel::Kernel;
use crate::refit::{Freedom, RIDGES, RegressionSearch};

/// Folds that score the posterior where there is no regression, and the work up to which there is time to choose active rows without each.
const FOLDS: usize = 4;
const MOST_WORK_OF_FOLDS: f64 = 5e10;

/// Folds that are trained without from the beginning, and rows times squared basis rows up to which there is time for that.
const FOLDS_ANEW: usize = 5;
const MOST_WORK_ANEW: f64 = 1e10;

/// The last stage.
pub(super) enum Last {
    /// A regression, which a step may have at the moment.
    Regression(Option<Box<RegressionSearch>>),
    /// The out-of-fold scores so far, fold by fold.
    Folds(Vec<Array2<f64>>),
    Done(Option<Box<RegressionSearch>>),
}

impl IvmRun {
    /// What may be tried for the regression, and where it begins.
    fn freedom(&self) -> (f64, Vec<f64>, Freedom) {
        let kernel = self.known.kernel.unwrap_or([1.0, 1.0]);
        let wants_folds = self.wants_folds && !self.folds_anew();
        if let Some((length, ridge)) = self.known.refit {
            return (length, vec![ridge], Freedom { wants_folds, ..Freedom::default() });
        }
        let freedom = if self.is_hurried {
            Freedom::default()
        } else {
            let may_move = self.params.length_scale == 0.0;
            Freedom { n_rows: self.most_active(), may_move, wants_folds }
        };
        (kernel[0], RIDGES.to_vec(), freedom)
    }

    /// Most active rows of all classes.
    fn most_active(&self) -> usize {
        let n_trained = self.rows.is_trained().iter().filter(|is_trained| **is_trained).count();
        n_trained * self.rows.params.n_active
    }

    /// Whether out-of-fold scores are wanted, and there is time to train without each fold from the choice of active rows on. Active rows have no like, so
    /// without those of a fold the rest looks weaker than what would be chosen in their place.
    pub(super) fn folds_anew(&self) -> bool {
        let n = self.rows.n_rows();
        let n_chosen = self.most_active().min(n / 2);
        self.wants_folds && !self.is_hurried && n as f64 * (n_chosen as f64).powi(2) <= MOST_WORK_ANEW
    }

    pub(super) fn begin_regression(&mut self, effort: Effort) -> Step {
        let Last::Regression(search) = &mut self.last else { return Step::nothing::<Self>() };
        let search = search.take();
        let rows = Arc::clone(&self.rows);
        let (length, ridges, freedom) = self.freedom();
        let (start, is_hurried) = (union(&self.found()), self.is_hurried);
        let (kernels, folds_anew) = (self.kernels(), self.folds_anew());
        let folds = Folds::new(rows.n_rows(), FOLDS_ANEW, Rng::new(self.params.seed, Purpose::Validation, 5));
        Step::new(move |training: &Training<'_>| {
            let (outcome, is_lost) = limited(is_hurried, training, |until| {
                let fitter = rows.fitter(until);
                let mut search = search.unwrap_or_else(|| {
                    Box::new(RegressionSearch::new(&fitter, start, length, &ridges, freedom))
                });
                search.advance(&fitter)?;
                while effort == Effort::Whole && !search.is_done() && !training.budget.stop.is_stopped() {
                    search.advance(&fitter)?;
                }
                if folds_anew && search.is_done() && training.budget.spent().is_none() {
                    let scores = regression_folds(&rows, &kernels, &search, freedom, &folds, until)?;
                    search.rescore(&fitter, &scores);
                }
                Ok(search)
            });
            move |run: &mut Self| {
                if is_lost {
                    run.last = Last::Done(None);
                    return Ok(());
                }
                let search = outcome?;
                let is_done = search.is_done();
                run.last = if is_done { Last::Done(Some(search)) } else { Last::Regression(Some(search)) };
                Ok(())
            }
        })
    }

    pub(super) fn begin_folds(&self, n_done: usize, effort: Effort) -> Step {
        let (rows, kernels, folds) = (Arc::clone(&self.rows), self.kernels(), self.folds());
        let n = if effort == Effort::Whole { FOLDS - n_done } else { 1 };
        Step::new(move |training: &Training<'_>| {
            let par = training.par.until(&training.budget.stop);
            let until = Training { par: &par, ..*training };
            let tables: Result<Vec<Array2<f64>>> = (n_done..n_done + n)
                .map(|fold| fold_scores(&rows, &kernels, &folds.cut(fold), &until))
                .collect();
            let is_lost = training.budget.spent().is_some();
            move |run: &mut Self| {
                if is_lost {
                    run.last = Last::Done(None);
                } else if let Last::Folds(found) = &mut run.last {
                    found.extend(tables?);
                }
                Ok(())
            }
        })
    }

    /// Whether there is time to choose active rows without each fold of the posterior.
    pub(super) fn has_folds(&self) -> bool {
        self.rows.n_rows() >= LEAST_CUT && self.rows.work() <= MOST_WORK_OF_FOLDS
    }

    fn folds(&self) -> Folds {
        Folds::new(self.rows.n_rows(), FOLDS, Rng::new(self.params.seed, Purpose::Validation, 4))
    }

    /// Out-of-fold scores of the posterior, once all folds are done.
    fn fold_scores(&self) -> Option<OutOfSample> {
        let Last::Folds(tables) = &self.last else { return None };
        let folds = self.folds();
        if tables.len() < FOLDS {
            return None;
        }
        let views: Vec<_> = tables.iter().map(|table| table.view()).collect();
        let values = concatenate(Axis(0), &views).ok()?;
        let rows: Vec<usize> = (0..FOLDS).flat_map(|fold| folds.cut(fold)[1].clone()).collect();
        Some(OutOfSample::of_rows(Source::OutOfFold, rows, values, &self.rows.labels))
    }

    /// The making of what has been learnt so far; none before every class has begun.
    pub(in super::super) fn outcome(
        &self,
    ) -> Option<impl FnOnce(&Training<'_>) -> Result<Outcome> + Send + use<>> {
        if !self.has_model() {
            return None;
        }
        let kernel = self.known.kernel?;
        let (rows, found) = (Arc::clone(&self.rows), self.found());
        let (class_kernels, origin) = (self.known.class_kernels.clone(), self.origin.clone());
        let (folds, n) = (self.fold_scores(), self.data.n_rows());
        let regression = match &self.last {
            Last::Regression(Some(search)) | Last::Done(Some(search)) => search.best(),
            _ => None,
        };
        Some(move |training: &Training<'_>| {
            // A model is made whatever the budget.
            let open = Training { budget: &Budget::open(), ..*training };
            let scores = match regression {
                Some(best) => Scores::Regression(Box::new(best(&rows.fitter(&open))?)),
                None => Scores::Posterior(folds.unwrap_or_else(|| rows.left_out_scores(&found))),
            };
            let mut made = Learnt::assemble(&rows, kernel, &class_kernels, &found, scores, &open)?;
            if let Some(origin) = origin {
                for values in [&mut made.gains, &mut made.ratings] {
                    let of_some = std::mem::replace(values, vec![0.0; n]);
                    origin.iter().zip(of_some).for_each(|(&row, value)| values[row] = value);
                }
                made.validation.renumber(|row| origin[row]);
            }
            Ok(made)
        })
    }

    pub(super) fn last_status(&self, is_open: bool) -> JobStatus {
        let (kind, points, goal, is_done) = match &self.last {
            Last::Regression(search) => {
                ("regression", search.as_ref().map_or(0, |search| search.n_tried), 0, false)
            }
            Last::Folds(tables) => ("folds", tables.len(), FOLDS, tables.len() == FOLDS),
            Last::Done(search) => {
                let n = search.as_ref().map_or(0, |search| search.n_tried);
                (if self.params.refit { "regression" } else { "folds" }, n, n, true)
            }
        };
        JobStatus { kind, state: JobState::new(is_done, is_open), points, goal, ..JobStatus::default() }
    }
}

/// Out-of-fold scores of regressions on active rows that are chosen without the fold, with the ridge and the length scale of a search.
fn regression_folds(
    rows: &TrainingRows,
    kernels: &[[f64; 2]],
    found: &RegressionSearch,
    freedom: Freedom,
    folds: &Folds,
    training: &Training<'_>,
) -> Result<Array2<f64>> {
    let mut scores = Array2::from_elem((rows.n_rows(), rows.n_classes), f64::NEG_INFINITY);
    let Some((length, ridge)) = found.length_and_ridge() else { return Ok(scores) };
    for fold in 0..FOLDS_ANEW {
        let [kept, left] = folds.cut(fold);
        let small = rows.select(&kept, rows.params.clone());
        let fitter = small.fitter(training);
        let start = union(&small.train_all(kernels, training)?);
        let freedom = Freedom { may_move: false, ..freedom };
        let mut search = RegressionSearch::new(&fitter, start, length, &[ridge], freedom);
        while !search.is_done() {
            search.advance(&fitter)?;
        }
        let Some(best) = search.best() else { continue };
        let fit = best(&fitter)?;
        let basis = small.wide(&fit.chosen);
        let of_left = Kernel::rbf(length)
            .cross(rows.wide(&left).view(), basis.view(), training.par)
            .dot(&fit.refit.weights);
        left.iter().zip(of_left.rows()).for_each(|(&row, from)| scores.row_mut(row).assign(&from));
    }
    mask_unknown(&mut scores, &rows.labels);
    Ok(scores)
}
