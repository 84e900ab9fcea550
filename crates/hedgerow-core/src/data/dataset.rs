//! Labelled rows in memory.

use super::{ClassId, Features, Schema};
use crate::error::{DataError, DataProblem, Result};

/// Labelled rows with their schema: what a model is fitted to.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// What the columns and classes are.
    pub schema: Schema,
    /// The feature rows.
    pub features: Features,
    /// The class of each row.
    pub labels: Vec<ClassId>,
    /// A weight for each row, where rows count differently.
    pub weights: Option<Vec<f32>>,
}

impl Dataset {
    /// Puts the parts together after checking that they fit.
    pub fn new(
        schema: Schema,
        features: Features,
        labels: Vec<ClassId>,
        weights: Option<Vec<f32>>,
    ) -> Result<Self> {
        if features.n_features() != schema.n_features() {
            return Err(DataProblem::ColumnCount {
                expected: schema.n_features(),
                got: features.n_features(),
            }
            .into());
        }
        schema.check_sizes()?;
        if features.n_rows() != labels.len() {
            return Err(DataProblem::LabelCount { rows: features.n_rows(), labels: labels.len() }.into());
        }
        if let Some(weights) = &weights {
            if weights.len() != labels.len() {
                return Err(DataProblem::LabelCount { rows: features.n_rows(), labels: weights.len() }.into());
            }
            if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
                let problem = DataProblem::BadWeight { got: weights[row].to_string() };
                return Err(DataError::from(problem).at_row(row as u64 + 1).into());
            }
        }
        if let Some(row) = labels.iter().position(|c| c.index() >= schema.n_classes()) {
            let problem = DataProblem::UnknownLabel {
                label: labels[row].0.to_string(),
                known: format!("classes 0 to {}", schema.n_classes().saturating_sub(1)),
            };
            return Err(DataError::from(problem).at_row(row as u64 + 1).into());
        }
        if let Features::Floats { values, n_features } = &features
            && let Some(at) = values.iter().position(|v| v.is_infinite())
        {
            let problem = DataProblem::Infinite { text: values[at].to_string() };
            return Err(DataError::from(problem)
                .at_row((at / n_features) as u64 + 1)
                .in_column(schema.columns[at % n_features].name.clone())
                .into());
        }
        for (c, column) in schema.columns.iter().enumerate().filter(|(_, c)| c.kind.n_categories() > 0) {
            let n = column.kind.n_categories() as f32;
            let fits = |value: f32| value.is_nan() || (value >= 0.0 && value < n && value.fract() == 0.0);
            if let Some(row) = (0..features.n_rows()).find(|&r| !fits(features.value(r, c))) {
                let problem =
                    DataProblem::NoSuchCategory { got: features.value(row, c).to_string(), n: n as usize };
                return Err(DataError::from(problem)
                    .at_row(row as u64 + 1)
                    .in_column(column.name.clone())
                    .into());
            }
        }
        Ok(Self { schema, features, labels, weights })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.features.bytes()
            + self.labels.capacity() * size_of::<ClassId>()
            + self.weights.as_ref().map_or(0, |w| w.capacity() * size_of::<f32>())
    }

    /// How many rows each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.schema.n_classes()];
        for class in &self.labels {
            counts[class.index()] += 1;
        }
        counts
    }

    /// The chosen rows, in the order given, with the whole schema.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            schema: self.schema.clone(),
            features: self.features.select(rows),
            labels: rows.iter().map(|&r| self.labels[r]).collect(),
            weights: self.weights.as_ref().map(|w| rows.iter().map(|&r| w[r]).collect()),
        }
    }

    /// Fails unless there are rows of at least two classes and a column to learn from.
    pub fn check_trainable(&self) -> Result<()> {
        if self.labels.is_empty() {
            return Err(DataProblem::Empty.into());
        }
        if self.schema.n_features() == 0 {
            return Err(DataProblem::NoFeatures.into());
        }
        let first = self.labels[0];
        if self.labels.iter().all(|&c| c == first) {
            return Err(DataProblem::SingleClass {
                label: self.schema.labels.name(first).to_string(),
                rows: self.labels.len(),
            }
            .into());
        }
        Ok(())
    }
}
