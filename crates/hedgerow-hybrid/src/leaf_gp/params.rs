//! How trees with GPs in their leaves are trained.

use hedgerow_core::params::{at_least, require, searched_or_given};
use hedgerow_core::{Params, Result};
use hedgerow_forest::{Bagging, ForestParams, LeafPower};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The classifier of a leaf.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeafLearner {
    /// Regression on labels.
    #[default]
    Labels,
    /// Laplace's method, each class of the leaf against the rest.
    Laplace,
    /// The Informative Vector Machine, each class of the leaf against the rest.
    Ivm,
    /// The Relevance Vector Machine, each class of the leaf against the rest.
    Rvm,
}

/// How the scores of trees become one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fusion {
    /// The mean of scores.
    #[default]
    Mean,
    /// One vote a tree for its best class.
    Vote,
    /// The mean of scores that are kept between −1 and 1.
    Clipped,
    /// The mean of scores scaled to sum to one over the classes of a leaf.
    Normalized,
}

/// Whether all leaves have the same kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// They have.
    #[default]
    Shared,
    /// Each leaf looks for a better length scale near the shared one.
    Leaf,
}

/// How trees with GPs in their leaves are trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LeafGpParams {
    /// Number of trees, 1 or more.
    pub n_trees: usize,
    /// Most rows of a leaf that holds more than one class, 2 or more: larger ones are split. More is slower and better.
    pub leaf_rows: usize,
    /// The classifier of a leaf: labels (regression on labels, the fastest), laplace, ivm or rvm (the fewest rows are kept).
    pub learner: LeafLearner,
    /// Active rows of each one-vs-rest classifier in a leaf, at most; for `learner=ivm`.
    pub n_active: usize,
    /// How the scores of trees become one: mean (of scores), vote, clipped or normalized.
    pub fusion: Fusion,
    /// Whether all leaves have the same kernel: shared, or leaf for a length scale of its own for each.
    pub sharing: Sharing,
    /// Blend the class frequencies in leaves, which are the predictions of the trees without GPs, with those of the leaf GPs, by exponents fitted on
    /// out-of-fold predictions. The folds take about as long as the rest of a fit, longer with fewer than 5,000 rows.
    pub blend: bool,
    /// Length scale of the kernel, on prepared columns; 0 searches for it.
    pub length_scale: f64,
    /// Signal variance of the kernel; 0 searches for it (labels: 1, as only its ratio to the noise counts).
    pub signal_variance: f64,
    /// Noise variance; 0 searches for it (other learners than labels: 0.001).
    pub noise_variance: f64,
    /// Most rows retained; 0 sets no limit. The oldest are forgotten first.
    pub max_rows: usize,
    /// How trees are grown: parameters of a forest, which may be set by their own names. Numbers of trees, sizes of leaves, bags and
    /// calibration are ignored.
    pub forest: ForestParams,
    /// Seed of all random choices: same seed, same data, same model.
    pub seed: u64,
}

impl Default for LeafGpParams {
    fn default() -> Self {
        Self {
            n_trees: 20,
            leaf_rows: 200,
            learner: LeafLearner::Labels,
            n_active: 50,
            fusion: Fusion::Mean,
            sharing: Sharing::Shared,
            blend: true,
            length_scale: 0.0,
            signal_variance: 0.0,
            noise_variance: 0.0,
            max_rows: 100_000,
            forest: ForestParams::default(),
            seed: 0,
        }
    }
}

impl LeafGpParams {
    /// The parameters that its trees are grown with.
    pub fn forest_params(&self) -> ForestParams {
        self.tree_params(self.n_trees, self.seed)
    }

    /// The parameters that a tree is grown with.
    pub(super) fn tree_params(&self, n_trees: usize, seed: u64) -> ForestParams {
        ForestParams {
            n_trees,
            seed,
            min_split_rows: self.leaf_rows.saturating_add(1),
            bagging: Bagging::All,
            leaf_power: LeafPower::Fixed(0.0),
            calibrate: false,
            patience: 0,
            ..self.forest.clone()
        }
    }

    /// Most rows that are retained.
    pub fn most_rows(&self) -> usize {
        if self.max_rows == 0 { usize::MAX } else { self.max_rows }
    }
}

impl Params for LeafGpParams {
    fn rules(&self) -> Result<()> {
        at_least("n_trees", self.n_trees, 1)?;
        at_least("leaf_rows", self.leaf_rows, 2)?;
        at_least("n_active", self.n_active, 1)?;
        require("n_trees", self.n_trees, self.n_trees <= 100_000, "at most 100,000")?;
        searched_or_given(&[
            ("length_scale", self.length_scale),
            ("signal_variance", self.signal_variance),
            ("noise_variance", self.noise_variance),
        ])?;
        self.tree_params(1, 0).rules()
    }
}
