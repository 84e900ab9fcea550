//! Labels: a stream of them from a file of their own, and their mapping to classes.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use hedgerow_core::data::{MAX_CLASSES, canonical_label};
use hedgerow_core::{ClassId, DataProblem, Error, LabelTable, Result};

use crate::block::{Cell, ColumnCells};
use crate::format::Format;
use crate::number::{is_missing, with_point};
use crate::open::Place;
use crate::source::{RawArray, malformed, open_labels};

/// Labels that stand in an array of their own.
pub(crate) struct LabelStream {
    array: RawArray,
    /// What the target is called.
    pub name: String,
}

impl LabelStream {
    /// Opens a file of labels.
    pub(crate) fn open(path: &Path, format: Option<Format>) -> Result<Self> {
        let format = match format {
            Some(format) => format,
            None => Format::of_path(path).ok_or_else(|| Error::from(Format::unknown()).in_file(path))?.0,
        };
        let array = open_labels(&Place::new(path), format);
        array.and_then(|array| Self::new(array, "label")).map_err(|e| e.in_file(path))
    }

    /// The labels in an array that has one dimension, or two of which the second is 1.
    pub(crate) fn new(mut array: RawArray, name: &str) -> Result<Self> {
        if let [_, 1] = array.shape[..] {
            array.shape.pop();
        }
        if array.shape.len() != 1 {
            let got = format!("{} dimensions", array.shape.len());
            return Err(malformed(array.format, "labels in an array of one dimension", got).into());
        }
        Ok(Self { array, name: name.to_string() })
    }

    /// How many labels there are.
    pub(crate) fn n_labels(&self) -> u64 {
        self.array.n_rows()
    }

    /// How many of them have not been read yet.
    pub(crate) fn n_left(&self) -> u64 {
        self.n_labels() - self.array.n_read
    }

    /// The next `n` labels, or fewer where they end.
    pub(crate) fn read(&mut self, n: usize) -> Result<ColumnCells> {
        let labels = self.array.read_labels(n);
        labels.map_err(|e| e.in_file(&self.array.place.shown()))
    }
}

/// Maps labels to classes.
#[derive(Debug, Default)]
pub(crate) struct LabelEncoder {
    /// Whether new labels become new classes.
    pub grow: bool,
    /// Labels that are no class, and how often they came.
    pub unknown: BTreeMap<String, u64>,
    of_number: HashMap<i64, ClassId>,
}

impl LabelEncoder {
    /// The class of a label in row `row`, from 1; `None` if it is missing or unknown.
    pub(crate) fn class(
        &mut self,
        table: &mut LabelTable,
        cell: Cell<'_>,
        row: u64,
    ) -> Result<Option<ClassId>> {
        match cell {
            Cell::Text(field, decimal) => self.text(table, &with_point(field, decimal), row),
            Cell::Int(value) => self.int(table, value, row),
            Cell::Number(value) => self.number(table, value, row),
            Cell::Missing => Ok(None),
        }
    }

    fn text(&mut self, table: &mut LabelTable, field: &[u8], row: u64) -> Result<Option<ClassId>> {
        if is_missing(field) {
            return Ok(None);
        }
        let text = std::str::from_utf8(field).map_err(|_| DataProblem::InvalidUtf8)?;
        if self.grow {
            return match table.get_or_add(text) {
                Ok(class) => Ok(Some(class)),
                Err(error) => Err(continuous_problem(table, row).map_or(error, Error::from)),
            };
        }
        let class = table.get(text);
        if class.is_none() {
            self.note_unknown(text);
        }
        Ok(class)
    }

    fn number(&mut self, table: &mut LabelTable, value: f64, row: u64) -> Result<Option<ClassId>> {
        if value.is_nan() {
            return Ok(None);
        }
        if value.is_infinite() {
            return Err(DataProblem::Infinite { text: value.to_string() }.into());
        }
        if value.fract() == 0.0 && value.abs() < 1e15 {
            return self.int(table, value as i64, row);
        }
        self.text(table, number_text(value).as_bytes(), row)
    }

    fn int(&mut self, table: &mut LabelTable, value: i64, row: u64) -> Result<Option<ClassId>> {
        if let Some(&class) = self.of_number.get(&value) {
            return Ok(Some(class));
        }
        let class = self.text(table, value.to_string().as_bytes(), row)?;
        if let Some(class) = class {
            self.of_number.insert(value, class);
        }
        Ok(class)
    }

    /// Takes the classes after the first `n` out of the table again.
    pub(crate) fn forget_after(&mut self, table: &mut LabelTable, n: usize) {
        if table.len() > n {
            *table = table.names()[..n].to_vec().into();
            self.forget_numbers();
        }
    }

    /// Forgets which numbers it has met, for a table that has changed.
    pub(crate) fn forget_numbers(&mut self) {
        self.of_number.clear();
    }

    fn note_unknown(&mut self, text: &str) {
        let text = canonical_label(text);
        let is_new = !self.unknown.contains_key(text.as_ref());
        // A column of keys taken for labels must not fill the memory.
        let key = if is_new && self.unknown.len() >= MAX_CLASSES { "…".into() } else { text.into_owned() };
        *self.unknown.entry(key).or_insert(0) += 1;
    }
}

/// A number as a person would write it. One that came from 32 bits is written with the digits those bits carry.
pub(crate) fn number_text(value: f64) -> String {
    let narrow = value as f32;
    if f64::from(narrow) == value { narrow.to_string() } else { value.to_string() }
}

/// The problem of a target that holds measurements: numbers of which some are not whole and many differ, or whole
/// numbers most of which differ.
pub(crate) fn continuous_problem(table: &LabelTable, rows: u64) -> Option<DataProblem> {
    let distinct = table.len();
    let values: Option<Vec<f64>> = table.names().iter().map(|n| n.parse().ok()).collect();
    let values = values.filter(|v| v.iter().all(|x| x.is_finite()))?;
    let is_fraction = values.iter().any(|v| v.fract() != 0.0);
    let is_continuous = distinct >= MAX_CLASSES
        || (is_fraction && distinct as u64 > 20.max(rows / 20))
        || (!is_fraction && distinct > 100 && distinct as u64 > rows / 2);
    let example = values.iter().position(|v| v.fract() != 0.0).unwrap_or(0);
    is_continuous.then(|| DataProblem::ContinuousTarget {
        distinct,
        example: table.names().get(example).cloned().unwrap_or_default(),
        rows: rows as usize,
    })
}
