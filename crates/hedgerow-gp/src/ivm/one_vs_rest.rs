//! The one-vs-rest classifier of a class: an active set, its sites, and the posterior at all training rows.

use hedgerow_core::{Budget, Par, Result, Training};
use ndarray::{Array1, Axis};

use super::Ivm;
use super::rows::TrainingRows;
use super::search::{Paused, Search};
use super::second::second_pass;
use super::train::{SecondPass, Trained, bias_for};
use crate::kernel::Kernel;

/// A binary classifier: small enough to be handed on, enough to build an [`Ivm`] from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OneVsRest {
    pub(super) class: usize,
    /// The active rows, in the order in which they joined.
    pub(super) active: Vec<usize>,
    /// The information gain of each.
    pub(super) gains: Vec<f64>,
    /// Means and precisions of their sites.
    pub(super) means: Vec<f64>,
    pub(super) precisions: Vec<f64>,
    pub(super) bias: f64,
    /// (mean + bias)/√(1 + variance) of each training row.
    pub(super) scores: Vec<f32>,
}

impl AsRef<Self> for OneVsRest {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl OneVsRest {
    pub(super) fn of_trained(class: usize, trained: &Trained) -> Self {
        let (means, precisions) = trained.ivm.sites();
        Self {
            class,
            active: trained.active.clone(),
            gains: trained.gains.clone(),
            means: means.to_vec(),
            precisions: precisions.to_vec(),
            bias: trained.ivm.bias(),
            scores: (0..trained.mean.len()).map(|row| trained.score(row) as f32).collect(),
        }
    }

    /// The share of rows outside the active set that it puts on the right side, its class and the others counting the same: chance is ½ however rare
    /// the class is. A side without rows counts ½.
    pub(super) fn accuracy(&self, rows: &TrainingRows) -> f64 {
        let mut is_active = vec![false; rows.n_rows()];
        self.active.iter().for_each(|&row| is_active[row] = true);
        let (mut right, mut all) = ([0.0_f64; 2], [0.0_f64; 2]);
        for (row, label) in rows.labels.iter().enumerate().filter(|(row, _)| !is_active[*row]) {
            let is_own = label.index() == self.class;
            all[usize::from(is_own)] += 1.0;
            right[usize::from(is_own)] += f64::from(u8::from((self.scores[row] > 0.0) == is_own));
        }
        let share = |i: usize| if all[i] > 0.0 { right[i] / all[i] } else { 0.5 };
        0.5 * (share(0) + share(1))
    }

    /// The classifier for new rows.
    pub(super) fn ivm(&self, kernel: Kernel, rows: &TrainingRows, par: &Par) -> Result<Ivm> {
        let x = rows.x.select(Axis(0), &self.active).mapv(f64::from);
        let (means, precisions) = (Array1::from(self.means.clone()), Array1::from(self.precisions.clone()));
        Ivm::new(kernel, self.bias, x, means, precisions, par)
    }
}

/// The training of one class, which stops after a few rows and goes on from there later. It chooses the rows that it would choose in one go.
pub(super) struct ActiveSet {
    class: usize,
    kernel: [f64; 2],
    /// None before the first slice.
    state: Option<Paused>,
    pub(super) is_done: bool,
}

impl ActiveSet {
    pub(super) fn new(class: usize, kernel: [f64; 2]) -> Self {
        Self { class, kernel, state: None, is_done: false }
    }

    /// Active rows so far.
    pub(super) fn n_active(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.picks.len())
    }

