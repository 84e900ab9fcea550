//! A whole file in memory, ready to fit a model to.

use std::path::Path;

use hedgerow_core::{
    ClassId, DataError, DataProblem, Dataset, Error, Features, Result, Schema, Targets, Task,
};

use crate::labels::continuous_problem;
use crate::options::ReadOptions;
use crate::reader::RowReader;

/// Reads a whole file of rows with their targets. Classes come in order: numbers by value, then text.
///
/// `max_bytes` bounds the feature matrix. Fails on a row without a target, on labels that look continuous, and on data
/// that no model can be fitted to.
pub fn read_dataset(path: &Path, options: &ReadOptions, max_bytes: Option<u64>) -> Result<Dataset> {
    let mut reader = RowReader::open(path, options)?;
    reader.require_targets()?;
    let shown = reader.shown().to_path_buf();
    let mut features = Features::new(reader.schema().n_features());
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    let mut weights: Option<Vec<f32>> = None;
    while let Some(more) = reader.next_rows(&mut features)? {
        labels.extend(more.labels.into_iter().flatten().flatten());
        values.extend(more.values.into_iter().flatten());
        if let Some(more) = more.weights {
            weights.get_or_insert_default().extend(more);
        }
        if max_bytes.is_some_and(|limit| used_bytes(&features) > limit) {
            let limit = shown_bytes(max_bytes.unwrap_or_default());
            return Err(Error::from(DataProblem::OverMemory(limit)).in_file(&shown));
        }
    }
    features.shrink_to_fit();
    let mut schema = reader.into_schema();
    let targets = match options.task {
        Task::Classification => sorted(&mut schema, labels).map(Targets::from),
        Task::Regression => Ok(values.into()),
    };
    let checked = targets.and_then(|targets| {
        let data = Dataset::new(schema, features, targets, weights)?;
        data.check_trainable(options.task).map(|()| data)
    });
    checked.map_err(|e| e.in_file(&shown))
}

/// Brings the classes in order. Fails where they look continuous.
fn sorted(schema: &mut Schema, labels: Vec<ClassId>) -> Result<Vec<ClassId>> {
    if let Some(problem) = continuous_problem(&schema.labels, labels.len() as u64) {
        let mut error = DataError::from(problem);
        error.column.clone_from(&schema.target);
        return Err(error.into());
    }
    let new_of_old = schema.labels.sort();
    Ok(labels.into_iter().map(|class| new_of_old[class.index()]).collect())
}

/// Bytes of the values, without the room for more.
fn used_bytes(features: &Features) -> u64 {
    match features {
        Features::Bytes { values, .. } => values.len() as u64,
        Features::Floats { values, .. } => 4 * values.len() as u64,
    }
}

fn shown_bytes(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (unit, size) in UNITS {
        if bytes >= size {
            return format!("{:.1} {unit}", bytes as f64 / size as f64);
        }
    }
    format!("{bytes} bytes")
}
