//! The search for basis rows, ridge and length scale of a regression, one fold or one fit at a time.

use std::sync::Arc;

use hedgerow_core::{OutOfSample, Result, Source};
use ndarray::{Array2, Axis};

use super::Refit;
use super::fitter::{Fitter, Trial, Validation};
use super::folds::FoldTrial;

/// How much longer or shorter the next length scale is that is tried.
const STEP: f64 = 0.82;
/// Rows times squared basis rows up to which more than what is given is tried.
const MOST_WORK: f64 = 1e11;

/// What may be tried beside the rows and the length scale that are given.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Freedom {
    /// So many basis rows there may be in all, but at most half of the rows: those that are predicted worst join the given ones.
    pub(crate) n_rows: usize,
    /// Whether other length scales nearby may be tried.
    pub(crate) may_move: bool,
    /// Whether the scores are to be out-of-fold in the end, even if leave-one-out scores have served for all choices.
    pub(crate) wants_folds: bool,
}

/// A regression of all rows on basis rows, and its out-of-sample scores.
pub(crate) struct Refitted {
    /// The regression.
    pub(crate) refit: Refit,
    /// The basis rows: first the given ones, in their order.
    pub(crate) chosen: Vec<usize>,
    /// Scores, not yet calibrated.
    pub(crate) scores: OutOfSample,
}

/// A search under way. It can be put away after any step and gone on with on another thread.
pub(crate) struct RegressionSearch {
    ridges: Vec<f64>,
    freedom: Freedom,
    validation: Arc<Validation>,
    stage: Stage,
    /// What is to be done next; none at the end.
    work: Option<Work>,
    best: Option<Arc<Trial>>,
    /// Trials that are done.
    pub(crate) n_tried: usize,
}

/// What is being tried.
#[derive(Clone, Copy)]
enum Stage {
    /// The given rows and length scale.
    Given,
    /// More rows.
    Grow,
    /// Another length scale.
    Move { factor: f64, has_moved: bool },
    /// Out-of-fold scores of the best.
    Folds,
}

/// How it is tried.
enum Work {
    LeaveOneOut { chosen: Vec<usize>, length: f64, ridges: Vec<f64> },
    Folds(Box<FoldTrial>),
}

impl RegressionSearch {
    /// Begins with basis rows, a length scale and some ridges, which rise.
    pub(crate) fn new(
        fitter: &Fitter<'_>,
        chosen: Vec<usize>,
        length: f64,
        ridges: &[f64],
        freedom: Freedom,
    ) -> Self {
        let n_rows = freedom.n_rows.min(fitter.labels.len() / 2);
        let may_grow = n_rows > chosen.len() && is_affordable(fitter, n_rows);
        let n_rows = if may_grow { n_rows } else { 0 };
        Self {
            ridges: ridges.to_vec(),
            freedom: Freedom { n_rows, ..freedom },
            validation: Arc::new(fitter.validation(n_rows.max(chosen.len()))),
            stage: Stage::Given,
            work: Some(Work::LeaveOneOut { chosen, length, ridges: ridges.to_vec() }),
            best: None,
            n_tried: 0,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.work.is_none()
    }

    /// The calibrated log-loss of the best so far; infinite before there is one.
    pub(crate) fn loss(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| best.loss)
    }

    /// Does the next piece of work. Once there is something to show for it, a spent budget ends the search.
    pub(crate) fn advance(&mut self, fitter: &Fitter<'_>) -> Result<()> {
        let trial = match self.work.take() {
            None => return Ok(()),
            Some(Work::LeaveOneOut { chosen, length, ridges }) => {
                fitter.leave_one_out(&self.validation, chosen, length, &ridges)?
            }
            Some(Work::Folds(mut folds)) => {
                folds.score_fold(fitter, &self.validation)?;
                if !folds.is_done() {
                    self.work = fitter.budget.spent().is_none().then_some(Work::Folds(folds));
                    return Ok(());
                }
                folds.finish(fitter, &self.validation)?
            }
        };
        self.n_tried += 1;
        let next = self.consider(fitter, trial).filter(|_| fitter.budget.spent().is_none());
        self.work = next.and_then(|stage| {
            self.stage = stage;
            self.next_work(fitter)
        });
        Ok(())
    }

