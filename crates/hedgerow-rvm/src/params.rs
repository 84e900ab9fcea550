//! How a Relevance Vector Machine is trained.

use hedgerow_core::params::{at_least, require};
use hedgerow_core::{Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernels::KernelName;
use crate::options::{RowsUsed, Solver, Trainer, WaterMark};

/// How a Relevance Vector Machine is trained, for numbers or for classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RvmParams {
    /// The kernel: `rbf`, `matern1` to `matern4`, `exponential`, `inverse_multiquadric`, `polynomial`, `linear`, `sigmoid`, `compact`.
    pub kernel: KernelName,
    /// Length scale of the kernel, on prepared columns; 0 searches for it.
    pub length_scale: f64,
    /// Search for a length scale for each column, after one for all was found.
    pub ard: bool,
    /// What the search optimises: `cv` the out-of-fold error, `evidence` the log evidence.
    pub search: LengthCriterion,
    /// Folds of `cv`.
    pub folds: usize,
    /// Rows that the search uses, drawn at random, at most.
    pub search_rows: usize,
    /// Of several classes: `shared` is one sparse regression of all of them, in which a row is relevant to all or to none; `rest` trains
    /// each against the rest, `pairs` each against each other, `softmax` all together. For two classes and for few rows, `shared` is `rest`.
    pub multi_class: MultiClass,
    /// Of `shared`: relevant rows, at most; 0 is 100 for each class, and no more than a third of the rows.
    pub max_relevant: usize,
    /// Which rows are tried when: `whole` all at once, `working_set` those with large errors next, `incremental` in random order,
    /// `split_merge` parts side by side; `auto` is `whole` for few rows and `working_set` for many.
    pub trainer: Trainer,
    /// How the evidence is maximised: `fast` a row at a time, `basic` all rows at once, dropping those without use.
    pub solver: Solver,
    /// Rows that are tried at a time, besides relevant ones; 0 finds a number by a probe.
    pub partition_size: usize,
    /// Shares of relevant rows up to which a probe counts as sparse, and as half sparse.
    pub probe_limits: [f64; 2],
    /// What the size of the probe is multiplied with for the partition size: sparse, half sparse, not sparse.
    pub probe_factors: [f64; 3],
    /// When a solve of `basic` that is not the last ends early: with half of the `current` candidates left, or half of the
    /// `partition`, or `none`.
    pub water_mark: WaterMark,
    /// Rows that the evidence of candidates is taken of: `all`, a `sample` except in the last solve, or the `active` ones only; `auto` is
    /// `all` unless there are more than `sample_rows`.
    pub rows: RowsUsed,
    /// Rows of the `sample`.
    pub sample_rows: usize,
    /// Rounds without gain after which no more rows are tried; 0 tries all.
    pub patience: usize,
    /// Try rows that were dropped once more at the end, and take those that raise the evidence.
    pub reinsert: bool,
    /// Whether a constant is offered beside the rows.
    pub bias: bool,
    /// Variance of the noise, in units of the variance of the target, to start from.
    pub noise_variance: f64,
    /// Iterations from one estimate of the noise to the next; 0 keeps `noise_variance`.
    pub noise_every: usize,
    /// The variance of predictions: `plain` is the RVM's own, which shrinks away from the rows; `healed` grows there.
    pub variance: Variance,
    /// Shape and rate of the Gamma priors on the precisions of weights and of noise; 0 is flat. The first two need `solver=basic`.
    pub hyper_priors: [f64; 4],
    /// Weights of a larger precision are dropped.
    pub alpha_max: f64,
    /// Of `basic`: the change of log precisions below which it has converged.
    pub tolerance: f64,
    /// Of `fast`: the gain in log evidence below which nothing is changed.
    pub min_gain: f64,
    /// Iterations of one solve, at most.
    pub max_iterations: usize,
    /// Rows that a model which goes on learning retains, relevant ones among them.
    pub max_rows: usize,
    /// Seed of all random choices: same seed, same data, same model.
    pub seed: u64,
}

/// What the search for length scales optimises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LengthCriterion {
    /// The quality of out-of-fold predictions.
    #[default]
    Cv,
    /// The log evidence.
    Evidence,
}

/// How several classes are made of two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MultiClass {
    /// One regression of all classes on the same relevant rows.
    #[default]
    Shared,
    /// Each against the rest.
    Rest,
    /// Each against each other.
    Pairs,
    /// All together.
    Softmax,
}

/// What the variance of predictions is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variance {
    /// The RVM's own.
    #[default]
    Plain,
    /// As if the row that is predicted had a column of its own (Rasmussen and Quiñonero-Candela 2005).
    Healed,
}

