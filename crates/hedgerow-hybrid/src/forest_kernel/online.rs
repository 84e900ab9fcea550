//! Learning more: rows are predicted and wait; then the forest learns them, and the GP is trained anew on the leaves of the trees as they are now.
//!
//! Every row that a tree learns may move the leaves of others, so the scores of leaves hold only for the trees they were made with. Rows therefore wait,
//! up to a sixteenth of those seen, and all that follows from them is done at once: what that costs depends on `max_rows`, trees and classes, never on
//! how many rows were seen. Whenever twice as many rows have been seen, noise variance, calibration and blend are chosen anew; in between,
//! prequential scores calibrate.

use hedgerow_core::blend::Pair;
use hedgerow_core::saved::require;
use hedgerow_core::text::count;
use hedgerow_core::{
    Budget, ClassId, Dataset, Effort, Error, Learning, OnlineModel, OnlineStatus, Pause, Predictor,
    Prequential, Result, RetainedRows, Rows, Schedule, Schema, Summary, Task, Training,
};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::ForestKernelClassifier;
use super::limits::{draw_rows, half, most_rows};
use super::scores::LeafScores;
use super::training::KernelTraining;
use super::validation::FoldTraining;

/// Rows between two times that the forest learns.
const PAUSE: Pause = Pause { share: 16, least: 32, most: 1024 };

/// What learning more needs beside forest and GP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OnlineState {
    /// Rows that wait are counted as learnt.
    pub(super) schedule: Schedule,
    /// Rows that wait.
    pub(super) waiting: RetainedRows,
    /// Scores of the newest rows, all of which were made when the classes there are now were known.
    pub(super) prequential: Prequential,
}

impl OnlineState {
    /// After a fit to so many rows of so many columns.
    pub(super) fn new(n_seen: u64, n_features: usize) -> Self {
        Self {
            schedule: Schedule::new(n_seen, PAUSE),
            waiting: RetainedRows::new(n_features, Task::Classification),
            prequential: Prequential::default(),
        }
    }

    /// Fails unless what was read fits together and the schema.
    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        self.waiting.check(schema)?;
        let fits = self.waiting.len() as u64 <= PAUSE.most
            && self.schedule.is_valid(self.waiting.len())
            && self.prequential.is_valid(schema.n_classes(), f64::MIN..=f64::MAX);
        require(fits, || "rows that wait and the newest scores do not fit the rest")
    }
}

