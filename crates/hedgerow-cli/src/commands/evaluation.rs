//! A model's predictions for rows with targets, and their metrics.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use hedgerow::Model;
use hedgerow::core::conformal::{SetOptions, SetReport};
use hedgerow::core::metrics::{Report, Running, RunningValues, ValueReport};
use hedgerow::core::rejection::{RejectionCurve, Uncertainty};
use hedgerow::core::{
    DataProblem, Error, Features, Normals, Par, Result, Target, TargetSlice, Targets, Task,
};
use hedgerow::io::{ReadOptions, RowReader};
use hedgerow::report::LeastSure;
use ndarray::{Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::{Chunk, Feed, NumberedRows, Seconds, batch_rows, timed};

/// Predictions for rows with their targets.
#[derive(Debug)]
pub(crate) struct Evaluation {
    /// How long reading and predicting took.
    pub(crate) seconds: Seconds,
    pub(crate) left_out: LeftOut,
    /// The predictions: probabilities, or means and variances.
    pub(crate) predictions: Array2<f64>,
    /// The targets and the weights of the evaluated rows.
    pub(crate) truth: Targets,
    pub(crate) weights: Option<Vec<f32>>,
    /// The rows with the most uncertain predictions of a classifier, where a report is wanted.
    pub(crate) least_sure: LeastSure,
    /// The rows themselves, where a picture of them is wanted.
    pub(crate) drawn: Option<Features>,
}

/// Metrics of either task.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Metrics {
    Classes(Box<Report>),
    Values(ValueReport),
}

impl Metrics {
    /// The accuracy of a classifier.
    pub(crate) fn accuracy(&self) -> Option<f64> {
        self.report().map(|report| report.accuracy)
    }

    /// The metrics of a classifier.
    pub(crate) fn report(&self) -> Option<&Report> {
        if let Self::Classes(report) = self { Some(report) } else { None }
    }

    /// The root of the mean squared error of a regression.
    pub(crate) fn rmse(&self) -> Option<f64> {
        if let Self::Values(report) = self { Some(report.rmse) } else { None }
    }
}

/// Metrics of either task, kept up to date row by row.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunningMetrics {
    Classes(Box<Running>),
    Values(RunningValues),
}

impl Default for RunningMetrics {
    fn default() -> Self {
        Self::Classes(Box::default())
    }
}

impl RunningMetrics {
    pub(crate) fn new(task: Task) -> Self {
        match task {
            Task::Classification => Self::default(),
            Task::Regression => Self::Values(RunningValues::default()),
        }
    }

    /// Adds a prediction. The target is of the same task.
    pub(crate) fn add(&mut self, prediction: ArrayView1<'_, f64>, truth: Target, weight: f32) {
        match (self, truth) {
            (Self::Classes(running), Target::Class(class)) => running.add(prediction, class, weight),
            (Self::Values(running), Target::Value(value)) => running.add(prediction[0], prediction[1], value),
            _ => {}
        }
    }

    pub(crate) fn n_rows(&self) -> u64 {
        match self {
            Self::Classes(running) => running.n_rows(),
            Self::Values(running) => running.n_rows(),
        }
    }

    pub(crate) fn metrics(&self) -> Metrics {
        match self {
            Self::Classes(running) => Metrics::Classes(Box::new(running.report())),
            Self::Values(running) => Metrics::Values(running.report()),
        }
    }
}

/// Rows that could not be evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct LeftOut {
    /// Labels the model does not know, with how many rows have them.
    pub(crate) unknown_labels: BTreeMap<String, u64>,
    /// Rows without a label.
    pub(crate) without_label: u64,
}

impl LeftOut {
    /// What is told about them.
    pub(crate) fn notes(&self) -> Vec<String> {
        let of_label = |(label, n): (&String, &u64)| {
            format!("{n} rows with the label {label:?}, which the model does not know, were left out")
        };
        let mut notes: Vec<String> = self.unknown_labels.iter().take(5).map(of_label).collect();
        if self.unknown_labels.len() > 5 {
            notes.push(format!("and rows with {} other unknown labels", self.unknown_labels.len() - 5));
        }
        if self.without_label > 0 {
            notes.push(format!("{} rows without a label were left out", self.without_label));
        }
        notes
    }
}

impl Evaluation {
    /// Predictions that are there already.
    pub(crate) fn new(predictions: Array2<f64>, truth: Targets) -> Self {
        Self {
            seconds: Seconds::default(),
            left_out: LeftOut::default(),
            predictions,
            truth,
            weights: None,
            least_sure: LeastSure::default(),
            drawn: None,
        }
    }

