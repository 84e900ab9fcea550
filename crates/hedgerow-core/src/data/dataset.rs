//! Rows with their targets in memory.

use std::ops::Deref;

use ndarray::{ArrayView1, ArrayView2};

use super::schema::classes_of_a_regression;
use super::{ClassId, ColumnKind, Features, Schema, TargetSlice, Targets, Task};
use crate::error::{DataError, DataProblem, Result};

/// Rows with their targets and schema: what a model is fitted to. Its [parts](DatasetParts) are read as fields (`data.schema`); they always fit
/// each other, so they are changed by [`Self::edit`] only.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset(DatasetParts);

/// What a [`Dataset`] consists of.
#[derive(Debug, Clone, PartialEq)]
pub struct DatasetParts {
    /// What the columns and classes are. Its task is that of the targets.
    pub schema: Schema,
    /// The feature rows.
    pub features: Features,
    /// The class or number of each row.
    pub targets: Targets,
    /// A weight for each row, where rows count differently.
    pub weights: Option<Vec<f32>>,
}

impl Deref for Dataset {
    type Target = DatasetParts;

    fn deref(&self) -> &DatasetParts {
        &self.0
    }
}

impl DatasetParts {
    /// The class of each row; none for a regression.
    pub fn labels(&self) -> &[ClassId] {
        self.targets.view().labels()
    }

    /// The number of each row; none for a classification.
    pub fn values(&self) -> &[f64] {
        self.targets.view().values()
    }

    /// The class of each row, to be changed.
    pub fn labels_mut(&mut self) -> &mut [ClassId] {
        if let Targets::Classes(classes) = &mut self.targets { classes } else { &mut [] }
    }

    /// Makes the task that of the targets, and checks that all fits.
    fn check(mut self) -> Result<Dataset> {
        let Self { schema, features, targets, weights } = &mut self;
        let task = targets.view().task();
        if schema.task() != task {
            if schema.n_classes() > 0 {
                return Err(classes_of_a_regression(schema.n_classes()));
            }
            *schema = std::mem::take(schema).for_task(task);
        }
        check_columns(schema, features.n_features())?;
        schema.check_sizes()?;
        check_counts(schema, features.n_rows(), targets.view(), weights.as_deref())?;
        let are_finite = matches!(features, Features::Bytes { .. });
        check_values(schema, features.n_rows(), are_finite, |r, c| features.value(r, c))?;
        Ok(Dataset(self))
    }
}

impl Dataset {
    /// Puts the parts together after checking that they fit. The targets, classes or numbers, decide the task.
    pub fn new(
        schema: Schema,
        features: Features,
        targets: impl Into<Targets>,
        weights: Option<Vec<f32>>,
    ) -> Result<Self> {
        DatasetParts { schema, features, targets: targets.into(), weights }.check()
    }

    /// Its parts.
    pub fn into_parts(self) -> DatasetParts {
        self.0
    }

    /// Changes parts, and checks that all fits; fails without a change otherwise.
    pub fn edit(&mut self, change: impl FnOnce(&mut DatasetParts)) -> Result<()> {
        let mut parts = self.0.clone();
        change(&mut parts);
        *self = parts.check()?;
        Ok(())
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.features.n_rows()
    }

    /// Whether targets are classes or numbers.
    pub fn task(&self) -> Task {
        self.targets.view().task()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.features.bytes()
            + self.targets.bytes()
            + self.weights.as_ref().map_or(0, |w| w.capacity() * size_of::<f32>())
    }

    /// How many rows each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.schema.n_classes()];
        for class in self.labels() {
            counts[class.index()] += 1;
        }
        counts
    }

    /// The chosen rows, in the order given, with the whole schema.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self(DatasetParts {
            schema: self.schema.clone(),
            features: self.features.select(rows),
            targets: self.targets.select(rows),
            weights: self.weights.as_ref().map(|w| rows.iter().map(|&r| w[r]).collect()),
        })
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
        let targets = match &self.targets {
            Targets::Classes(classes) => Targets::Classes(classes.iter().map(class).collect()),
            values @ Targets::Values(_) => values.clone(),
        };
        Self::new(schema.clone(), features, targets, self.weights.clone())
    }

    /// Adds rows at the end, whose schema is this one's, or this one's [grown](Schema::check_growth).
    pub fn append(&mut self, more: &Self) -> Result<()> {
        self.schema.check_growth(&more.schema)?;
        let n = self.n_rows();
        let own = &mut self.0;
        own.schema.clone_from(&more.schema);
        for r in 0..more.n_rows() {
            own.features.extend(more.features.to_array(r..r + 1).view());
        }
        if own.weights.is_some() || more.weights.is_some() {
            let weights = own.weights.get_or_insert_with(|| vec![1.0; n]);
            weights.extend_from_slice(more.weights.as_deref().unwrap_or_default());
            weights.resize(n + more.n_rows(), 1.0);
        }
        own.targets.extend(more.targets.view());
        Ok(())
    }

    /// Fails unless the targets are of this task, and there are a column and rows to learn from: of two classes, or two of numbers.
    pub fn check_trainable(&self, task: Task) -> Result<()> {
        self.targets.view().check_task(task)?;
        let rows = self.n_rows();
        if rows == 0 {
            return Err(DataProblem::Empty.into());
        }
        if self.schema.n_features() == 0 {
            return Err(DataProblem::NoFeatures.into());
        }
        match &self.targets {
            Targets::Classes(classes) if classes.iter().all(|class| *class == classes[0]) => {
                let label = self.schema.labels.name(classes[0]).to_string();
                Err(DataProblem::SingleClass { label, rows }.into())
            }
            Targets::Values(_) if rows == 1 => Err(DataProblem::TooFewRows { expected: 2, got: 1 }.into()),
            _ => Ok(()),
        }
    }
}