    /// Takes in a trial and decides what is next; none at the end.
    fn consider(&mut self, fitter: &Fitter<'_>, trial: Trial) -> Option<Stage> {
        let is_better =
            self.best.as_ref().is_none_or(|best| trial.loss < self.loss_beside(fitter, best, &trial));
        let next = match self.stage {
            Stage::Given if self.freedom.n_rows > 0 => Stage::Grow,
            Stage::Given | Stage::Grow => {
                let is_open = self.freedom.may_move && is_affordable(fitter, trial.chosen.len());
                if is_open { Stage::Move { factor: STEP, has_moved: false } } else { Stage::Folds }
            }
            Stage::Move { factor, .. } if is_better => Stage::Move { factor, has_moved: true },
            // To longer length scales only if shorter ones were never better.
            Stage::Move { factor, has_moved: false } if factor < 1.0 => {
                return Some(Stage::Move { factor: 1.0 / factor, has_moved: false });
            }
            Stage::Move { .. } => return Some(Stage::Folds),
            Stage::Folds => {
                let known = self.best.as_ref().and_then(|best| best.weights.clone());
                self.best = Some(Arc::new(Trial { weights: known.or(trial.weights), ..trial }));
                return None;
            }
        };
        self.best = Some(Arc::new(trial));
        Some(next)
    }

    /// The loss of the best on the rows by which another trial was scored.
    fn loss_beside(&self, fitter: &Fitter<'_>, best: &Trial, other: &Trial) -> f64 {
        match (&other.places, &best.places) {
            (Some(places), None) => fitter.loss_at(&best.scores, &self.validation, places),
            _ => best.loss,
        }
    }

    /// What the present stage needs, if anything.
    fn next_work(&self, fitter: &Fitter<'_>) -> Option<Work> {
        let best = self.best.as_ref()?;
        let is_out_of_fold = best.source == Source::OutOfFold;
        let (chosen, length) = (best.chosen.clone(), best.length);
        match self.stage {
            Stage::Given => None,
            Stage::Grow => {
                let chosen = with_worst(fitter, &self.validation, best, self.freedom.n_rows);
                Some(Work::Folds(Box::new(FoldTrial::new(chosen, length, &self.ridges))))
            }
            Stage::Move { factor, .. } => {
                let (length, ridges) = (length * factor, around(&self.ridges, best.ridge));
                Some(if is_out_of_fold {
                    // One fold is enough to tell length scales apart; the last one is scored in full.
                    Work::Folds(Box::new(FoldTrial::new(chosen, length, ridges).first_fold()))
                } else {
                    Work::LeaveOneOut { chosen, length, ridges: ridges.to_vec() }
                })
            }
            Stage::Folds => {
                let is_fine = self.freedom.wants_folds;
                let folds = || FoldTrial::new(chosen, length, &[best.ridge]);
                let folds = || if is_fine { folds().fine() } else { folds() };
                (is_fine || best.places.is_some()).then(|| Work::Folds(Box::new(folds())))
            }
        }
    }

    /// Length scale and ridge of the best regression so far; none before there is one.
    pub(crate) fn length_and_ridge(&self) -> Option<(f64, f64)> {
        self.best.as_ref().map(|best| (best.length, best.ridge))
    }

    /// Puts out-of-fold scores of all rows in the place of those that choices were made by.
    pub(crate) fn rescore(&mut self, fitter: &Fitter<'_>, scores: &Array2<f64>) {
        let Some(best) = self.best.take() else { return };
        let scores = scores.select(Axis(0), &self.validation.rows);
        let (source, all): (_, Vec<usize>) = (Source::OutOfFold, (0..self.validation.rows.len()).collect());
        let loss = self.validation.scored(source, scores.clone(), &all).calibrated_loss(fitter.par);
        let best = Trial { scores, loss, source, places: None, ..Arc::unwrap_or_clone(best) };
        self.best = Some(Arc::new(best));
    }

    /// The making of the best regression so far; none before there is one.
    pub(crate) fn best(&self) -> Option<impl FnOnce(&Fitter<'_>) -> Result<Refitted> + Send + use<>> {
        let (best, validation) = (Arc::clone(self.best.as_ref()?), Arc::clone(&self.validation));
        Some(move |fitter: &Fitter<'_>| {
            let best = Arc::unwrap_or_clone(best);
            let refit = fitter.fit(&validation, &best)?;
            let all = || (0..validation.rows.len()).collect();
            let places: Vec<usize> = best.places.unwrap_or_else(all);
            let scores = best.scores.select(Axis(0), &places);
            let scores = validation.scored(best.source, scores, &places);
            Ok(Refitted { refit, chosen: best.chosen, scores })
        })
    }
}

fn is_affordable(fitter: &Fitter<'_>, n_chosen: usize) -> bool {
    fitter.labels.len() as f64 * (n_chosen as f64).powi(2) <= MOST_WORK
}

