//! What every stream of rows can be asked.

use crate::data::{ClassId, Column, Dataset, Features, LabelTable, Schema};
use crate::error::Result;

/// An endless stream of labelled rows. Rows come one by one, so no row depends on how many are asked for.
pub trait Generator {
    /// The columns and classes.
    fn schema(&self) -> &Schema;

    /// Puts the features of the next row into `row`, whatever was in it, and returns the row's class.
    fn next_into(&mut self, row: &mut Vec<f32>) -> ClassId;

    /// The rows below `n_rows`, counted from 0 at the start of the stream, at which one concept gives way to the next.
    /// A change at once has its first row of the new concept there; a gradual one has its middle there.
    fn changes(&self, n_rows: u64) -> Vec<u64>;

    /// The next `n_rows` rows in memory.
    fn dataset(&mut self, n_rows: usize) -> Result<Dataset> {
        let mut features = Features::new(self.schema().n_features());
        let mut labels = Vec::with_capacity(n_rows);
        let mut row = Vec::new();
        for _ in 0..n_rows {
            labels.push(self.next_into(&mut row));
            features.push(&row);
        }
        Dataset::new(self.schema().clone(), features, labels, None)
    }
}

/// A schema whose target is `class` and whose classes are numbered from 0.
pub(super) fn schema(columns: Vec<Column>, n_classes: usize) -> Schema {
    let labels: Vec<String> = (0..n_classes).map(|class| class.to_string()).collect();
    Schema {
        columns,
        named: true,
        target: Some("class".into()),
        labels: LabelTable::from(labels),
        ..Schema::default()
    }
}

/// Columns of numbers called `x0`, `x1`, …
pub(super) fn numeric_columns(n: usize) -> Vec<Column> {
    (0..n).map(|i| Column::numeric(format!("x{i}"))).collect()
}
