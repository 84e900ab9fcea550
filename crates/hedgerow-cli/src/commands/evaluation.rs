//! A model's predictions on labelled data, read in batches.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use hedgerow::Model;
use hedgerow::core::metrics::Report;
use hedgerow::core::{ClassId, Classifier as _, DataProblem, Dataset, Error, Features, Par, Result};
use hedgerow::io::{ReadOptions, RowReader};
use hedgerow::report::LeastSure;
use ndarray::{Array2, ArrayView1, s};
use serde::Serialize;

/// Predictions for labelled rows, with their metrics.
#[derive(Debug)]
pub(crate) struct Evaluation {
    /// Evaluated rows.
    pub(crate) rows: usize,
    pub(crate) read_seconds: f64,
    pub(crate) predict_seconds: f64,
    pub(crate) report: Report,
    pub(crate) left_out: LeftOut,
    /// The predictions, the labels and the weights of the evaluated rows.
    pub(crate) proba: Array2<f64>,
    pub(crate) truth: Vec<ClassId>,
    pub(crate) weights: Option<Vec<f32>>,
    /// The rows with the most uncertain predictions, where they were asked for.
    pub(crate) least_sure: LeastSure,
    /// The rows themselves, where a map of them is wanted.
    pub(crate) mapped: Option<Features>,
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
    let mut reader = RowReader::open_with(path, options, &model.schema)?;
    let mut proba = Vec::new();
    let mut truth: Vec<ClassId> = Vec::new();
    let mut weights: Option<Vec<f32>> = None;
    let mut least_sure = LeastSure::default();
    let mut mapped = (for_report && model.n_features() == 2).then(|| Features::new(2));
    let mut skipped = 0_u64;
    while let Some(batch) = reader.next_batch(super::batch_rows(model.n_features()))? {
        read_seconds += lap();
        let Some(labels) = &batch.labels else {
            let available = model.schema.target.clone().map_or_else(
                || "the model does not name its target".into(),
                |target| format!("the model's target is {target:?}"),
            );
            return Err(Error::from(DataProblem::NoTarget { available }).in_file(path));
        };
        let predictions = model.predict_proba(batch.x.view(), par)?;
        predict_seconds += lap();
        for (i, label) in labels.iter().enumerate() {
            let Some(label) = label else {
                skipped += 1;
                continue;
            };
            if for_report {
                let number = batch.first_row + i as u64 + 1;
                least_sure.add(number, predictions.row(i), Some(*label), batch.x.row(i));
            }
            if let Some(mapped) = &mut mapped {
                mapped.extend(batch.x.slice(s![i..=i, ..]));
            }
            truth.push(*label);
            proba.extend(predictions.row(i));
            if let Some(of_batch) = &batch.weights {
                weights.get_or_insert_default().push(of_batch[i]);
            }
        }
    }
    read_seconds += lap();
    let unknown_labels = reader.unknown_labels().clone();
    let left_out = LeftOut {
        without_label: skipped - unknown_labels.values().sum::<u64>().min(skipped),
        unknown_labels,
    };
    if truth.is_empty() {
        return Err(nothing_to_evaluate(&left_out, model).in_file(path));
    }
    let rows = truth.len();
    let proba = Array2::from_shape_vec((rows, model.n_classes()), proba).map_err(|_| Error::Shape {
        what: "predictions",
        expected: rows,
        got: 0,
    })?;
    let report = Report::new(proba.view(), &truth, weights.as_deref())?;
    Ok(Evaluation {
        rows,
        read_seconds,
        predict_seconds,
        report,
        left_out,
        proba,
        truth,
        weights,
        least_sure,
        mapped,
    })
}

/// Evaluates a model on rows in memory, whose numbers in their file are given where a report is wanted.
pub(crate) fn evaluate_dataset(
    model: &Model,
    data: &Dataset,
    numbers: Option<&[u64]>,
    par: &Par,
) -> Result<Evaluation> {
    let start = Instant::now();
    let proba = model.predict_proba(data.features.to_array(0..data.n_rows()).view(), par)?;
    let predict_seconds = start.elapsed().as_secs_f64();
    let evaluation = evaluate_predictions(proba, data.labels().to_vec(), data.weights.clone())?;
    let least_sure = numbers.map_or_else(LeastSure::default, |numbers| {
        least_sure(&evaluation.proba, &evaluation.truth, &data.features, numbers)
    });
    Ok(Evaluation { predict_seconds, least_sure, ..evaluation })
}

/// Evaluates predictions that are there already.
pub(crate) fn evaluate_predictions(
    proba: Array2<f64>,
    truth: Vec<ClassId>,
    weights: Option<Vec<f32>>,
) -> Result<Evaluation> {
    Ok(Evaluation {
        rows: truth.len(),
        read_seconds: 0.0,
        predict_seconds: 0.0,
        report: Report::new(proba.view(), &truth, weights.as_deref())?,
        left_out: LeftOut::default(),
        proba,
        truth,
        weights,
        least_sure: LeastSure::default(),
        mapped: None,
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
            known: model.schema.labels.names().iter().take(12).cloned().collect::<Vec<_>>().join(", "),
        }
        .into(),
        None => DataProblem::MissingLabel.into(),
    }
}
