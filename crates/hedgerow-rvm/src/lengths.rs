//! The search for length scales: by out-of-fold predictions, or by the evidence.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Observer, Progress, Training};
use ndarray::{Array2, Axis};

use crate::basis::Basis;
use crate::params::LengthCriterion;
use crate::rvm::{FittedModel, Outcome};
use crate::training_rows::TrainingRows;

/// Lengths tried at first, as powers of 2 of the median distance of rows.
const POWERS: std::ops::RangeInclusive<i32> = -4..=2;
/// Rows whose distances are taken.
const MOST_ROWS: usize = 300;
/// Rounds over all columns in which each length may be halved or doubled.
const ARD_ROUNDS: usize = 3;

/// The best lengths for prepared rows: one for all columns, or one for each. Uses half of the time that is left.
pub(crate) fn best_lengths<M: FittedModel>(rows: &TrainingRows<'_>, training: &Training<'_>) -> Vec<f64> {
    let (params, budget) = (rows.params.of_trial(), training.budget.half_of_time());
    let rows = TrainingRows { params: &params, budget: &budget, is_trial: true, ..*rows };
    LengthSearch::<M> { rows, observer: training.observer, model: std::marker::PhantomData }.find()
}

/// A search over lengths.
struct LengthSearch<'a, M> {
    /// As they are prepared.
    rows: TrainingRows<'a>,
    observer: &'a dyn Observer,
    model: std::marker::PhantomData<fn() -> M>,
}

impl<M: FittedModel> LengthSearch<'_, M> {
    fn find(&self) -> Vec<f64> {
        let (params, folds) = (self.rows.params, self.folds());
        let length = if params.length_scale > 0.0 { params.length_scale } else { self.one_for_all(&folds) };
        if params.ard { self.each(length, &folds) } else { vec![length] }
    }

    /// The best length for all columns.
    fn one_for_all(&self, folds: &[Vec<usize>]) -> f64 {
        let base = median_distance(self.rows.x, self.rows.params.seed);
        let mut tried: Vec<(f64, f64)> = Vec::new();
        let total = POWERS.count() + 2;
        let at = |power: f64, tried: &mut Vec<(f64, f64)>| {
            if self.is_over() && !tried.is_empty() {
                return;
            }
            let score = self.score(&[base * libm::exp2(power)], folds);
            tried.push((power, score));
            self.observer.progress(Progress { done: tried.len(), total: Some(total), accuracy: None });
        };
        // The likeliest first, so that a search that is cut short is worth something.
        let mut powers: Vec<i32> = POWERS.collect();
        powers.sort_by_key(|p| (p + 1).abs());
        powers.iter().for_each(|&power| at(f64::from(power), &mut tried));
        let best = best(&tried);
        [best - 0.5, best + 0.5].iter().for_each(|&power| at(power, &mut tried));
        base * libm::exp2(self::best(&tried))
    }

    fn is_over(&self) -> bool {
        self.rows.budget.spent().is_some()
    }

    /// A length for each column: one after the other is halved or doubled for as long as that helps.
    fn each(&self, start: f64, folds: &[Vec<usize>]) -> Vec<f64> {
        let width = self.rows.x.ncols();
        let mut lengths = vec![start; width];
        if width < 2 {
            return lengths;
        }
        let mut best = self.score(&lengths, folds);
        for _ in 0..ARD_ROUNDS {
            let before = best;
            for column in 0..width {
                for factor in [4.0, 0.5] {
                    if self.is_over() {
                        return lengths;
                    }
                    let mut moved = lengths.clone();
                    moved[column] = (moved[column] * factor).clamp(1e-6 * start, 1e6 * start);
                    let score = self.score(&moved, folds);
                    if score > best {
                        (best, lengths) = (score, moved);
                        break;
                    }
                }
            }
            if best - before <= 1e-4 * before.abs() {
                break;
            }
        }
        lengths
    }

    /// How good lengths are: the higher, the better.
    fn score(&self, lengths: &[f64], folds: &[Vec<usize>]) -> f64 {
        let basis = Basis::new(self.rows.params.kernel, lengths.to_vec());
        if self.rows.params.search == LengthCriterion::Evidence {
            return finite(self.fit(&basis, &sorted(folds.concat())).map(|fit| fit.log_evidence));
        }
        let parts = self.rows.par.map(folds.len(), |test| {
            let train: Vec<usize> =
                folds.iter().enumerate().filter(|(i, _)| *i != test).flat_map(|(_, f)| f).copied().collect();
            let fit = self.fit(&basis, &sorted(train));
            finite(fit.map(|fit| {
                let (x, targets) = self.part(&basis, &folds[test]);
                fit.model.score(&basis, x.view(), &targets, self.rows.n_classes)
            }))
        });
        parts.iter().sum()
    }

    /// A model of some rows.
    fn fit(&self, basis: &Basis, rows: &[usize]) -> Option<Outcome<M>> {
        let (x, targets) = self.part(basis, rows);
        let part = TrainingRows { x: &x, targets: &targets, par: &self.rows.par.alone(), ..self.rows };
        M::fit(&part, basis).ok()
    }

    /// Some rows as the kernel sees them, and their targets.
    fn part(&self, basis: &Basis, rows: &[usize]) -> (Array2<f64>, Vec<f64>) {
        let targets = rows.iter().map(|&row| self.rows.targets[row]).collect();
        (basis.map(self.rows.x.select(Axis(0), rows)), targets)
    }

    /// The rows that are used, in folds that hold each class in its share.
    fn folds(&self) -> Vec<Vec<usize>> {
        let (n, params) = (self.rows.targets.len(), self.rows.params);
        let wanted = params.search_rows.min(n);
        let mut rng = Rng::new(params.seed, Purpose::Sample, 15);
        let mut folds = vec![Vec::new(); params.folds.min(n.max(1))];
        let mut next = 0;
        for mut group in self.rows.groups() {
            rng.shuffle(&mut group);
            for row in group.iter().take((wanted * group.len()).div_ceil(n.max(1))) {
                let place = next % folds.len();
                folds[place].push(*row);
                next += 1;
            }
        }
        folds.into_iter().map(sorted).collect()
    }
}

/// A score; minus infinity if there is none.
fn finite(score: Option<f64>) -> f64 {
    score.filter(|score| score.is_finite()).unwrap_or(f64::NEG_INFINITY)
}

fn best(tried: &[(f64, f64)]) -> f64 {
    let better = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1).then(a.0.total_cmp(&b.0));
    tried.iter().max_by(better).map_or(0.0, |found| found.0)
}

fn sorted(mut rows: Vec<usize>) -> Vec<usize> {
    rows.sort_unstable();
    rows
}

/// The median distance of two rows that differ; 1 if none do.
fn median_distance(x: &Array2<f64>, seed: u64) -> f64 {
    let drawn = Rng::new(seed, Purpose::Sample, 16).sample(x.nrows(), MOST_ROWS);
    let some = drawn.map_or_else(|| x.clone(), |rows| x.select(Axis(0), &rows));
    let mut distances = Vec::new();
    for i in 0..some.nrows() {
        for j in 0..i {
            let d2: f64 = some.row(i).iter().zip(some.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
            if d2 > 0.0 && d2.is_finite() {
                distances.push(libm::sqrt(d2));
            }
        }
    }
    distances.sort_by(f64::total_cmp);
    distances.get(distances.len() / 2).copied().unwrap_or(1.0)
}
