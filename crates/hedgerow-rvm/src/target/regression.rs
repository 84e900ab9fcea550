//! Numbers with normal noise (Tipping 2001).

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Par, Result};

use super::{Candidates, Profile, SparseFit, Target, picked, timed};
use crate::design::Design;
use crate::evidence::{Quadratic, Start, solve};
use crate::options::RowsUsed;
use crate::params::RvmParams;

/// Rows with numbers, whose noise is estimated too.
pub(crate) struct Regression<'a> {
    pub(crate) design: Design<'a>,
    pub(crate) targets: &'a [f64],
    pub(crate) params: &'a RvmParams,
}

impl Regression<'_> {
    /// The variance of the targets, or what stands for it if they do not vary.
    pub(crate) fn variance(&self) -> f64 {
        let n = self.targets.len().max(1) as f64;
        let mean = self.targets.iter().sum::<f64>() / n;
        let variance = self.targets.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / n;
        let mean_square = self.targets.iter().map(|t| t * t).sum::<f64>() / n;
        if variance > 1e-300 { variance } else { mean_square.max(1e-12) }
    }

    /// The problem of candidates over all rows, or over some.
    fn summed(&self, candidates: &[usize], rows: Option<&[usize]>, par: &Par) -> Quadratic {
        let targets = picked(self.targets, rows);
        // Summed over once, so that nothing need be kept.
        let (gram, moment) = self.design.passing(candidates, rows).sums(None, &targets, par);
        let energy = targets.iter().map(|t| t * t).sum();
        Quadratic { gram, moment, energy, n_rows: targets.len() as f64 }
    }
}

/// The rows that the evidence of candidates is taken of; none for all.
pub(crate) fn rows_of(
    design: Design<'_>,
    candidates: &Candidates<'_>,
    params: &RvmParams,
) -> Option<Vec<usize>> {
    let n = design.n_rows();
    if let Some(rows) = candidates.rows {
        return Some(rows.to_vec());
    }
    let wants_sample = match params.rows {
        RowsUsed::All => false,
        RowsUsed::Active => return Some(candidates.columns.iter().copied().filter(|c| *c != n).collect()),
        RowsUsed::Auto => n > params.sample_rows,
        RowsUsed::Sample => true,
    };
    (wants_sample && !candidates.is_last).then(|| sample(n, params.sample_rows, params.seed))
}

/// Rows drawn at random, in order.
pub(crate) fn sample(n: usize, wanted: usize, seed: u64) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..n).collect();
    if wanted < n {
        Rng::new(seed, Purpose::Sample, 11).shuffle(&mut rows);
        rows.truncate(wanted);
        rows.sort_unstable();
    }
    rows
}

impl Target for Regression<'_> {
    const WHOLE_ROWS: usize = 1000;

    fn design(&self) -> Design<'_> {
        self.design
    }

    fn params(&self) -> &RvmParams {
        self.params
    }

    fn empty(&self) -> SparseFit {
        SparseFit::empty(self.design.n_rows(), self.params.noise_variance * self.variance())
    }

    fn problem(&self, candidates: &[usize], _: &SparseFit, par: &Par) -> Quadratic {
        self.summed(candidates, None, par)
    }

    fn solve(
        &self,
        candidates: Candidates<'_>,
        budget: &Budget,
        par: &Par,
        profile: &mut Profile,
    ) -> Result<SparseFit> {
        let Candidates { columns, from, .. } = candidates;
        let rows = rows_of(self.design, &candidates, self.params);
        let problem = timed(&mut profile.sums, || self.summed(columns, rows.as_deref(), par));
        let start = Start::of(columns, &from.columns, &from.alpha, 1.0 / from.noise);
        let rules = self.rules(&candidates, true);
        let fit = timed(&mut profile.solve, || solve(&problem, &start, &rules, budget, par))?;
        let mut fit = fit.over(columns);
        fit.scores = timed(&mut profile.errors, || self.design.multiply(&fit.columns, &fit.mean, par));
        Ok(fit)
    }

    fn errors(&self, fit: &SparseFit) -> Vec<f64> {
        self.targets.iter().zip(&fit.scores).map(|(t, y)| (t - y).abs()).collect()
    }

    fn error(&self, fit: &SparseFit) -> f64 {
        let squares: f64 = self.targets.iter().zip(&fit.scores).map(|(t, y)| (t - y) * (t - y)).sum();
        libm::sqrt(squares / self.targets.len().max(1) as f64)
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        vec![(0..self.design.n_rows()).collect()]
    }
}
