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
    reader.require_targets(true)?;
    read(reader, options.task, max_bytes).map(|(data, _)| data)
}

/// The same for a file in which targets may be missing: such rows are left out. Returns how many there were, too.
pub fn read_labelled(path: &Path, options: &ReadOptions, max_bytes: Option<u64>) -> Result<(Dataset, u64)> {
    let mut reader = RowReader::open(path, options)?;
    reader.require_targets(false)?;
    read(reader, options.task, max_bytes)
}

fn read(mut reader: RowReader, task: Task, max_bytes: Option<u64>) -> Result<(Dataset, u64)> {
    let shown = reader.shown().to_path_buf();
    let mut features = Features::new(reader.schema().n_features());
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    let mut weights: Option<Vec<f32>> = None;
    let (mut n_without, leaves_out) = (0, !reader.requires_targets());
    let mut block = Features::new(features.n_features());
    while let Some(more) = reader.next_rows(if leaves_out { &mut block } else { &mut features })? {
        let missing = more.without_target();
        let kept = |i: usize| missing.is_empty() || !missing[i];
        labels.extend(more.labels.into_iter().flatten().flatten());
        values.extend(more.values.into_iter().flatten().filter(|value| !value.is_nan()));
        if let Some(more) = more.weights {
            let kept = more.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, weight)| *weight);
            weights.get_or_insert_default().extend(kept);
        }
        if leaves_out {
            let rows: Vec<usize> = (0..block.n_rows()).filter(|i| kept(*i)).collect();
            n_without += (block.n_rows() - rows.len()) as u64;
            features.extend(block.select(&rows).to_array(0..rows.len()).view());
            block = Features::new(features.n_features());
        }
        if max_bytes.is_some_and(|limit| used_bytes(&features) > limit) {
            let limit = shown_bytes(max_bytes.unwrap_or_default());
            return Err(Error::from(DataProblem::OverMemory(limit)).in_file(&shown));
        }
    }
    if features.n_rows() == 0 && n_without > 0 {
        let error = DataError::from(DataProblem::Empty);
        return Err(
            Error::from(error.with_hint(format!("all {n_without} rows lack a label"))).in_file(&shown)
        );
    }
    features.shrink_to_fit();
    let mut schema = reader.into_schema();
    let targets = match task {
        Task::Classification => {
            let n_labels = labels.len();
            sort_classes(&mut schema, labels.iter_mut(), n_labels).map(|()| Targets::from(labels))
        }
        Task::Regression => Ok(values.into()),
    };
    let checked = targets.and_then(|targets| {
        let data = Dataset::new(schema, features, targets, weights)?;
        data.check_trainable(task).map(|()| (data, n_without))
    });
    checked.map_err(|e| e.in_file(&shown))
}

/// Brings the classes of so many labels in order: numbers by value, then text. Fails where they look continuous.
pub fn sort_classes<'a>(
    schema: &mut Schema,
    labels: impl Iterator<Item = &'a mut ClassId>,
    n_labels: usize,
) -> Result<()> {
    if let Some(problem) = continuous_problem(&schema.labels, n_labels as u64) {
        let mut error = DataError::from(problem);
        error.column.clone_from(&schema.target);
        return Err(error.into());
    }
    let new_of_old = schema.labels.sort();
    labels.for_each(|class| *class = new_of_old[class.index()]);
    Ok(())
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
