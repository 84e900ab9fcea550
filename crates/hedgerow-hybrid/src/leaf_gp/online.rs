//! Online learning: a new row changes the leaves it falls into, and no others.
//!
//! Rows are predicted and wait. Every now and then those that wait are put into their leaves; leaves that have got rows are trained anew, and one that has
//! outgrown its size is split first. Whenever twice as many rows have been seen as at the last time, a whole training run prepares columns, grows trees and
//! searches for a kernel anew. Prequential predictions calibrate those that follow.

use hedgerow_core::text::{count, significant};
use hedgerow_core::{
    Dataset, Error, Learning, OnlineModel, OnlineStatus, Pause, Predictor, Prequential, Result, Rows,
    Schedule, Schema, Summary, Training, TrainingRun as _, drive,
};
use ndarray::{Array2, Axis, concatenate};
use serde::{Deserialize, Serialize};

use super::kernel::LeafKernel;
use super::leaf::Leaf;
use super::leaf_training::{LeafTraining, Outcome};
use super::run::LeafGpRun;
use super::{LeafGp, LeafGpSize};

/// Rows between two times that leaves are trained.
const PAUSE: Pause = Pause { share: 12, least: 16, most: 2048 };

/// What online learning needs beside rows and leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OnlineState {
    /// Rows that wait are counted as learnt.
    pub(super) schedule: Schedule,
    /// Rows that are in leaves.
    pub(super) n_placed: usize,
    /// Rows there were when leaves were last trained.
    pub(super) n_known: usize,
    /// Class frequencies and scores of the newest rows.
    pub(super) prequential: Prequential,
}

impl OnlineState {
    /// After a fit to so many rows, of which so many are in leaves.
    pub(super) fn new(n_seen: u64, n_placed: usize) -> Self {
        let schedule = Schedule::new(n_seen, PAUSE);
        Self { schedule, n_placed, n_known: 0, prequential: Prequential::default() }
    }

    /// Whether what was read fits so many rows and classes.
    pub(super) fn fits(&self, n_rows: usize, n_classes: usize) -> bool {
        self.schedule.is_valid(n_rows)
            && self.n_placed.max(self.n_known) <= n_rows
            && self.prequential.is_valid(n_classes, f64::MIN..=f64::MAX)
    }
}

impl OnlineModel for LeafGp {
    fn predictor(&self) -> Predictor<'_> {
        Predictor::Classifier(self)
    }

    fn online_status(&self) -> Option<OnlineStatus> {
        self.online.as_ref().map(|online| OnlineStatus::new(&online.schedule, self.labels.len()))
    }

    fn retained_rows(&self, schema: &Schema) -> Result<Option<Dataset>> {
        self.online.as_ref().map(|_| self.dataset(schema)).transpose()
    }

    fn know_classes(&mut self, n_classes: usize) {
        self.n_classes = n_classes;
        self.report.grow(n_classes);
    }

    fn ingest(&mut self, rows: Rows<'_>, learning: &mut Learning<'_>) -> Result<Array2<f64>> {
        let predictions = self.predictions(rows.x, learning.training.par);
        let mut out = Array2::zeros((rows.x.nrows(), self.n_classes));
        self.probabilities(&predictions, out.view_mut());
        self.features.extend(rows.x);
        self.labels.extend_from_slice(rows.labels());
        let (has_trees, uses_gps) = (self.trees.n_trees() > 0, self.uses_gps());
        let Some(online) = &mut self.online else { return Ok(out) };
        if has_trees {
            for ((row, has_gp), proba) in predictions.pairs(rows.labels()).zip(out.rows()) {
                let is_blended = has_gp && uses_gps;
                self.report.add(row.class.index(), &row.forest, &proba.to_vec(), is_blended);
                online.prequential.push(row);
            }
        }
        online.schedule.add(rows.labels().len());
        Ok(out)
    }

    /// Trains leaves on the rows that wait. If the time is up, they go on waiting.
    fn maintain(&mut self, learning: &mut Learning<'_>) -> Result<()> {
        let touched = self.forget_oldest(learning)?;
        let Some(online) = &mut self.online else { return Ok(()) };
        online.schedule.postpone(PAUSE);
        online.n_known = self.labels.len();
        let is_over = learning.training.budget.spent().is_some() && self.kernel.is_some();
        let has_grown = self.kernel.is_none() || online.schedule.has_doubled();
        if is_over || self.labels.iter().all(|label| *label == self.labels[0]) {
            return Ok(());
        }
        if has_grown {
            self.relearn(learning)?;
        } else {
            self.place_rows(touched, learning)?;
        }
        self.recalibrate(learning.training);
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
        of_rows
            + of_leaves
            + self.trees.bytes()
            + self.online.as_ref().map_or(0, |online| online.prequential.bytes())
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
    fn relearn(&mut self, learning: &mut Learning<'_>) -> Result<()> {
        let Learning { schema, training, update } = learning;
        let data = self.dataset(schema)?;
        let mut run = LeafGpRun::without_folds(&data, self.params.clone(), training.par.threads(), training)?;
        drive(&mut run, training)?;
        let make = if run.has_all_rows() { run.model() } else { None };
        drop(run);
        let Some(make) = make else { return Ok(()) };
        let Self { preparation, kernel, x, trees, leaves, calibration, .. } = make.run(training)?.model;
        (self.preparation, self.kernel, self.x) = (preparation, kernel, x);
        (self.trees, self.leaves, self.calibration) = (trees, leaves, calibration);
        if let Some(online) = &mut self.online {
            online.schedule.note_search();
            online.n_placed = data.n_rows();
        }
        update.n_tried += self.leaves.iter().filter(|leaf| !leaf.is_pure()).count();
        Ok(())
    }

    /// Forgets the oldest rows where there are too many. Returns the leaves that have lost some.
    fn forget_oldest(&mut self, learning: &mut Learning<'_>) -> Result<Vec<usize>> {
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
        learning.update.n_forgotten += excess;
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
    fn place_rows(&mut self, mut touched: Vec<usize>, learning: &mut Learning<'_>) -> Result<()> {
        let Learning { schema, training, update } = learning;
        self.prepare_rows()?;
        let Some(online) = &mut self.online else { return Ok(()) };
        let n_seen = online.schedule.n_seen();
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
                touched.extend(self.split(leaf, schema, seed, training.par)?);
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

    /// Calibrates and blends by the newest prequential predictions, if there are enough of them.
    fn recalibrate(&mut self, training: &Training<'_>) {
        let Some(online) = &self.online else { return };
        let rows = online.prequential.newest(self.n_classes, -1.0);
        if let Some(scores) = online.prequential.scores(self.n_classes, -1.0) {
            self.calibration = Some(scores.calibration(training.par));
            self.fit_blend(rows);
        }
    }
}
