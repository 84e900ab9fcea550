//! The search for length scale and variance of the kernel.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Observer, Progress, Result};
use ndarray::{ArrayView2, Axis};

use super::columns::squares;
use super::params::{IvmParams, Objective, SearchKind};
use super::task::{Machines, Refitting, Task};
use super::{IvmOptions, Trained};
use crate::cma::{Limits, minimize};
use crate::linalg::Cholesky;
use crate::refit::RIDGES;

/// Rows that the search looks at, at most.
const MOST_ROWS: usize = 3000;
/// Active rows a machine has in the search, at most.
const MOST_ACTIVE: usize = 100;
/// Length scales that are tried, in typical distances, and variances; the likeliest first, as the search may be cut short.
pub(super) const LENGTHS: [f64; 7] = [0.45, 0.65, 0.32, 1.0, 0.22, 1.5, 0.15];
pub(super) const VARIANCES: [f64; 4] = [30.0, 8.0, 100.0, 2.0];
/// Parts of the best length scale that are tried at last.
pub(super) const BETWEEN: [f64; 2] = [0.84, 1.19];

/// Length scale and variance: those given, or those that do best on some of the rows.
pub(super) fn tune(task: &Task<'_>, params: &IvmParams, observer: &dyn Observer) -> Result<[f64; 2]> {
    let typical = typical_distance(task.x, params.seed);
    let bounds = bounds(params, typical);
    if bounds.iter().all(|[low, high]| low == high) {
        return Ok([bounds[0][0], bounds[1][0]]);
    }
    on_sample(task, params.seed, |small| {
        let mut tries = Tries::new(small, params, observer);
        let middle = [0, 1].map(|i| libm::sqrt(bounds[i][0] * bounds[i][1]));
        match params.search {
            SearchKind::Grid => tries.grid(params, typical, middle),
            SearchKind::Cma => tries.cma(params, bounds, middle),
        }
    })
}

