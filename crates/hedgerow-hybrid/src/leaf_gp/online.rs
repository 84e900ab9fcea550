//! Online learning: a new row changes the leaves it falls into, and no others.
//!
//! Rows are predicted and wait. Every now and then those that wait are put into their leaves; leaves that have got rows are trained anew, and one that has
//! outgrown its size is split first. Whenever twice as many rows have been seen as at the last time, a whole training run prepares columns, grows trees and
//! searches for a kernel anew. Prequential predictions calibrate those that follow.

use std::any::Any;

use hedgerow_core::saved::{array, columns};
use hedgerow_core::text::{count, significant};
use hedgerow_core::{
    ClassId, Dataset, Error, OnlineModel, OutOfSample, Predictor, Result, Rows, Schema, Source, Summary,
    Training, TrainingRun as _, Update, drive,
};
use ndarray::{Array2, ArrayViewMut2, Axis, concatenate};
use serde::{Deserialize, Serialize};

use super::kernel::LeafKernel;
use super::leaf::Leaf;
use super::leaf_training::{LeafTraining, Outcome};
use super::placement::{AllRows, split};
use super::run::LeafGpRun;
use super::validation::Validation;
use super::{LeafGp, LeafGpSize};

/// Rows between two times that leaves are trained: a share of the rows seen, at least and at most so many.
const PAUSE_SHARE: u64 = 12;
const PAUSE: [u64; 2] = [16, 2048];
/// Prequential predictions that are kept, and how many calibrate at least.
const MOST_PREDICTIONS: usize = 2000;
const LEAST_PREDICTIONS: usize = 300;

/// What online learning needs beside rows and leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OnlineState {
    /// Rows learnt so far, those that wait among them.
    pub(super) n_seen: u64,
    /// When leaves are trained next, in rows learnt.
    pub(super) next_at: u64,
    /// Rows learnt when columns, trees and kernel were last made anew.
    pub(super) tuned_at: u64,
    /// Rows that are in leaves.
    pub(super) n_placed: usize,
    /// Rows there were when leaves were last trained.
    pub(super) n_known: usize,
    /// Prequential scores and class frequencies of the newest rows, and their classes.
    #[serde(with = "columns")]
    pub(super) scores: Vec<Vec<f64>>,
    #[serde(with = "columns")]
    pub(super) frequencies: Vec<Vec<f64>>,
    #[serde(with = "array")]
    pub(super) classes: Vec<ClassId>,
}

impl OnlineState {
    /// After a fit to so many rows.
    pub(super) fn new(n_seen: u64) -> Self {
        let mut state = Self {
            n_seen,
            next_at: 0,
            tuned_at: n_seen,
            n_placed: 0,
            n_known: 0,
            scores: Vec::new(),
            frequencies: Vec::new(),
            classes: Vec::new(),
        };
        state.next_at = state.n_seen + state.pause();
        state
    }

    fn pause(&self) -> u64 {
        (self.n_seen / PAUSE_SHARE).clamp(PAUSE[0], PAUSE[1])
    }

    /// Whether what was read fits so many rows and classes.
    pub(super) fn fits(&self, n_rows: usize, n_classes: usize) -> bool {
        let n = self.classes.len();
        let mut rows = self.scores.iter().chain(&self.frequencies);
        [self.scores.len(), self.frequencies.len()] == [n, n]
            && rows.all(|row| row.len() <= n_classes.max(1))
            && self.scores.iter().flatten().all(|score| score.is_finite())
            && self.frequencies.iter().flatten().all(|frequency| (0.0..=1.0).contains(frequency))
            && self.classes.iter().all(|class| class.index() < n_classes)
            && self.n_placed.max(self.n_known) <= n_rows
            && n_rows as u64 <= self.n_seen
            && self.n_seen <= self.next_at.saturating_add(1 << 20)
            && self.next_at <= self.n_seen.saturating_add(1 << 20)
            && self.tuned_at <= self.n_seen
    }

    pub(super) fn bytes(&self) -> usize {
        let each = self.scores.iter().chain(&self.frequencies);
        each.map(|row| 8 * row.len() + 24).sum::<usize>() + 4 * self.classes.len()
    }

