//! The one-vs-rest classifier of a class: an active set, its sites, and the posterior at all training rows.

use hedgerow_core::{Budget, ClassId, Par, Result, Training};
use ndarray::{Array1, Array2};

use super::Ivm;
use super::learnt::Sites;
use super::rows::TrainingRows;
use super::search::{ActiveSetSearch, Pick, State};
use super::second::second_pass;
use super::site::Site;
use super::train::{SecondPass, bias_for, kernel_noise};
use crate::kernel::Kernel;

/// A binary classifier: small enough to be handed on, enough to build an [`Ivm`] from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OneVsRest {
    pub(super) class: usize,
    /// The active rows, in the order in which they joined, and their sites.
    pub(super) sites: Sites,
    /// The information gain of each.
    pub(super) gains: Vec<f64>,
    /// Mean, without the bias, and variance of the latent value at each training row.
    pub(super) mean: Vec<f32>,
    pub(super) variance: Vec<f32>,
    /// Σ log Z over the active rows: the evidence as the filter saw it.
    pub(super) log_evidence: f64,
}

impl AsRef<Self> for OneVsRest {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl OneVsRest {
    /// What a search has found so far.
    pub(super) fn of(class: usize, state: &State) -> Self {
        let of_picks = |part: fn(&Pick) -> f64| state.picks.iter().map(part).collect();
        let sites = Sites {
            active: state.picks.iter().map(|pick| pick.row).collect(),
            means: of_picks(|pick| pick.site.mean),
            precisions: of_picks(|pick| pick.site.precision),
            bias: state.bias,
        };
        Self {
            class,
            sites,
            gains: of_picks(|pick| pick.site.entropy),
            mean: state.mean.clone(),
            variance: state.variance.clone(),
            log_evidence: state.picks.iter().map(|pick| pick.site.log_z).sum(),
        }
    }

    /// The second pass over the sites, where one is wanted; mean and variance of all rows then follow from the new sites.
    pub(super) fn with_second_pass(
        mut self,
        kind: SecondPass,
        kernel: &Kernel,
        rows: &dyn Fn(&[usize]) -> Array2<f64>,
        y: &[f64],
    ) -> Result<Self> {
        if kind == SecondPass::None {
            return Ok(self);
        }
        let par = Par::sequential();
        let Sites { active, means, precisions, bias } = self.sites;
        let labels: Vec<f64> = active.iter().map(|&row| y[row]).collect();
        let covariance = kernel.matrix(rows(&active).view(), &par);
        let start = (Array1::from(means), Array1::from(precisions));
        let (means, precisions) = second_pass(kind, &covariance, &labels, bias, start)?;
        self.sites = Sites { active, means: means.to_vec(), precisions: precisions.to_vec(), bias };
        let all: Vec<usize> = (0..y.len()).collect();
        let ivm = self.ivm(kernel.clone(), rows(&self.sites.active), &par)?;
        let latent = ivm.latent(rows(&all).view(), &par)?;
        let noise = kernel_noise(kernel);
        self.mean = latent.mean.iter().map(|v| *v as f32).collect();
        self.variance = latent.variance.iter().map(|v| (*v + noise) as f32).collect();
        Ok(self)
    }

    /// (mean + bias)/√(1 + variance) of a training row.
    pub(super) fn score(&self, row: usize) -> f64 {
        self.score_of(f64::from(self.mean[row]), f64::from(self.variance[row]))
    }

    fn score_of(&self, mean: f64, variance: f64) -> f64 {
        (mean + self.sites.bias) / libm::sqrt(1.0 + variance)
    }