/// Fails unless rows that come without a [`Dataset`] fit a schema: their targets, weights, and values.
pub fn check_rows(
    schema: &Schema,
    x: ArrayView2<'_, f32>,
    targets: TargetSlice<'_>,
    weights: Option<&[f32]>,
) -> Result<()> {
    check_columns(schema, x.ncols())?;
    targets.check_task(schema.task())?;
    check_counts(schema, x.nrows(), targets, weights)?;
    check_values(schema, x.nrows(), !x.rows().into_iter().any(has_infinite), |r, c| x[(r, c)])
}

/// Whether a value of a row is infinite. Without a way out early where that lets the compiler run on many values at once.
fn has_infinite(row: ArrayView1<'_, f32>) -> bool {
    match row.as_slice() {
        Some(row) => row.iter().fold(false, |any, value| any | value.is_infinite()),
        None => row.iter().any(|value| value.is_infinite()),
    }
}

fn check_columns(schema: &Schema, got: usize) -> Result<()> {
    let expected = schema.n_features();
    if got == expected { Ok(()) } else { Err(DataProblem::ColumnCount { expected, got }.into()) }
}

fn check_counts(
    schema: &Schema,
    rows: usize,
    targets: TargetSlice<'_>,
    weights: Option<&[f32]>,
) -> Result<()> {
    if rows != targets.len() {
        return Err(DataProblem::LabelCount { rows, labels: targets.len() }.into());
    }
    if let Some(weights) = weights {
        if weights.len() != rows {
            return Err(DataProblem::LabelCount { rows, labels: weights.len() }.into());
        }
        if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            let problem = DataProblem::BadWeight(weights[row].to_string());
            return Err(DataError::from(problem).at_row(row as u64 + 1).into());
        }
    }
    targets.check(schema)
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

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let features = Features::from_view(array![[1.0_f32, 2.0], [3.0, f32::NAN]].view());
        let make = |values: Vec<f64>, n| Dataset::new(Schema::unnamed(n), features.clone(), values, None);
        let data = make(vec![0.5, 1.5], 2).unwrap();
        assert_eq!((data.n_rows(), data.select(&[1]).values()), (2, &[1.5][..]));
        assert_eq!((data.task(), data.schema.task()), (Task::Regression, Task::Regression));
        data.check_trainable(Task::Regression).unwrap();
        assert!(data.select(&[0]).check_trainable(Task::Regression).is_err());
        assert!(make(vec![0.5], 2).is_err() && make(vec![0.5, 1.5], 3).is_err());
        let message = make(vec![0.5, f64::NAN], 2).unwrap_err().to_string();
        assert!(message.contains("row 2"), "{message}");
        let with_classes =
            Schema { labels: vec!["a".to_string(), "b".to_string()].into(), ..Schema::unnamed(2) };
        assert!(Dataset::new(with_classes.clone(), features.clone(), vec![0.5, 1.5], None).is_err());
        // Either task refuses the targets of the other.
        let classes = Dataset::new(with_classes, features, vec![ClassId(0), ClassId(1)], None).unwrap();
        classes.check_trainable(Task::Classification).unwrap();
        let message = data.check_trainable(Task::Classification).unwrap_err().to_string();
        assert_eq!(message, "classification needs classes as targets, got numbers (for regression)");
        let message = classes.check_trainable(Task::Regression).unwrap_err().to_string();
        assert_eq!(message, "regression needs numbers as targets, got classes (for classification)");
    }

    #[test]
    fn numbers_are_appended_and_move_to_a_wider_schema() {
        let features = Features::from_view(array![[1.0_f32], [2.0]].view());
        let mut data = Dataset::new(Schema::unnamed(1), features, vec![0.5, 1.5], None).unwrap();
        let mut weighted = data.select(&[0]);
        weighted.edit(|parts| parts.weights = Some(vec![3.0])).unwrap();
        assert!(weighted.edit(|parts| parts.weights = Some(vec![3.0, 1.0])).is_err());
        data.append(&weighted).unwrap();
        assert_eq!(
            (data.values(), data.weights.as_deref()),
            (&[0.5, 1.5, 0.5][..], Some(&[1.0, 1.0, 3.0][..]))
        );
        assert_eq!(data.under(&data.schema).unwrap(), data);
        let before = data.clone();
        let two = Features::from_view(array![[1.0_f32, 2.0]].view());
        let message =
            data.append(&Dataset::new(Schema::unnamed(2), two, vec![0.5], None).unwrap()).unwrap_err();
        assert_eq!(message.to_string(), "the columns must stay as they are: expected 1 columns, got 2");
        assert_eq!(data, before);
    }
}
