//! Class labels as people write them, and the small numbers models use for them.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Task;
use super::schema::MAX_CLASSES;
use crate::error::{DataProblem, Result};

/// A class, by its place in the [`LabelTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClassId(pub u32);

impl ClassId {
    /// The place as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The labels of a task in a fixed order: class `i` is column `i` of every probability table.
///
/// The table only grows: a label that turns up later goes to the end, so old columns keep their place. Where numbers are predicted, the table
/// is [one of numbers](Self::of_numbers): it has no labels and takes none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct LabelTable {
    names: Vec<String>,
    ids: HashMap<String, ClassId>,
    is_of_numbers: bool,
}

impl LabelTable {
    /// That of a regression: there are no classes.
    pub fn of_numbers() -> Self {
        Self { is_of_numbers: true, ..Self::default() }
    }

    /// Whether it is of classes or of numbers.
    pub fn task(&self) -> Task {
        if self.is_of_numbers { Task::Regression } else { Task::Classification }
    }

    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no classes yet.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The labels in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The label of a class; `"?"` for one outside the table.
    pub fn name(&self, class: ClassId) -> &str {
        self.names.get(class.index()).map_or("?", String::as_str)
    }

    /// The class of a label, if it is known. Numbers match however they are written: `6`, `6.0`, `6.0000`.
    pub fn get(&self, label: &str) -> Option<ClassId> {
        self.ids.get(label).or_else(|| self.ids.get(canonical_label(label).as_ref())).copied()
    }

    /// The class of a label, which is added at the end if it is new. Fails where numbers are predicted.
    pub fn get_or_add(&mut self, label: &str) -> Result<ClassId> {
        if self.is_of_numbers {
            return Err(
                DataProblem::WrongTask { expected: Task::Classification, got: Task::Regression }.into()
            );
        }
        if let Some(id) = self.get(label) {
            return Ok(id);
        }
        if self.names.len() >= MAX_CLASSES {
            return Err(DataProblem::TooManyClasses.into());
        }
        let id = ClassId(self.names.len() as u32);
        let name = canonical_label(label).into_owned();
        self.ids.insert(name.clone(), id);
        self.names.push(name);
        Ok(id)
    }

    /// Puts the labels in order (numbers by value, then text) and returns for each old class its new one.
    pub fn sort(&mut self) -> Vec<ClassId> {
        let number = |s: &str| s.parse::<f64>().ok().filter(|v| !v.is_nan());
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&self.names[a], &self.names[b]);
            match (number(a), number(b)) {
                (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => a.cmp(b),
            }
        });
        let mut new_of_old = vec![ClassId(0); order.len()];
        for (new, &old) in order.iter().enumerate() {
            new_of_old[old] = ClassId(new as u32);
        }
        let sorted = order.iter().map(|&old| std::mem::take(&mut self.names[old])).collect::<Vec<_>>();
        *self = Self { is_of_numbers: self.is_of_numbers, ..sorted.into() };
        new_of_old
    }
}

impl From<Vec<String>> for LabelTable {
    fn from(names: Vec<String>) -> Self {
        let ids = names.iter().enumerate().map(|(i, n)| (n.clone(), ClassId(i as u32))).collect();
        Self { names, ids, is_of_numbers: false }
    }
}

impl From<LabelTable> for Vec<String> {
    fn from(table: LabelTable) -> Self {
        table.names
    }
}

/// A label in the one form under which it is kept: white space trimmed, and whole numbers without a decimal part, so
/// that `6`, `6.0` and `6.0000` are one class. Text like `007` that is a number only by accident stays as it is.
pub fn canonical_label(label: &str) -> std::borrow::Cow<'_, str> {
    let text = label.trim();
    let looks_decimal = text.contains('.') || text.contains('e') || text.contains('E');
    if looks_decimal && let Ok(value) = text.parse::<f64>() {
        if value.is_finite() && value.fract() == 0.0 && value.abs() < 1e15 {
            return format!("{}", value as i64).into();
        }
        if value.is_finite() {
            return format!("{value}").into();
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_one_label_however_written() {
        let mut table = LabelTable::default();
        let six = table.get_or_add("6.0000").unwrap();
        assert_eq!(table.get("6"), Some(six));
        assert_eq!(table.get(" 6.0 "), Some(six));
        assert_eq!(table.name(six), "6");
        assert_eq!(canonical_label("007"), "007");
        assert_eq!(canonical_label("0.50"), "0.5");
        assert_eq!(canonical_label("-1.0"), "-1");
    }

    #[test]
    fn numbers_have_no_labels() {
        let mut table = LabelTable::of_numbers();
        assert_eq!((table.task(), LabelTable::default().task()), (Task::Regression, Task::Classification));
        assert!(table.get_or_add("a").unwrap_err().to_string().contains("needs classes"));
        assert!(table.is_empty() && table.sort().is_empty() && table.task() == Task::Regression);
        assert_ne!(table, LabelTable::default());
    }

    #[test]
    fn sorting_keeps_numbers_by_value_and_tells_where_each_went() {
        let mut table: LabelTable = ["10", "b", "9", "a"].map(String::from).to_vec().into();
        let moved = table.sort();
        assert_eq!(table.names(), ["9", "10", "a", "b"]);
        assert_eq!(moved, [ClassId(1), ClassId(3), ClassId(0), ClassId(2)]);
        assert_eq!(table.get("10"), Some(ClassId(1)));
    }
}
