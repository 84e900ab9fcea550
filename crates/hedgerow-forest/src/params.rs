//! The parameters of a forest.

use std::collections::BTreeMap;

use hedgerow_core::params::{at_least, require};
use hedgerow_core::{Error, Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bag::Bagging;

/// Parameters of a forest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct ForestParams {
    /// Number of trees; 0 grows as many as the time, memory or patience given allows.
    pub n_trees: usize,
    /// How a threshold is found: `random` draws it (extremely randomized trees), `best` tries every one (random forest).
    pub splits: SplitRule,
    /// What makes a split good: `gini`, `entropy` or `misclassification`.
    pub criterion: Criterion,
    /// Columns tried at each node: `sqrt`, `log2`, `all`, a whole number, or a share such as 0.3.
    pub max_features: MaxFeatures,
    /// Random thresholds tried in each column, 1 or more; ignored by `splits=best`.
    pub n_thresholds: usize,
    /// Rows of a node that the search for its split looks at, 2 or more (up to 32 times as many where one class has nearly all rows); 0 looks at all of them.
    pub sample_rows: usize,
    /// Greatest height of a tree; 0 sets no limit.
    pub max_height: usize,
    /// Fewest rows in a leaf, 1 or more.
    pub min_leaf_rows: usize,
    /// Fewest rows that a node must have to be split, 2 or more: smaller ones become leaves, pure or not.
    pub min_split_rows: usize,
    /// Rows each tree sees: `all`, `bootstrap`, `fraction:F`, `amount:N` or `stride:S` (steps of 1 to S).
    pub bagging: Bagging,
    /// Let each tree learn the rows its bag left out, after their out-of-bag votes; only for bags of half the rows or more.
    pub learn_left_out: bool,
    /// Weight of each class: `none`, `balanced` (all classes count the same), or a JSON object such as `{"spam": 2}`.
    pub class_weights: ClassWeights,
    /// What a tree contributes: `leaf` (the class frequencies in its leaf) or `votes` (its most frequent class).
    pub probabilities: Probabilities,
    /// The leaf weight, by which the vote of a tree counts: the size of its leaf to this power, from -1 to 1; 0 lets all trees count the same, below 0 suits labels that are right, above 0 noisy ones. `auto` chooses by out-of-sample predictions.
    pub leaf_power: LeafPower,
    /// Calibrate probabilities on out-of-bag rows where that lowers their log-loss; needs a bagging that leaves rows out.
    pub calibrate: bool,
    /// Stop when out-of-bag accuracy has not risen for this many rounds of 10 trees; 0 never stops early.
    pub patience: usize,
    /// Most retained rows; 0 sets no limit but memory. The oldest go first, but no class is forgotten.
    pub pool_rows: usize,
    /// Which rows a forest that learns online retains: `all`, `wrong` (those it got wrong) or `uncertain` (those it got wrong or was less than half sure of).
    pub keep: Keep,
    /// While a forest learns online, the share of its trees that may be grown anew each time its retained rows double (or half of them are exchanged), from 0 to 4; 0 never replaces a tree.
    pub replace: f64,
    /// Forget rows that a detected concept drift has put out of date.
    pub forget: bool,
    /// While a forest learns online, let small forests of the newest 20, 100, 300 and 1,000 rows predict beside it, weighed by how well each has predicted: for concepts that keep changing.
    pub horizons: bool,
    /// Grow a confidence forest, which tells how much evidence there is for what it predicts: trees with leaves of many rows, each with background rows of its own that take the places of rows where these are few.
    pub confidence: bool,
    /// With `confidence=true`: fewest rows in a leaf, which is also the most that all labels near a row count together; 0 chooses it by out-of-bag accuracy.
    pub confidence_rows: usize,
    /// With `confidence=true`: background rows, drawn anew for each tree and spread evenly over the space of the rows: a number, or `auto`, which takes as many as out-of-bag accuracy allows.
    pub background_rows: BackgroundRows,
    /// Seed of all random choices: same seed, same data, same model.
    pub seed: u64,
}

impl ForestParams {
    /// Most rows in the pool.
    pub(crate) fn most_pool_rows(&self) -> usize {
        if self.pool_rows == 0 { usize::MAX } else { self.pool_rows }
    }

