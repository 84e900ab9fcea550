//! Values with normal noise.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Par, Result};

use super::{Profile, Run, Sparse, Task, timed};
use crate::design::{Design, RowValues};
use crate::evidence::{Quadratic, Start, solve};
use crate::options::{Options, RowsUsed};

/// Rows with values, whose noise is to be found too.
pub(crate) struct Values<'a> {
    pub(crate) design: Design<'a>,
    pub(crate) targets: &'a [f64],
    pub(crate) options: &'a Options,
}

impl Values<'_> {
    fn mean_square(&self) -> f64 {
        self.targets.iter().map(|t| t * t).sum::<f64>() / self.targets.len().max(1) as f64
    }

    /// The variance of the targets, or what stands for it if they do not vary.
    pub(crate) fn variance(&self) -> f64 {
        let n = self.targets.len().max(1) as f64;
        let mean = self.targets.iter().sum::<f64>() / n;
        let variance = self.targets.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / n;
        if variance > 1e-300 { variance } else { self.mean_square().max(1e-12) }
    }

    /// What all rows, or some, say about candidates.
    fn summed(&self, candidates: &[usize], rows: Option<&[usize]>, par: &Par) -> Quadratic {
        let some: Option<Vec<f64>> = rows.map(|rows| rows.iter().map(|&row| self.targets[row]).collect());
        let targets = some.as_deref().unwrap_or(self.targets);
        // Summed over once, so that nothing need be kept.
        let table = self.design.passing(candidates, rows);
        let sums = table.sums(RowValues { weights: None, values: targets }, par);
        let energy = targets.iter().map(|t| t * t).sum();
        Quadratic { gram: sums.gram, moment: sums.moment, energy, n_rows: targets.len() as f64 }
    }
}

/// The rows that a run looks at; none for all.
pub(crate) fn rows_of(design: &Design<'_>, run: &Run<'_>, options: &Options) -> Option<Vec<usize>> {
    let n = design.n_rows();
    if let Some(rows) = run.rows {
        return Some(rows.to_vec());
    }
    let wants_sample = match options.rows {
        RowsUsed::All => false,
        RowsUsed::Active => return Some(run.candidates.iter().copied().filter(|c| *c != n).collect()),
        RowsUsed::Auto => n > options.sample_rows,
        RowsUsed::Sample => true,
    };
    (wants_sample && !run.is_last).then(|| sample(n, options.sample_rows, options.seed))
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

impl Task for Values<'_> {
    fn design(&self) -> Design<'_> {
        self.design.borrowed()
    }

    fn options(&self) -> &Options {
        self.options
    }

    fn empty(&self) -> Sparse {
        Sparse::empty(self.design.n_rows(), self.options.first_noise * self.variance())
    }

    fn problem(&self, candidates: &[usize], _: &Sparse, par: &Par) -> Quadratic {
        self.summed(candidates, None, par)
    }

    fn solve(&self, run: Run<'_>, budget: &Budget, par: &Par, profile: &mut Profile) -> Result<Sparse> {
        let rows = rows_of(&self.design, &run, self.options);
        let problem = timed(&mut profile.sums, || self.summed(run.candidates, rows.as_deref(), par));
        let start = Start { alpha: run.from.alpha_of(run.candidates), beta: 1.0 / run.from.noise };
        let rules = self.rules(&run, true);
        let found = timed(&mut profile.solve, || solve(&problem, &start, &rules, budget, par))?;
        let mut model = Sparse::from_found(found, run.candidates);
        model.scores = timed(&mut profile.errors, || self.design.multiply(&model.columns, &model.mean, par));
        Ok(model)
    }

    fn errors(&self, model: &Sparse) -> Vec<f64> {
        self.targets.iter().zip(&model.scores).map(|(t, y)| (t - y).abs()).collect()
    }

    fn error(&self, model: &Sparse) -> f64 {
        let squares: f64 = self.targets.iter().zip(&model.scores).map(|(t, y)| (t - y) * (t - y)).sum();
        libm::sqrt(squares / self.targets.len().max(1) as f64)
    }

    fn whole_rows(&self) -> usize {
        crate::train::WHOLE_ROWS[0]
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        vec![(0..self.design.n_rows()).collect()]
    }
}
