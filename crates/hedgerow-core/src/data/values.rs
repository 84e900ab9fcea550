//! Rows with a value each, in memory.

use super::{Features, Schema};
use crate::error::{DataError, DataProblem, Error, Result};

/// Rows with the number that a regression predicts, and their schema, which has no classes.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueData {
    /// What the columns are.
    pub schema: Schema,
    /// The feature rows.
    pub features: Features,
    /// The value of each row.
    pub targets: Vec<f64>,
}

impl ValueData {
    /// Puts the parts together after checking that they fit.
    pub fn new(schema: Schema, features: Features, targets: Vec<f64>) -> Result<Self> {
        if features.n_features() != schema.n_features() {
            let (expected, got) = (schema.n_features(), features.n_features());
            return Err(DataProblem::ColumnCount { expected, got }.into());
        }
        schema.check_sizes()?;
        if features.n_rows() != targets.len() {
            let (rows, labels) = (features.n_rows(), targets.len());
            return Err(DataProblem::LabelCount { rows, labels }.into());
        }
        if let Some(row) = targets.iter().position(|t| !t.is_finite()) {
            let problem = DataProblem::Infinite { text: targets[row].to_string() };
            return Err(DataError::from(problem).at_row(row as u64 + 1).into());
        }
        for row in 0..targets.len() {
            let column = (0..schema.n_features()).find(|&c| features.value(row, c).is_infinite());
            if let Some(column) = column {
                let problem = DataProblem::Infinite { text: features.value(row, column).to_string() };
                let name = schema.columns[column].name.clone();
                return Err(DataError::from(problem).at_row(row as u64 + 1).in_column(name).into());
            }
        }
        Ok(Self { schema, features, targets })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.targets.len()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.features.bytes() + self.targets.capacity() * size_of::<f64>()
    }

    /// The chosen rows, in the order given, with the whole schema.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            schema: self.schema.clone(),
            features: self.features.select(rows),
            targets: rows.iter().map(|&row| self.targets[row]).collect(),
        }
    }

    /// Fails unless there are two rows and a column to learn from.
    pub fn check_trainable(&self) -> Result<()> {
        match self.targets.len() {
            0 => Err(DataProblem::Empty.into()),
            1 => Err(Error::Shape { what: "rows to fit values to (at least)", expected: 2, got: 1 }),
            _ if self.schema.n_features() == 0 => Err(DataProblem::NoFeatures.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let features = Features::from_view(array![[1.0_f32, 2.0], [3.0, f32::NAN]].view());
        let make = |targets: Vec<f64>, n| ValueData::new(Schema::unnamed(n), features.clone(), targets);
        let data = make(vec![0.5, 1.5], 2).unwrap();
        assert_eq!((data.n_rows(), data.select(&[1]).targets), (2, vec![1.5]));
        data.check_trainable().unwrap();
        assert!(data.select(&[0]).check_trainable().is_err());
        assert!(make(vec![0.5], 2).is_err() && make(vec![0.5, 1.5], 3).is_err());
        let message = make(vec![0.5, f64::NAN], 2).unwrap_err().to_string();
        assert!(message.contains("row 2"), "{message}");
    }
}