    /// Fails for a confidence forest, where only a plain one will do.
    pub fn check_plain(&self) -> Result<()> {
        require("confidence", self.confidence, !self.confidence, "false: this needs a plain forest")
    }
}

impl Default for ForestParams {
    fn default() -> Self {
        Self {
            n_trees: 100,
            splits: SplitRule::Random,
            criterion: Criterion::Gini,
            max_features: MaxFeatures::Sqrt,
            n_thresholds: 1,
            sample_rows: 128,
            max_height: 0,
            min_leaf_rows: 1,
            min_split_rows: 2,
            bagging: Bagging::Fraction(0.8),
            learn_left_out: true,
            class_weights: ClassWeights::None,
            probabilities: Probabilities::Leaf,
            leaf_power: LeafPower::Auto,
            calibrate: true,
            patience: 0,
            pool_rows: 100_000,
            keep: Keep::All,
            replace: 0.6,
            forget: true,
            horizons: true,
            confidence: false,
            confidence_rows: 0,
            background_rows: BackgroundRows::Auto,
            seed: 0,
        }
    }
}

impl Params for ForestParams {
    fn rules(&self) -> Result<()> {
        at_least("n_thresholds", self.n_thresholds, 1)?;
        at_least("min_leaf_rows", self.min_leaf_rows, 1)?;
        at_least("min_split_rows", self.min_split_rows, 2)?;
        require("sample_rows", 1, self.sample_rows != 1, "2 or more, or 0 for all rows")?;
        require("n_trees", self.n_trees, self.n_trees <= 10_000_000, "at most 10,000,000")?;
        let has_oob = self.bagging != Bagging::All;
        let without = "0 with bagging=all, which leaves no row out";
        require("patience", self.patience, self.patience == 0 || has_oob, without)?;
        if let ClassWeights::Each(weights) = &self.class_weights {
            for (label, weight) in weights {
                let got = format!("{weight} for {label:?}");
                require("class_weights", got, (0.0..=1e9).contains(weight), "weights from 0 to 1e9")?;
            }
        }
        require("replace", self.replace, (0.0..=4.0).contains(&self.replace), "a share from 0 to 4")?;
        if let LeafPower::Fixed(power) = self.leaf_power {
            let is_power = (-1.0..=1.0).contains(&power);
            require("leaf_power", power, is_power, "auto, or a number from -1 to 1")?;
        }
        if self.confidence {
            at_least("n_trees", self.n_trees, 1)?;
            let is_leaf = self.probabilities == Probabilities::Leaf;
            require("probabilities", "votes", is_leaf, "leaf, with confidence=true")?;
            let is_few = self.confidence_rows <= 1_000_000;
            require("confidence_rows", self.confidence_rows, is_few, "at most 1,000,000")?;
        }
        self.max_features.rules()?;
        self.bagging.rules()
    }
}

/// How many background rows the trees of a confidence forest have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", expecting = "expected auto, or a whole number")]
#[schemars(with = "String")]
pub enum BackgroundRows {
    /// As many as out-of-bag accuracy allows.
    Auto,
    /// So many.
    #[serde(untagged)]
    Count(usize),
}

/// How thresholds are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SplitRule {
    /// Drawn at random between the smallest and the largest value of the node.
    Random,
    /// The best of all that separate two values of the node.
    Best,
}

/// What makes a split good (Breiman et al., 1984): the impurity of the two sides, weighted by their size, should be small.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// Σ π(1 − π).
    #[default]
    Gini,
    /// −Σ π ln π.
    Entropy,
    /// 1 − max π.
    Misclassification,
}

/// Which rows a forest that learns online retains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// All of them.
    All,
    /// Those that the forest predicted wrongly.
    Wrong,
    /// Those that it predicted wrongly, or with less than half of the probability on one class.
    Uncertain,
}

impl Keep {
    /// Whether a row of a class is worth keeping, given the prediction of the forest.
    pub(crate) fn wants(self, proba: &[f64], class: usize) -> bool {
        let best = hedgerow_core::traits::largest(proba);
        match self {
            Self::All => true,
            Self::Wrong => best != Some(class),
            Self::Uncertain => best != Some(class) || proba[class] < 0.5,
        }
    }
}

