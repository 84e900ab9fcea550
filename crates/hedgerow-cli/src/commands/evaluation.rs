//! A model's predictions for data with targets, read in batches.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use hedgerow::Model;
use hedgerow::core::metrics::{Report, ValueReport};
use hedgerow::core::{ClassId, DataProblem, Dataset, Error, Features, Normals, Par, Result, Targets, Task};
use hedgerow::io::{Batch, ReadOptions, RowReader};
use hedgerow::report::LeastSure;
use ndarray::{Array2, ArrayView1, s};
use serde::Serialize;

/// Predictions for rows with their targets, and their metrics.
#[derive(Debug)]
pub(crate) struct Evaluation {
    /// Evaluated rows.
    pub(crate) rows: usize,
    pub(crate) read_seconds: f64,
    pub(crate) predict_seconds: f64,
    pub(crate) report: Metrics,
    pub(crate) left_out: LeftOut,
    /// The predictions: probabilities, or means and variances.
    pub(crate) predictions: Array2<f64>,
    /// The targets and the weights of the evaluated rows.
    pub(crate) truth: Targets,
    pub(crate) weights: Option<Vec<f32>>,
    /// The rows with the most uncertain predictions of a classifier, where they were asked for.
    pub(crate) least_sure: LeastSure,
    /// The rows themselves, where a picture of them is wanted.
    pub(crate) drawn: Option<Features>,
}

/// Metrics of either task.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Metrics {
    Classes(Box<Report>),
    Values(ValueReport),
}

/// Rows that could not be evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct LeftOut {
    /// Labels the model does not know, with how many rows have them.
    pub(crate) unknown_labels: BTreeMap<String, u64>,
    /// Rows without a label.
    pub(crate) without_label: u64,
}

/// Evaluates a model on a file; for a report, the rows with the most uncertain predictions are wanted too.
pub(crate) fn evaluate_file(
    model: &Model,
    path: &Path,
    options: &ReadOptions,
    par: &Par,
    for_report: bool,
) -> Result<Evaluation> {
    let mut clock = Instant::now();
    let (mut read_seconds, mut predict_seconds) = (0.0, 0.0);
    let mut lap = || {
        let seconds = clock.elapsed().as_secs_f64();
        clock = Instant::now();
        seconds
    };
    let mut reader = RowReader::open_with(path, options, model.schema())?;
    let mut found = Found::new(model, for_report);
    while let Some(batch) = reader.next_batch(super::batch_rows(model.n_features()))? {
        read_seconds += lap();
        predict_seconds += found.add(model, batch, par).map_err(|error| error.in_file(path))?;
        lap();
    }
    read_seconds += lap();
    let unknown_labels = reader.unknown_labels().clone();
    let left_out = LeftOut {
        without_label: found.skipped - unknown_labels.values().sum::<u64>().min(found.skipped),
        unknown_labels,
    };
    if found.rows() == 0 {
        return Err(nothing_to_evaluate(&left_out, model).in_file(path));
    }
    Ok(Evaluation { read_seconds, predict_seconds, left_out, ..found.finish()? })
}

/// What was found in a file so far.
struct Found {
    /// A row of probabilities for each row, or its mean and variance.
    predictions: Vec<f64>,
    width: usize,
    truth: Targets,
    weights: Option<Vec<f32>>,
    least_sure: Option<LeastSure>,
    drawn: Option<Features>,
    skipped: u64,
}

impl Found {
    fn new(model: &Model, for_report: bool) -> Self {
        let (truth, width, n_drawn) = match model.task() {
            Task::Classification => (Targets::Classes(Vec::new()), model.n_classes(), 2),
            Task::Regression => (Targets::Values(Vec::new()), 2, 1),
        };
        let drawn = (for_report && model.n_features() == n_drawn).then(|| Features::new(n_drawn));
        let least_sure = (for_report && model.task() == Task::Classification).then(LeastSure::default);
        Self { predictions: Vec::new(), width, truth, weights: None, least_sure, drawn, skipped: 0 }
    }

    fn rows(&self) -> usize {
        self.truth.view().len()
    }

