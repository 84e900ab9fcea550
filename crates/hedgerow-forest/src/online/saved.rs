//! What a model file keeps of a forest that learns, beside its trees.
//!
//! Rows are kept in the order of their ages and trees in theirs, so the same forest gives the same file however it came to be.
//! The lists of rows in leaves are not kept: a walk with each row tells them.

use std::borrow::Cow;

use hedgerow_core::{Dataset, Error, Features, ModelProblem, Result, Schema};
use serde::{Deserialize, Serialize};

use super::arms::Arms;
use super::drift::DriftDetector;
use super::pool::Pool;
use super::window::{Record, Window};
use super::{Birth, OnlineForest};
use crate::forest::Forest;
use crate::leaf_weight::LeafWeight;
use crate::tree::Tree;

/// The numbers that are not arrays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedState {
    seen: u64,
    #[serde(rename = "look_at")]
    next_maintenance: u64,
    kept_up_at: u64,
    calibrated_at: u64,
    #[serde(rename = "appetite")]
    replacement_rate: f64,
    next_serial: u64,
    most_rows: Option<usize>,
    is_settled: bool,
    class_weights: Vec<f64>,
    missing: Vec<bool>,
    /// The smallest and the largest value of each column; none where there has been no value.
    spans: Vec<Option<[f32; 2]>>,
    /// One over their distance at the last maintenance.
    scales: Vec<f64>,
    #[serde(rename = "monitor")]
    detector: DriftDetector,
    arms: Arms,
    noise: f64,
}

/// Everything a forest needs to go on learning, in plain arrays.
#[derive(Debug, Clone)]
pub struct Saved {
    /// What is not an array.
    pub state: SavedState,
    /// The retained rows, the oldest first.
    pub features: Features,
    /// Their classes.
    pub classes: Vec<u16>,
    /// Their numbers in the stream.
    pub ages: Vec<u64>,
    /// Their weights, where they weigh differently.
    pub weights: Option<Vec<f32>>,
    /// For each tree its number, how many rows it was grown from, and whether (1) it stops where noise explains the rest.
    pub births: Vec<u64>,
    /// For each tree, a bit for each of the newest rows it has predicted, then one for each it predicted right.
    pub records: Vec<u64>,
    /// For the newest rows, in a ring: shares summed over trees, for each leaf weight one a class.
    pub window_shares: Vec<f32>,
    /// Their classes.
    pub window_labels: Vec<u16>,
    /// How many trees had voted.
    pub window_trees: Vec<u32>,
}

impl PartialEq for Saved {
    fn eq(&self, other: &Self) -> bool {
        // Bit by bit: missing values are the same if both are missing.
        let same_rows = match (&self.features, &other.features) {
            (Features::Floats { values: a, .. }, Features::Floats { values: b, .. }) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.to_bits() == b.to_bits())
            }
            (a, b) => a == b,
        };
        same_rows
            && (&self.state, &self.classes, &self.ages, &self.weights)
                == (&other.state, &other.classes, &other.ages, &other.weights)
            && (&self.births, &self.records, &self.window_shares)
                == (&other.births, &other.records, &other.window_shares)
            && (&self.window_labels, &self.window_trees) == (&other.window_labels, &other.window_trees)
    }
}

impl OnlineForest {
    /// What a model file keeps beside the trees.
    pub fn saved(&self) -> Saved {
        let slots = self.pool.by_age();
        let of = |slot: &u32| *slot as usize;
        let features = self.pool.features(&slots);
        let window_shares = self.window.flat(self.leaf_weights.len(), self.forest.n_classes);
        Saved {
            state: SavedState {
                seen: self.seen,
                next_maintenance: self.next_maintenance,
                kept_up_at: self.kept_up_at,
                calibrated_at: self.calibrated_at,
                replacement_rate: self.replacement_rate,
                next_serial: self.next_serial,
                most_rows: self.most_rows,
                is_settled: self.is_settled,
                class_weights: self.class_weights.clone(),
                missing: self.pool.missing.clone(),
                spans: self.pool.spans(),
                scales: self.scales.clone(),
                detector: self.detector.clone(),
                arms: self.arms.clone(),
                noise: self.noise,
            },
            features,
            classes: slots.iter().map(|s| self.pool.classes[of(s)]).collect(),
            ages: slots.iter().map(|s| self.pool.ages[of(s)]).collect(),
            weights: self.pool.weights.as_ref().map(|w| slots.iter().map(|s| w[of(s)]).collect()),
            births: self
                .births
                .iter()
                .flat_map(|birth| [birth.serial, birth.n_rows, u64::from(birth.is_tolerant)])
                .collect(),
            records: self.records.iter().flat_map(|r| r.predicted.into_iter().chain(r.right)).collect(),
            window_shares,
            window_labels: self.window.labels.clone(),
            window_trees: self.window.n_trees.clone(),
        }
    }

