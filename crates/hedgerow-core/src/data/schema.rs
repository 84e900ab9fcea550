//! What the columns are: names, kinds, categories, and the labels of the target.

use std::borrow::Cow;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{LabelTable, Task};
use crate::error::{DataError, DataProblem, Error, Result};
use crate::text::list;

/// The most feature columns a model can have: a tree's split keeps its column in 16 bits.
pub const MAX_FEATURES: usize = 65_535;
/// The most classes a model can have: a leaf keeps its class in 16 bits.
pub const MAX_CLASSES: usize = 65_535;
/// The most categories a column can have.
pub const MAX_CATEGORIES: usize = 65_535;

/// What a column holds. Whatever the kind, a row stores one `f32` a column, and a missing value is `NaN`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ColumnKind {
    /// Numbers.
    Numeric,
    /// Two values, stored as 0 and 1; the words for them are kept for display.
    Boolean {
        /// How 0 is written in the data.
        no: String,
        /// How 1 is written in the data.
        yes: String,
    },
    /// One of several names, stored as its place in the list. A name not in the list is stored as missing.
    Categorical {
        /// The names, in order of first appearance; the list only grows.
        categories: Vec<String>,
    },
}

impl ColumnKind {
    /// The kind in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Numeric => "numeric",
            Self::Boolean { .. } => "boolean",
            Self::Categorical { .. } => "categorical",
        }
    }

    /// How many categories there are; 0 for other kinds.
    pub fn n_categories(&self) -> usize {
        match self {
            Self::Categorical { categories } => categories.len(),
            _ => 0,
        }
    }
}

/// A feature column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The name in the file, or the column's number where there is none.
    pub name: String,
    /// What it holds.
    #[serde(flatten)]
    pub kind: ColumnKind,
}

impl Column {
    /// A column of numbers.
    pub fn numeric(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: ColumnKind::Numeric }
    }

    /// It in a few words, for messages.
    fn describe(&self) -> String {
        let categories = match &self.kind {
            ColumnKind::Categorical { categories } => {
                let names: Vec<&str> = categories.iter().map(String::as_str).collect();
                format!(" ({})", list(&names, 12))
            }
            _ => String::new(),
        };
        format!("{} column {:?}{categories}", self.kind.word(), self.name)
    }
}

/// The columns of a table and what is predicted from them. It is inferred from the first data, saved with the model, and enforced later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SavedSchema", into = "SavedSchema")]
pub struct Schema {
    /// The feature columns, in the order of the features in every row.
    pub columns: Vec<Column>,
    /// Whether the names came from the data. Then later data are matched by name, otherwise by place.
    pub named: bool,
    /// The target column's name, where there is one.
    pub target: Option<String>,
    /// The classes; [that of numbers](LabelTable::of_numbers) for a regression.
    pub labels: LabelTable,
    /// Height and width where each row is a grey image, for showing rows as pictures.
    pub image: Option<[usize; 2]>,
}

/// A schema as it is written: with the task, which the labels know.
#[derive(Serialize, Deserialize)]
struct SavedSchema {
    columns: Vec<Column>,
    named: bool,
    #[serde(default)]
    target: Option<String>,
    #[serde(default)]
    task: Task,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    image: Option<[usize; 2]>,
}

impl From<Schema> for SavedSchema {
    fn from(schema: Schema) -> Self {
        let task = schema.task();
        let Schema { columns, named, target, labels, image } = schema;
        Self { columns, named, target, task, labels: labels.into(), image }
    }
}

impl TryFrom<SavedSchema> for Schema {
    type Error = Error;

    fn try_from(saved: SavedSchema) -> Result<Self> {
        let SavedSchema { columns, named, target, task, labels, image } = saved;
        let labels = match task {
            Task::Classification => labels.into(),
            Task::Regression if labels.is_empty() => LabelTable::of_numbers(),
            Task::Regression => return Err(classes_of_a_regression(labels.len())),
        };
        Ok(Self { columns, named, target, labels, image })
    }
}

/// There are classes where numbers are predicted.
pub(super) fn classes_of_a_regression(got: usize) -> Error {
    Error::Shape { what: "classes of a regression", expected: 0, got }
}

impl Schema {
    /// Columns of numbers called `0`, `1`, … and no classes yet, for data that come as a bare matrix.
    pub fn unnamed(n_features: usize) -> Self {
        Self { columns: (0..n_features).map(|i| Column::numeric(i.to_string())).collect(), ..Self::default() }
    }

    /// Whether classes or numbers are predicted.
    pub fn task(&self) -> Task {
        self.labels.task()
    }

