//! What is in a file, without training on it.

use std::collections::HashSet;
use std::path::Path;

use hedgerow_core::{ColumnKind, Result, Schema};
use serde::Serialize;

use crate::options::ReadOptions;
use crate::reader::RowReader;

/// Different values of a numeric column are counted up to this many.
const MAX_DISTINCT: usize = 10_000;
/// How many categories are listed.
const TOP: usize = 10;
const BATCH_VALUES: usize = 1 << 20;

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The format's name.
    pub format: String,
    /// How many rows.
    pub rows: u64,
    /// What the columns and classes are; the classes are in order of value.
    pub schema: Schema,
    /// Each feature column.
    pub columns: Vec<ColumnSummary>,
    /// How many rows each class has, where a target was given or found.
    pub classes: Option<Vec<ClassCount>>,
    /// How many rows have no label, where a target was given or found.
    pub missing_labels: Option<u64>,
}

/// What is in a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// Its kind in one word.
    pub kind: String,
    /// How many rows have no value.
    pub missing: u64,
    /// How many different values there are.
    pub distinct: usize,
    /// Whether there are more different values than were counted.
    pub distinct_capped: bool,
    /// The smallest number.
    pub min: Option<f32>,
    /// The largest number.
    pub max: Option<f32>,
    /// The mean of the numbers.
    pub mean: Option<f64>,
    /// The most frequent categories, most frequent first.
    pub top: Vec<CategoryCount>,
}

/// A category and how often it comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CategoryCount {
    /// Its name.
    pub name: String,
    /// In how many rows.
    pub count: u64,
}

/// A class and how often it comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassCount {
    /// Its label.
    pub label: String,
    /// In how many rows.
    pub count: u64,
}

/// Reads a whole file, batch by batch, and describes its content. A target is not needed.
pub fn summarize(path: &Path, options: &ReadOptions) -> Result<Summary> {
    let mut reader = RowReader::open(path, options)?;
    let n_features = reader.schema().n_features();
    let mut tallies: Vec<Tally> = (0..n_features).map(|_| Tally::default()).collect();
    let (mut rows, mut missing_labels, mut has_labels) = (0, 0, false);
    let mut class_counts: Vec<u64> = Vec::new();
    while let Some(batch) = reader.next_batch((BATCH_VALUES / n_features.max(1)).max(1))? {
        rows += batch.x.nrows() as u64;
        for row in batch.x.rows() {
            for ((tally, value), column) in tallies.iter_mut().zip(row).zip(&reader.schema().columns) {
                tally.add(*value, column.kind == ColumnKind::Numeric);
            }
        }
        if let Some(labels) = batch.labels {
            has_labels = true;
            class_counts.resize(reader.schema().n_classes(), 0);
            for label in labels {
                match label {
                    Some(class) => class_counts[class.index()] += 1,
                    None => missing_labels += 1,
                }
            }
        }
    }
    let format = reader.format().to_string();
    let mut schema = reader.into_schema();
    let columns = tallies.into_iter().zip(&schema.columns).map(|(t, c)| t.finish(&c.name, &c.kind)).collect();
    let new_of_old = schema.labels.sort();
    let mut sorted_counts = vec![0; class_counts.len()];
    for (old, count) in class_counts.into_iter().enumerate() {
        sorted_counts[new_of_old[old].index()] = count;
    }
    let names = schema.labels.names().iter().cloned();
    let classes = names.zip(sorted_counts).map(|(label, count)| ClassCount { label, count }).collect();
    Ok(Summary {
        format,
        rows,
        columns,
        classes: has_labels.then_some(classes),
        missing_labels: has_labels.then_some(missing_labels),
        schema,
    })
}

/// What was seen of a column so far.
#[derive(Debug, Default)]
struct Tally {
    missing: u64,
    present: u64,
    sum: f64,
    range: Option<(f32, f32)>,
    distinct: HashSet<u32>,
    capped: bool,
    counts: Vec<u64>,
}

impl Tally {
    fn add(&mut self, value: f32, is_numeric: bool) {
        if value.is_nan() {
            self.missing += 1;
            return;
        }
        self.present += 1;
        if !is_numeric {
            let code = value as usize;
            if code >= self.counts.len() {
                self.counts.resize(code + 1, 0);
            }
            self.counts[code] += 1;
            return;
        }
        self.sum += f64::from(value);
        let (min, max) = self.range.unwrap_or((value, value));
        self.range = Some((min.min(value), max.max(value)));
        if !self.capped {
            // Zero has two bit patterns and is one value.
            self.distinct.insert((value + 0.0).to_bits());
            if self.distinct.len() > MAX_DISTINCT {
                self.capped = true;
                self.distinct = HashSet::new();
            }
        }
    }

    fn finish(self, name: &str, kind: &ColumnKind) -> ColumnSummary {
        let words = match kind {
            ColumnKind::Numeric => Vec::new(),
            ColumnKind::Boolean { no, yes } => vec![no.clone(), yes.clone()],
            ColumnKind::Categorical { categories } => categories.clone(),
        };
        let mut top: Vec<CategoryCount> = words
            .into_iter()
            .zip(self.counts)
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| CategoryCount { name, count })
            .collect();
        let distinct = match kind {
            ColumnKind::Numeric if self.capped => MAX_DISTINCT,
            ColumnKind::Numeric => self.distinct.len(),
            _ => top.len(),
        };
        top.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        top.truncate(TOP);
        ColumnSummary {
            name: name.to_string(),
            kind: kind.word().to_string(),
            missing: self.missing,
            distinct,
            distinct_capped: self.capped,
            min: self.range.map(|(min, _)| min),
            max: self.range.map(|(_, max)| max),
            mean: self.range.map(|_| self.sum / self.present as f64),
            top,
        }
    }
}