    /// Predicts the rows of a file, in batches. For a report, the most uncertain predictions are kept, and rows that can be drawn.
    pub(crate) fn of_file(
        model: &Model,
        path: &Path,
        options: &ReadOptions,
        par: &Par,
        for_report: bool,
    ) -> Result<Self> {
        let start = Instant::now();
        let mut feed = Feed::new(RowReader::open_with(path, options, model.schema())?);
        let mut evaluation = Self::of_feed(model, &mut feed, par, for_report)?;
        evaluation.seconds.read = start.elapsed().as_secs_f64() - evaluation.seconds.predict;
        if evaluation.n_rows() == 0 {
            return Err(nothing_to_evaluate(&evaluation.left_out, model).in_file(path));
        }
        Ok(evaluation)
    }

    /// The same for rows in memory.
    pub(crate) fn of_rows(model: &Model, rows: &NumberedRows, par: &Par, for_report: bool) -> Result<Self> {
        Self::of_feed(model, &mut Feed::Memory(rows, 0), par, for_report)
    }

    fn of_feed(model: &Model, feed: &mut Feed<'_>, par: &Par, for_report: bool) -> Result<Self> {
        let (width, n_drawn) = match model.task() {
            Task::Classification => (model.n_classes(), 2),
            Task::Regression => (2, 1),
        };
        let mut evaluation = Self::new(Array2::zeros((0, width)), Targets::empty(model.task()));
        evaluation.drawn = (for_report && model.n_features() == n_drawn).then(|| Features::new(n_drawn));
        while let Some(chunk) = feed.next(batch_rows(model.n_features()))? {
            let predict = || model.predict_table(chunk.x.view(), par);
            let predictions = timed(&mut evaluation.seconds.predict, predict)?;
            evaluation.add(chunk, predictions, for_report)?;
        }
        evaluation.left_out = feed.left_out()?;
        Ok(evaluation)
    }

    fn add(&mut self, chunk: Chunk, predictions: Array2<f64>, for_report: bool) -> Result<()> {
        if let (true, TargetSlice::Classes(truth)) = (for_report, chunk.targets.view()) {
            for (i, &class) in truth.iter().enumerate() {
                self.least_sure.add(chunk.numbers[i], predictions.row(i), Some(class), chunk.x.row(i));
            }
        }
        if let Some(drawn) = &mut self.drawn {
            drawn.extend(chunk.x.view());
        }
        self.truth.extend(chunk.targets.view());
        if let Some(weights) = chunk.weights {
            self.weights.get_or_insert_default().extend(weights);
        }
        if self.predictions.is_empty() {
            self.predictions = predictions;
            return Ok(());
        }
        let (expected, got) = (self.predictions.ncols(), predictions.ncols());
        let appended = self.predictions.append(Axis(0), predictions.view());
        appended.map_err(|_| Error::Shape { what: "predictions", expected, got })
    }

    /// Evaluated rows.
    pub(crate) fn n_rows(&self) -> usize {
        self.truth.view().len()
    }

    /// The accuracy of a classifier on the rows that are left when the most uncertain predictions are rejected.
    pub(crate) fn rejection(&self) -> Result<Option<RejectionCurve>> {
        match &self.truth {
            Targets::Classes(truth) => {
                RejectionCurve::new(self.predictions.view(), truth, Uncertainty::default())
            }
            Targets::Values(_) => Ok(None),
        }
    }

    /// How prediction sets of 90 % do, if the model can make them. Of rows that it was fitted to they tell too much.
    pub(crate) fn sets(&self, model: &Model) -> Result<Option<SetReport>> {
        let options = SetOptions::default();
        match (&self.truth, model.set_thresholds(&options)) {
            (Targets::Classes(truth), Ok(thresholds)) => {
                thresholds.sets(self.predictions.view()).report(truth, &options).map(Some)
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn metrics(&self) -> Result<Metrics> {
        match &self.truth {
            Targets::Classes(truth) => {
                let report = Report::new(self.predictions.view(), truth, self.weights.as_deref())?;
                Ok(Metrics::Classes(Box::new(report)))
            }
            Targets::Values(truth) => {
                let normals = Normals::of_table(self.predictions.view());
                Ok(Metrics::Values(ValueReport::new(&normals, truth)?))
            }
        }
    }
}

fn nothing_to_evaluate(left_out: &LeftOut, model: &Model) -> Error {
    match left_out.unknown_labels.keys().next() {
        Some(label) => DataProblem::UnknownLabel {
            label: label.clone(),
            known: model.schema().labels.names().iter().take(12).cloned().collect::<Vec<_>>().join(", "),
        }
        .into(),
        None => DataProblem::MissingLabel.into(),
    }
}