    /// The score of each training row, for active rows from the cavity: the posterior ζ, μ without the site β, m has the precision 1/ζ − β and the mean
    /// (μ/ζ − βm)/(1/ζ − β).
    pub(super) fn left_out_scores(&self) -> Vec<f64> {
        let mut scores: Vec<f64> = (0..self.mean.len()).map(|row| self.score(row)).collect();
        let Sites { active, means, precisions, .. } = &self.sites;
        for ((&row, site), precision) in active.iter().zip(means).zip(precisions) {
            let (mean, variance) = (f64::from(self.mean[row]), f64::from(self.variance[row]));
            let left = (1.0 - precision * variance).max(1e-6);
            scores[row] = self.score_of((mean - precision * variance * site) / left, variance / left);
        }
        scores
    }

    /// What the label of each training row is worth, in entropy. For an active row, with site precision β and posterior variance ζ, it is what removing its site
    /// would give back, −½ log(1 − βζ); for any other row what its label would still take away, ΔH.
    pub(super) fn ratings(&self, labels: &[ClassId]) -> Vec<f64> {
        let gain = |(row, label): (usize, &ClassId)| {
            let y = if label.index() == self.class { 1.0 } else { -1.0 };
            let (mean, variance) = (f64::from(self.mean[row]), f64::from(self.variance[row]));
            Site::new(y, mean, variance, self.sites.bias).map_or(0.0, |site| site.entropy)
        };
        let mut ratings: Vec<f64> = labels.iter().enumerate().map(gain).collect();
        for (&row, precision) in self.sites.active.iter().zip(&self.sites.precisions) {
            let left = 1.0 - precision * f64::from(self.variance[row]);
            ratings[row] = -0.5 * libm::log(left.clamp(1e-12, 1.0));
        }
        ratings
    }

    /// The share of rows outside the active set that it puts on the right side, its class and the others counting the same: chance is ½ however rare
    /// the class is. A side without rows counts ½.
    pub(super) fn accuracy(&self, rows: &TrainingRows) -> f64 {
        let mut is_active = vec![false; rows.n_rows()];
        self.sites.active.iter().for_each(|&row| is_active[row] = true);
        let (mut right, mut all) = ([0.0_f64; 2], [0.0_f64; 2]);
        for (row, label) in rows.labels.iter().enumerate().filter(|(row, _)| !is_active[*row]) {
            let is_own = label.index() == self.class;
            all[usize::from(is_own)] += 1.0;
            right[usize::from(is_own)] += f64::from(u8::from((self.score(row) > 0.0) == is_own));
        }
        let share = |i: usize| if all[i] > 0.0 { right[i] / all[i] } else { 0.5 };
        0.5 * (share(0) + share(1))
    }

    /// The classifier for new rows, from the active ones.
    pub(super) fn ivm(&self, kernel: Kernel, active: Array2<f64>, par: &Par) -> Result<Ivm> {
        Ivm::new(kernel, &self.sites, active, par)
    }
}

/// The training of one class, which stops after a few rows and goes on from there later. It chooses the rows that it would choose in one go.
pub(super) struct ActiveSet {
    class: usize,
    kernel: [f64; 2],
    /// None before the first slice.
    state: Option<State>,
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
            let bias = bias_for(n_own / y.len().max(1) as f64, self.kernel[1] + rows.params.noise_variance);
            State::new(&columns.diagonal(), rows.params.noise_variance, bias, &rows.params, false)
        });
        let mut search = ActiveSetSearch::resume(
            &columns,
            &y,
            rows.params.noise_variance,
            &rows.params,
            state,
            most.max(1),
        );
        let before = search.state.picks.len();
        match search.choose_ahead(par, &Budget::open()) {
            Some(ahead) => {
                let chosen: Vec<usize> = ahead.chosen.iter().map(|pick| pick.row).collect();
                let own = columns.of(&chosen, par);
                search.take(ahead, &own, par);
            }
            None => self.is_done = true,
        }
        let state = search.state;
        self.is_done |= state.picks.len() >= state.width || state.picks.len() == before;
        let found = OneVsRest::of(self.class, &state);
        if self.is_done {
            let (kernel, kind) = (rows.kernel(self.kernel), rows.params.second_pass);
            return found.with_second_pass(kind, &kernel, &|places| rows.wide(places), &y);
        }
        self.state = Some(state);
        Ok(found)
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
) -> Result<Array2<f64>> {
    let small = rows.select(kept, rows.params.clone());
    let found = small.train_all(kernels, training)?;
    let x = rows.wide(left);
    let mut scores = Array2::from_elem((left.len(), rows.n_classes), f64::NEG_INFINITY);
    for one in &found {
        let kernel = small.kernel(kernels[one.class]);
        let ivm = one.ivm(kernel, small.wide(&one.sites.active), training.par)?;
        scores.column_mut(one.class).assign(&ivm.scores(x.view(), training.par)?);
    }
    Ok(scores)
}

