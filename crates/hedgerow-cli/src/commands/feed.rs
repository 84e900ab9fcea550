//! Rows with their targets, out of a file, memory or a store.

use std::path::Path;

use hedgerow::core::{ClassId, DataProblem, Error, Result, Rows, Schema, Targets};
use hedgerow::io::{ReadOptions, RowReader};
use ndarray::{Array2, Axis};

use super::learning::StoredRows;
use super::{LeftOut, NumberedRows, batch_rows};

/// Rows that all have a target.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) x: Array2<f32>,
    pub(crate) targets: Targets,
    pub(crate) weights: Option<Vec<f32>>,
    /// The number of each row in the file, from 1.
    pub(crate) numbers: Vec<u64>,
    /// The place of each row in a store's log, and the place after the chunk; nothing where there is no store.
    pub(crate) places: Vec<u64>,
    pub(crate) end: u64,
    /// The labels so far, where all rows are corrections.
    pub(crate) old: Option<Vec<ClassId>>,
}

impl Chunk {
    pub(crate) fn new(
        x: Array2<f32>,
        targets: Targets,
        weights: Option<Vec<f32>>,
        numbers: Vec<u64>,
    ) -> Self {
        Self { x, targets, weights, numbers, places: Vec::new(), end: 0, old: None }
    }

    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows::new(self.x.view(), self.targets.view(), self.weights.as_deref())
    }

    /// The place in the log after so many rows.
    pub(crate) fn cursor_after(&self, rows: usize) -> u64 {
        self.places.get(rows).copied().unwrap_or(self.end)
    }
}

/// Hands out the rows that have a target.
pub(crate) enum Feed<'a> {
    /// A file, and how many of its rows had none so far.
    File(Box<RowReader>, u64),
    /// Rows in memory, and how many of them have been handed out.
    Memory(&'a NumberedRows, usize),
    /// A store, which rows of a file are appended to first.
    Stored(Box<StoredRows>),
}

impl Feed<'_> {
    /// The rows of a file.
    pub(crate) fn new(reader: RowReader) -> Self {
        Self::File(Box::new(reader), 0)
    }

    pub(crate) fn schema(&self) -> &Schema {
        match self {
            Self::File(reader, _) => reader.schema(),
            Self::Memory(rows, _) => &rows.data.schema,
            Self::Stored(rows) => &rows.schema,
        }
    }

    /// The next rows, at most `most`; none at the end.
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<Chunk>> {
        match self {
            Self::File(reader, without_label) => next_of_file(reader, most, without_label),
            Self::Memory(rows, at) => {
                let next = *at..rows.data.n_rows().min(at.saturating_add(most));
                *at = next.end;
                Ok((!next.is_empty()).then(|| rows.chunk(next)))
            }
            Self::Stored(rows) => rows.next(most),
        }
    }

    /// The rows so far that were not handed out.
    pub(crate) fn left_out(&self) -> Result<LeftOut> {
        let mut left_out = LeftOut::default();
        match self {
            Self::File(reader, without_label) => {
                left_out.unknown_labels.clone_from(reader.unknown_labels());
                let unknown = left_out.unknown_labels.values().sum();
                left_out.without_label = without_label.saturating_sub(unknown);
            }
            Self::Memory(..) => {}
            Self::Stored(rows) => left_out.without_label = rows.without_label()?,
        }
        Ok(left_out)
    }
}

fn next_of_file(reader: &mut RowReader, most: usize, without_label: &mut u64) -> Result<Option<Chunk>> {
    while let Some(batch) = reader.next_batch(most)? {
        let n_rows = batch.x.nrows();
        let (chosen, targets): (Vec<usize>, Targets) = match (batch.labels, batch.values) {
            (Some(labels), _) => {
                let chosen = (0..n_rows).filter(|&i| labels[i].is_some()).collect();
                (chosen, Targets::Classes(labels.into_iter().flatten().collect()))
            }
            (None, Some(values)) => {
                let chosen: Vec<usize> = (0..n_rows).filter(|&i| !values[i].is_nan()).collect();
                let targets = Targets::Values(values).select(&chosen);
                (chosen, targets)
            }
            (None, None) => return Err(no_target(reader.schema()).in_file(reader.shown())),
        };
        *without_label += (n_rows - chosen.len()) as u64;
        let numbers = chosen.iter().map(|&i| batch.first_row + i as u64 + 1).collect();
        if chosen.len() == n_rows {
            return Ok(Some(Chunk::new(batch.x, targets, batch.weights, numbers)));
        }
        if !chosen.is_empty() {
            let weights = batch.weights.map(|w| chosen.iter().map(|&i| w[i]).collect());
            return Ok(Some(Chunk::new(batch.x.select(Axis(0), &chosen), targets, weights, numbers)));
        }
    }
    Ok(None)
}

/// Opens a file to learn from, for a model or a store of these columns and classes if there is one already.
pub(crate) fn open_to_learn(path: &Path, options: &ReadOptions, known: Option<&Schema>) -> Result<RowReader> {
    match known {
        Some(schema) => RowReader::open_growing(path, options, schema),
        None => Ok(RowReader::open(path, options)?.for_learning()),
    }
}

/// Counts the labelled rows of a file up to its end or to a bad row, which will be found again.
pub(crate) fn count_rows(path: &Path, options: &ReadOptions, known: Option<&Schema>) -> Result<u64> {
    let mut feed = Feed::new(open_to_learn(path, options, known)?);
    let mut n_rows = 0;
    let most = batch_rows(feed.schema().n_features());
    while let Ok(Some(chunk)) = feed.next(most) {
        n_rows += chunk.x.nrows() as u64;
    }
    Ok(n_rows)
}

/// The error for data without targets.
fn no_target(schema: &Schema) -> Error {
    let available = match &schema.target {
        Some(target) => format!("the model's target is {target:?}"),
        None => schema.column_list(),
    };
    DataProblem::NoTarget(available).into()
}
