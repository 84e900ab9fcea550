//! One machine: some relevant columns and what is known of their weights.

mod binary;
mod values;

use std::time::{Duration, Instant};

use hedgerow_core::{Budget, Par, Result};
use ndarray::{Array1, Array2};

use crate::design::Design;
use crate::evidence::{Found, HyperPriors, Quadratic, Rules};
use crate::options::{Options, Solver};

pub(crate) use binary::{Binary, sigmoid};
pub(crate) use values::{Values, sample};

/// Relevant columns and their weights.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sparse {
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

impl Sparse {
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

    pub(crate) fn from_found(found: Found, candidates: &[usize]) -> Self {
        Self {
            columns: found.active.iter().map(|&i| candidates[i]).collect(),
            alpha: found.alpha,
            mean: found.mean,
            covariance: found.covariance,
            noise: 1.0 / found.beta,
            log_evidence: found.log_evidence,
            n_iterations: found.n_iterations,
            is_converged: found.is_converged,
            jitter: found.jitter,
            scores: Vec::new(),
        }
    }

    /// The `α` of candidates: infinite for those that are not relevant here.
    pub(crate) fn alpha_of(&self, candidates: &[usize]) -> Vec<f64> {
        let of = |c: &usize| self.columns.binary_search(c).map_or(f64::INFINITY, |place| self.alpha[place]);
        candidates.iter().map(of).collect()
    }
}

/// One run over some candidates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    /// Candidate columns, in order and without repetition.
    pub(crate) candidates: &'a [usize],
    /// Where to start.
    pub(crate) from: &'a Sparse,
    /// Of the basic solver: stop with fewer columns than this.
    pub(crate) water_mark: usize,
    /// The rows to look at, where the options are not to decide that.
    pub(crate) rows: Option<&'a [usize]>,
    /// The run that must converge.
    pub(crate) is_last: bool,
}

/// Where the time went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Profile {
    /// Sums over rows.
    pub sums: Duration,
    /// Raising the evidence.
    pub solve: Duration,
    /// The weights of a classifier for fixed `α`.
    pub mode: Duration,
    /// Answers for all rows.
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

/// Runs a piece of work and notes how long it took.
pub(crate) fn timed<T>(spent: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *spent += start.elapsed();
    result
}

/// What a machine is to learn.
pub(crate) trait Task: Sync {
    /// The rows and the kernel.
    fn design(&self) -> Design<'_>;

    /// How it is trained.
    fn options(&self) -> &Options;

    /// Raises the evidence of some candidates.
    fn solve(&self, run: Run<'_>, budget: &Budget, par: &Par, profile: &mut Profile) -> Result<Sparse>;

    /// What all rows say about candidates, at the weights of a model.
    fn problem(&self, candidates: &[usize], model: &Sparse, par: &Par) -> Quadratic;

    /// Nothing is known yet.
    fn empty(&self) -> Sparse;

    /// How wrong each row is answered; what is larger is offered first.
    fn errors(&self, model: &Sparse) -> Vec<f64>;

    /// One number for all rows: the root mean square error, or the share of wrong answers.
    fn error(&self, model: &Sparse) -> f64;

    /// Up to how many rows all are candidates at once, if the options leave that open.
    fn whole_rows(&self) -> usize;

    /// Groups of rows that each chunk of candidates must hold its share of.
    fn groups(&self) -> Vec<Vec<usize>>;

    /// The rules of a run.
    fn rules(&self, run: &Run<'_>, learns_noise: bool) -> Rules {
        let options = self.options();
        let [a, b, c, d] = options.hyper_priors;
        Rules {
            priors: HyperPriors { alpha: [a, b], noise: [c, d] },
            alpha_max: options.alpha_max,
            tolerance: options.tolerance,
            min_gain: options.min_gain,
            max_iterations: options.max_iterations,
            noise_every: if learns_noise { options.noise_every } else { 0 },
            water_mark: if run.is_last { 0 } else { run.water_mark },
            is_fast: options.solver == Solver::Fast,
        }
    }
}