impl OnlineModel for ForestKernelClassifier {
    fn predictor(&self) -> Predictor<'_> {
        Predictor::Classifier(self)
    }

    /// Retained are the rows of the forest, and those that wait.
    fn online_status(&self) -> Option<OnlineStatus> {
        let online = self.online.as_ref()?;
        Some(OnlineStatus::new(&online.schedule, self.forest.n_retained() + online.waiting.len()))
    }

    fn retained_rows(&self, schema: &Schema) -> Result<Option<Dataset>> {
        let (Some(mut data), Some(online)) = (self.forest.retained_rows(schema)?, &self.online) else {
            return Ok(None);
        };
        data.append(&online.waiting.dataset(schema)?)?;
        Ok(Some(data))
    }

    fn know_classes(&mut self, n_classes: usize) {
        if let Some(online) = self.online.as_mut().filter(|_| n_classes > self.n_classes) {
            online.prequential.clear();
        }
        self.n_classes = n_classes;
        self.forest.know_classes(n_classes);
    }

    fn ingest(&mut self, rows: Rows<'_>, learning: &mut Learning<'_>) -> Result<Array2<f64>> {
        let par = learning.training.par;
        let scores = self.scored(rows.x, par);
        let mut predictions = Array2::zeros((rows.x.nrows(), self.n_classes));
        self.predict_scored(rows.x, scores.as_ref(), par, predictions.view_mut());
        if let Some(online) = &mut self.online {
            let scores = scores.filter(|scores| scores.ncols() == self.n_classes);
            for (row, &class) in scores.iter().flat_map(|scores| scores.rows()).zip(rows.labels()) {
                online.prequential.push(Pair { forest: Vec::new(), gp: row.to_vec(), class });
            }
            online.waiting.add(rows);
            online.schedule.add(rows.targets.len());
        }
        Ok(predictions)
    }

    /// The forest learns the rows that wait, then the GP those that the forest retains.
    fn maintain(&mut self, learning: &mut Learning<'_>) -> Result<()> {
        let Learning { schema, training, update } = learning;
        let (Some(forest), Some(online)) = (self.forest.online(), &mut self.online) else { return Ok(()) };
        online.schedule.postpone(PAUSE);
        let n = online.waiting.len();
        let x = online.waiting.features().to_array(0..n);
        let weights = online.waiting.weights();
        let waiting = Rows::new(x.view(), online.waiting.targets(), weights);
        let budget = Budget { deadline: training.budget.deadline, ..half(training.budget) };
        let of_forest = forest.learn(schema, waiting, &Training { budget: &budget, ..**training })?;
        forest.put_in_order();
        online.waiting.keep(&(of_forest.n_learnt..n).collect::<Vec<_>>());
        update.add_changes(of_forest);
        self.scores = None;
        if training.budget.spent().is_some() {
            return Ok(());
        }
        let mut data = forest.retained_rows(schema)?;
        let most = most_rows(&self.params, schema, training.budget)?.min(self.params.max_rows);
        if let Some(rows) = draw_rows(data.n_rows(), most, self.params.seed ^ online.schedule.n_seen()) {
            data = data.select(&rows);
        }
        if data.check_trainable(Task::Classification).is_err() {
            return Ok(());
        }
        let is_known = self.choice.as_ref().is_some_and(|c| c.calibration.curves.len() == self.n_classes);
        let validates = online.schedule.has_doubled() || !is_known;
        if validates {
            online.schedule.note_search();
        }
        let par = training.par.until(&training.budget.stop);
        match self.train(&data, validates, &Training { par: &par, ..**training }) {
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
        let of_online = |online: &OnlineState| online.waiting.bytes() + online.prequential.bytes();
        self.forest.bytes() + of_scores + self.online.as_ref().map_or(0, of_online)
    }

    fn summary(&self, _classes: &[String]) -> Summary {
        let forest = self.forest.forest();
        let (n_trees, n_active) = (count(forest.trees().len() as u64), count(self.n_active() as u64));
        let alone = if self.n_active() == 0 { "; the forest predicts alone" } else { "" };
        let kernel = self.noise_variance().map(|noise| ("noise_variance".to_string(), noise));
        let mut summary = Summary::new(format!("{n_trees} trees as the kernel of a GP of {n_active} rows"))
            .count("trees", "Trees", forest.trees().len())
            .value("nodes", forest.n_nodes() as u64)
            .count("active_rows", "Active rows", self.n_active())
            .details(format!("{} nodes", count(forest.n_nodes() as u64)))
            .blend(self.blend().map(|blend| [blend.forest, blend.gp]))
            .kernel(kernel.into_iter().collect());
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
        let noises = [choice.noise];
        let mut gp = KernelTraining::new(self.forest.forest(), data, &self.params, &noises, training)?;
        gp.train(Effort::Whole, training)?;
        self.scores = gp.found.pop();
        Ok(())
    }

    /// Calibrates by prequential scores, if there are enough of them.
    fn recalibrate(&mut self, labels: &[ClassId], training: &Training<'_>) {
        let (Some(online), Some(choice)) = (&self.online, &mut self.choice) else { return };
        if let Some(mut scores) = online.prequential.scores(self.n_classes, f64::NEG_INFINITY) {
            scores.mask_unknown(labels);
            choice.calibration = scores.calibration(training.par);
        }
    }
}
