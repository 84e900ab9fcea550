//! The parameters of a detector.

use hedgerow_core::params::{at_least, require, within};
use hedgerow_core::{Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of an outlier detector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutlierParams {
    /// How rows are scored: `auto` (separation and distances together), `isolation`, `separation`, `knn`, `forest` or `proximity`.
    pub method: Method,
    /// Number of trees; 0 is 50 for `auto`, 100 for `isolation` and `separation`, and 500 for `forest` and `proximity`.
    pub n_trees: usize,
    /// Rows from which each tree of `auto`, `isolation` and `separation` is grown, 2 or more, half of all rows at most.
    pub sample_rows: usize,
    /// Neighbors whose mean distance is the score of `knn`, 1 or more.
    pub n_neighbors: usize,
    /// Rows that others are compared with by `knn` and `proximity`, 2 or more; of larger tables, so many are drawn at random.
    pub compared_rows: usize,
    /// What `forest` and `proximity` tell the rows from: `uniform` (each column drawn evenly over its range) or `permuted` (each column drawn from its own values).
    pub background: Background,
    /// Background rows for each row of the data, above 0 to 100.
    pub background_share: f64,
    /// Draw new background rows for each tree of `forest`: less variance, more time.
    pub fresh_background: bool,
    /// Seed of all random choices: same seed, same data, same scores.
    pub seed: u64,
}

impl Default for OutlierParams {
    fn default() -> Self {
        Self {
            method: Method::Auto,
            n_trees: 0,
            sample_rows: 256,
            n_neighbors: 3,
            compared_rows: 20_000,
            background: Background::Uniform,
            background_share: 1.0,
            fresh_background: false,
            seed: 0,
        }
    }
}

impl Params for OutlierParams {
    fn rules(&self) -> Result<()> {
        within("n_trees", self.n_trees, 0..=1_000_000)?;
        within("sample_rows", self.sample_rows, 2..=1_000_000)?;
        at_least("n_neighbors", self.n_neighbors, 1)?;
        within("compared_rows", self.compared_rows, 2..=10_000_000)?;
        let is_share = self.background_share > 0.0 && self.background_share <= 100.0;
        require("background_share", self.background_share, is_share, "a number above 0 to 100")
    }
}

impl OutlierParams {
    /// Trees to grow.
    pub(crate) fn trees(&self) -> usize {
        match (self.n_trees, self.method) {
            (0, Method::Forest | Method::Proximity) => 500,
            (0, Method::Auto) => 50,
            (0, _) => 100,
            (n, _) => n,
        }
    }
}

/// How rows are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Separation depth, and distances to small sets of rows, together.
    Auto,
    /// The depth at which random cuts isolate a row (Liu, Ting and Zhou, 2008).
    Isolation,
    /// The depth at which random cuts would part a row from those a tree was grown from.
    Separation,
    /// The mean distance to the nearest rows (Ramaswamy, Rastogi and Shim, 2000).
    Knn,
    /// The votes of a random forest that tells the data from background rows.
    Forest,
    /// How seldom a row shares the leaves of such a forest with others (Breiman, 2003).
    Proximity,
}

impl Method {
    /// All of them, the default first.
    pub const ALL: [Self; 6] =
        [Self::Auto, Self::Isolation, Self::Separation, Self::Knn, Self::Forest, Self::Proximity];

    /// Its name, and what it is in a line.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Auto => ("auto", "Separation depth and distances to small sets of rows together"),
            Self::Isolation => ("isolation", "Depth at which random cuts isolate a row: isolation forest"),
            Self::Separation => ("separation", "Depth at which random cuts would part a row from a sample"),
            Self::Knn => ("knn", "Mean distance to the nearest rows"),
            Self::Forest => ("forest", "Votes of a random forest that tells rows from background rows"),
            Self::Proximity => {
                ("proximity", "How seldom a row shares the leaves of such a forest with others")
            }
        }
    }
}

/// What the rows are told from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Background {
    /// Each column drawn evenly over its range, or over its values where there are few.
    Uniform,
    /// Each column drawn from its own values, apart from the others.
    Permuted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_are_refused_by_name() {
        OutlierParams::default().rules().unwrap();
        let wrong = [
            ("sample_rows", OutlierParams { sample_rows: 1, ..Default::default() }),
            ("n_neighbors", OutlierParams { n_neighbors: 0, ..Default::default() }),
            ("background_share", OutlierParams { background_share: f64::NAN, ..Default::default() }),
        ];
        for (name, params) in wrong {
            assert!(params.rules().unwrap_err().to_string().contains(name), "{name}");
        }
        for method in Method::ALL {
            assert_eq!(serde_json::to_value(method).unwrap(), method.words().0);
        }
    }
}
