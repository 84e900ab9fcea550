//! Rows in memory that know their places in a file.

use std::ops::Range;

use hedgerow::core::{Dataset, DatasetParts, Features, Result, Targets};

use super::{Chunk, Feed, batch_rows};

/// Rows with their numbers in the file they come from, counted from 1.
#[derive(Debug)]
pub(crate) struct NumberedRows {
    pub(crate) data: Dataset,
    pub(crate) numbers: Vec<u64>,
}

impl NumberedRows {
    /// The chosen rows of a whole file.
    pub(crate) fn select(file: &Dataset, rows: &[usize]) -> Self {
        Self { data: file.select(rows), numbers: rows.iter().map(|&row| row as u64 + 1).collect() }
    }

    /// All rows of a feed.
    pub(crate) fn read(feed: &mut Feed<'_>) -> Result<Self> {
        let n_features = feed.schema().n_features();
        let (mut features, mut targets) = (Features::new(n_features), Targets::empty(feed.schema().task()));
        let (mut weights, mut numbers): (Option<Vec<f32>>, _) = (None, Vec::new());
        while let Some(chunk) = feed.next(batch_rows(n_features))? {
            features.extend(chunk.x.view());
            targets.extend(chunk.targets.view());
            numbers.extend(chunk.numbers);
            if let Some(more) = chunk.weights {
                weights.get_or_insert_default().extend(more);
            }
        }
        Ok(Self { data: Dataset::new(feed.schema().clone(), features, targets, weights)?, numbers })
    }

    pub(super) fn chunk(&self, rows: Range<usize>) -> Chunk {
        let DatasetParts { features, targets, weights, .. } = &*self.data;
        Chunk::new(
            features.to_array(rows.clone()),
            targets.select(&rows.clone().collect::<Vec<_>>()),
            weights.as_ref().map(|weights| weights[rows.clone()].to_vec()),
            self.numbers[rows].to_vec(),
        )
    }
}
