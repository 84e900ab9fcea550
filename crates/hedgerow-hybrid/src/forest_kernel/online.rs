//! Learning more: rows are predicted and wait; then the forest learns them, and the GP is trained anew on the leaves of the trees as they are now.
//!
//! Every row that a tree learns may move the leaves of others, so the scores of leaves hold only for the trees they were made with. Rows therefore wait,
//! up to a sixteenth of those seen, and all that follows from them is done at once: what that costs depends on `max_rows`, trees and classes, never on
//! how many rows were seen. Whenever twice as many rows have been seen, noise variance, calibration and blend are chosen anew; in between,
//! prequential scores calibrate.

use std::any::Any;

use hedgerow_core::saved::{array, columns};
use hedgerow_core::scores::mask_unknown;
use hedgerow_core::text::count;
use hedgerow_core::{
    Budget, Calibration, ClassId, Dataset, Effort, Error, Features, OnlineModel, Predictor, Result, Rows,
    Schema, Summary, Task, Training, Update,
};
use ndarray::{Array2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use super::ForestKernelClassifier;
use super::limits::{draw_rows, half, most_rows};
use super::scores::LeafScores;
use super::training::KernelTraining;
use super::validation::FoldTraining;

/// Rows between two times that the forest learns: a share of the rows seen, at least and at most so many.
const PAUSE_SHARE: u64 = 16;
const PAUSE: [u64; 2] = [32, 1024];
/// Prequential scores that are kept, and how many calibrate at least.
const MOST_SCORES: usize = 2000;
const LEAST_SCORES: usize = 300;

/// What learning more needs beside forest and GP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OnlineState {
    /// Rows learnt so far, those that wait among them.
    pub(super) n_seen: u64,
    /// The next maintenance, in rows learnt: the forest learns the rows that wait.
    pub(super) maintain_at: u64,
    /// Rows learnt at the last validation.
    pub(super) validated_at: u64,
    /// Rows that wait.
    pub(super) features: Features,
    #[serde(with = "array")]
    pub(super) labels: Vec<ClassId>,
    #[serde(with = "array")]
    pub(super) weights: Vec<f32>,
    /// Prequential scores of the newest rows, and their classes.
    #[serde(with = "columns")]
    pub(super) scores: Vec<Vec<f64>>,
    #[serde(with = "array")]
    pub(super) classes: Vec<ClassId>,
}

impl OnlineState {
    pub(super) fn new(n_features: usize) -> Self {
        Self {
            n_seen: 0,
            maintain_at: PAUSE[0],
            validated_at: 0,
            features: Features::new(n_features),
            labels: Vec::new(),
            weights: Vec::new(),
            scores: Vec::new(),
            classes: Vec::new(),
        }
    }

    /// After so many rows of so many columns.
    pub(super) fn of_fitted(n_seen: u64, n_features: usize) -> Self {
        let mut state = Self { n_seen, validated_at: n_seen, ..Self::new(n_features) };
        state.maintain_at = n_seen + state.pause();
        state
    }

    fn pause(&self) -> u64 {
        (self.n_seen / PAUSE_SHARE).clamp(PAUSE[0], PAUSE[1])
    }

    /// Whether what was read fits together and so many columns and classes.
    pub(super) fn fits(&self, n_features: usize, n_classes: usize) -> bool {
        let most_waiting = PAUSE[1] as usize;
        let (n, n_scores) = (self.features.n_rows(), self.scores.len());
        self.features.n_features() == n_features
            && !self.features.has_infinite()
            && n <= most_waiting
            && [self.labels.len(), self.weights.len()] == [n, n]
            && self.labels.iter().chain(&self.classes).all(|class| class.index() < n_classes)
            && self.weights.iter().all(|weight| *weight >= 0.0 && weight.is_finite())
            && n_scores <= 2 * MOST_SCORES + most_waiting
            && self.classes.len() == n_scores
            && self.scores.iter().all(|row| row.len() <= n_classes)
            && self.scores.iter().flatten().all(|score| score.is_finite())
            && self.maintain_at > self.n_seen
            && self.maintain_at - self.n_seen <= 1 << 20
            && self.n_seen < 1 << 60
            && self.validated_at <= self.n_seen
    }

