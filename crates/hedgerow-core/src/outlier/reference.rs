//! A bounded sample of the rows that a model has learnt, which outlier scores compare other rows with.

use std::sync::{Arc, OnceLock};

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use super::scorer::{OutlierScorer, uncertainty};
use crate::data::{ClassId, Dataset, Features, Schema, Target, Targets, Task};
use crate::error::Result;
use crate::par::Par;
use crate::rng::{Purpose, Rng};
use crate::saved::{array, require};
use crate::scores::{OutOfSample, Source};

/// Rows that are kept at most, and values of them.
const MOST_ROWS: usize = 4_000;
const MOST_VALUES: usize = 1 << 21;
/// Rows that are kept at least, however wide, where memory has no limit.
const LEAST_ROWS: usize = 200;
/// The share of a limit on memory that the rows may take.
const SHARE_OF_MEMORY: u64 = 32;
/// A class keeps this share of an equal part of the rows.
const SAFE_SHARE: usize = 4;
/// Draws for a row that may go.
const DRAWS: usize = 16;

/// A bounded sample of the rows that a model has learnt, with how uncertain it was of each before it had learnt it.
///
/// Of the rows of a fit, some are drawn at random. Each row that is learnt online takes the place of one drawn at random once there is no more
/// room: the sample follows the stream, older rows count exponentially less (Aggarwal, 2006, On biased reservoir sampling in the presence of
/// stream evolution). Classes that come no more keep some rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReferenceRows {
    features: Features,
    targets: Targets,
    /// 1 − the largest probability that was predicted for each row out of sample; NaN where that is not known.
    #[serde(with = "array")]
    uncertainty: Vec<f32>,
    /// Whether only a part of the model predicted it, as the trees that have a row out of bag are.
    #[serde(with = "array")]
    by_part: Vec<bool>,
    /// Rows offered so far.
    n_offered: u64,
    /// Rows that are kept at most.
    most: usize,
    seed: u64,
    #[serde(skip)]
    scorer: Cached,
}

/// What follows from the rows, made when it is first asked for.
#[derive(Debug, Clone, Default)]
struct Cached(OnceLock<Arc<OutlierScorer>>);

impl PartialEq for ReferenceRows {
    fn eq(&self, other: &Self) -> bool {
        crate::saved::are_alike(self, other)
    }
}

/// Rows of so many columns that may be kept within so many bytes.
fn most_rows(n_features: usize, bytes: Option<u64>) -> usize {
    let by_values = (MOST_VALUES / n_features.max(1)).clamp(LEAST_ROWS, MOST_ROWS);
    let by_bytes = bytes.map_or(u64::MAX, |bytes| bytes / SHARE_OF_MEMORY / (4 * n_features as u64 + 16));
    by_values.min(usize::try_from(by_bytes).unwrap_or(usize::MAX))
}

impl ReferenceRows {
    /// No rows yet, of which so many bytes of memory may be used by a model with all it needs.
    pub fn new(schema: &Schema, seed: u64, bytes: Option<u64>) -> Self {
        Self {
            features: Features::new(schema.n_features()),
            targets: Targets::empty(schema.task()),
            uncertainty: Vec::new(),
            by_part: Vec::new(),
            n_offered: 0,
            most: most_rows(schema.n_features(), bytes),
            seed,
            scorer: Cached::default(),
        }
    }

    /// Some of the rows that a model was fitted to, and what was predicted for them out of sample.
    pub fn of_fit(data: &Dataset, validation: Option<&OutOfSample>, seed: u64, bytes: Option<u64>) -> Self {
        let mut own = Self::new(&data.schema, seed, bytes);
        let validation = validation.filter(|validation| validation.task() == Task::Classification);
        let counts = |row: &usize| data.weights.as_ref().is_none_or(|weights| weights[*row] > 0.0);
        let mut known = vec![f32::NAN; data.n_rows()];
        for (row, proba) in validation.iter().flat_map(|v| v.rows.iter().zip(v.values.rows())) {
            known[*row] = uncertainty(proba);
        }
        let draw = |from: Vec<usize>, most: usize, number: u64| {
            let chosen = Rng::new(seed, Purpose::Reference, number).sample(from.len(), most);
            chosen.map_or_else(|| from.clone(), |chosen| chosen.into_iter().map(|at| from[at]).collect())
        };
        // Rows that were predicted out of sample tell more: they come first.
        let (predicted, others): (Vec<usize>, Vec<usize>) =
            (0..data.n_rows()).filter(counts).partition(|row| !known[*row].is_nan());
        let mut rows = draw(predicted, own.most, 0);
        rows.extend(draw(others, own.most - rows.len(), 1));
        rows.sort_unstable();
        own.features = data.features.select(&rows);
        own.targets = data.targets.select(&rows);
        own.uncertainty = rows.iter().map(|&row| known[row]).collect();
        own.by_part = vec![validation.is_some_and(|v| v.source == Source::OutOfBag); rows.len()];
        own.n_offered = data.n_rows() as u64;
        own
    }

    /// How many rows are kept.
    pub fn len(&self) -> usize {
        self.uncertainty.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.uncertainty.is_empty()
    }

    pub(super) fn features(&self) -> &Features {
        &self.features
    }

