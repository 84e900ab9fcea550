//! What models predicted for the stop set, label after label.

use hedgerow_core::error::check_shapes;
use hedgerow_core::traits::most_probable;
use hedgerow_core::{Error, Result};
use ndarray::ArrayView2;

use super::gaussian::Divergence;
use super::kappa::cohens_kappa;

/// What a model predicts for the stop set after some labels.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// Labels it was trained on.
    pub n_labels: usize,
    /// A probability for every class (column) of every row of the stop set. Classes that come late get columns at the end.
    pub proba: ArrayView2<'a, f64>,
    /// The same by a model that was trained on the same labels with another seed; none where the seed changes nothing.
    pub other_seed: Option<ArrayView2<'a, f64>>,
    /// For Gaussian processes, the divergences of the posterior from that of the observation before.
    pub divergence: Option<Divergence>,
}

impl<'a> Observed<'a> {
    /// Predictions alone.
    pub fn new(n_labels: usize, proba: ArrayView2<'a, f64>) -> Self {
        Self { n_labels, proba, other_seed: None, divergence: None }
    }
}

/// What is kept of an observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Labels the model was trained on.
    pub n_labels: usize,
    /// The predicted class of every row of the stop set.
    pub predictions: Vec<u32>,
    /// Cohen's kappa to the predictions of the observation before.
    pub kappa: Option<f64>,
    /// Rows whose prediction is another one than at the observation before.
    pub n_changed: Option<usize>,
    /// Cohen's kappa to the predictions of the model with another seed, and the share of rows where they differ.
    pub seeds: Option<[f64; 2]>,
    /// The mean of 1 less the largest probability.
    pub expected_error: f64,
    /// The mean entropy over that of equal probabilities.
    pub entropy: f64,
    /// The divergences of the posterior of a Gaussian process.
    pub divergence: Option<Divergence>,
}

/// What models predicted for the stop set, label after label.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    checkpoints: Vec<Checkpoint>,
}

impl History {
    /// The observations, by labels.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// The last observation.
    pub fn last(&self) -> Option<&Checkpoint> {
        self.checkpoints.last()
    }

    /// Takes in an observation. Those with as many labels or more are dropped: labels were taken back.
    pub fn record(&mut self, observed: &Observed<'_>) -> Result<()> {
        let rows = observed.proba.nrows();
        if rows == 0 || observed.proba.ncols() == 0 {
            return Err(Error::param(
                "stop set",
                "at least one row and one class",
                format!("{:?}", observed.proba.dim()),
            ));
        }
        if let Some(first) = self.checkpoints.first() {
            check_shapes([("rows of the stop set", first.predictions.len(), rows)])?;
        }
        if let Some(other) = observed.other_seed {
            check_shapes([("rows predicted with another seed", rows, other.nrows())])?;
        }
        let all = observed.proba.iter().chain(observed.other_seed.iter().flatten());
        if let Some(wrong) = all.copied().find(|p| !(-1e-9..=1.0 + 1e-9).contains(p)) {
            return Err(Error::param("stop set", "probabilities from 0 to 1", wrong));
        }
        self.take_back(observed.n_labels);
        let predictions = classes(observed.proba);
        let before = self.last().map(|last| &last.predictions);
        let kappa = before.map(|before| cohens_kappa(before, &predictions));
        let n_changed = before.map(|before| n_different(before, &predictions));
        let seeds = observed.other_seed.map(|other| {
            let other = classes(other);
            [cohens_kappa(&other, &predictions), n_different(&other, &predictions) as f64 / rows as f64]
        });
        let n_classes = observed.proba.ncols() as f64;
        let largest = |row: ndarray::ArrayView1<'_, f64>| row.iter().copied().fold(0.0, f64::max);
        let entropy = |p: f64| if p > 0.0 { -p * libm::log(p) } else { 0.0 };
        let expected_error =
            observed.proba.rows().into_iter().map(|row| 1.0 - largest(row)).sum::<f64>() / rows as f64;
        let most = if n_classes > 1.0 { libm::log(n_classes) } else { 1.0 };
        self.checkpoints.push(Checkpoint {
            n_labels: observed.n_labels,
            predictions,
            kappa,
            n_changed,
            seeds,
            expected_error,
            entropy: observed.proba.iter().map(|p| entropy(*p)).sum::<f64>() / (most * rows as f64),
            divergence: observed.divergence,
        });
        Ok(())
    }

    /// Drops the observations with so many labels or more.
    pub fn take_back(&mut self, n_labels: usize) {
        self.checkpoints.retain(|checkpoint| checkpoint.n_labels < n_labels);
    }

    /// The newest observation with at least `lag` labels less than that at `place`.
    pub(super) fn before(&self, place: usize, lag: usize) -> Option<&Checkpoint> {
        let now = self.checkpoints.get(place)?.n_labels;
        self.checkpoints[..place].iter().rev().find(|earlier| earlier.n_labels + lag <= now)
    }

    /// The places of the observations of the last `window` labels.
    pub(super) fn recent(&self, window: usize) -> std::ops::Range<usize> {
        let n = self.checkpoints.len();
        let from = self.last().map_or(0, |last| last.n_labels.saturating_sub(window));
        let first = self.checkpoints.iter().position(|checkpoint| checkpoint.n_labels > from);
        first.unwrap_or(n)..n
    }
}

/// The most probable class of each row.
fn classes(proba: ArrayView2<'_, f64>) -> Vec<u32> {
    most_probable(proba).into_iter().map(|class| class.0).collect()
}

/// How many predictions differ.
pub(super) fn n_different(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a != b).count()
}