/// Does something with some of the rows, the squared distances of which are at hand, and with fewer active rows.
pub(super) fn on_sample<T>(
    task: &Task<'_>,
    seed: u64,
    work: impl FnOnce(Task<'_>) -> Result<T>,
) -> Result<T> {
    let mut rows: Vec<usize> = (0..task.labels.len()).collect();
    Rng::new(seed, Purpose::Sample, 1).shuffle(&mut rows);
    rows.truncate(MOST_ROWS);
    rows.sort_unstable();
    let labels: Vec<ClassId> = rows.iter().map(|&row| task.labels[row]).collect();
    let x = task.x.select(Axis(0), &rows);
    let table = squares(x.view(), task.par);
    // As dense as the whole will be, within reason, and so that rows are left to judge.
    let most = MOST_ACTIVE.min(rows.len() / (3 * task.n_classes.max(2)));
    let n_active = task.options.n_active.min(most).max(1);
    let options = IvmOptions { n_active, n_candidates: 0, ..task.options.clone() };
    let small = Task { x: x.view(), squares: Some(&table), labels: &labels, options: &options, ..*task };
    work(small)
}

/// Length scales and variances between which a population evolves.
pub(super) fn bounds(params: &IvmParams, typical: f64) -> [[f64; 2]; 2] {
    let given = |value: f64, least: f64, most: f64| if value > 0.0 { [value; 2] } else { [least, most] };
    [
        given(params.length_scale, LENGTHS[6] * typical, LENGTHS[5] * typical),
        given(params.signal_variance, VARIANCES[3], VARIANCES[2]),
    ]
}

/// Where such a search ends, and what it draws with.
pub(super) fn evolution(params: &IvmParams) -> (Limits, Rng) {
    (Limits { n_values: params.n_trials, n_restarts: 4 }, Rng::new(params.seed, Purpose::Sample, 3))
}

/// Kernels tried on some of the rows.
pub(super) struct Tries<'a, 'o> {
    small: Task<'a>,
    objective: Objective,
    refit: bool,
    observer: &'o dyn Observer,
    n_done: usize,
    n_total: usize,
}

impl<'a, 'o> Tries<'a, 'o> {
    pub(super) fn new(small: Task<'a>, params: &IvmParams, observer: &'o dyn Observer) -> Self {
        Self { small, objective: params.objective, refit: params.refit, observer, n_done: 0, n_total: 0 }
    }

    fn grid(&mut self, params: &IvmParams, typical: f64, middle: [f64; 2]) -> Result<[f64; 2]> {
        let given = |value: f64, grid: Vec<f64>| if value > 0.0 { vec![value] } else { grid };
        let lengths = given(params.length_scale, LENGTHS.map(|f| f * typical).to_vec());
        let variances = given(params.signal_variance, VARIANCES.to_vec());
        let n_between = if params.length_scale > 0.0 { 0 } else { BETWEEN.len() };
        self.n_total = lengths.len() * variances.len() + n_between;
        let mut best = (middle, f64::INFINITY);
        for &variance in &variances {
            for &length in &lengths {
                let Some(value) = self.value([length, variance])? else { return Ok(best.0) };
                if value < best.1 {
                    best = ([length, variance], value);
                }
            }
        }
        // Between the best length and its neighbors.
        let [length, variance] = best.0;
        for factor in &BETWEEN[..n_between] {
            let Some(value) = self.value([factor * length, variance])? else { return Ok(best.0) };
            if value < best.1 {
                best = ([factor * length, variance], value);
            }
        }
        Ok(best.0)
    }

    fn cma(&mut self, params: &IvmParams, bounds: [[f64; 2]; 2], middle: [f64; 2]) -> Result<[f64; 2]> {
        self.n_total = params.n_trials;
        let logs = bounds.map(|b| b.map(libm::log));
        let (limits, mut rng) = evolution(params);
        let mut problem = None;
        let found =
            minimize(&logs, &limits, &mut rng, |at| match self.value([libm::exp(at[0]), libm::exp(at[1])]) {
                Ok(value) => value,
                Err(error) => {
                    problem = Some(error);
                    None
                }
            });
        match problem {
            Some(error) => Err(error),
            None => Ok(found.map_or(middle, |(at, _)| [libm::exp(at[0]), libm::exp(at[1])])),
        }
    }

    /// How bad a kernel is; none if the budget is spent.
    pub(super) fn value(&mut self, kernel: [f64; 2]) -> Result<Option<f64>> {
        if self.small.budget.spent().is_some() {
            return Ok(None);
        }
        let value = self.tried(kernel);
        if self.small.par.is_stopped() {
            return Ok(None);
        }
        let value = value?;
        self.n_done += 1;
        self.observer.progress(Progress { done: self.n_done, total: Some(self.n_total), accuracy: None });
        Ok(Some(if value.is_nan() { f64::INFINITY } else { value }))
    }

    fn tried(&self, kernel: [f64; 2]) -> Result<f64> {
        let machines = self.small.train_all(kernel)?;
        Ok(match self.objective {
            Objective::Loss if self.refit => {
                let how = Refitting {
                    length: kernel[0],
                    ridges: RIDGES.to_vec(),
                    may_grow: false,
                    may_move: false,
                };
                let refitted = self.small.refit(&machines, &how)?;
                self.small.loss(&refitted.scores, &refitted.labels)
            }
            Objective::Loss => {
                let (judged, labels) = self.small.judged(&machines);
                self.small.loss(&judged.scores, &labels)
            }
            Objective::Evidence => mean_of_machines(&machines, |_, trained| -evidence(trained)),
            Objective::Error => mean_of_machines(&machines, |class, trained| {
                100.0 * self.mean_error(class, trained) - evidence(trained)
            }),
        })
    }

    /// The mean error of both classes of a machine, each counting half (spec 000, 4.55).
    fn mean_error(&self, class: usize, trained: &Trained) -> f64 {
        let (mut sums, mut counts) = ([0.0; 2], [1e-9; 2]);
        for (row, label) in self.small.labels.iter().enumerate() {
            let is_own = usize::from(label.index() == class);
            let p = crate::special::normal_cdf(trained.score(row));
            sums[is_own] += if is_own == 1 { 1.0 - p } else { p };
            counts[is_own] += 1.0;
        }
        0.5 * (sums[0] / counts[0] + sums[1] / counts[1])
    }
}

/// The mean over machines of something about each.
fn mean_of_machines(machines: &Machines, of: impl Fn(usize, &Trained) -> f64) -> f64 {
    let each = machines.each.iter().enumerate();
    let values: Vec<f64> = each.filter_map(|(class, t)| Some(of(class, t.as_ref()?))).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The evidence of a machine's sites, for each active row (spec 000, 4.51).
fn evidence(trained: &Trained) -> f64 {
    let (means, precisions) = trained.ivm.sites();
    let par = hedgerow_core::Par::sequential();
    let mut a = trained.ivm.kernel().matrix(trained.ivm.active_rows(), &par);
    a.diag_mut().iter_mut().zip(precisions).for_each(|(v, precision)| *v += 1.0 / precision);
    let Ok(factor) = Cholesky::robust(&a, &par) else { return f64::NEG_INFINITY };
    let n = means.len() as f64;
    let fit = means.dot(&factor.solve(means.view()));
    -0.5 * (factor.log_det() + fit + n * libm::log(2.0 * std::f64::consts::PI)) / n
}

/// The median distance of pairs of rows drawn at random.
pub(super) fn typical_distance(x: ArrayView2<'_, f32>, seed: u64) -> f64 {
    let mut rng = Rng::new(seed, Purpose::Sample, 2);
    let n = x.nrows();
    let mut distances: Vec<f64> = (0..1000)
        .map(|_| {
            let (a, b) = (x.row(rng.index(n)), x.row(rng.index(n)));
            a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
        })
        .filter(|d| *d > 0.0)
        .collect();
    distances.sort_by(f64::total_cmp);
    distances.get(distances.len() / 2).map_or(1.0, |d| libm::sqrt(*d))
}
