//! What an RVM is fitted to: numbers with normal noise ([`Regression`]), or two classes ([`Binary`]).

mod binary;
mod regression;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use hedgerow_core::{Budget, Par, Result};
use ndarray::Array1;

use crate::design::Design;
use crate::evidence::{Quadratic, Rules};
use crate::options::RowsUsed;
use crate::params::RvmParams;

pub(crate) use crate::evidence::SparseFit;
pub(crate) use binary::{Binary, sigmoid};
pub(crate) use regression::{Regression, mean_and_variance, sample};

impl SparseFit {
    /// No columns yet.
    pub(crate) fn empty(n_rows: usize, noise: f64) -> Self {
        let (scores, log_evidence) = (vec![0.0; n_rows], f64::NEG_INFINITY);
        Self { noise, log_evidence, scores, ..Self::default() }
    }

    /// Weights that are known already, to start from.
    pub(crate) fn known(
        context: &Context<'_>,
        columns: Vec<usize>,
        alpha: &[f64],
        mean: Array1<f64>,
    ) -> Self {
        let scores = context.design.multiply(&columns, &mean, context.par);
        Self { columns, alpha: alpha.to_vec(), mean, scores, ..Self::empty(0, 1.0) }
    }

    /// With columns that are places among candidates made columns of the design.
    fn over(mut self, candidates: &[usize]) -> Self {
        self.columns.iter_mut().for_each(|column| *column = candidates[*column]);
        self
    }
}

/// What any fit is given: rows and a kernel, how it is trained, and the limits of that.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) design: Design<'a>,
    pub(crate) params: &'a RvmParams,
    pub(crate) budget: &'a Budget,
    pub(crate) par: &'a Par,
}

/// Columns whose evidence is maximised together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates<'a> {
    /// Candidate columns, in order and without repetition.
    pub(crate) columns: &'a [usize],
    /// Where to start.
    pub(crate) from: &'a SparseFit,
    /// Of the basic solver: stop with fewer columns than this.
    pub(crate) water_mark: usize,
    /// The rows that the evidence is taken of, where the parameters do not decide that.
    pub(crate) rows: Option<&'a [usize]>,
    /// Whether this is the last solve, which must converge.
    pub(crate) is_last: bool,
    pub(crate) budget: &'a Budget,
    pub(crate) par: &'a Par,
}

impl<'a> Candidates<'a> {
    /// The rules of their solve.
    fn rules(&self, params: &'a RvmParams, noise_every: usize) -> Rules<'a> {
        let Self { water_mark, budget, par, .. } = *self;
        Rules { params, noise_every, water_mark, least_share: 0.0, budget, par }
    }

    /// The rows of so many that their evidence is taken of; none for all.
    fn rows_used(&self, n: usize, params: &RvmParams) -> Option<Vec<usize>> {
        if let Some(rows) = self.rows {
            return Some(rows.to_vec());
        }
        let wants_sample = match params.rows {
            RowsUsed::All => false,
            RowsUsed::Active => return Some(self.columns.iter().copied().filter(|c| *c != n).collect()),
            RowsUsed::Auto => n > params.sample_rows,
            RowsUsed::Sample => true,
        };
        (wants_sample && !self.is_last).then(|| sample(n, params.sample_rows, params.seed))
    }
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

    /// The rows and the kernel, and how it is trained.
    fn context(&self) -> Context<'_>;

    /// Maximises the evidence of some candidates.
    fn solve(&self, candidates: Candidates<'_>, profile: &mut Profile) -> Result<SparseFit>;

    /// The quadratic problem of candidates over all rows, at the weights of a fit.
    fn problem(&self, candidates: &[usize], fit: &SparseFit) -> Quadratic;

    /// A fit without columns.
    fn empty(&self) -> SparseFit;

    /// The error of each row; the rows with the largest are the next candidates.
    fn errors(&self, fit: &SparseFit) -> Vec<f64>;

    /// One number for all rows: the root mean square error, or the share of wrong classes.
    fn error(&self, fit: &SparseFit) -> f64;

    /// Groups of rows that each chunk of candidates must hold its share of.
    fn groups(&self) -> Vec<Vec<usize>>;
}

/// The values of some rows; of all where none are named.
fn picked<'a, T: Copy>(all: &'a [T], rows: Option<&[usize]>) -> Cow<'a, [T]> {
    rows.map_or(all.into(), |rows| rows.iter().map(|&row| all[row]).collect())
}