/// The basis rows and those validation rows that the regression predicts worst: rows whose labels their neighbors do not foretell. Binary classifiers know
/// their own class only, and many choose the same rows; this looks at all classes at once.
fn with_worst(fitter: &Fitter<'_>, validation: &Validation, fit: &Trial, n_wanted: usize) -> Vec<usize> {
    let mut is_chosen = vec![false; fitter.labels.len()];
    fit.chosen.iter().for_each(|&row| is_chosen[row] = true);
    let error = |place: usize, row: usize| {
        let pairs = fit.scores.row(place).into_iter().zip(validation.signs.row(row));
        pairs.filter(|(score, _)| score.is_finite()).map(|(score, y)| (score - y).powi(2)).sum::<f64>()
    };
    let places = validation.rows.iter().enumerate().filter(|(_, row)| !is_chosen[**row]);
    let mut errors: Vec<(f64, usize)> = places.map(|(place, &row)| (error(place, row), row)).collect();
    errors.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let n_more = n_wanted.saturating_sub(fit.chosen.len());
    fit.chosen.iter().copied().chain(errors.into_iter().map(|(_, row)| row).take(n_more)).collect()
}

/// One of some numbers, which rise, with its neighbors.
fn around(numbers: &[f64], one: f64) -> &[f64] {
    let at = numbers.iter().position(|number| *number == one).unwrap_or(0);
    &numbers[at.saturating_sub(1)..numbers.len().min(at + 2)]
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use hedgerow_core::{Budget, ClassId, Par};

    use super::*;

    /// Three classes in bands that are too narrow for a few rows.
    fn bands(n: usize) -> (Array2<f32>, Vec<ClassId>) {
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, 2), |_| rng.unit() as f32);
        let labels = x.rows().into_iter().map(|row| ClassId((row[0] * 9.0) as u32 % 3)).collect();
        (x, labels)
    }

    fn search(fitter: &Fitter<'_>, given: &[usize], freedom: Freedom) -> Refitted {
        let mut search = RegressionSearch::new(fitter, given.to_vec(), 0.1, &[0.03], freedom);
        while !search.is_done() {
            search.advance(fitter).unwrap();
        }
        search.best().unwrap()(fitter).unwrap()
    }

    #[test]
    fn the_rows_that_are_predicted_worst_join() {
        let ((x, labels), par, budget) = (bands(300), Par::sequential(), Budget::open());
        let fitter = Fitter { x: x.view(), labels: &labels, n_classes: 3, par: &par, budget: &budget };
        let given: Vec<usize> = (0..30).map(|i| 10 * i).collect();
        let validation = fitter.validation(90);
        let before = fitter.leave_one_out(&validation, given.clone(), 0.1, &[0.03]).unwrap();
        let after = search(&fitter, &given, Freedom { n_rows: 90, ..Freedom::default() });
        assert_eq!((&after.chosen[..30], after.chosen.len()), (&given[..], 90));
        assert_eq!(after.scores.source, Source::OutOfFold);
        let after_loss = after.scores.calibrated_loss(&par);
        assert!(after_loss < 0.7 * before.loss, "{after_loss} {}", before.loss);
        let share = |class: u32| labels.iter().filter(|label| label.0 == class).count() as f64 / 300.0;
        let error = |row: usize| {
            let y = |class: u32| 2.0 * (f64::from(u8::from(labels[row].0 == class)) - share(class));
            (0..3).map(|class| (before.scores[(row, class as usize)] - y(class)).powi(2)).sum::<f64>()
        };
        let least = after.chosen[30..].iter().map(|&row| error(row)).fold(f64::INFINITY, f64::min);
        let others = (0..300).filter(|row| !after.chosen.contains(row));
        assert!(others.into_iter().all(|row| error(row) <= least + 1e-9));
        let kept = search(&fitter, &given, Freedom { n_rows: 20, ..Freedom::default() });
        assert_eq!((kept.chosen, kept.scores.source), (given.clone(), Source::LeaveOneOut));
        let half = search(&fitter, &given, Freedom { n_rows: 300, ..Freedom::default() });
        assert_eq!(half.chosen.len(), 150, "half of the rows at most");
        let folds = search(&fitter, &given, Freedom { wants_folds: true, ..Freedom::default() });
        assert_eq!((folds.chosen, folds.scores.source), (given.clone(), Source::OutOfFold));
        assert_eq!(folds.refit, kept.refit, "only the scores differ");
        budget.stop.stop();
        let cut = search(&fitter, &given, Freedom { n_rows: 90, may_move: true, wants_folds: false });
        assert_eq!((cut.chosen, cut.refit.length), (given, 0.1), "a budget that is spent ends it");
    }
}