    /// A forest that goes on where the one that was saved stood. Fails unless everything fits together.
    pub fn restore(forest: Forest, schema: &Schema, saved: Saved) -> Result<Self> {
        let wrong = |detail: &str| {
            Err(Error::model(ModelProblem::Inconsistent {
                detail: format!("what it has learnt from: {detail}"),
            }))
        };
        let (n_rows, n_trees, n_classes) = (saved.classes.len(), forest.trees.len(), schema.n_classes());
        let n_ways = LeafWeight::n_candidates(&forest.params);
        let state = saved.state;
        if saved.features.n_rows() != n_rows || saved.ages.len() != n_rows {
            return wrong("rows, classes and ages differ in number");
        }
        if !saved.ages.is_sorted_by(|a, b| a < b) || saved.ages.last().is_some_and(|&age| age >= state.seen) {
            return wrong("ages of rows are not rising");
        }
        let x = saved.features.to_array(0..n_rows);
        let labels: Vec<_> = saved.classes.iter().map(|&c| hedgerow_core::ClassId(u32::from(c))).collect();
        hedgerow_core::data::check_rows(schema, x.view(), labels.as_slice().into(), saved.weights.as_deref())
            .map_err(|e| Error::model(ModelProblem::Inconsistent { detail: e.to_string() }))?;
        drop(x);
        let n_window = saved.window_labels.len();
        let record_len = 2 * super::window::WORDS;
        let window_fits = n_window <= super::window::ROWS
            && saved.window_trees.len() == n_window
            && saved.window_shares.len() == n_window * n_ways * n_classes
            && saved.window_labels.iter().all(|&c| usize::from(c) < n_classes)
            && saved.window_shares.iter().all(|s| s.is_finite() && *s >= 0.0);
        if !window_fits {
            return wrong("the newest predictions do not fit");
        }
        if saved.births.len() != 3 * n_trees || saved.records.len() != record_len * n_trees {
            return wrong("trees differ in number");
        }
        let weights_fit = state.class_weights.len() <= n_classes
            && state.class_weights.iter().all(|w| w.is_finite() && *w >= 0.0);
        let spans_fit = state.spans.len() == forest.n_features
            && state.scales.len() == forest.n_features
            && state.scales.iter().all(|scale| *scale >= 0.0)
            && state.spans.iter().flatten().all(|s| s[0] <= s[1] && s[0].is_finite() && s[1].is_finite());
        let counters_fit = state.kept_up_at <= state.seen
            && state.calibrated_at <= state.seen
            && state.next_maintenance > state.seen
            && state.next_maintenance - state.seen <= *super::BLOCK.end()
            && (0.0..=1.0).contains(&state.replacement_rate)
            && (0.0..=0.5).contains(&state.noise)
            && state.arms.is_valid()
            && state.seen < 1 << 62;
        if !weights_fit || !counters_fit || state.missing.len() != forest.n_features || !spans_fit {
            return wrong("impossible numbers");
        }
        let window = Window {
            shares: saved.window_shares.chunks((n_ways * n_classes).max(1)).map(<[f32]>::to_vec).collect(),
            labels: saved.window_labels,
            n_trees: saved.window_trees,
        };
        let record = |words: &[u64]| Record {
            predicted: std::array::from_fn(|i| words[i]),
            right: std::array::from_fn(|i| words[i + super::window::WORDS]),
        };
        let mut pool = Pool::from_rows(saved.features, saved.classes, saved.ages, saved.weights);
        pool.missing = state.missing;
        pool.set_spans(&state.spans);
        let mut online = Self::with_pool(forest, schema, pool);
        let birth =
            |&[serial, n_rows, tolerant]: &[u64; 3]| Birth { serial, n_rows, is_tolerant: tolerant == 1 };
        online.births = saved.births.as_chunks().0.iter().map(birth).collect();
        online.records = saved.records.chunks_exact(record_len).map(record).collect();
        online.window = window;
        online.detector = state.detector;
        online.arms = state.arms;
        online.scales = state.scales;
        online.noise = state.noise;
        online.class_weights = state.class_weights;
        online.is_settled = state.is_settled;
        online.most_rows = state.most_rows;
        online.next_serial = state.next_serial;
        online.replacement_rate = state.replacement_rate;
        (online.seen, online.next_maintenance) = (state.seen, state.next_maintenance);
        (online.kept_up_at, online.calibrated_at) = (state.kept_up_at, state.calibrated_at);
        Ok(online)
    }

    /// The trees in the order in which they are saved.
    pub fn ordered_trees(&self) -> Cow<'_, [Tree]> {
        if self.live.iter().all(|live| live.is_ordered) {
            return Cow::Borrowed(&self.forest.trees);
        }
        let ordered = self.live.iter().zip(&self.forest.trees).map(|(live, tree)| {
            let mut live = live.clone();
            live.tree = tree.clone();
            live.put_in_order();
            live.tree
        });
        Cow::Owned(ordered.collect())
    }

    /// The retained rows, the oldest first, as a data set.
    pub fn retained_rows(&self, schema: &Schema) -> Result<Dataset> {
        let saved = self.saved();
        let labels: Vec<_> = saved.classes.iter().map(|&c| hedgerow_core::ClassId(u32::from(c))).collect();
        Dataset::new(schema.clone(), saved.features, labels, saved.weights)
    }
}