    fn keep(&mut self, scores: Vec<f64>, frequencies: Vec<f64>, class: ClassId) {
        self.scores.push(scores);
        self.frequencies.push(frequencies);
        self.classes.push(class);
        // Dropping them one by one would cost a move of all each time.
        if self.scores.len() >= 2 * MOST_PREDICTIONS {
            self.scores.drain(..MOST_PREDICTIONS);
            self.frequencies.drain(..MOST_PREDICTIONS);
            self.classes.drain(..MOST_PREDICTIONS);
        }
    }

    /// The prequential scores of the newest rows, which are the last of so many.
    fn newest(&self, n_classes: usize, n_rows: usize) -> Validation {
        let first = self.scores.len().saturating_sub(MOST_PREDICTIONS);
        let labels = self.classes[first..].to_vec();
        let scores = OutOfSample {
            source: Source::Prequential,
            rows: (n_rows.saturating_sub(labels.len())..n_rows).collect(),
            values: table(&self.scores[first..], n_classes, -1.0),
            labels,
        };
        let frequencies = table(&self.frequencies[first..], n_classes, 0.0);
        Validation { scores, frequencies, has_gp: Vec::new() }
    }
}

/// Rows as a table, with a value for classes that came later.
fn table(rows: &[Vec<f64>], n_classes: usize, late: f64) -> Array2<f64> {
    let value = |(row, class): (usize, usize)| rows[row].get(class).copied().unwrap_or(late);
    Array2::from_shape_fn((rows.len(), n_classes), value)
}

impl OnlineModel for LeafGp {
    fn predictor(&self) -> Predictor<'_> {
        Predictor::Classifier(self)
    }

    fn itself(&self) -> &dyn Any {
        self
    }

    fn can_learn(&self) -> bool {
        self.online.is_some()
    }

    fn n_seen(&self) -> u64 {
        self.online.as_ref().map_or(0, |online| online.n_seen)
    }

    fn n_retained(&self) -> usize {
        if self.online.is_some() { self.features.n_rows() } else { 0 }
    }

    fn retained_rows(&self, schema: &Schema) -> Result<Option<Dataset>> {
        self.online.as_ref().map(|_| self.dataset(schema)).transpose()
    }

    fn know_classes(&mut self, n_classes: usize) {
        self.n_classes = n_classes;
        self.report.grow(n_classes);
    }

    fn room(&self) -> usize {
        let rows = self.online.as_ref().map_or(0, |online| online.next_at.saturating_sub(online.n_seen));
        usize::try_from(rows).unwrap_or(usize::MAX)
    }

    fn ingest(
        &mut self,
        _schema: &Schema,
        rows: Rows<'_>,
        training: &Training<'_>,
        mut out: ArrayViewMut2<'_, f64>,
        _update: &mut Update,
    ) -> Result<usize> {
        let predictions = self.predictions(rows.x, training.par);
        self.probabilities(&predictions, out.view_mut());
        self.features.extend(rows.x);
        self.labels.extend_from_slice(rows.labels());
        let (has_trees, uses_gps) = (self.trees.n_trees() > 0, self.uses_gps());
        let Some(online) = &mut self.online else { return Ok(0) };
        if has_trees {
            let both = predictions.scores.rows().into_iter().zip(predictions.frequencies.rows());
            let own = rows.labels().iter().zip(out.rows()).zip(predictions.has_gp);
            for (((&class, proba), has_gp), (scores, frequencies)) in own.zip(both) {
                let frequencies = frequencies.to_vec();
                self.report.add(class.index(), &frequencies, &proba.to_vec(), has_gp && uses_gps);
                online.keep(scores.to_vec(), frequencies, class);
            }
        }
        online.n_seen += rows.labels().len() as u64;
        Ok(rows.labels().len())
    }

    /// Trains leaves on the rows that wait. If the time is up, they go on waiting.
    fn maintain(&mut self, schema: &Schema, training: &Training<'_>, update: &mut Update) -> Result<()> {
        let touched = self.forget_oldest(update)?;
        let Some(online) = &mut self.online else { return Ok(()) };
        online.next_at = online.n_seen + online.pause();
        online.n_known = self.labels.len();
        let is_over = training.budget.spent().is_some() && self.kernel.is_some();
        let has_grown = self.kernel.is_none() || online.n_seen >= 2 * online.tuned_at;
        if is_over || self.labels.iter().all(|label| *label == self.labels[0]) {
            return Ok(());
        }
        if has_grown {
            self.relearn(schema, training, update)?;
        } else {
            self.place_rows(schema, touched, training, update)?;
        }
        self.recalibrate(training);
        Ok(())
    }

    /// Rows that no leaf GP has, and all labels, are left out.
    fn frozen(mut self) -> Self {
        let mut is_kept = vec![false; self.features.n_rows()];
        for gp in self.leaves.iter().filter_map(|leaf| leaf.gp.as_ref()) {
            gp.rows.iter().for_each(|&row| is_kept[row as usize] = true);
        }
        self.leaves.iter_mut().for_each(|leaf| leaf.rows.clear());
        self.keep_rows(&is_kept);
        self.labels.clear();
        self.online = None;
        self
    }

    fn bytes(&self) -> usize {
        let of_leaves: usize = self.leaves.iter().map(Leaf::bytes).sum();
        let of_rows = self.features.bytes() + 4 * (self.x.len() + self.labels.len());
        of_rows + of_leaves + self.trees.bytes() + self.online.as_ref().map_or(0, OnlineState::bytes)
    }

    fn summary(&self, classes: &[String]) -> Summary {
        let LeafGpSize { n_trees, n_leaves, n_gps, largest } = self.size();
        let named = |kernel: LeafKernel| {
            [
                ("length_scale", kernel.length_scale),
                ("noise_variance", kernel.noise_variance),
                ("signal_variance", kernel.signal_variance),
            ]
        };
        let kernel = self.kernel.map(named).into_iter().flatten().map(|(name, value)| (name.into(), value));
        let [trees, leaves, gps, most] = [n_trees, n_leaves, n_gps, largest].map(|n| count(n as u64));
        let mut details = format!("{leaves} leaves, leaf GPs of up to {most} rows");
        let mut summary = Summary::new(format!("{trees} trees with {gps} leaf GPs"))
            .count("trees", "Trees", n_trees)
            .count("leaves", "Leaves", n_leaves)
            .count("leaf_gps", "Leaf GPs", n_gps)
            .value("largest_leaf_gp", largest as u64)
            .comparison(["leaf GP", "leaf GPs"], &self.report, classes)
            .blend(self.blend.map(|blend| [blend.forest, blend.gp]));
        if self.report.n_rows() > 0 {
            details += &format!(", {}", self.report.words(["class frequencies", "leaf GPs"]));
            let [before, after] = self.report.accuracies().map(|share| format!("{:.2} %", 100.0 * share));
            summary = summary
                .fact("Out-of-sample accuracy, class frequencies", before)
                .fact("Out-of-sample accuracy, with leaf GPs", after);
        }
        if let Some(blend) = self.blend {
            let [forest, gp] = [blend.forest, blend.gp].map(significant);
            details += &format!(", blend exponents: class frequencies {forest}, leaf GPs {gp}");
            summary = summary.fact("Blend exponents", format!("{forest} and {gp}"));
        }
        summary.details(details).kernel(kernel.collect())
    }
}