impl Default for RvmParams {
    fn default() -> Self {
        Self {
            kernel: KernelName::Rbf,
            length_scale: 0.0,
            ard: false,
            search: LengthCriterion::Cv,
            folds: 5,
            search_rows: 1000,
            multi_class: MultiClass::Shared,
            max_relevant: 0,
            trainer: Trainer::Auto,
            solver: Solver::Fast,
            partition_size: 0,
            probe_limits: [0.25, 0.75],
            probe_factors: [0.2, 0.6, 1.0],
            water_mark: WaterMark::Current,
            rows: RowsUsed::Auto,
            sample_rows: 8000,
            patience: 3,
            reinsert: false,
            bias: true,
            noise_variance: 0.1,
            noise_every: 10,
            variance: Variance::Plain,
            hyper_priors: [0.0; 4],
            alpha_max: 1e9,
            tolerance: 1e-3,
            min_gain: 0.01,
            max_iterations: 1000,
            max_rows: 2000,
            seed: 0,
        }
    }
}

impl MultiClass {
    /// What is done with so many rows of so many classes: a shared regression needs validation rows.
    pub(crate) fn with(self, n_rows: usize, n_known: usize) -> Self {
        const ROWS_EACH: usize = 10;
        let is_much = n_known >= 3 && n_rows >= ROWS_EACH * n_known;
        if self == Self::Shared && !is_much { Self::Rest } else { self }
    }
}

impl RvmParams {
    /// Relevant rows of a shared regression, at most.
    pub(crate) fn most_relevant(&self, n_rows: usize, n_classes: usize) -> usize {
        const FOR_EACH: usize = 100;
        match self.max_relevant {
            0 => (FOR_EACH * n_classes).min((n_rows / 3).max(FOR_EACH)),
            given => given,
        }
    }

    /// The same for fits that only compare lengths: some rows at a time is several times as fast and hardly worse, and one-vs-rest
    /// classifiers stand for all other ways of several classes.
    pub(crate) fn of_trial(&self) -> Self {
        let trainer = if self.trainer == Trainer::Auto { Trainer::WorkingSet } else { self.trainer };
        let is_shared = self.multi_class == MultiClass::Shared;
        let multi_class = if is_shared { MultiClass::Shared } else { MultiClass::Rest };
        Self { trainer, multi_class, reinsert: false, ..self.clone() }
    }

    /// Candidates added at a time, given the share of the probed rows that were relevant (Ben Shimon 2006). Rounds up.
    pub(crate) fn partition(&self, n_rows: usize, n_features: usize, share: f64) -> usize {
        let branch = self.probe_limits.iter().filter(|limit| share > **limit).count();
        (libm::ceil(self.probe_factors[branch] * probe_size(n_rows, n_features)) as usize).max(1)
    }
}

/// √(N d): how many rows a probe has.
pub(crate) fn probe_size(n_rows: usize, n_features: usize) -> f64 {
    libm::sqrt(n_rows as f64 * n_features as f64)
}

impl Params for RvmParams {
    fn rules(&self) -> Result<()> {
        at_least("search_rows", self.search_rows, 10)?;
        at_least("folds", self.folds, 2)?;
        at_least("sample_rows", self.sample_rows, 2)?;
        at_least("max_iterations", self.max_iterations, 1)?;
        at_least("max_rows", self.max_rows, 10)?;
        let length = self.length_scale;
        require("length_scale", length, (0.0..=1e12).contains(&length), "0, or a number up to 1e12")?;
        let above = [
            ("noise_variance", self.noise_variance, 1e6),
            ("alpha_max", self.alpha_max, 1e30),
            ("tolerance", self.tolerance, 1.0),
            ("min_gain", self.min_gain, 1e3),
        ];
        for (name, value, most) in above {
            require(name, value, value > 0.0 && value <= most, &format!("a number above 0, up to {most:e}"))?;
        }
        let [low, high] = self.probe_limits;
        let are_shares = low >= 0.0 && low <= high && high <= 1.0;
        let got = format!("{:?}", self.probe_limits);
        require("probe_limits", got, are_shares, "two shares from 0 to 1, the smaller first")?;
        let are_factors = self.probe_factors.iter().all(|v| *v > 0.0 && *v <= 100.0);
        let got = format!("{:?}", self.probe_factors);
        require("probe_factors", got, are_factors, "three numbers above 0, up to 100")?;
        let are_priors = self.hyper_priors.iter().all(|v| (0.0..=1e6).contains(v));
        let got = format!("{:?}", self.hyper_priors);
        require("hyper_priors", &got, are_priors, "four numbers from 0 to 1e6")?;
        let knows_priors = self.solver == Solver::Basic || self.hyper_priors[..2] == [0.0; 2];
        let expected = "0 for the first two, or solver=basic, which knows priors on weights";
        require("hyper_priors", got, knows_priors, expected)?;
        let is_known = !(self.ard && self.kernel.is_of_products());
        require("ard", true, is_known, "false for a kernel of inner products")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_sizes_are_those_published() {
        let partition = |n_rows, n_features, n_relevant: usize| {
            let share = n_relevant as f64 / probe_size(n_rows, n_features);
            RvmParams::default().partition(n_rows, n_features, share)
        };
        assert_eq!(partition(6144, 8, 38), 45);
        assert_eq!(partition(6144, 8, 82), 134);
        assert_eq!(partition(6144, 32, 78), 89);
        assert_eq!(partition(100, 4, 20), 20, "a probe that is not sparse");
    }
}
