//! The kernels of a search, one at a time.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, ClassId, Par, Result, Silent};
use ndarray::{Array2, Axis};

use super::super::IvmOptions;
use super::super::columns::squares;
use super::super::params::{IvmParams, SearchKind};
use super::super::task::Task;
use super::super::tune::{BETWEEN, LENGTHS, Tries, VARIANCES, bounds, evolution, typical_distance};
use super::Ground;
use crate::cma::minimize_in_rounds;

/// Rows that a trial looks at, and active rows that a machine has in it, at most: half of what a fit takes for its search, since here everybody waits for it.
const MOST_ROWS: usize = 1500;
const MOST_ACTIVE: usize = 50;

/// Kernels to be tried on some of the rows. Which ones come later depends on how good the first were; of those that are known, any may be tried at any time.
pub struct Trials {
    x: Array2<f32>,
    squares: Array2<f32>,
    labels: Vec<ClassId>,
    n_classes: usize,
    options: IvmOptions,
    params: IvmParams,
    /// Length scale and variance of each in the grid; one alone if nothing is left open.
    grid: Vec<[f64; 2]>,
    /// Parts of the best length scale that are tried at last.
    between: Vec<f64>,
    /// Logarithms of the bounds between which a population evolves.
    bounds: [[f64; 2]; 2],
}

impl Trials {
    /// Made ready for what parameters leave open.
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
            grid: kernels,
            between,
            bounds: bounds(params, typical).map(|bounds| bounds.map(libm::log)),
        }
    }

    /// The kernels that can be tried by now; `tried` has how bad they are, as far as that is known. One alone is not worth a trial.
    ///
    /// A grid is known at once, but for what lies between the best of it and its neighbors. Of a population that evolves, those of a generation are known when all
    /// before them have been tried.
    pub fn kernels(&self, tried: &[Option<f64>]) -> Vec<[f64; 2]> {
        if self.evolves() {
            return self.evolve(tried);
        }
        let mut kernels = self.grid.clone();
        let n = kernels.len();
        if n > 1 && tried.len() >= n && !tried[..n].contains(&None) {
            let [length, variance] = least(&kernels, tried).unwrap_or(kernels[0]);
            kernels.extend(self.between.iter().map(|share| [share * length, variance]));
        }
        kernels
    }

    /// The best of those that were tried; the first if none was.
    pub fn best(&self, tried: &[Option<f64>]) -> [f64; 2] {
        let kernels = self.kernels(tried);
        least(&kernels, tried).or_else(|| kernels.first().copied()).unwrap_or(self.grid[0])
    }

    fn evolves(&self) -> bool {
        self.params.search == SearchKind::Cma && self.grid.len() > 1
    }

    /// Lets the population evolve again, as far as values are known. Returns all that were asked for.
    fn evolve(&self, tried: &[Option<f64>]) -> Vec<[f64; 2]> {
        let (limits, mut rng) = evolution(&self.params);
        let mut asked: Vec<[f64; 2]> = Vec::new();
        minimize_in_rounds(&self.bounds, &limits, &mut rng, |points| {
            let first = asked.len();
            asked.extend(points.iter().map(|point| [libm::exp(point[0]), libm::exp(point[1])]));
            let known = tried.get(first..asked.len()).unwrap_or_default();
            known.iter().map_while(|value| *value).collect()
        });
        asked
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

/// The kernel of the least value.
fn least(kernels: &[[f64; 2]], tried: &[Option<f64>]) -> Option<[f64; 2]> {
    let mut best: Option<([f64; 2], f64)> = None;
    for (kernel, value) in kernels.iter().zip(tried) {
        if let Some(value) = value
            && best.is_none_or(|(_, least)| *value < least)
        {
            best = Some((*kernel, *value));
        }
    }
    best.map(|(kernel, _)| kernel)
}
