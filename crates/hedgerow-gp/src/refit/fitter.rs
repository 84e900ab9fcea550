//! A regression for classes, with the best ridge and the best length nearby.

use hedgerow_core::{Budget, ClassId, Error, Par, Result};
use ndarray::{Array2, ArrayView2, Axis};

use super::{Goal, Number, Refit};
use crate::calibration::Calibration;
use crate::kernel::Kernel;

/// Rows that calibrate, at most: more would not change the curves; and numbers that are kept about them.
pub(crate) const MOST_JUDGES: usize = 8192;
const MOST_NUMBERS: usize = 32_000_000;
/// How much longer or shorter a length scale is that is tried; and rows times squared chosen rows up to which more than what is given is tried.
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

/// What may be tried beside the rows and the length scale that are given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Freedom {
    /// So many rows may be chosen in all, but at most half of the rows: those that are answered worst join the given ones.
    pub n_rows: usize,
    /// Whether other length scales nearby may be looked for.
    pub may_move: bool,
}

/// A regression of all rows on chosen ones, and how it was judged.
pub struct Refitted {
    /// The regression.
    pub refit: Refit,
    /// The rows it is made of: first the given ones, in their order.
    pub chosen: Vec<usize>,
    /// The rows that judge.
    pub judges: Vec<usize>,
    /// Scores that they have where they are not known: minus infinity for a class without rows.
    pub scores: Array2<f64>,
    /// Their labels.
    pub labels: Vec<ClassId>,
    /// Whether the scores are those of regressions that had never met the rows.
    pub are_apart: bool,
}

/// The rows that judge, and what is to be fitted.
pub(super) struct Jury {
    pub(super) rows: Vec<usize>,
    pub(super) labels: Vec<ClassId>,
    /// Labels of all rows as numbers.
    pub(super) signs: Array2<f64>,
    has_rows: Vec<bool>,
}

/// Something that was tried.
pub(super) struct Trial {
    pub(super) chosen: Vec<usize>,
    pub(super) length: f64,
    pub(super) ridge: f64,
    /// Scores of the rows that judge, and how bad these are.
    pub(super) scores: Array2<f64>,
    pub(super) loss: f64,
    /// The regression, where it was made to find the scores.
    pub(super) refit: Option<Refit>,
}

impl Trial {
    /// Whether regressions that had never met the rows have scored them.
    fn is_apart(&self) -> bool {
        self.refit.is_none()
    }
}

impl Jury {
    /// Scores without those of classes that have no rows.
    pub(super) fn known(&self, mut scores: Array2<f64>) -> Array2<f64> {
        let n_classes = scores.ncols();
        for (class, mut column) in scores.columns_mut().into_iter().enumerate() {
            if !self.has_rows[class] && n_classes != 2 {
                column.fill(f64::NEG_INFINITY);
            }
        }
        scores
    }
}

