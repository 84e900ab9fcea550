//! The last stage: scores that are fitted to all rows by a regression, or out-of-fold scores that calibrate the posteriors.

use std::sync::Arc;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{
    Budget, Effort, Folds, JobState, JobStatus, OutOfSample, Result, Source, Step, Training, TrainingRun as _,
};
use ndarray::Array2;

use super::super::learnt::{Learnt, Outcome, Scores};
use super::super::one_vs_rest::fold_scores;
use super::super::rows::union;
use super::{IvmRun, limited};
use crate::refit::{Freedom, RIDGES, RegressionSearch};

/// Folds that score the posterior where there is no regression.
const FOLDS: usize = 4;

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
        if let Some((length, ridge)) = self.known.refit {
            return (length, vec![ridge], Freedom { wants_folds: self.wants_folds, ..Freedom::default() });
        }
        let n_trained = self.rows.is_trained().iter().filter(|is_trained| **is_trained).count();
        let freedom = if self.is_hurried {
            Freedom::default()
        } else {
            let n_rows = n_trained * self.rows.params.n_active;
            let may_move = self.params.length_scale == 0.0;
            Freedom { n_rows, may_move, wants_folds: self.wants_folds }
        };
        (kernel[0], RIDGES.to_vec(), freedom)
    }

    pub(super) fn begin_regression(&mut self, effort: Effort) -> Step {
        let Last::Regression(search) = &mut self.last else { return Step::nothing::<Self>() };
        let search = search.take();
        let rows = Arc::clone(&self.rows);
        let (length, ridges, freedom) = self.freedom();
        let (start, is_hurried) = (union(&self.found()), self.is_hurried);
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
        let (rows, kernels) = (Arc::clone(&self.rows), self.kernels());
        let folds = self.folds();
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

    fn folds(&self) -> Folds {
        Folds::new(self.rows.n_rows(), FOLDS, Rng::new(self.params.seed, Purpose::Validation, 4))
    }

    /// Out-of-fold scores of the posterior, once all folds are done.
    fn fold_scores(&self) -> Option<OutOfSample> {
        let Last::Folds(tables) = &self.last else { return None };
        if tables.len() < FOLDS {
            return None;
        }
        let (folds, n) = (self.folds(), self.rows.n_rows());
        let mut values = Array2::zeros((n, self.rows.n_classes));
        for (fold, table) in tables.iter().enumerate() {
            let [_, left] = folds.cut(fold);
            left.iter().zip(table.rows()).for_each(|(&row, from)| values.row_mut(row).assign(&from));
        }
        let (rows, labels) = ((0..n).collect(), self.rows.labels.clone());
        Some(OutOfSample { source: Source::OutOfFold, rows, values, labels })
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
                None => Scores::Posterior(folds.unwrap_or_else(|| rows.inactive_scores(&found))),
            };
            let mut made = Learnt::assemble(&rows, kernel, &class_kernels, &found, scores, &open)?;
            if let Some(origin) = origin {
                for values in [&mut made.gains, &mut made.ratings] {
                    let of_some = std::mem::replace(values, vec![0.0; n]);
                    origin.iter().zip(of_some).for_each(|(&row, value)| values[row] = value);
                }
                made.validation.rows.iter_mut().for_each(|row| *row = origin[*row]);
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
