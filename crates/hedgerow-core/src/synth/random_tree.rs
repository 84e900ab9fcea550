//! Rows labelled by a random decision tree (Domingos and Hulten 2000).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draw::{chance, concept_rng, unit_f32};
use super::generator::{Draws, Source, numeric_columns, schema};
use super::recent::Recent;
use super::tree::{Tree, expected_nodes};
use super::{Generator, Schedule};
use crate::data::{ClassId, Column, ColumnKind, MAX_CATEGORIES, MAX_CLASSES, MAX_FEATURES};
use crate::error::Result;
use crate::params::{Checked, Params, require, within};

/// Nodes beyond which a tree is refused: it would be memory and no concept that anything could learn.
const MOST_NODES: f64 = 4e6;

/// How [`Generator::random_tree`] makes its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RandomTreeParams {
    /// Number of columns of numbers.
    pub n_numeric: usize,
    /// Number of columns of categories.
    pub n_categorical: usize,
    /// Categories in each of them, 2 or more.
    pub n_categories: usize,
    /// Number of classes, 2 or more.
    pub n_classes: usize,
    /// Greatest number of questions before a label, 1 to 40.
    pub depth: usize,
    /// Least number of questions before a label, 1 to `depth`.
    pub first_leaf: usize,
    /// Share of nodes from there on that ask no more, 0 to 1.
    pub leaf_share: f64,
    /// Share of rows with the wrong label, 0 to 1.
    pub noise: f64,
    /// Seed of all random choices: same seed, same rows.
    pub seed: u64,
}

impl Default for RandomTreeParams {
    fn default() -> Self {
        Self {
            n_numeric: 5,
            n_categorical: 5,
            n_categories: 5,
            n_classes: 2,
            depth: 5,
            first_leaf: 3,
            leaf_share: 0.15,
            noise: 0.0,
            seed: 0,
        }
    }
}

impl Params for RandomTreeParams {
    fn rules(&self) -> Result<()> {
        within("n_numeric", self.n_numeric, 0..=MAX_FEATURES)?;
        within("n_categorical", self.n_categorical, 0..=MAX_FEATURES - self.n_numeric)?;
        let has_columns = self.n_numeric + self.n_categorical > 0;
        require("n_numeric", 0, has_columns, "1 or more where there are no categorical columns")?;
        within("n_categories", self.n_categories, 2..=MAX_CATEGORIES)?;
        within("n_classes", self.n_classes, 2..=MAX_CLASSES)?;
        within("depth", self.depth, 1..=40)?;
        within("first_leaf", self.first_leaf, 1..=self.depth)?;
        within("leaf_share", self.leaf_share, 0.0..=1.0)?;
        within("noise", self.noise, 0.0..=1.0)?;
        let nodes = expected_nodes(self);
        let got = format!("{}, about {nodes:.0} nodes", self.depth);
        require("depth", got, nodes <= MOST_NODES, &format!("a tree of at most {MOST_NODES} nodes"))
    }
}

impl Generator {
    /// Numeric columns uniform from 0 to 1, categories equally likely; a random tree gives the label. Each concept is a tree
    /// of its own.
    pub fn random_tree(params: &Checked<RandomTreeParams>, schedule: Schedule) -> Self {
        let params = params.get().clone();
        let mut columns = numeric_columns(params.n_numeric);
        let categories: Vec<String> = (0..params.n_categories).map(|k| format!("v{k}")).collect();
        columns.extend((0..params.n_categorical).map(|i| Column {
            name: format!("c{i}"),
            kind: ColumnKind::Categorical { categories: categories.clone() },
        }));
        let schema = schema(columns, params.n_classes);
        Self::new(schema, params.seed, schedule, RandomTree { params, trees: Recent::new() })
    }
}

struct RandomTree {
    params: RandomTreeParams,
    trees: Recent<Tree>,
}