    /// Predicts the rows of a batch and keeps those that have a target. Returns how long predicting took.
    fn add(&mut self, model: &Model, batch: Batch, par: &Par) -> Result<f64> {
        if batch.labels.is_none() && batch.values.is_none() {
            let available = model.schema().target.clone().map_or_else(
                || "the model does not name its target".into(),
                |target| format!("the model's target is {target:?}"),
            );
            return Err(DataProblem::NoTarget { available }.into());
        }
        let clock = Instant::now();
        let predictions = model.predict_table(batch.x.view(), par)?;
        let seconds = clock.elapsed().as_secs_f64();
        for i in 0..batch.x.nrows() {
            let label = batch.labels.as_ref().and_then(|labels| labels[i]);
            let value = batch.values.as_ref().map(|values| values[i]).filter(|value| !value.is_nan());
            match (&mut self.truth, label, value) {
                (Targets::Classes(truth), Some(label), _) => truth.push(label),
                (Targets::Values(truth), _, Some(value)) => truth.push(value),
                _ => {
                    self.skipped += 1;
                    continue;
                }
            }
            if let Some(least_sure) = &mut self.least_sure {
                least_sure.add(batch.first_row + i as u64 + 1, predictions.row(i), label, batch.x.row(i));
            }
            if let Some(drawn) = &mut self.drawn {
                drawn.extend(batch.x.slice(s![i..=i, ..]));
            }
            self.predictions.extend(predictions.row(i));
            if let Some(of_batch) = &batch.weights {
                self.weights.get_or_insert_default().push(of_batch[i]);
            }
        }
        Ok(seconds)
    }

    fn finish(self) -> Result<Evaluation> {
        let (rows, got) = (self.rows(), self.predictions.len());
        let predictions = Array2::from_shape_vec((rows, self.width), self.predictions)
            .map_err(|_| Error::Shape { what: "predictions", expected: rows, got })?;
        let evaluation = evaluate_predictions(predictions, self.truth, self.weights)?;
        let least_sure = self.least_sure.unwrap_or_default();
        Ok(Evaluation { least_sure, drawn: self.drawn, ..evaluation })
    }
}

/// Evaluates a model on rows in memory, whose numbers in their file are given where a report is wanted.
pub(crate) fn evaluate_dataset(
    model: &Model,
    data: &Dataset,
    numbers: Option<&[u64]>,
    par: &Par,
) -> Result<Evaluation> {
    let start = Instant::now();
    let predictions = model.predict_table(data.features.to_array(0..data.n_rows()).view(), par)?;
    let predict_seconds = start.elapsed().as_secs_f64();
    let evaluation = evaluate_predictions(predictions, data.targets.clone(), data.weights.clone())?;
    let least_sure =
        numbers.filter(|_| model.task() == Task::Classification).map_or_else(LeastSure::default, |numbers| {
            least_sure(&evaluation.predictions, data.labels(), &data.features, numbers)
        });
    Ok(Evaluation { predict_seconds, least_sure, ..evaluation })
}

/// Evaluates predictions that are there already: probabilities, or means and variances.
pub(crate) fn evaluate_predictions(
    predictions: Array2<f64>,
    truth: Targets,
    weights: Option<Vec<f32>>,
) -> Result<Evaluation> {
    let report = match &truth {
        Targets::Classes(truth) => {
            Metrics::Classes(Box::new(Report::new(predictions.view(), truth, weights.as_deref())?))
        }
        Targets::Values(truth) => {
            let column = |place| predictions.column(place).to_vec();
            let normals = Normals { mean: column(0), variance: column(1) };
            Metrics::Values(ValueReport::new(&normals, truth)?)
        }
    };
    Ok(Evaluation {
        rows: truth.view().len(),
        read_seconds: 0.0,
        predict_seconds: 0.0,
        report,
        left_out: LeftOut::default(),
        predictions,
        truth,
        weights,
        least_sure: LeastSure::default(),
        drawn: None,
    })
}

/// The rows with the most uncertain predictions. Row `i` of the predictions is the one of number `numbers[i]`, counted from 1, and
/// has the features at place `i`.
pub(crate) fn least_sure(
    proba: &Array2<f64>,
    truth: &[ClassId],
    features: &Features,
    numbers: &[u64],
) -> LeastSure {
    let mut least = LeastSure::default();
    let mut values = vec![0.0; features.n_features()];
    for (i, prediction) in proba.rows().into_iter().enumerate() {
        features.copy_rows(i..i + 1, &mut values);
        least.add(numbers[i], prediction, Some(truth[i]), ArrayView1::from(&values));
    }
    least
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