    pub(super) fn bytes(&self) -> usize {
        let of_scores: usize = self.scores.iter().map(|row| 8 * row.len() + 24).sum();
        self.features.bytes() + 8 * self.labels.len() + of_scores + 4 * self.classes.len()
    }

    /// Adds rows to those that wait.
    fn wait(&mut self, rows: Rows<'_>) {
        self.features.extend(rows.x);
        self.labels.extend_from_slice(rows.labels());
        match rows.weights {
            Some(weights) => self.weights.extend_from_slice(weights),
            None => self.weights.resize(self.labels.len(), 1.0),
        }
        self.n_seen += rows.labels().len() as u64;
    }

    fn keep_scores(&mut self, scores: &Array2<f64>, labels: &[ClassId]) {
        self.scores.extend(scores.rows().into_iter().map(|row| row.to_vec()));
        self.classes.extend_from_slice(labels);
        // Dropping them one by one would cost a move of all each time; what counts is the newest.
        let excess = self.scores.len().saturating_sub(2 * MOST_SCORES);
        if excess > 0 {
            self.scores.drain(..excess + MOST_SCORES);
            self.classes.drain(..excess + MOST_SCORES);
        }
    }

    /// A table of the newest scores and their classes; rows that were scored before a class had come do not count.
    fn newest(&self, n_classes: usize) -> (Array2<f64>, Vec<ClassId>) {
        let first = self.scores.len().saturating_sub(MOST_SCORES);
        let rows: Vec<usize> =
            (first..self.scores.len()).filter(|row| self.scores[*row].len() == n_classes).collect();
        let value = |(row, class): (usize, usize)| self.scores[rows[row]][class];
        let classes = rows.iter().map(|&row| self.classes[row]).collect();
        (Array2::from_shape_fn((rows.len(), n_classes), value), classes)
    }
}

impl OnlineModel for ForestKernelClassifier {
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

    /// Those of the forest, and those that wait.
    fn n_retained(&self) -> usize {
        self.forest.n_retained() + self.online.as_ref().map_or(0, |online| online.labels.len())
    }

    fn retained_rows(&self, schema: &Schema) -> Result<Option<Dataset>> {
        let (Some(mut data), Some(online)) = (self.forest.retained_rows(schema)?, &self.online) else {
            return Ok(None);
        };
        let weights = data.weights.as_ref().map(|_| online.weights.clone());
        data.append(&Dataset::new(schema.clone(), online.features.clone(), online.labels.clone(), weights)?);
        Ok(Some(data))
    }

    fn know_classes(&mut self, n_classes: usize) {
        self.n_classes = n_classes;
        self.forest.know_classes(n_classes);
    }

    fn room(&self) -> usize {
        let rows = self.online.as_ref().map_or(0, |online| online.maintain_at.saturating_sub(online.n_seen));
        usize::try_from(rows).unwrap_or(usize::MAX)
    }

    fn ingest(
        &mut self,
        _schema: &Schema,
        rows: Rows<'_>,
        training: &Training<'_>,
        out: ArrayViewMut2<'_, f64>,
        _update: &mut Update,
    ) -> Result<usize> {
        let scores = self.scored(rows.x, training.par);
        self.predict_scored(rows.x, scores.as_ref(), training.par, out);
        if let Some(online) = &mut self.online {
            if let Some(scores) = &scores {
                online.keep_scores(scores, rows.labels());
            }
            online.wait(rows);
        }
        Ok(rows.labels().len())
    }