    /// The same columns, from which this is predicted: classes that are not known yet, or numbers.
    #[must_use]
    pub fn for_task(self, task: Task) -> Self {
        let labels = match task {
            Task::Classification => LabelTable::default(),
            Task::Regression => LabelTable::of_numbers(),
        };
        Self { labels, ..self }
    }

    /// How many feature columns there are.
    pub fn n_features(&self) -> usize {
        self.columns.len()
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> usize {
        self.labels.len()
    }

    /// The names of the first columns, for messages.
    pub fn column_list(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
        list(&names, 12)
    }

    /// Fails if there are more columns, classes or categories than a model can hold.
    pub fn check_sizes(&self) -> Result<()> {
        let (columns, classes) = (self.n_features(), self.n_classes());
        if columns > MAX_FEATURES {
            return Err(DataProblem::TooManyColumns { got: columns }.into());
        }
        if classes > MAX_CLASSES {
            return Err(DataProblem::TooManyClasses.into());
        }
        match self.columns.iter().find(|c| c.kind.n_categories() > MAX_CATEGORIES) {
            Some(column) => {
                let error = DataError::from(DataProblem::TooManyCategories);
                Err(error.in_column(column.name.clone()).into())
            }
            None => Ok(()),
        }
    }

    /// The schema with the first classes only; itself if it has no more.
    pub fn with_classes(&self, n_classes: usize) -> Cow<'_, Self> {
        if n_classes >= self.n_classes() {
            return Cow::Borrowed(self);
        }
        let labels = self.labels.names()[..n_classes].to_vec().into();
        Cow::Owned(Self { labels, ..self.clone() })
    }

    /// Adds the categories of rows whose numbers are not known yet; they are called by their numbers.
    pub fn add_categories(&mut self, x: ArrayView2<'_, f32>) -> Result<()> {
        for (column, values) in self.columns.iter_mut().zip(x.columns()) {
            let ColumnKind::Categorical { categories } = &mut column.kind else { continue };
            let is_number = |value: &f32| *value >= 0.0 && value.fract() == 0.0;
            let largest = values.iter().copied().filter(is_number).fold(-1.0, f32::max);
            if largest >= MAX_CATEGORIES as f32 {
                return Err(DataError::from(DataProblem::TooManyCategories)
                    .in_column(column.name.clone())
                    .into());
            }
            for number in categories.len()..(largest + 1.0) as usize {
                let mut name = number.to_string();
                while categories.contains(&name) {
                    name.push('?');
                }
                categories.push(name);
            }
        }
        Ok(())
    }

    /// Fails unless another schema is this one with classes and categories added at the ends.
    pub fn check_growth(&self, grown: &Self) -> Result<()> {
        let [expected, got] = [self, grown].map(Self::task);
        if expected != got {
            return Err(DataProblem::WrongTask { expected, got }.into());
        }
        let differs = |what, expected: String, got: String| {
            Err(DataProblem::OtherSchema { what, expected, got }.into())
        };
        let [expected, got] = [self, grown].map(Self::n_features);
        if expected != got {
            return differs("columns", format!("{expected} columns"), got.to_string());
        }
        if !self.same_columns(grown) {
            let one = |schema: &Self, at: usize| Self {
                columns: vec![schema.columns[at].clone()],
                ..Self::default()
            };
            let is_other = |at: &usize| !one(self, *at).same_columns(&one(grown, *at));
            let at = (0..expected).find(is_other).unwrap_or(0);
            let [expected, got] = [self, grown].map(|schema| schema.columns[at].describe());
            return differs("columns", expected, got);
        }
        let (old, new) = (self.labels.names(), grown.labels.names());
        match (0..old.len()).find(|&class| new.get(class) != Some(&old[class])) {
            Some(class) => {
                let got = new.get(class).map_or_else(|| "no more".into(), |name| format!("{name:?}"));
                differs("classes", format!("{:?} as class {class}", old[class]), got)
            }
            None => Ok(()),
        }
    }

    /// Whether two schemas describe the same feature columns (categories may be longer in one of them).
    pub fn same_columns(&self, other: &Self) -> bool {
        self.columns.len() == other.columns.len()
            && self.columns.iter().zip(&other.columns).all(|(a, b)| {
                let categories_agree = match (&a.kind, &b.kind) {
                    (
                        ColumnKind::Categorical { categories: x },
                        ColumnKind::Categorical { categories: y },
                    ) => x.iter().zip(y).all(|(x, y)| x == y),
                    (x, y) => x.word() == y.word(),
                };
                a.name == b.name && categories_agree
            })
    }
}
