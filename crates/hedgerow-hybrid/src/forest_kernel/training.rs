//! Training on the leaves of a forest in slices: a few steps of the solver now, others later.

use hedgerow_core::{ClassId, Dataset, Effort, Result, Training};
use hedgerow_forest::Forest;
use ndarray::Array2;

use super::conjugate_gradients::ConjugateGradients;
use super::leaves::Leaves;
use super::params::{ForestKernelParams, KernelLearner};
use super::scores::LeafScores;
use super::sparse::{self, Sums};

/// Rows times trees times classes that a slice goes through, about: a fraction of a second. Tests cut finer.
const WORK_A_SLICE: usize = if cfg!(test) { 10_000 } else { 100_000_000 };

/// The training of leaf scores with the kernel of one forest, for one noise variance after the other.
pub(super) struct KernelTraining {
    leaves: Leaves,
    labels: Vec<ClassId>,
    y: Array2<f64>,
    noises: Vec<f64>,
    solver: Solver,
    /// The scores for each noise variance so far.
    pub(super) found: Vec<LeafScores>,
}

enum Solver {
    /// All rows, for the next noise variance.
    Full(Option<ConjugateGradients>),
    /// All rows through inducing rows, so many a class.
    Sparse { n_active: usize, seed: u64, inducing: Option<(Vec<usize>, Sums)> },
}

impl KernelTraining {
    /// Finds the leaves of the rows.
    pub(super) fn new(
        forest: &Forest,
        data: &Dataset,
        params: &ForestKernelParams,
        noises: &[f64],
        training: &Training<'_>,
    ) -> Result<Self> {
        let (n_active, seed) = (params.n_active, params.seed);
        Ok(Self {
            leaves: Leaves::new(forest, &data.features, training.par)?,
            labels: data.labels().to_vec(),
            y: centered_signs(data.labels(), data.schema.n_classes()),
            noises: noises.to_vec(),
            solver: match params.learner {
                KernelLearner::Gp => Solver::Full(None),
                KernelLearner::Ivm => Solver::Sparse { n_active, seed, inducing: None },
            },
            found: Vec::new(),
        })
    }

    pub(super) fn is_done(&self) -> bool {
        self.found.len() == self.noises.len()
    }

    /// Goes on, a slice or to the end. Once the time is up, what has been found by then is the result. A step that was interrupted is repeated by
    /// the next call.
    pub(super) fn train(&mut self, effort: Effort, training: &Training<'_>) -> Result<()> {
        while !self.is_done() {
            let outcome = self.advance(training);
            // What came of work that was stopped is good for nothing, errors included.
            training.par.check()?;
            outcome?;
            if effort == Effort::Slice {
                break;
            }
        }
        Ok(())
    }

    fn advance(&mut self, training: &Training<'_>) -> Result<()> {
        let (leaves, y, par) = (&self.leaves, &self.y, training.par);
        let Some(&noise) = self.noises.get(self.found.len()) else { return Ok(()) };
        match &mut self.solver {
            Solver::Full(gradients) => {
                let n_steps = WORK_A_SLICE / (y.len() * leaves.trees.len()).max(1);
                let begun =
                    gradients.get_or_insert_with(|| ConjugateGradients::new(leaves, y, noise, None, par));
                for _ in 0..n_steps.max(1) {
                    if begun.is_done(training.budget) {
                        break;
                    }
                    begun.step(leaves, par)?;
                }
                if begun.is_done(training.budget) {
                    let all: Vec<usize> = (0..leaves.n_rows).collect();
                    self.found.push(LeafScores::new(leaves, &all, &begun.alpha, par)?);
                    let start = gradients.take().map(|done| done.alpha);
                    // The solution for one noise variance is the first guess for the next.
                    let next = self.noises.get(self.found.len());
                    let next = next.map(|noise| ConjugateGradients::new(leaves, y, *noise, start, par));
                    *gradients = next.filter(|_| !par.is_stopped());
                }
            }
            Solver::Sparse { inducing: Some((rows, sums)), .. } => {
                let weights = sums.solve(noise, training)?;
                self.found.push(LeafScores::new(leaves, rows, &weights, par)?);
            }
            Solver::Sparse { n_active, seed, inducing } => {
                let rows = sparse::choose(leaves, &self.labels, *n_active, *seed, training)?;
                let sums = Sums::new(leaves, &rows, y, training)?;
                *inducing = Some((rows, sums));
            }
        }
        Ok(())
    }
}

/// Labels as ±1, a column a class, less their means.
pub(super) fn centered_signs(labels: &[ClassId], n_classes: usize) -> Array2<f64> {
    let sign = |(row, class): (usize, usize)| if labels[row].index() == class { 1.0 } else { -1.0 };
    let mut signs = Array2::from_shape_fn((labels.len(), n_classes), sign);
    for mut column in signs.columns_mut() {
        let mean = column.sum() / labels.len().max(1) as f64;
        column.iter_mut().for_each(|v| *v -= mean);
    }
    signs
}