    /// The forest learns the rows that wait, then the GP those that the forest retains.
    fn maintain(&mut self, schema: &Schema, training: &Training<'_>, update: &mut Update) -> Result<()> {
        let (Some(forest), Some(online)) = (self.forest.online(), &mut self.online) else { return Ok(()) };
        online.maintain_at = online.n_seen + online.pause();
        let x = online.features.to_array(0..online.labels.len());
        let waiting = Rows::new(x.view(), online.labels.as_slice(), Some(&online.weights));
        let budget = Budget { deadline: training.budget.deadline, ..half(training.budget) };
        let of_forest = forest.learn(schema, waiting, &Training { budget: &budget, ..*training })?;
        forest.put_in_order();
        let rest: Vec<usize> = (of_forest.n_learnt..online.labels.len()).collect();
        online.features = online.features.select(&rest);
        online.labels.drain(..of_forest.n_learnt);
        online.weights.drain(..of_forest.n_learnt);
        update.add_changes(of_forest);
        self.scores = None;
        if training.budget.spent().is_some() {
            return Ok(());
        }
        let mut data = forest.retained_rows(schema)?;
        let most = most_rows(&self.params, schema, training.budget)?.min(self.params.max_rows);
        if let Some(rows) = draw_rows(data.n_rows(), most, self.params.seed ^ online.n_seen) {
            data = data.select(&rows);
        }
        if data.check_trainable(Task::Classification).is_err() {
            return Ok(());
        }
        let is_known = self.choice.as_ref().is_some_and(|c| c.calibration.curves.len() == self.n_classes);
        let validates = online.n_seen >= 2 * online.validated_at || !is_known;
        if validates {
            online.validated_at = online.n_seen;
        }
        let par = training.par.until(&training.budget.stop);
        match self.train(&data, validates, &Training { par: &par, ..*training }) {
            // The forest predicts alone.
            Err(Error::Interrupted) => {}
            outcome => outcome?,
        }
        self.recalibrate(data.labels(), training);
        Ok(())
    }

    /// Rows that wait to be learnt are lost.
    fn frozen(self) -> Self {
        Self { forest: self.forest.frozen(), online: None, ..self }
    }

    fn put_in_order(&mut self) {
        self.forest.put_in_order();
    }

    fn bytes(&self) -> usize {
        let of_scores = self.scores.as_ref().map_or(0, LeafScores::bytes);
        self.forest.bytes() + of_scores + self.online.as_ref().map_or(0, OnlineState::bytes)
    }

    fn summary(&self, _classes: &[String]) -> Summary {
        let forest = self.forest.forest();
        let (n_trees, n_active) = (count(forest.trees().len() as u64), count(self.n_active() as u64));
        let alone = if self.n_active() == 0 { "; the forest predicts alone" } else { "" };
        let kernel: Vec<_> =
            self.noise_variance().map(|noise| ("noise_variance".to_string(), noise)).into_iter().collect();
        let mut summary = Summary::new(format!("{n_trees} trees as the kernel of a GP of {n_active} rows"))
            .count("trees", "Trees", forest.trees().len())
            .value("nodes", forest.n_nodes() as u64)
            .count("active_rows", "Active rows", self.n_active())
            .details(format!("{} nodes", count(forest.n_nodes() as u64)))
            .blend(self.blend().map(|blend| [blend.forest, blend.gp]))
            .kernel(kernel);
        summary.details.push_str(alone);
        summary.importances = Some(forest.impurity_importances());
        summary
    }
}

impl ForestKernelClassifier {
    /// Trains a GP with the leaves of the forest as it is now, within the budget.
    fn train(&mut self, data: &Dataset, validates: bool, training: &Training<'_>) -> Result<()> {
        if validates {
            let mut folds = FoldTraining::new(data, &self.params, training.budget);
            folds.train(Effort::Whole, training)?;
            let chosen = folds.choose(training.par).map(|found| found.choice);
            self.choice = chosen.or(self.choice.take());
        }
        let Some(choice) = self.choice.as_ref().filter(|_| training.budget.spent().is_none()) else {
            return Ok(());
        };
        let forest = self.forest.forest();
        let mut gp = KernelTraining::new(forest, data, &self.params, &[choice.noise], training)?;
        gp.train(forest, Effort::Whole, training)?;
        self.scores = gp.found.pop();
        Ok(())
    }

    /// Calibrates by prequential scores, if there are enough of them.
    fn recalibrate(&mut self, labels: &[ClassId], training: &Training<'_>) {
        let (Some(online), Some(choice)) = (&self.online, &mut self.choice) else { return };
        let (mut scores, classes) = online.newest(self.n_classes);
        if classes.len() >= LEAST_SCORES && classes.iter().any(|class| *class != classes[0]) {
            mask_unknown(&mut scores, labels);
            choice.calibration = Calibration::fit(&scores, &classes, training.par);
        }
    }
}
