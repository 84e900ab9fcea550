//! Rows with a value each: the target is a column of numbers, not of labels.
//!
//! The file is read as if the target were a feature, and that column is then taken out of every batch. So values have the precision
//! of features, which is single.

use std::path::Path;

use hedgerow_core::{Column, ColumnKind, DataError, DataProblem, Error, Features, Result, Schema, ValueData};
use ndarray::{Array2, Axis};

use crate::options::ReadOptions;
use crate::reader::RowReader;

/// Rows of a batch where a whole file is read.
const BATCH_VALUES: usize = 1 << 20;

/// Some rows of a file with their values.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueBatch {
    /// The number of the first row, from 0.
    pub first_row: u64,
    /// The features, one row a row; `NaN` is missing.
    pub x: Array2<f32>,
    /// The values; `NaN` is missing.
    pub targets: Vec<f64>,
}

/// Reads rows with values batch by batch.
pub struct ValueReader {
    rows: RowReader,
    /// The place of the target among the columns read.
    place: usize,
    target: String,
}

impl ValueReader {
    /// Opens a file whose schema is inferred. The options must name the target.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        let Some(target) = &options.target else {
            // The same words as for labels.
            let mut reader = RowReader::open(path, options)?;
            reader.require_labels()?;
            return Err(Error::param("target", "the column of the values", "none"));
        };
        let without = ReadOptions { target: None, ..options.clone() };
        let rows = RowReader::open(path, &without)?;
        let target = rows.column_name(target)?;
        Self::taking(rows, target)
    }

    /// Opens a file for a model, whose schema the file must fit; the model's target must be there too.
    pub fn open_with(path: &Path, options: &ReadOptions, schema: &Schema) -> Result<Self> {
        let target = match (&options.target, &schema.target) {
            (Some(given), _) => given.to_string(),
            (None, Some(known)) => known.clone(),
            (None, None) => return Err(Error::param("target", "the column of the values", "none")),
        };
        let mut wide = Schema { target: None, image: None, ..schema.clone() };
        // Without names columns go by their places, so the target must stand where it stood.
        let number = |name: &str| name.parse::<usize>().ok();
        let place = match number(&target).filter(|_| !schema.named) {
            Some(own) => wide
                .columns
                .iter()
                .position(|column| number(&column.name).is_some_and(|n| n > own))
                .unwrap_or(wide.columns.len()),
            None => wide.columns.len(),
        };
        wide.columns.insert(place, Column::numeric(target.clone()));
        let without = ReadOptions { target: None, image: None, ..options.clone() };
        let rows = RowReader::open_with(path, &without, &wide)?;
        Self::taking(rows, target)
    }

    fn taking(rows: RowReader, target: String) -> Result<Self> {
        let shown = rows.shown().to_path_buf();
        let Some(place) = rows.schema().columns.iter().position(|column| column.name == target) else {
            let expected = "a column of numbers that is neither left out nor the weight";
            return Err(Error::param("target", expected, target));
        };
        if let ColumnKind::Categorical { categories } = &rows.schema().columns[place].kind {
            let text = categories.first().cloned().unwrap_or_else(|| "text".into());
            let error = DataError::from(DataProblem::NotANumber { text }).in_column(target);
            return Err(Error::from(error).in_file(&shown));
        }
        Ok(Self { rows, place, target })
    }

    /// What the columns are, the target apart; no classes.
    pub fn schema(&self) -> Schema {
        let mut schema = self.rows.schema().clone();
        schema.columns.remove(self.place);
        Schema { target: Some(self.target.clone()), labels: hedgerow_core::LabelTable::new(), ..schema }
    }

    /// The next rows, at most `max_rows` and fewer only at the end; `None` after the last.
    pub fn next_batch(&mut self, max_rows: usize) -> Result<Option<ValueBatch>> {
        let Some(batch) = self.rows.next_batch(max_rows)? else { return Ok(None) };
        let targets = batch.x.column(self.place).iter().map(|v| f64::from(*v)).collect();
        let others: Vec<usize> = (0..batch.x.ncols()).filter(|c| *c != self.place).collect();
        let x = batch.x.select(Axis(1), &others);
        Ok(Some(ValueBatch { first_row: batch.first_row, x, targets }))
    }
}

/// Reads a whole file of rows with values. `max_bytes` bounds the feature matrix. Fails on a row without a value.
pub fn read_values(path: &Path, options: &ReadOptions, max_bytes: Option<u64>) -> Result<ValueData> {
    let mut reader = ValueReader::open(path, options)?;
    let n_features = reader.schema().n_features();
    let mut features = Features::new(n_features);
    let mut targets = Vec::new();
    let shown = reader.rows.shown().to_path_buf();
    while let Some(batch) = reader.next_batch((BATCH_VALUES / n_features.max(1)).max(1))? {
        if let Some(row) = batch.targets.iter().position(|t| t.is_nan()) {
            let place = batch.first_row + row as u64 + 1;
            let error =
                DataError::from(DataProblem::MissingLabel).at_row(place).in_column(reader.target.clone());
            return Err(Error::from(error).in_file(&shown));
        }
        features.extend(batch.x.view());
        targets.extend(batch.targets);
        if max_bytes.is_some_and(|limit| features.bytes() as u64 > limit) {
            let limit = format!("{} bytes", max_bytes.unwrap_or_default());
            return Err(Error::from(DataProblem::OverMemory { limit }).in_file(&shown));
        }
    }
    let data = ValueData::new(reader.schema(), features, targets);
    data.and_then(|data| data.check_trainable().map(|()| data)).map_err(|e| e.in_file(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_taken_out_wherever_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let named = write("a.csv", "x,y,color\n1,2.5,red\n2,-3,blue\n");
        let options = ReadOptions { target: Some("y".parse().unwrap()), ..ReadOptions::default() };
        let data = read_values(&named, &options, None).unwrap();
        assert_eq!((data.targets.clone(), data.schema.n_features()), (vec![2.5, -3.0], 2));
        assert_eq!(data.schema.target.as_deref(), Some("y"));
        let other = write("b.csv", "color,y,x\nred,7,1\ngreen,,5\n");
        let mut reader = ValueReader::open_with(&other, &ReadOptions::default(), &data.schema).unwrap();
        let batch = reader.next_batch(9).unwrap().unwrap();
        assert_eq!((batch.targets[0], batch.x[(0, 0)], batch.x[(0, 1)]), (7.0, 1.0, 0.0));
        assert!(batch.targets[1].is_nan() && batch.x[(1, 1)].is_nan());
        // Without names, by place.
        let bare = write("c.csv", "1,10,100\n2,20,200\n");
        let options = ReadOptions { target: Some("1".parse().unwrap()), ..ReadOptions::default() };
        let data = read_values(&bare, &options, None).unwrap();
        assert_eq!(data.targets, [10.0, 20.0]);
        let mut reader = ValueReader::open_with(&bare, &ReadOptions::default(), &data.schema).unwrap();
        assert_eq!(reader.next_batch(9).unwrap().unwrap().targets, [10.0, 20.0]);
        // What cannot be a value.
        let options = ReadOptions { target: Some("color".parse().unwrap()), ..ReadOptions::default() };
        assert!(read_values(&named, &options, None).unwrap_err().to_string().contains("color"));
        let gap = write("d.csv", "x,y\n1,2\n3,\n");
        let options = ReadOptions { target: Some("y".parse().unwrap()), ..ReadOptions::default() };
        let message = read_values(&gap, &options, None).unwrap_err().to_string();
        assert!(message.contains("row 2") && message.contains('y'), "{message}");
    }
}