    /// Chooses at most so many rows more. Returns the classifier so far.
    pub(super) fn slice(&mut self, rows: &TrainingRows, most: usize, par: &Par) -> Result<OneVsRest> {
        let (columns, y) = (rows.columns(self.kernel), rows.signs(self.class));
        let state = self.state.take().unwrap_or_else(|| {
            let n_own = y.iter().filter(|y| **y > 0.0).count() as f64;
            let bias = bias_for(n_own / y.len().max(1) as f64, self.kernel[1] + rows.noise);
            Paused::new(&columns.diagonal(), rows.noise, bias, &rows.options)
        });
        let mut search = Search::resume(&columns, &y, rows.noise, &rows.options, state, most.max(1));
        let before = search.picks.len();
        match search.choose_ahead(par, &Budget::open()) {
            Some(ahead) => {
                let chosen: Vec<usize> = ahead.chosen.iter().map(|pick| pick.row).collect();
                let own = columns.of(&chosen, par);
                search.take(ahead, &own, par);
            }
            None => self.is_done = true,
        }
        let state = search.pause();
        self.is_done |= state.picks.len() >= state.width || state.picks.len() == before;
        let mut found = self.so_far(&state);
        if self.is_done {
            self.improve_sites(&mut found, rows, &y, par)?;
        } else {
            self.state = Some(state);
        }
        Ok(found)
    }

    fn so_far(&self, state: &Paused) -> OneVsRest {
        let score = |(mean, variance): (&f32, &f32)| {
            ((f64::from(*mean) + state.bias) / libm::sqrt(1.0 + f64::from(*variance))) as f32
        };
        OneVsRest {
            class: self.class,
            active: state.picks.iter().map(|pick| pick.row).collect(),
            gains: state.picks.iter().map(|pick| pick.site.entropy).collect(),
            means: state.picks.iter().map(|pick| pick.site.mean).collect(),
            precisions: state.picks.iter().map(|pick| pick.site.precision).collect(),
            bias: state.bias,
            scores: state.mean.iter().zip(&state.variance).map(score).collect(),
        }
    }

    /// The second pass over the sites, where one is wanted; then scores follow from the new sites.
    fn improve_sites(&self, found: &mut OneVsRest, rows: &TrainingRows, y: &[f64], par: &Par) -> Result<()> {
        if rows.options.second_pass == SecondPass::None {
            return Ok(());
        }
        let kernel = rows.kernel(self.kernel);
        let labels: Vec<f64> = found.active.iter().map(|&row| y[row]).collect();
        let x = rows.x.select(Axis(0), &found.active).mapv(f64::from);
        let start = (Array1::from(found.means.clone()), Array1::from(found.precisions.clone()));
        let covariance = kernel.matrix(x.view(), par);
        let (means, precisions) =
            second_pass(rows.options.second_pass, &covariance, &labels, found.bias, start)?;
        (found.means, found.precisions) = (means.to_vec(), precisions.to_vec());
        let latent = found.ivm(kernel, rows, par)?.latent(rows.x.mapv(f64::from).view(), par)?;
        let score = |(mean, variance): (&f64, &f64)| {
            ((mean + found.bias) / libm::sqrt(1.0 + variance + rows.noise)) as f32
        };
        found.scores = latent.mean.iter().zip(&latent.variance).map(score).collect();
        Ok(())
    }
}

/// Bytes that the training of a class takes.
pub(super) fn bytes_needed(n_rows: usize, n_active: usize) -> u64 {
    n_rows as u64 * (4 * n_active as u64 + 13)
}

/// Out-of-fold scores of the posterior: classifiers of the rows of the other folds score the rows of each.
pub(super) fn fold_scores(
    rows: &TrainingRows,
    kernels: &[[f64; 2]],
    [kept, left]: &[Vec<usize>; 2],
    training: &Training<'_>,
) -> Result<ndarray::Array2<f64>> {
    let small = rows.select(kept, rows.options.clone());
    let found = small.train_all(kernels, training)?;
    let x = rows.x.select(Axis(0), left).mapv(f64::from);
    let mut scores = ndarray::Array2::from_elem((left.len(), rows.n_classes), f64::NEG_INFINITY);
    for one in found.iter().flatten() {
        let ivm = one.ivm(small.kernel(kernels[one.class]), &small, training.par)?;
        let latent = ivm.latent(x.view(), training.par)?;
        let score = |(mean, variance): (&f64, &f64)| (mean + one.bias) / libm::sqrt(1.0 + variance);
        let values = latent.mean.iter().zip(&latent.variance).map(score);
        scores.column_mut(one.class).iter_mut().zip(values).for_each(|(to, value)| *to = value);
    }
    Ok(scores)
}
