//! A forest that learns, in a file.
//!
//! Rows are written in the order of their ages and trees in theirs, so the same forest gives the same file however it came to be.
//! The lists of rows in leaves are not written: a walk with each row tells them.

use hedgerow_core::saved::{Saved, are_alike, once, require};
use hedgerow_core::{Dataset, Error, ModelProblem, Result, Schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::window::{Record, WORDS};
use super::{Birth, OnlineForest};
use crate::leaf_weight::LeafWeight;

impl Serialize for OnlineForest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_as_saved() {
            return Self::serialize(self, serializer);
        }
        Self::serialize(&once(|| self.as_saved()), serializer)
    }
}

impl<'de> Deserialize<'de> for OnlineForest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Saved for OnlineForest {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        self.forest.check(schema)?;
        let (n_trees, n_classes) = (self.forest.trees.len(), schema.n_classes());
        let wrong = |detail: &str| format!("what it has learnt from: {detail}");
        let has_ages = self.pool.ages.last().is_none_or(|&age| age < self.seen);
        let fits = self.pool.fits(self.forest.n_features) && has_ages;
        require(fits, || wrong("rows, classes, ages and columns do not fit together"))?;
        self.pool.make_queues();
        self.retained_rows(schema)
            .map_err(|e| Error::model(ModelProblem::Inconsistent { detail: e.to_string() }))?;
        let n_ways = LeafWeight::powers(&self.forest.params).len();
        require(self.window.fits(n_ways, n_classes), || wrong("the newest predictions do not fit"))?;
        let has_trees = [self.births.len(), self.records.len()] == [n_trees; 2];
        require(has_trees, || wrong("trees differ in number"))?;
        let weights_fit = self.class_weights.len() <= n_classes
            && self.class_weights.iter().all(|w| w.is_finite() && *w >= 0.0);
        let scales_fit =
            self.scales.len() == self.forest.n_features && self.scales.iter().all(|scale| *scale >= 0.0);
        let counters_fit = self.kept_up_at <= self.seen
            && self.calibrated_at <= self.seen
            && self.next_maintenance > self.seen
            && self.next_maintenance - self.seen <= *super::BLOCK.end()
            && (0.0..=1.0).contains(&self.replacement_rate)
            && (0.0..=0.5).contains(&self.noise)
            && self.arms.is_valid()
            && self.n_resting <= self.forest.params.n_trees
            && self.seen < 1 << 62;
        require(weights_fit && scales_fit && counters_fit, || wrong("impossible numbers"))?;
        match (&mut self.recent, &self.forest.horizons) {
            (Some(recent), Some(horizons)) => recent.complete(schema, horizons)?,
            (recent, horizons) => {
                require(recent.is_none() && horizons.is_none(), || wrong("no newest rows"))?;
            }
        }
        self.make_columns(schema);
        Ok(())
    }
}

impl OnlineForest {
    /// Whether it is in the form in which it is written.
    fn is_as_saved(&self) -> bool {
        let has_room = self.window.has_room_for(self.leaf_weights.len(), self.forest.n_classes);
        let recent = self.recent.as_ref().is_none_or(|recent| recent.is_as_saved());
        self.live.is_empty() && self.pool.is_by_age() && has_room && recent
    }

    /// The forest in the form in which it is written: rows and trees in order, and no lists.
    fn as_saved(&self) -> Self {
        let mut forest = self.forest.clone();
        for (live, tree) in self.live.iter().zip(&mut forest.trees).filter(|(live, _)| !live.is_ordered) {
            let mut live = live.clone();
            live.tree = std::mem::take(tree);
            live.put_in_order();
            *tree = live.tree;
        }
        let recent = self.recent.as_ref().zip(forest.horizons.as_mut());
        let recent = recent.map(|(recent, horizons)| Box::new(recent.as_saved(horizons)));
        Self {
            recent,
            window: self.window.with_room_for(self.leaf_weights.len(), forest.n_classes),
            forest,
            pool: self.pool.by_age_only(),
            scales: self.scales.clone(),
            columns: self.columns.clone(),
            live: Vec::new(),
            records: self.records.clone(),
            births: self.births.clone(),
            leaf_weights: self.leaf_weights.clone(),
            detector: self.detector.clone(),
            arms: self.arms.clone(),
            class_weights: self.class_weights.clone(),
            ..*self
        }
    }

    /// The retained rows, the oldest first, as a data set.
    pub fn retained_rows(&self, schema: &Schema) -> Result<Dataset> {
        self.pool.dataset(schema)
    }
}

impl PartialEq for OnlineForest {
    fn eq(&self, other: &Self) -> bool {
        are_alike(self, other)
    }
}

hedgerow_core::columns! {
    RecordColumns of Record {
        all words: u64 = |record| record.predicted.into_iter().chain(record.right),
    }
    |columns: RecordColumns| {
        let record = |words: &[u64; 2 * WORDS]| Record {
            predicted: std::array::from_fn(|i| words[i]),
            right: std::array::from_fn(|i| words[i + WORDS]),
        };
        let (whole, rest) = columns.words.0.as_chunks();
        rest.is_empty().then(|| whole.iter().map(record).collect())
    }
}

hedgerow_core::columns! {
    BirthColumns of Birth {
        each serials: u64 = |birth| birth.serial,
        each n_rows: u64 = |birth| birth.n_rows,
        each are_tolerant: bool = |birth| birth.is_tolerant,
    }
    |BirthColumns { serials, n_rows, are_tolerant }| {
        let numbers = serials.0.iter().zip(&n_rows.0).zip(&are_tolerant.0);
        let birth = |((&serial, &n_rows), &is_tolerant)| Birth { serial, n_rows, is_tolerant };
        let n = serials.0.len();
        ([n_rows.0.len(), are_tolerant.0.len()] == [n, n]).then(|| numbers.map(birth).collect())
    }
}