impl LeafGp {
    fn dataset(&self, schema: &Schema) -> Result<Dataset> {
        Dataset::new(schema.clone(), self.features.clone(), self.labels.clone(), None)
    }

    /// A whole training run on all rows. If it is interrupted before there are trees, everything stays as it was.
    fn relearn(&mut self, schema: &Schema, training: &Training<'_>, update: &mut Update) -> Result<()> {
        let data = self.dataset(schema)?;
        let mut run = LeafGpRun::without_folds(&data, self.params.clone(), training)?;
        drive(&mut run, training)?;
        let make = if run.has_all_rows() { run.model() } else { None };
        drop(run);
        let Some(make) = make else { return Ok(()) };
        let Self { preparation, kernel, x, trees, leaves, calibration, .. } = make.run(training)?.model;
        (self.preparation, self.kernel, self.x) = (preparation, kernel, x);
        (self.trees, self.leaves, self.calibration) = (trees, leaves, calibration);
        if let Some(online) = &mut self.online {
            (online.tuned_at, online.n_placed) = (online.n_seen, data.n_rows());
        }
        update.n_tried += self.leaves.iter().filter(|leaf| !leaf.is_pure()).count();
        Ok(())
    }

    /// Forgets the oldest rows where there are too many. Returns the leaves that have lost some.
    fn forget_oldest(&mut self, update: &mut Update) -> Result<Vec<usize>> {
        let excess = self.labels.len().saturating_sub(self.params.most_rows());
        if excess == 0 {
            return Ok(Vec::new());
        }
        self.prepare_rows()?;
        let is_kept: Vec<bool> = (0..self.labels.len()).map(|row| row >= excess).collect();
        let touched = self.keep_rows(&is_kept);
        for &leaf in &touched {
            self.leaves[leaf].count(&self.labels);
        }
        if let Some(online) = &mut self.online {
            online.n_placed = online.n_placed.saturating_sub(excess);
        }
        update.n_forgotten += excess;
        Ok(touched)
    }

