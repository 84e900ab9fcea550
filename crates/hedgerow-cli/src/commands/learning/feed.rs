//! Labelled rows out of a reader.

use std::path::{Path, PathBuf};

use hedgerow::core::{ClassId, DataProblem, Dataset, Error, Result, Schema};
use hedgerow::io::{ReadOptions, RowReader};
use ndarray::{Array2, Axis};

use super::StoredRows;

/// Rows to learn, all of them with a label.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) x: Array2<f32>,
    pub(crate) labels: Vec<ClassId>,
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
        labels: Vec<ClassId>,
        weights: Option<Vec<f32>>,
        numbers: Vec<u64>,
    ) -> Self {
        Self { x, labels, weights, numbers, places: Vec::new(), end: 0, old: None }
    }

    /// The place in the log after so many rows.
    pub(crate) fn cursor_after(&self, rows: usize) -> u64 {
        self.places.get(rows).copied().unwrap_or(self.end)
    }
}

/// Hands out the rows that have a label.
pub(crate) struct Feed {
    source: Source,
    pub(crate) without_label: u64,
}

enum Source {
    /// A file, and how it is called in messages.
    File(Box<RowReader>, PathBuf),
    /// Rows in memory with their numbers, and how many of them have been handed out.
    Memory(Box<Dataset>, Vec<u64>, usize),
    /// A store, which rows of a file are appended to first.
    Stored(Box<StoredRows>),
}

impl Feed {
    pub(crate) fn new(reader: RowReader, path: &Path) -> Self {
        let shown = if path == Path::new("-") { Path::new("standard input") } else { path };
        Self { source: Source::File(Box::new(reader), shown.to_path_buf()), without_label: 0 }
    }

    /// Rows in memory, with their numbers in the file they come from.
    pub(crate) fn of_dataset(data: Dataset, numbers: Vec<u64>) -> Self {
        Self { source: Source::Memory(Box::new(data), numbers, 0), without_label: 0 }
    }

    /// Rows of a store.
    pub(crate) fn of_store(rows: StoredRows) -> Self {
        Self { source: Source::Stored(Box::new(rows)), without_label: 0 }
    }

    pub(crate) fn schema(&self) -> &Schema {
        match &self.source {
            Source::Stored(rows) => rows.schema(),
            Source::File(reader, _) => reader.schema(),
            Source::Memory(data, ..) => &data.schema,
        }
    }

    /// The next rows, at most `most`; none at the end.
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<Chunk>> {
        match &mut self.source {
            Source::File(reader, shown) => {
                next_of_file(reader, most, &mut self.without_label).map_err(|error| error.in_file(shown))
            }
            Source::Memory(data, numbers, at) => {
                let rows = *at..data.n_rows().min(at.saturating_add(most));
                *at = rows.end;
                Ok((!rows.is_empty()).then(|| {
                    Chunk::new(
                        data.features.to_array(rows.clone()),
                        data.labels()[rows.clone()].to_vec(),
                        data.weights.as_ref().map(|w| w[rows.clone()].to_vec()),
                        numbers[rows].to_vec(),
                    )
                }))
            }
            Source::Stored(rows) => {
                let chunk = rows.next(most)?;
                if chunk.is_none() {
                    self.without_label = rows.without_label()?;
                }
                Ok(chunk)
            }
        }
    }
}

fn next_of_file(reader: &mut RowReader, most: usize, without_label: &mut u64) -> Result<Option<Chunk>> {
    while let Some(batch) = reader.next_batch(most)? {
        let Some(labels) = batch.labels else { return Err(no_target(reader.schema())) };
        let n_rows = labels.len();
        let chosen: Vec<usize> = (0..n_rows).filter(|&i| labels[i].is_some()).collect();
        *without_label += (n_rows - chosen.len()) as u64;
        let numbers = chosen.iter().map(|&i| batch.first_row + i as u64 + 1).collect();
        let labels: Vec<ClassId> = labels.into_iter().flatten().collect();
        if labels.len() == n_rows {
            return Ok(Some(Chunk::new(batch.x, labels, batch.weights, numbers)));
        }
        if !labels.is_empty() {
            let weights = batch.weights.map(|w| chosen.iter().map(|&i| w[i]).collect());
            return Ok(Some(Chunk::new(batch.x.select(Axis(0), &chosen), labels, weights, numbers)));
        }
    }
    Ok(None)
}

/// Counts the labelled rows of a file up to its end or to a bad row, which will be found again.
pub(crate) fn count_rows(path: &Path, options: &ReadOptions, model: Option<&Schema>) -> Result<u64> {
    let reader = match model {
        Some(schema) => RowReader::open_growing(path, options, schema)?,
        None => RowReader::open(path, options)?.for_learning(),
    };
    let mut feed = Feed::new(reader, path);
    let mut n_rows = 0;
    let most = super::super::batch_rows(feed.schema().n_features());
    while let Ok(Some(chunk)) = feed.next(most) {
        n_rows += chunk.labels.len() as u64;
    }
    Ok(n_rows)
}

/// The error for data without targets.
pub(crate) fn no_target(schema: &Schema) -> Error {
    let available = match &schema.target {
        Some(target) => format!("the model's target is {target:?}"),
        None => schema.column_list(),
    };
    DataProblem::NoTarget { available }.into()
}
