//! What an RVM is fitted to: numbers with normal noise ([`Regression`]), or two classes ([`Binary`]).

mod binary;
mod regression;

use std::time::{Duration, Instant};

use hedgerow_core::{Budget, Par, Result};
use ndarray::{Array1, Array2};

use crate::design::Design;
use crate::evidence::{HyperPriors, Quadratic, Rules, Solution};
use crate::options::Solver;
use crate::params::RvmParams;

pub(crate) use binary::{Binary, sigmoid};
pub(crate) use regression::{Regression, sample};

/// Relevant columns and the posterior of their weights.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SparseFit {
    /// Numbers of columns, in order: rows, and the number of rows for the bias.
    pub(crate) columns: Vec<usize>,
    pub(crate) alpha: Vec<f64>,
    /// μ.
    pub(crate) mean: Array1<f64>,
    /// Σ.
    pub(crate) covariance: Array2<f64>,
    /// σ²; 1 for classes.
    pub(crate) noise: f64,
    pub(crate) log_evidence: f64,
    pub(crate) n_iterations: usize,
    pub(crate) is_converged: bool,
    /// What had to be added for factors to exist, relative.
    pub(crate) jitter: f64,
    /// Φμ for all rows.
    pub(crate) scores: Vec<f64>,
}

impl SparseFit {
    /// No columns yet.
    pub(crate) fn empty(n_rows: usize, noise: f64) -> Self {
        Self {
            columns: Vec::new(),
            alpha: Vec::new(),
            mean: Array1::zeros(0),
            covariance: Array2::zeros((0, 0)),
            noise,
            log_evidence: f64::NEG_INFINITY,
            n_iterations: 0,
            is_converged: false,
            jitter: 0.0,
            scores: vec![0.0; n_rows],
        }
    }

    /// Weights that are known already, to start from.
    pub(crate) fn known(
        design: Design<'_>,
        columns: Vec<usize>,
        alpha: &[f64],
        mean: Array1<f64>,
        par: &Par,
    ) -> Self {
        let scores = design.multiply(&columns, &mean, par);
        Self { columns, alpha: alpha.to_vec(), mean, scores, ..Self::empty(0, 1.0) }
    }

    pub(crate) fn from_solution(solution: Solution, candidates: &[usize]) -> Self {
        Self {
            columns: solution.active.iter().map(|&i| candidates[i]).collect(),
            alpha: solution.alpha,
            mean: solution.mean,
            covariance: solution.covariance,
            noise: 1.0 / solution.beta,
            log_evidence: solution.log_evidence,
            n_iterations: solution.n_iterations,
            is_converged: solution.is_converged,
            jitter: solution.jitter,
            scores: Vec::new(),
        }
    }

    /// The `α` of candidates: infinite for those that are not relevant here.
    pub(crate) fn alpha_of(&self, candidates: &[usize]) -> Vec<f64> {
        let of = |c: &usize| self.columns.binary_search(c).map_or(f64::INFINITY, |place| self.alpha[place]);
        candidates.iter().map(of).collect()
    }
}

/// Columns whose evidence is maximised together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates<'a> {
    /// Candidate columns, in order and without repetition.
    pub(crate) columns: &'a [usize],
    /// Where to start.
    pub(crate) from: &'a SparseFit,
    /// Of the basic solver: stop with fewer columns than this, unless it must converge.
    pub(crate) water_mark: usize,
    /// The rows that the evidence is taken of, where the parameters do not decide that.
    pub(crate) rows: Option<&'a [usize]>,
    /// Whether this is the last solve, which must converge.
    pub(crate) is_last: bool,
}

/// Where the time went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Profile {
    /// Sums over rows.
    pub sums: Duration,
    /// Maximising the evidence.
    pub solve: Duration,
    /// The weights of a classifier for fixed `α`.
    pub mode: Duration,
    /// Predictions for all rows.
    pub errors: Duration,
}

impl Profile {
    pub(crate) fn add(&mut self, other: &Self) {
        self.sums += other.sums;
        self.solve += other.solve;
        self.mode += other.mode;
        self.errors += other.errors;
    }
}

/// Runs a piece of work and adds how long it took.
pub(crate) fn timed<T>(spent: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *spent += start.elapsed();
    result
}

/// What an RVM is fitted to: rows, the kernel around them, and a target for each.
pub(crate) trait Target: Sync {
    /// Up to so many rows all are candidates at once, if the parameters leave that open.
    const WHOLE_ROWS: usize;

    /// The rows and the kernel.
    fn design(&self) -> Design<'_>;

    /// How it is trained.
    fn params(&self) -> &RvmParams;

    /// Maximises the evidence of some candidates.
    fn solve(
        &self,
        candidates: Candidates<'_>,
        budget: &Budget,
        par: &Par,
        profile: &mut Profile,
    ) -> Result<SparseFit>;

    /// The quadratic problem of candidates over all rows, at the weights of a fit.
    fn problem(&self, candidates: &[usize], fit: &SparseFit, par: &Par) -> Quadratic;

    /// A fit without columns.
    fn empty(&self) -> SparseFit;

    /// The error of each row; the rows with the largest are the next candidates.
    fn errors(&self, fit: &SparseFit) -> Vec<f64>;

    /// One number for all rows: the root mean square error, or the share of wrong classes.
    fn error(&self, fit: &SparseFit) -> f64;

    /// Groups of rows that each chunk of candidates must hold its share of.
    fn groups(&self) -> Vec<Vec<usize>>;

    /// The rules of one solve.
    fn rules(&self, candidates: &Candidates<'_>, learns_noise: bool) -> Rules {
        let params = self.params();
        let [a, b, c, d] = params.hyper_priors;
        Rules {
            priors: HyperPriors { alpha: [a, b], noise: [c, d] },
            alpha_max: params.alpha_max,
            tolerance: params.tolerance,
            min_gain: params.min_gain,
            max_iterations: params.max_iterations,
            noise_every: if learns_noise { params.noise_every } else { 0 },
            water_mark: if candidates.is_last { 0 } else { candidates.water_mark },
            is_fast: params.solver == Solver::Fast,
        }
    }
}