    pub(super) fn labels(&self) -> &[ClassId] {
        self.targets.view().labels()
    }

    /// The uncertainty of each row, and whether only a part of the model predicted it.
    pub(super) fn uncertainties(&self) -> impl Iterator<Item = (f64, bool)> + '_ {
        self.uncertainty.iter().map(|u| f64::from(*u)).zip(self.by_part.iter().copied())
    }

    /// Takes in a row that was learnt, with what was predicted for it before; none for a regression.
    pub fn learn(
        &mut self,
        row: ArrayView1<'_, f32>,
        target: Target,
        predicted: Option<ArrayView1<'_, f64>>,
    ) {
        let mut rng = Rng::new(self.seed, Purpose::Reference, 2 + self.n_offered);
        self.n_offered += 1;
        if self.most == 0 {
            return;
        }
        self.scorer = Cached::default();
        let uncertainty = predicted.map_or(f32::NAN, uncertainty);
        if self.len() >= self.most {
            let place = self.place_to_free(target, &mut rng);
            self.features.replace(place, row);
            self.targets.replace(place, target);
            (self.uncertainty[place], self.by_part[place]) = (uncertainty, false);
            return;
        }
        self.features.extend(row.insert_axis(ndarray::Axis(0)));
        self.targets.extend(Targets::from(target).view());
        self.uncertainty.push(uncertainty);
        self.by_part.push(false);
    }

    /// A row drawn at random, not of a class that has few left.
    fn place_to_free(&self, target: Target, rng: &mut Rng) -> usize {
        let n = self.len();
        let first = rng.index(n);
        let Target::Class(new) = target else { return first };
        let labels = self.labels();
        let counts = self.targets.view().class_counts();
        let n_classes = counts.iter().filter(|count| **count > 0).count();
        let least = (n / (SAFE_SHARE * n_classes.max(1))) as u64;
        let may_go = |place: &usize| labels[*place] == new || counts[labels[*place].index()] > least;
        let draws = (1..DRAWS).map(|_| rng.index(n));
        std::iter::once(first).chain(draws).find(may_go).unwrap_or(first)
    }

    /// Drops a row with these values and this class, if there is one: its label was wrong.
    pub fn forget(&mut self, row: ArrayView1<'_, f32>, class: ClassId) {
        let is_same = |place: usize| {
            self.labels().get(place) == Some(&class)
                && row.iter().enumerate().all(|(column, value)| {
                    let own = self.features.value(place, column);
                    own == *value || (own.is_nan() && value.is_nan())
                })
        };
        let Some(place) = (0..self.len()).find(|place| is_same(*place)) else { return };
        let kept: Vec<usize> = (0..self.len()).filter(|other| *other != place).collect();
        self.keep(&kept);
    }

    /// The rows of several models as those of one, all under its schema. None unless each has some.
    pub fn merge(parts: &[(&Schema, &Self)], schema: &Schema) -> Result<Option<Self>> {
        let Some((_, first)) = parts.first() else { return Ok(None) };
        let mut own = Self::new(schema, first.seed, None);
        for (of, part) in parts {
            let data = Dataset::new((*of).clone(), part.features.clone(), part.targets.clone(), None)?;
            let data = data.under(schema)?;
            own.features.extend(data.features.to_array(0..data.n_rows()).view());
            own.targets.extend(data.targets.view());
            own.uncertainty.extend_from_slice(&part.uncertainty);
            own.by_part.extend_from_slice(&part.by_part);
            own.n_offered += part.n_offered;
        }
        if let Some(rows) = Rng::new(own.seed, Purpose::Reference, 0).sample(own.len(), own.most) {
            own.keep(&rows);
        }
        Ok(Some(own))
    }

    fn keep(&mut self, rows: &[usize]) {
        self.features = self.features.select(rows);
        self.targets = self.targets.select(rows);
        self.uncertainty = rows.iter().map(|&row| self.uncertainty[row]).collect();
        self.by_part = rows.iter().map(|&row| self.by_part[row]).collect();
        self.scorer = Cached::default();
    }

    /// What scores rows by these, made when it is first asked for.
    pub fn scorer(&self, schema: &Schema, par: &Par) -> Arc<OutlierScorer> {
        Arc::clone(self.scorer.0.get_or_init(|| Arc::new(OutlierScorer::new(schema, self, par))))
    }

    /// Fails unless what was read fits together and the schema.
    pub fn check(&self, schema: &Schema) -> Result<()> {
        self.targets.view().check_task(schema.task())?;
        Dataset::new(schema.clone(), self.features.clone(), self.targets.clone(), None)?;
        let is_uncertainty = |u: &f32| u.is_nan() || (0.0..=1.0).contains(u);
        let fits = self.uncertainty.len() == self.features.n_rows()
            && self.by_part.len() == self.uncertainty.len()
            && self.uncertainty.iter().all(is_uncertainty)
            && self.len() <= self.most
            && self.most <= MOST_ROWS
            && self.n_offered >= self.len() as u64
            && self.n_offered < 1 << 62;
        require(fits, || "its reference rows do not fit together")
    }

    /// Bytes in memory, without what follows from the rows.
    pub fn bytes(&self) -> usize {
        self.features.bytes() + self.targets.bytes() + 5 * self.uncertainty.len()
    }
}