    /// Prepares the rows that wait.
    fn prepare_rows(&mut self) -> Result<()> {
        let waiting = self.x.nrows()..self.features.n_rows();
        if waiting.is_empty() {
            return Ok(());
        }
        let new = self.preparation.map_narrow(self.features.to_array(waiting).view());
        let all = concatenate(Axis(0), &[self.x.view(), new.view()]);
        let shape = |_| Error::Shape { what: "prepared columns", expected: self.x.ncols(), got: new.ncols() };
        self.x = all.map_err(shape)?.into_shared();
        Ok(())
    }

    /// Puts the rows that wait into their leaves, splits those that have become too large, and trains all that changed.
    fn place_rows(
        &mut self,
        schema: &Schema,
        mut touched: Vec<usize>,
        training: &Training<'_>,
        update: &mut Update,
    ) -> Result<()> {
        self.prepare_rows()?;
        let Some(online) = &mut self.online else { return Ok(()) };
        let n_seen = online.n_seen;
        let waiting = std::mem::replace(&mut online.n_placed, self.labels.len())..self.labels.len();
        let raw = self.features.to_array(waiting.clone());
        for tree in 0..self.trees.n_trees() {
            for (row, values) in waiting.clone().zip(raw.rows()) {
                if let Some(leaf) = self.trees.leaf(tree, &values.to_vec()) {
                    self.leaves[leaf as usize].rows.push(row as u32);
                    touched.push(leaf as usize);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for leaf in touched.clone() {
            self.leaves[leaf].count(&self.labels);
            let n = self.leaves[leaf].rows.len();
            if n > self.params.leaf_rows && !self.leaves[leaf].is_pure() {
                let seed = self.params.seed ^ (n_seen << 24) ^ (leaf as u64 + 1);
                let (features, labels, params) = (&self.features, &self.labels, &self.params);
                let rows = AllRows { schema, features, labels, params };
                touched.extend(split(&mut self.trees, &mut self.leaves, leaf, &rows, seed, training.par)?);
                update.n_replaced += 1;
            }
        }
        touched.sort_unstable();
        touched.dedup();
        update.n_tried += touched.iter().filter(|leaf| !self.leaves[**leaf].is_pure()).count();
        self.train_leaves(&touched, training)
    }

    /// Trains leaves anew, given by their numbers. Those that the time does not suffice for predict with their class frequencies.
    fn train_leaves(&mut self, numbers: &[usize], training: &Training<'_>) -> Result<()> {
        let Some(kernel) = self.kernel else { return Ok(()) };
        let leaves: Vec<_> = numbers.iter().map(|&number| (&self.leaves[number], number)).collect();
        let with = LeafTraining {
            params: &self.params,
            kernel,
            x: self.x.view(),
            labels: &self.labels,
            n_classes: self.n_classes,
            n_trees: self.trees.n_trees(),
            largest: leaves.iter().map(|(leaf, _)| leaf.rows.len()).max().unwrap_or(0),
        };
        let outcomes = with.train(&leaves, training)?;
        for (&number, outcome) in numbers.iter().zip(outcomes) {
            self.leaves[number].gp = match outcome {
                Outcome::Trained(trained) => Some(trained.gp),
                Outcome::NoGp | Outcome::Untried => None,
            };
        }
        Ok(())
    }

    /// Calibrates by the newest prequential predictions, if there are enough of them.
    fn recalibrate(&mut self, training: &Training<'_>) {
        let Some(online) = &self.online else { return };
        let newest = online.newest(self.n_classes, self.labels.len());
        if newest.scores.len() >= LEAST_PREDICTIONS && newest.scores.has_two_classes() {
            self.calibrate(&newest, training.par);
        }
    }

    /// How many rows of each class there were when leaves were last trained.
    pub(super) fn known_counts(&self) -> Vec<u64> {
        let n =
            self.online.as_ref().map_or(self.labels.len(), |online| online.n_known.min(self.labels.len()));
        let mut counts = vec![0; self.n_classes];
        for label in &self.labels[..n] {
            counts[label.index()] += 1;
        }
        counts
    }
}
