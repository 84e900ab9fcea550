//! A model's answers on labelled data, read in batches.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use hedgerow::Model;
use hedgerow::core::metrics::Report;
use hedgerow::core::{ClassId, Classifier as _, DataProblem, Dataset, Error, Par, Result};
use hedgerow::io::{ReadOptions, RowReader};
use ndarray::Array2;
use serde::Serialize;

/// What came out.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Rows judged.
    pub(crate) rows: usize,
    pub(crate) read_seconds: f64,
    pub(crate) predict_seconds: f64,
    pub(crate) report: Report,
    pub(crate) left_out: LeftOut,
}

/// Rows that could not be judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct LeftOut {
    /// Labels the model does not know, with how many rows have them.
    pub(crate) unknown_labels: BTreeMap<String, u64>,
    /// Rows without a label.
    pub(crate) without_label: u64,
}

/// Judges a model on a file.
pub(crate) fn judge(model: &Model, path: &Path, options: &ReadOptions, par: &Par) -> Result<Judged> {
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
        let answers = model.predict_proba(batch.x.view(), par)?;
        predict_seconds += lap();
        for (i, label) in labels.iter().enumerate() {
            let Some(label) = label else {
                skipped += 1;
                continue;
            };
            truth.push(*label);
            proba.extend(answers.row(i));
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
        return Err(nothing_to_judge(&left_out, model).in_file(path));
    }
    let rows = truth.len();
    let proba = Array2::from_shape_vec((rows, model.n_classes()), proba).map_err(|_| Error::Shape {
        what: "answers",
        expected: rows,
        got: 0,
    })?;
    let report = Report::new(proba.view(), &truth, weights.as_deref())?;
    Ok(Judged { rows, read_seconds, predict_seconds, report, left_out })
}

/// Judges a model on rows in memory.
pub(crate) fn judge_dataset(model: &Model, data: &Dataset, par: &Par) -> Result<Judged> {
    let start = Instant::now();
    let proba = model.predict_proba(data.features.to_array(0..data.n_rows()).view(), par)?;
    let predict_seconds = start.elapsed().as_secs_f64();
    let report = Report::new(proba.view(), &data.labels, data.weights.as_deref())?;
    let left_out = LeftOut::default();
    Ok(Judged { rows: data.n_rows(), read_seconds: 0.0, predict_seconds, report, left_out })
}

fn nothing_to_judge(left_out: &LeftOut, model: &Model) -> Error {
    match left_out.unknown_labels.keys().next() {
        Some(label) => DataProblem::UnknownLabel {
            label: label.clone(),
            known: model.schema.labels.names().iter().take(12).cloned().collect::<Vec<_>>().join(", "),
        }
        .into(),
        None => DataProblem::MissingLabel.into(),
    }
}
