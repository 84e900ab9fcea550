//! Labelled rows in memory.

use ndarray::{ArrayView1, ArrayView2};

use super::{ClassId, ColumnKind, Features, Schema};
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
        let n_rows = features.n_rows();
        check_counts(&schema, n_rows, &labels, weights.as_deref())?;
        check_values(&schema, n_rows, matches!(features, Features::Bytes { .. }), |r, c| {
            features.value(r, c)
        })?;
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

    /// The same rows under a schema that has the same columns and at least the same classes and categories, in any order.
    pub fn under(&self, schema: &Schema) -> Result<Self> {
        if self.schema == *schema {
            return Ok(self.clone());
        }
        let class = |&old: &ClassId| schema.labels.get(self.schema.labels.name(old)).unwrap_or(old);
        let mut features = Features::new(schema.n_features());
        let places: Vec<Option<Vec<f32>>> = self
            .schema
            .columns
            .iter()
            .zip(&schema.columns)
            .map(|(ours, theirs)| match (&ours.kind, &theirs.kind) {
                (ColumnKind::Categorical { categories }, ColumnKind::Categorical { categories: others }) => {
                    let place =
                        |name| others.iter().position(|other| other == name).map_or(f32::NAN, |p| p as f32);
                    Some(categories.iter().map(place).collect())
                }
                _ => None,
            })
            .collect();
        let mut row = vec![0.0; self.features.n_features()];
        for r in 0..self.n_rows() {
            self.features.copy_rows(r..r + 1, &mut row);
            for (value, places) in row.iter_mut().zip(&places) {
                if let Some(places) = places {
                    *value =
                        places.get(*value as usize).copied().filter(|_| !value.is_nan()).unwrap_or(f32::NAN);
                }
            }
            features.push(&row);
        }
        Self::new(schema.clone(), features, self.labels.iter().map(class).collect(), self.weights.clone())
    }

    /// Adds rows of the same schema at the end.
    pub fn append(&mut self, more: &Self) {
        for r in 0..more.n_rows() {
            self.features.extend(more.features.to_array(r..r + 1).view());
        }
        if self.weights.is_some() || more.weights.is_some() {
            let n = self.labels.len();
            let own = self.weights.get_or_insert_with(|| vec![1.0; n]);
            match &more.weights {
                Some(weights) => own.extend_from_slice(weights),
                None => own.resize(n + more.n_rows(), 1.0),
            }
        }
        self.labels.extend_from_slice(&more.labels);
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

/// Fails unless rows that come without a [`Dataset`] fit a schema: their labels, weights, and values.
pub fn check_rows(
    schema: &Schema,
    x: ArrayView2<'_, f32>,
    labels: &[ClassId],
    weights: Option<&[f32]>,
) -> Result<()> {
    if x.ncols() != schema.n_features() {
        return Err(DataProblem::ColumnCount { expected: schema.n_features(), got: x.ncols() }.into());
    }
    check_counts(schema, x.nrows(), labels, weights)?;
    check_values(schema, x.nrows(), !x.rows().into_iter().any(has_infinite), |r, c| x[(r, c)])
}

/// Whether a value of a row is infinite. Without a way out early where that lets the compiler run on many values at once.
fn has_infinite(row: ArrayView1<'_, f32>) -> bool {
    match row.as_slice() {
        Some(row) => row.iter().fold(false, |any, value| any | value.is_infinite()),
        None => row.iter().any(|value| value.is_infinite()),
    }
}

fn check_counts(schema: &Schema, rows: usize, labels: &[ClassId], weights: Option<&[f32]>) -> Result<()> {
    if rows != labels.len() {
        return Err(DataProblem::LabelCount { rows, labels: labels.len() }.into());
    }
    if let Some(weights) = weights {
        if weights.len() != labels.len() {
            return Err(DataProblem::LabelCount { rows, labels: weights.len() }.into());
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
    Ok(())
}

fn check_values(
    schema: &Schema,
    n_rows: usize,
    are_finite: bool,
    value: impl Fn(usize, usize) -> f32,
) -> Result<()> {
    let wrong = |problem: DataProblem, row: usize, column: usize| {
        Err(DataError::from(problem)
            .at_row(row as u64 + 1)
            .in_column(schema.columns[column].name.clone())
            .into())
    };
    if !are_finite {
        for row in 0..n_rows {
            if let Some(column) = (0..schema.n_features()).find(|&c| value(row, c).is_infinite()) {
                return wrong(DataProblem::Infinite { text: value(row, column).to_string() }, row, column);
            }
        }
    }
    for (column, kind) in schema.columns.iter().map(|c| &c.kind).enumerate() {
        let n = kind.n_categories() as f32;
        let fits = |value: f32| value.is_nan() || (value >= 0.0 && value < n && value.fract() == 0.0);
        if n > 0.0
            && let Some(row) = (0..n_rows).find(|&r| !fits(value(r, column)))
        {
            let got = value(row, column).to_string();
            return wrong(DataProblem::NoSuchCategory { got, n: n as usize }, row, column);
        }
    }
    Ok(())
}
