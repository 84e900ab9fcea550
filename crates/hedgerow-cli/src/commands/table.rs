//! A whole table in memory, whether it has labels or not.

use hedgerow::core::{ClassId, ColumnKind, DataProblem, Error, Features, Result, Schema};
use hedgerow::io::RowReader;

use super::batch_rows;
use crate::output;

/// A table with what labels it has.
pub(crate) struct Table {
    pub(crate) schema: Schema,
    pub(crate) features: Features,
    /// The class of each row; none where there is no column of labels.
    pub(crate) labels: Option<Vec<Option<ClassId>>>,
}

impl Table {
    /// Reads all rows; fails if they take more than `room` bytes.
    pub(crate) fn read(mut reader: RowReader, room: Option<u64>) -> Result<Self> {
        let n_features = reader.schema().n_features();
        let mut features = Features::new(n_features);
        let mut labels: Option<Vec<_>> = None;
        let shown = reader.shown().to_path_buf();
        while let Some(batch) = reader.next_batch(batch_rows(n_features))? {
            features.extend(batch.x.view());
            if let Some(more) = batch.labels {
                labels.get_or_insert_default().extend(more);
            }
            if let Some(limit) = room.filter(|&limit| features.bytes() as u64 > limit) {
                return Err(Error::from(DataProblem::OverMemory(output::size(limit))).in_file(&shown));
            }
        }
        features.shrink_to_fit();
        Ok(Self { schema: reader.schema().clone(), features, labels })
    }
}

/// A value as it stood in the data.
pub(crate) fn cell(schema: &Schema, column: usize, value: f32) -> String {
    if value.is_nan() {
        return String::new();
    }
    match &schema.columns[column].kind {
        ColumnKind::Numeric => value.to_string(),
        ColumnKind::Boolean { no, yes } => if value == 0.0 { no } else { yes }.clone(),
        ColumnKind::Categorical { categories } => categories.get(value as usize).cloned().unwrap_or_default(),
    }
}