/// What a tree contributes to the probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Probabilities {
    /// The class shares of the leaf.
    Leaf,
    /// One vote for the leaf's most frequent class.
    Votes,
}

/// To which power the size of a leaf counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", expecting = "expected auto, or a number from -1 to 1")]
#[schemars(with = "String")]
pub enum LeafPower {
    /// The one that suits rows best that trees have not seen.
    Auto,
    /// This one.
    #[serde(untagged)]
    Fixed(f64),
}

/// How many columns are tried at a node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "snake_case",
    expecting = "expected sqrt, log2, all, a whole number or a share such as 0.3"
)]
#[schemars(with = "String")]
pub enum MaxFeatures {
    /// The square root of their number.
    Sqrt,
    /// The logarithm to base 2 of their number.
    Log2,
    /// All of them.
    All,
    /// So many.
    #[serde(untagged)]
    Count(usize),
    /// Such a share of them.
    #[serde(untagged)]
    Share(f64),
}

impl MaxFeatures {
    /// The number for a table of `n_features` columns: at least 1, at most all.
    pub fn of(self, n_features: usize) -> usize {
        let n = n_features as f64;
        let count = match self {
            Self::Sqrt => libm::round(libm::sqrt(n)) as usize,
            Self::Log2 => libm::round(libm::log2(n.max(1.0))) as usize,
            Self::All => n_features,
            Self::Count(count) => count,
            Self::Share(share) => libm::round(share * n) as usize,
        };
        count.clamp(1, n_features.max(1))
    }

    fn rules(self) -> Result<()> {
        match self {
            Self::Count(0) => Err(Error::param("max_features", "1 or more", 0)),
            Self::Share(s) if !(s > 0.0 && s <= 1.0) => {
                Err(Error::param("max_features", "a share above 0, at most 1", s))
            }
            _ => Ok(()),
        }
    }
}

/// How much each class counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "snake_case",
    expecting = "expected none, balanced, or a JSON object of labels and weights"
)]
#[schemars(with = "String")]
pub enum ClassWeights {
    /// Every row counts 1.
    None,
    /// Every class counts the same, however many rows it has.
    Balanced,
    /// By label; labels not named count 1.
    #[serde(untagged)]
    Each(BTreeMap<String, f64>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_people_write_them() {
        let params = ForestParams::default()
            .with_settings([
                ("n_trees", "7"),
                ("max_features", "0.5"),
                ("bagging", "stride:3"),
                ("criterion", "entropy"),
                ("class_weights", r#"{"a": 2}"#),
            ])
            .unwrap();
        assert_eq!((params.n_trees, params.max_features), (7, MaxFeatures::Share(0.5)));
        assert_eq!(params.bagging, Bagging::Stride(3));
        assert!(params.check().is_ok());
    }

    #[test]
    fn wrong_settings_are_explained() {
        let message = |name, value| {
            let params = ForestParams::default().with_settings([(name, value)]);
            params.and_then(Params::check).unwrap_err().to_string()
        };
        assert_eq!(message("n_trees", "many"), r#"parameter n_trees: expected a whole number, got "many""#);
        assert!(
            message("n_tree", "3").starts_with(r#"no parameter is called "n_tree"; there are: n_trees, "#)
        );
        assert_eq!(message("min_leaf_rows", "0"), "parameter min_leaf_rows: expected 1 or more, got 0");
        assert!(message("bagging", "bootstraps").contains("fraction:F"));
        assert!(message("bagging", "fraction:1.5").contains("above 0"));
        assert!(message("criterion", "ginni").contains("gini"));
    }

    #[test]
    fn every_field_is_described() {
        for info in hedgerow_core::describe::<ForestParams>() {
            assert!(info.meaning.len() > 10, "{} has no description", info.name);
        }
    }

    #[test]
    fn numbers_of_columns() {
        assert_eq!(MaxFeatures::Sqrt.of(784), 28);
        assert_eq!(MaxFeatures::Log2.of(1), 1);
        assert_eq!(MaxFeatures::Count(99).of(10), 10);
        assert_eq!(MaxFeatures::Share(0.01).of(10), 1);
    }
}