#[cfg(test)]
mod tests {
    use hedgerow_core::Silent;
    use hedgerow_core::testing::blobs;

    use super::super::IvmParams;
    use super::*;
    use crate::linalg::Cholesky;

    /// Posteriors without a site are built anew. Entropies of whole posteriors come from determinants: `½ log|Σ|` with `Σ⁻¹ = K⁻¹ + diag(precisions)`.
    #[test]
    fn left_out_scores_and_ratings_are_those_of_whole_posteriors() {
        let data = blobs(40, 2, 3, 2);
        let params = IvmParams { n_active: 12, noise_variance: 0.05, ..IvmParams::default() };
        let x = data.features.to_array(0..40);
        let labels = data.labels().to_vec();
        let rows = TrainingRows { x, squares: None, labels, n_classes: 3, params };
        let (par, kernel) = (Par::sequential(), [0.8, 3.0]);
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let all: Vec<usize> = (0..40).collect();
        let k = rows.kernel(kernel).matrix(rows.wide(&all).view(), &par);
        let inverse = Cholesky::new(k, &par).unwrap().inverse(&par);
        let entropy = |precisions: &[f64]| {
            let mut of_posterior = inverse.clone();
            of_posterior.diag_mut().iter_mut().zip(precisions).for_each(|(v, precision)| *v += precision);
            -0.5 * Cholesky::new(of_posterior, &par).unwrap().log_det()
        };
        for one in rows.train_all(&[kernel; 3], &training).unwrap() {
            let mut precisions = vec![0.0; 40];
            let Sites { active, precisions: own, .. } = &one.sites;
            active.iter().zip(own).for_each(|(&row, precision)| precisions[row] = *precision);
            let left_out = one.left_out_scores();
            for (place, &row) in active.iter().enumerate() {
                let mut others = one.sites.clone();
                others.active.remove(place);
                others.means.remove(place);
                others.precisions.remove(place);
                let ivm = Ivm::new(rows.kernel(kernel), &others, rows.wide(&others.active), &par).unwrap();
                // The variance of a new row is without the noise that a training row has.
                let latent = ivm.latent(rows.wide(&[row]).view(), &par).unwrap();
                let expected = one.score_of(latent.mean[0], latent.variance[0] + 0.05);
                assert!((left_out[row] - expected).abs() < 1e-4, "{row}: {} {expected}", left_out[row]);
            }
            for (row, rating) in one.ratings(&rows.labels).into_iter().enumerate() {
                let mut changed = precisions.clone();
                let expected = if precisions[row] > 0.0 {
                    changed[row] = 0.0;
                    entropy(&changed) - entropy(&precisions)
                } else {
                    let y = if rows.labels[row].index() == one.class { 1.0 } else { -1.0 };
                    let (mean, variance) = (f64::from(one.mean[row]), f64::from(one.variance[row]));
                    changed[row] = Site::new(y, mean, variance, one.sites.bias).unwrap().precision;
                    entropy(&precisions) - entropy(&changed)
                };
                assert!((rating - expected).abs() < 1e-4, "{row}: {rating} {expected}");
            }
        }
    }
}