impl<T: Number> Fitter<'_, T> {
    /// The best of some ridges with the chosen rows and a length scale and, as far as it is free, with more rows and other lengths.
    pub fn best(&self, chosen: &[usize], length: f64, ridges: &[f64], freedom: Freedom) -> Result<Refitted> {
        let n_rows = freedom.n_rows.min(self.labels.len() / 2);
        let may_grow = n_rows > chosen.len() && self.is_affordable(n_rows);
        let jury = self.jury(if may_grow { n_rows } else { chosen.len() });
        let mut best = self.judged_alone(&jury, chosen.to_vec(), length, ridges)?;
        if may_grow && self.budget.spent().is_none() {
            let more = self.with_worst(&jury, &best, n_rows);
            best = self.judged_apart(&jury, more, length, ridges)?.unwrap_or(best);
        }
        if freedom.may_move && self.is_affordable(best.chosen.len()) {
            self.move_length(&jury, &mut best, ridges)?;
        }
        self.finish(jury, best)
    }

    /// Goes to shorter length scales for as long as that is better; to longer ones if it never was.
    fn move_length(&self, jury: &Jury, best: &mut Trial, ridges: &[f64]) -> Result<()> {
        for step in [STEP, 1.0 / STEP] {
            let mut has_moved = false;
            while self.budget.spent().is_none() {
                let (chosen, length) = (best.chosen.clone(), best.length * step);
                let ridges = around(ridges, best.ridge);
                let next = if best.is_apart() {
                    self.judged_apart(jury, chosen, length, ridges)?
                } else {
                    Some(self.judged_alone(jury, chosen, length, ridges)?)
                };
                let Some(next) = next.filter(|next| next.loss < best.loss) else { break };
                (*best, has_moved) = (next, true);
            }
            if has_moved {
                break;
            }
        }
        Ok(())
    }

    /// The regression that was found to be best. What is left to do is done whatever the budget says.
    fn finish(&self, jury: Jury, best: Trial) -> Result<Refitted> {
        let are_apart = best.is_apart();
        let refit = if let Some(refit) = best.refit {
            refit
        } else {
            let open = Fitter { budget: &Budget::open(), ..*self };
            let all: Vec<usize> = (0..self.labels.len()).collect();
            let sums = open.sums_of(&best.chosen, &all, &jury.signs, best.length)?;
            let judges = self.x.select(Axis(0), &jury.rows);
            sums.ok_or(Error::Interrupted)?.solve(best.ridge, jury.signs.view(), judges.view(), self.par)?
        };
        Ok(Refitted {
            refit,
            chosen: best.chosen,
            judges: jury.rows,
            scores: best.scores,
            labels: jury.labels,
            are_apart,
        })
    }

    fn is_affordable(&self, n_chosen: usize) -> bool {
        self.labels.len() as f64 * (n_chosen as f64).powi(2) <= MOST_WORK
    }

    /// The chosen rows and those that judge worst of the regression: rows whose labels their neighbors do not foretell. Machines know
    /// their own class only, and many choose the same rows; this looks at all classes at once.
    fn with_worst(&self, jury: &Jury, fit: &Trial, n_wanted: usize) -> Vec<usize> {
        let mut is_chosen = vec![false; self.labels.len()];
        fit.chosen.iter().for_each(|&row| is_chosen[row] = true);
        let error = |place: usize, row: usize| {
            let pairs = fit.scores.row(place).into_iter().zip(jury.signs.row(row));
            pairs.filter(|(score, _)| score.is_finite()).map(|(score, y)| (score - y).powi(2)).sum::<f64>()
        };
        let places = jury.rows.iter().enumerate().filter(|(_, row)| !is_chosen[**row]);
        let mut errors: Vec<(f64, usize)> = places.map(|(place, &row)| (error(place, row), row)).collect();
        errors.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let n_more = n_wanted.saturating_sub(fit.chosen.len());
        fit.chosen.iter().copied().chain(errors.into_iter().map(|(_, row)| row).take(n_more)).collect()
    }

    /// Rows that judge regressions on at most so many rows: spread over all, and the same for all that is tried.
    pub(super) fn jury(&self, n_chosen: usize) -> Jury {
        let n = self.labels.len();
        let most = (MOST_NUMBERS / n_chosen.max(1)).clamp(1, MOST_JUDGES);
        let rows: Vec<usize> = (0..n).step_by(n.div_ceil(most).max(1)).collect();
        let labels = rows.iter().map(|&row| self.labels[row]).collect();
        let mut has_rows = vec![false; self.n_classes];
        self.labels.iter().for_each(|label| has_rows[label.index()] = true);
        Jury { rows, labels, signs: self.centered_signs(), has_rows }
    }

    /// The best of some ridges for chosen rows and a length scale. The rows that judge get the scores that they would have without their own
    /// labels; so chosen ones may judge too.
    fn judged_alone(&self, jury: &Jury, chosen: Vec<usize>, length: f64, ridges: &[f64]) -> Result<Trial> {
        let loss = |scores: &Array2<f64>| self.loss(&jury.known(scores.clone()), &jury.labels);
        let goal = Goal { x: self.x, y: &jury.signs, judges: &jury.rows, ridges, loss: &loss };
        let kernel = (self.kernel)(length);
        let (refit, without) = Refit::new(length, &kernel, &chosen, &goal, self.par)?;
        let scores = jury.known(without);
        let loss = self.loss(&scores, &jury.labels);
        Ok(Trial { chosen, length, ridge: refit.ridge, scores, loss, refit: Some(refit) })
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

/// One of some numbers, which rise, with its neighbors.
fn around(numbers: &[f64], one: f64) -> &[f64] {
    let at = numbers.iter().position(|number| *number == one).unwrap_or(0);
    &numbers[at.saturating_sub(1)..numbers.len().min(at + 2)]
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

    /// Three classes in bands that are too narrow for a few rows.
    fn bands(n: usize) -> (Array2<f32>, Vec<ClassId>) {
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, 2), |_| rng.unit() as f32);
        let labels = x.rows().into_iter().map(|row| ClassId((row[0] * 9.0) as u32 % 3)).collect();
        (x, labels)
    }

    #[test]
    fn the_rows_that_are_answered_worst_join() {
        let ((x, labels), par, budget) = (bands(300), Par::sequential(), Budget::open());
        let fitter = Fitter {
            x: x.view(),
            labels: &labels,
            n_classes: 3,
            kernel: &Kernel::rbf,
            par: &par,
            budget: &budget,
        };
        let given: Vec<usize> = (0..30).map(|i| 10 * i).collect();
        let jury = fitter.jury(90);
        let before = fitter.judged_alone(&jury, given.clone(), 0.1, &[0.03]).unwrap();
        let after = fitter.best(&given, 0.1, &[0.03], Freedom { n_rows: 90, may_move: false }).unwrap();
        assert_eq!((&after.chosen[..30], after.chosen.len()), (&given[..], 90));
        let after_loss = fitter.loss(&after.scores, &after.labels);
        assert!(after_loss < 0.7 * before.loss, "{after_loss} {}", before.loss);
        let share = |class: u32| labels.iter().filter(|label| label.0 == class).count() as f64 / 300.0;
        let error = |row: usize| {
            let y = |class: u32| 2.0 * (f64::from(u8::from(labels[row].0 == class)) - share(class));
            (0..3).map(|class| (before.scores[(row, class as usize)] - y(class)).powi(2)).sum::<f64>()
        };
        let least = after.chosen[30..].iter().map(|&row| error(row)).fold(f64::INFINITY, f64::min);
        let others = (0..300).filter(|row| !after.chosen.contains(row));
        assert!(others.into_iter().all(|row| error(row) <= least + 1e-9));
        let kept = fitter.best(&given, 0.1, &[0.03], Freedom { n_rows: 20, may_move: false }).unwrap();
        assert_eq!(kept.chosen, given, "given rows never leave");
        let half = fitter.best(&given, 0.1, &[0.03], Freedom { n_rows: 300, may_move: false }).unwrap();
        assert_eq!(half.chosen.len(), 150, "half of the rows at most");
        budget.stop.stop();
        let cut = fitter.best(&given, 0.1, &[0.03], Freedom { n_rows: 90, may_move: true }).unwrap();
        assert_eq!((cut.chosen, cut.refit.length), (given, 0.1), "a budget that is spent ends it");
    }
}