impl Source for RandomTree {
    fn next_into(&mut self, concept: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId {
        let params = &self.params;
        let grow = || Tree::grow(params, &mut concept_rng(params.seed, concept));
        let tree = self.trees.get(concept, grow);
        row.extend((0..params.n_numeric).map(|_| unit_f32(&mut draws.features)));
        row.extend((0..params.n_categorical).map(|_| draws.features.index(params.n_categories) as f32));
        let class = tree.class(row);
        if !chance(&mut draws.errors, params.noise) {
            return class;
        }
        // Any class but the right one.
        let step = 1 + draws.errors.below(params.n_classes as u32 - 1);
        ClassId((class.0 + step) % params.n_classes as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::synth::Changes;

    fn data(params: RandomTreeParams, schedule: Schedule, n_rows: usize) -> Dataset {
        Generator::random_tree(&params.check().unwrap(), schedule).dataset(n_rows).unwrap()
    }

    fn share_equal(a: &Dataset, b: &Dataset, rows: std::ops::Range<usize>) -> f64 {
        assert_eq!(a.features, b.features);
        rows.clone().filter(|&row| a.labels()[row] == b.labels()[row]).count() as f64 / rows.len() as f64
    }

    #[test]
    fn columns_and_classes_are_what_was_asked_for() {
        let data = data(RandomTreeParams::default(), Schedule::none(), 20_000);
        let kinds: Vec<&str> = data.schema.columns.iter().map(|column| column.kind.word()).collect();
        assert_eq!(kinds, [["numeric"; 5], ["categorical"; 5]].concat());
        for column in 5..10 {
            for category in 0..5_u8 {
                let is_it = |&row: &usize| data.features.value(row, column) == f32::from(category);
                let n = (0..20_000).filter(is_it).count();
                // The standard error is 57.
                assert!(n.abs_diff(4_000) < 260, "{n}");
            }
        }
        assert!(data.class_counts().iter().all(|&n| n > 2_000), "{:?}", data.class_counts());
    }

    #[test]
    fn the_thirty_feature_set_of_published_comparisons_can_be_made() {
        let params = RandomTreeParams {
            n_numeric: 30,
            n_categorical: 0,
            n_classes: 5,
            depth: 20,
            ..Default::default()
        };
        let data = data(params, Schedule::abrupt(Changes::spread(3_000, 2)), 3_000);
        assert_eq!((data.schema.n_features(), data.schema.n_classes()), (30, 5));
        assert!(data.class_counts().iter().all(|&n| n > 300), "{:?}", data.class_counts());
    }

    #[test]
    fn each_change_brings_another_tree_and_the_features_do_not_care() {
        let changes = || Changes::every(2_000).unwrap();
        let still = data(RandomTreeParams::default(), Schedule::none(), 6_000);
        let abrupt = data(RandomTreeParams::default(), Schedule::abrupt(changes()), 6_000);
        let recurring = data(RandomTreeParams::default(), Schedule::recurring(changes()), 6_000);
        assert_eq!(share_equal(&still, &abrupt, 0..2_000), 1.0);
        for rows in [2_000..4_000, 4_000..6_000] {
            let share = share_equal(&still, &abrupt, rows);
            assert!((0.2..0.8).contains(&share), "{share}");
        }
        assert_eq!(share_equal(&abrupt, &recurring, 0..4_000), 1.0);
        assert_eq!(share_equal(&still, &recurring, 4_000..6_000), 1.0);
    }

    #[test]
    fn noise_puts_another_class_in_its_share_of_the_rows() {
        let params = RandomTreeParams { n_classes: 4, ..Default::default() };
        let clean = data(params.clone(), Schedule::none(), 50_000);
        let noisy = data(RandomTreeParams { noise: 0.2, ..params }, Schedule::none(), 50_000);
        // The standard error is 0.0018.
        let share = share_equal(&clean, &noisy, 0..50_000);
        assert!((share - 0.8).abs() < 0.008, "{share}");
    }

    #[test]
    fn trees_too_large_for_memory_are_refused() {
        let large = RandomTreeParams { depth: 20, n_categorical: 20, ..Default::default() };
        let message = large.check().unwrap_err().to_string();
        assert!(message.contains("depth") && message.contains("nodes"), "{message}");
        assert!(RandomTreeParams { n_numeric: 0, n_categorical: 0, ..Default::default() }.check().is_err());
        assert!(RandomTreeParams { first_leaf: 6, ..Default::default() }.check().is_err());
    }

    #[test]
    fn the_smallest_tree_has_both_classes() {
        let params = RandomTreeParams {
            n_numeric: 1,
            n_categorical: 0,
            depth: 1,
            first_leaf: 1,
            ..Default::default()
        };
        for seed in 0..10 {
            let data = data(RandomTreeParams { seed, ..params.clone() }, Schedule::none(), 5_000);
            assert!(data.class_counts().iter().all(|&n| n > 0), "seed {seed}: {:?}", data.class_counts());
        }
    }
}
