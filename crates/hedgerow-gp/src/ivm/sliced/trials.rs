//! The kernels of a search, one at a time.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, ClassId, Par, Result, Silent};
use ndarray::{Array2, Axis};

use super::super::IvmOptions;
use super::super::columns::squares;
use super::super::params::IvmParams;
use super::super::task::Task;
use super::super::tune::{BETWEEN, LENGTHS, Tries, VARIANCES, typical_distance};
use super::Ground;

/// Rows that a trial looks at, and active rows that a machine has in it, at most: half of what a fit takes for its search, since here everybody waits for it.
const MOST_ROWS: usize = 1500;
const MOST_ACTIVE: usize = 50;

/// Kernels to be tried on some of the rows. Trials do not depend on each other, so any number of threads may do some.
pub struct Trials {
    x: Array2<f32>,
    squares: Array2<f32>,
    labels: Vec<ClassId>,
    n_classes: usize,
    options: IvmOptions,
    params: IvmParams,
    /// Length scale and variance of each.
    pub kernels: Vec<[f64; 2]>,
    /// Parts of the best length scale that are tried at last.
    pub between: Vec<f64>,
}

impl Trials {
    /// The kernels that parameters leave open; none if they leave nothing open. The search is a grid, whatever the parameters say: a population cannot evolve in trials
    /// that do not know of each other.
    pub fn new(ground: &Ground, params: &IvmParams, par: &Par) -> Self {
        let mut rows: Vec<usize> = (0..ground.n_rows()).filter(|row| !ground.is_judge[*row]).collect();
        let learnt = ground.x.select(Axis(0), &rows);
        let typical = typical_distance(learnt.view(), params.seed);
        drop(learnt);
        let given = |value: f64, grid: Vec<f64>| if value > 0.0 { vec![value] } else { grid };
        let lengths = given(params.length_scale, LENGTHS.map(|f| f * typical).to_vec());
        let variances = given(params.signal_variance, VARIANCES.to_vec());
        let kernels: Vec<[f64; 2]> =
            variances.iter().flat_map(|&v| lengths.iter().map(move |&l| [l, v])).collect();
        let between = if params.length_scale > 0.0 { Vec::new() } else { BETWEEN.to_vec() };
        Rng::new(params.seed, Purpose::Sample, 1).shuffle(&mut rows);
        rows.truncate(if kernels.len() > 1 { MOST_ROWS } else { 0 });
        rows.sort_unstable();
        let x = ground.x.select(Axis(0), &rows);
        let most = MOST_ACTIVE.min(rows.len() / (3 * ground.n_classes.max(2)));
        let n_active = params.n_active.min(most).max(1);
        Self {
            squares: squares(x.view(), par),
            labels: rows.iter().map(|&row| ground.labels[row]).collect(),
            x,
            n_classes: ground.n_classes,
            options: IvmOptions { n_active, n_candidates: 0, ..params.options() },
            params: params.clone(),
            kernels,
            between,
        }
    }

    /// How bad a kernel is on these rows.
    pub fn value(&self, kernel: [f64; 2], par: &Par) -> Result<f64> {
        let budget = Budget::open();
        let small = Task {
            x: self.x.view(),
            squares: Some(&self.squares),
            labels: &self.labels,
            n_classes: self.n_classes,
            options: &self.options,
            noise: self.params.noise_variance,
            par,
            budget: &budget,
        };
        let value = Tries::new(small, &self.params, &Silent).value(kernel)?;
        Ok(value.unwrap_or(f64::INFINITY))
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        4 * (self.x.len() + self.squares.len() + self.labels.len())
    }
}
