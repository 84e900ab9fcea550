//! Numbers with normal noise (Tipping 2001).

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Par, Result};
use ndarray::{ArrayView1, Axis};

use super::{Candidates, Context, Profile, SparseFit, Target, picked, timed};
use crate::evidence::{Precisions, Quadratic, solve};

/// Rows with numbers, whose noise is estimated too.
pub(crate) struct Regression<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) targets: &'a [f64],
}

impl Regression<'_> {
    /// The variance of the targets, or what stands for it if they do not vary.
    pub(crate) fn variance(&self) -> f64 {
        let mean_square = self.targets.iter().map(|t| t * t).sum::<f64>() / self.targets.len().max(1) as f64;
        let (_, variance) = mean_and_variance(self.targets);
        if variance > 1e-300 { variance } else { mean_square.max(1e-12) }
    }

    /// The problem of candidates over all rows, or over some.
    fn summed(&self, candidates: &[usize], rows: Option<&[usize]>, par: &Par) -> Quadratic {
        let targets = picked(self.targets, rows);
        // Summed over once, so that nothing need be kept.
        let table = self.context.design.passing(candidates, rows);
        let (gram, moments) = table.sums(None, ArrayView1::from(&*targets).insert_axis(Axis(1)), par);
        let energy = targets.iter().map(|t| t * t).sum();
        Quadratic { gram, moments, energy, n_rows: targets.len() as f64, n_targets: 1.0 }
    }
}

/// The mean of numbers, and their variance.
pub(crate) fn mean_and_variance(numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len().max(1) as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    (mean, numbers.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / n)
}

/// Rows drawn at random, in order.
pub(crate) fn sample(n: usize, wanted: usize, seed: u64) -> Vec<usize> {
    let drawn = Rng::new(seed, Purpose::Sample, 11).sample(n, wanted);
    drawn.unwrap_or_else(|| (0..n).collect())
}

impl Target for Regression<'_> {
    const WHOLE_ROWS: usize = 1000;

    fn context(&self) -> Context<'_> {
        self.context
    }

    fn empty(&self) -> SparseFit {
        SparseFit::empty(self.targets.len(), self.context.params.noise_variance * self.variance())
    }

    fn problem(&self, candidates: &[usize], _: &SparseFit) -> Quadratic {
        self.summed(candidates, None, self.context.par)
    }

    fn solve(&self, candidates: Candidates<'_>, profile: &mut Profile) -> Result<SparseFit> {
        let Candidates { columns, from, par, .. } = candidates;
        let Context { design, params, .. } = self.context;
        let rows = candidates.rows_used(design.n_rows(), params);
        let problem = timed(&mut profile.sums, || self.summed(columns, rows.as_deref(), par));
        let start = Precisions::of(columns, &from.columns, &from.alpha, 1.0 / from.noise);
        let rules = candidates.rules(params, params.noise_every);
        let mut fit = timed(&mut profile.solve, || solve(&problem, &start, &rules))?.over(columns);
        fit.scores = timed(&mut profile.errors, || design.multiply(&fit.columns, &fit.mean, par));
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
        vec![(0..self.targets.len()).collect()]
    }
}
