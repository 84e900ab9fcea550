//! What is predicted: classes or numbers.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{ClassId, Schema};
use crate::error::{DataError, DataProblem, Result};
use crate::saved::array;

/// What is predicted for a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A class.
    #[default]
    Classification,
    /// A number.
    Regression,
}

impl Task {
    /// What targets are, in one word.
    pub fn target_word(self) -> &'static str {
        match self {
            Self::Classification => "classes",
            Self::Regression => "numbers",
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Classification => "classification",
            Self::Regression => "regression",
        })
    }
}

/// The targets of some rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Targets {
    /// A class each.
    Classes(#[serde(with = "array")] Vec<ClassId>),
    /// A number each.
    Values(#[serde(with = "array")] Vec<f64>),
}

impl Targets {
    /// No targets yet, of this task.
    pub fn empty(task: Task) -> Self {
        match task {
            Task::Classification => Self::Classes(Vec::new()),
            Task::Regression => Self::Values(Vec::new()),
        }
    }

    /// The same, borrowed.
    pub fn view(&self) -> TargetSlice<'_> {
        match self {
            Self::Classes(classes) => TargetSlice::Classes(classes),
            Self::Values(values) => TargetSlice::Values(values),
        }
    }

    /// Those of the chosen rows, in the order given.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Classes(classes) => Self::Classes(rows.iter().map(|&row| classes[row]).collect()),
            Self::Values(values) => Self::Values(rows.iter().map(|&row| values[row]).collect()),
        }
    }

    /// Adds targets of the same task at the end.
    pub fn extend(&mut self, more: TargetSlice<'_>) {
        match self {
            Self::Classes(classes) => classes.extend_from_slice(more.labels()),
            Self::Values(values) => values.extend_from_slice(more.values()),
        }
    }

    /// Puts another target of the same task in the place of one.
    pub fn replace(&mut self, row: usize, target: Target) {
        match (self, target) {
            (Self::Classes(classes), Target::Class(class)) => classes[row] = class,
            (Self::Values(values), Target::Value(value)) => values[row] = value,
            _ => {}
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.capacity() * size_of::<ClassId>(),
            Self::Values(values) => values.capacity() * size_of::<f64>(),
        }
    }
}

impl From<Vec<ClassId>> for Targets {
    fn from(classes: Vec<ClassId>) -> Self {
        Self::Classes(classes)
    }
}

impl From<Vec<f64>> for Targets {
    fn from(values: Vec<f64>) -> Self {
        Self::Values(values)
    }
}

/// The target of one row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A class.
    Class(ClassId),
    /// A number.
    Value(f64),
}

impl From<Target> for Targets {
    fn from(target: Target) -> Self {
        match target {
            Target::Class(class) => Self::Classes(vec![class]),
            Target::Value(value) => Self::Values(vec![value]),
        }
    }
}

/// The targets of some rows, borrowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TargetSlice<'a> {
    /// A class each.
    Classes(&'a [ClassId]),
    /// A number each.
    Values(&'a [f64]),
}

impl<'a> TargetSlice<'a> {
    /// The task they are of.
    pub fn task(self) -> Task {
        match self {
            Self::Classes(_) => Task::Classification,
            Self::Values(_) => Task::Regression,
        }
    }

    /// How many there are.
    pub fn len(self) -> usize {
        match self {
            Self::Classes(classes) => classes.len(),
            Self::Values(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Those of some rows.
    #[must_use]
    pub fn slice(self, rows: Range<usize>) -> Self {
        match self {
            Self::Classes(classes) => Self::Classes(&classes[rows]),
            Self::Values(values) => Self::Values(&values[rows]),
        }
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Target> + 'a {
        let classes = self.labels().iter().map(|class| Target::Class(*class));
        classes.chain(self.values().iter().map(|value| Target::Value(*value)))
    }

    /// The same, owned.
    pub fn to_targets(self) -> Targets {
        match self {
            Self::Classes(classes) => Targets::Classes(classes.to_vec()),
            Self::Values(values) => Targets::Values(values.to_vec()),
        }
    }

    /// The classes; none for a regression.
    pub fn labels(self) -> &'a [ClassId] {
        if let Self::Classes(classes) = self { classes } else { &[] }
    }

    /// The numbers; none for a classification.
    pub fn values(self) -> &'a [f64] {
        if let Self::Values(values) = self { values } else { &[] }
    }

    /// How many there are of each class, up to the last one that has any; none for a regression.
    pub fn class_counts(self) -> Vec<u64> {
        let mut counts = Vec::new();
        for label in self.labels() {
            counts.resize(counts.len().max(label.index() + 1), 0);
            counts[label.index()] += 1;
        }
        counts
    }

    /// Fails unless they are of this task.
    pub fn check_task(self, expected: Task) -> Result<()> {
        let got = self.task();
        if got == expected { Ok(()) } else { Err(DataProblem::WrongTask { expected, got }.into()) }
    }

    /// Fails on a class that the schema does not have, and on a number that is not finite.
    pub(super) fn check(self, schema: &Schema) -> Result<()> {
        let (row, problem) = match self {
            Self::Classes(classes) => {
                let n = schema.n_classes();
                let Some(row) = classes.iter().position(|class| class.index() >= n) else { return Ok(()) };
                let known = format!("classes 0 to {}", n.saturating_sub(1));
                (row, DataProblem::UnknownLabel { label: classes[row].0.to_string(), known })
            }
            Self::Values(values) => {
                let Some(row) = values.iter().position(|value| !value.is_finite()) else { return Ok(()) };
                (row, DataProblem::Infinite { text: values[row].to_string() })
            }
        };
        Err(DataError::from(problem).at_row(row as u64 + 1).into())
    }
}

impl<'a> From<&'a [ClassId]> for TargetSlice<'a> {
    fn from(classes: &'a [ClassId]) -> Self {
        Self::Classes(classes)
    }
}

impl<'a> From<&'a [f64]> for TargetSlice<'a> {
    fn from(values: &'a [f64]) -> Self {
        Self::Values(values)
    }
}
