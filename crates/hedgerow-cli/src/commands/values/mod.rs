//! What commands do with regression models.

pub(crate) mod evaluate;
pub(crate) mod fit;
pub(crate) mod info;
mod page;
pub(crate) mod predict;
pub(crate) mod update;

use std::path::Path;
use std::time::Instant;

use hedgerow::core::metrics::ValueReport;
use hedgerow::core::{DataProblem, Dataset, Error, Features, Normals, Par, Regressor as _, Result};
use hedgerow::io::{ReadOptions, RowReader};
use hedgerow::{AnyModel, ValueModel};

use super::batch_rows;

/// The model of values in a file, if that is what it holds.
pub(crate) fn load(path: &Path) -> Result<Option<ValueModel>> {
    Ok(match AnyModel::load(path)? {
        AnyModel::Values(model) => Some(model),
        AnyModel::Classes(_) => None,
    })
}

/// Predictions with the true values, and the rows where a picture of them can be drawn.
pub(crate) struct Evaluation {
    pub(crate) rows: usize,
    pub(crate) read_seconds: f64,
    pub(crate) predict_seconds: f64,
    pub(crate) report: ValueReport,
    /// Rows without a value.
    pub(crate) without_value: u64,
    /// The rows and values, kept where there is one column.
    pub(crate) drawn: Option<Dataset>,
}

/// Evaluates a model by a file.
fn evaluate_file(model: &ValueModel, path: &Path, options: &ReadOptions, par: &Par) -> Result<Evaluation> {
    let start = Instant::now();
    let mut reader = RowReader::open_with(path, options, &model.schema)?;
    let (mut predictions, mut truth) = (Normals::default(), Vec::new());
    let (mut predict_seconds, mut without_value) = (0.0, 0);
    let is_drawn = model.n_features() == 1;
    let mut rows = Features::new(model.n_features());
    while let Some(batch) = reader.next_batch(batch_rows(model.n_features()))? {
        let before = Instant::now();
        let found = model.predict_values(batch.x.view(), par)?;
        predict_seconds += before.elapsed().as_secs_f64();
        for (i, target) in
            batch.values.unwrap_or_else(|| vec![f64::NAN; batch.x.nrows()]).into_iter().enumerate()
        {
            if target.is_nan() {
                without_value += 1;
                continue;
            }
            predictions.mean.push(found.mean[i]);
            predictions.variance.push(found.variance[i]);
            truth.push(target);
            if is_drawn {
                rows.push(&batch.x.row(i).to_vec());
            }
        }
    }
    if truth.is_empty() {
        return Err(Error::from(DataProblem::MissingLabel).in_file(path));
    }
    Ok(Evaluation {
        rows: truth.len(),
        read_seconds: start.elapsed().as_secs_f64() - predict_seconds,
        predict_seconds,
        report: ValueReport::new(&predictions, &truth)?,
        without_value,
        drawn: if is_drawn { Dataset::new(model.schema.clone(), rows, truth, None).ok() } else { None },
    })
}

/// Evaluates a model by rows in memory.
fn evaluate_rows(model: &ValueModel, data: Dataset, par: &Par) -> Result<Evaluation> {
    let start = Instant::now();
    let predictions = model.predict_values(data.features.to_array(0..data.n_rows()).view(), par)?;
    Ok(Evaluation {
        rows: data.n_rows(),
        read_seconds: 0.0,
        predict_seconds: start.elapsed().as_secs_f64(),
        report: ValueReport::new(&predictions, data.values())?,
        without_value: 0,
        drawn: (model.n_features() == 1).then_some(data),
    })
}

/// What is told of a model of values: its relevant rows, kernel and noise.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Inside {
    pub(crate) active_rows: usize,
    pub(crate) kernel: std::collections::BTreeMap<String, f64>,
    /// The deviation of the noise, in units of the target.
    pub(crate) noise_deviation: Option<f64>,
}

impl Inside {
    pub(crate) fn new(model: &ValueModel) -> Self {
        Self {
            active_rows: model.regressor.n_relevant(),
            kernel: model.kernel().into_iter().collect(),
            noise_deviation: model.regressor.noise_deviation(),
        }
    }
}
