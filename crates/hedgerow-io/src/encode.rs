//! From cells to numbers, by the schema.

use std::collections::HashMap;
use std::ops::Range;

use hedgerow_core::data::{MAX_CATEGORIES, canonical_label};
use hedgerow_core::{ClassId, ColumnKind, DataError, DataProblem, Error, Result, Schema, Task};

use crate::block::{Block, Cell, Cells, SourceColumn};
use crate::delimiter::Decimal;
use crate::labels::{LabelEncoder, number_text};
use crate::located::in_cell;
use crate::number::{Parsed, finite, is_missing, parse_as, utf8, with_point};
use crate::plan::{Plan, Role, Target};

/// What becomes of a category that is not in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// It is added.
    Add,
    /// It counts as missing.
    Missing,
    /// It is an error, because the file itself declares the list.
    Refuse,
}

/// Rows that have been encoded.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub n_rows: usize,
    pub x: Vec<f32>,
    pub labels: Option<Vec<Option<ClassId>>>,
    pub values: Option<Vec<f64>>,
    pub weights: Option<Vec<f32>>,
}

impl Encoded {
    /// Whether each row has no target; nothing where all have one.
    pub(crate) fn without_target(&self) -> Vec<bool> {
        let of_labels = self.labels.iter().flatten().map(Option::is_none);
        let missing: Vec<bool> =
            of_labels.chain(self.values.iter().flatten().map(|value| value.is_nan())).collect();
        if missing.contains(&true) { missing } else { Vec::new() }
    }

    /// Drops all rows after the first.
    fn truncate(&mut self, n_rows: usize, n_features: usize) {
        self.n_rows = n_rows;
        self.x.truncate(n_rows * n_features);
        self.labels.iter_mut().for_each(|labels| labels.truncate(n_rows));
        self.values.iter_mut().for_each(|values| values.truncate(n_rows));
        self.weights.iter_mut().for_each(|weights| weights.truncate(n_rows));
    }
}

/// Encodes blocks by a schema, which may grow on the way.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub schema: Schema,
    pub plan: Plan,
    pub labels: LabelEncoder,
    /// Whether a row without a target is an error.
    pub require_targets: bool,
    codes: Vec<Codes>,
    names: Vec<String>,
}

impl Encoder {
    /// `growth` tells for each column what becomes of categories that are not in its list.
    pub(crate) fn new(
        schema: Schema,
        plan: Plan,
        columns: &[SourceColumn],
        growth: impl Fn(&SourceColumn) -> Growth,
    ) -> Self {
        let codes = schema.columns.iter().map(|c| Codes::new(&c.kind, Growth::Add));
        let mut codes: Vec<Codes> = codes.collect();
        for (column, role) in columns.iter().zip(&plan.roles) {
            if let Role::Feature(k) = *role {
                codes[k].growth = growth(column);
            }
        }
        let names = columns.iter().map(|c| c.name.clone()).collect();
        Self { schema, plan, labels: LabelEncoder::default(), require_targets: false, codes, names }
    }

    /// Whether a block of numbers can be used as features as it is.
    pub(crate) fn takes_numbers(&self) -> bool {
        self.plan.is_identity() && self.schema.columns.iter().all(|c| c.kind == ColumnKind::Numeric)
    }

    /// Encodes some rows of a block and adds them to `out`.
    pub(crate) fn encode(&mut self, block: &Block, rows: Range<usize>, out: &mut Encoded) -> Result<()> {
        self.encode_targets(block, rows.clone(), out)?;
        self.encode_features(block, rows.clone(), out)?;
        out.n_rows += rows.len();
        Ok(())
    }

    /// The same for rows of which one may be bad: those before it are added, and then comes the error.
    pub(crate) fn encode_up_to_bad(
        &mut self,
        block: &Block,
        rows: Range<usize>,
        out: &mut Encoded,
    ) -> Result<()> {
        let (before, n_labels) = (out.n_rows, self.schema.n_classes());
        let Err(error) = self.encode(block, rows.clone(), out) else { return Ok(()) };
        out.truncate(before, self.plan.n_features);
        self.labels.forget_after(&mut self.schema.labels, n_labels);
        if let Error::Data(data) = &error
            && let Some(row) = data.row
        {
            let bad = row.saturating_sub(block.first_row + 1) as usize;
            self.encode(block, rows.start..bad.clamp(rows.start, rows.end), out)?;
        }
        Err(error)
    }

    /// Goes on with a schema of the same columns.
    pub(crate) fn go_on_with(&mut self, schema: Schema) {
        for (codes, column) in self.codes.iter_mut().zip(&schema.columns) {
            *codes = Codes::new(&column.kind, codes.growth);
        }
        self.labels.forget_numbers();
        self.schema = schema;
    }

    /// Lets no column change its kind: in one of two words, a third counts as missing.
    pub(crate) fn keep_kinds(&mut self) {
        for (codes, column) in self.codes.iter_mut().zip(&self.schema.columns) {
            if let ColumnKind::Boolean { .. } = column.kind {
                codes.growth = Growth::Missing;
            }
        }
    }

    /// Encodes the targets and weights only.
    pub(crate) fn encode_targets(
        &mut self,
        block: &Block,
        rows: Range<usize>,
        out: &mut Encoded,
    ) -> Result<()> {
        if let Some(column) = self.plan.weight {
            let weights = out.weights.get_or_insert_default();
            for row in rows.clone() {
                let weight = weight_of(block.cell(row, column, self.names.len()))
                    .map_err(|problem| in_cell(problem.into(), block, row, Some(&self.names[column])))?;
                weights.push(weight);
            }
        }
        if self.plan.target == Target::Absent {
            return Ok(());
        }
        for row in rows {
            self.encode_target(block, row, out).map_err(|error| {
                let name = match self.plan.target {
                    Target::Column(i) => self.names[i].as_str(),
                    _ => self.schema.target.as_deref().unwrap_or("label"),
                };
                in_cell(error, block, row, Some(name))
            })?;
        }
        Ok(())
    }

    fn encode_target(&mut self, block: &Block, row: usize, out: &mut Encoded) -> Result<()> {
        let cell = match (self.plan.target, &block.labels) {
            (Target::Column(column), _) => block.cell(row, column, self.names.len()),
            (_, Some(labels)) => labels.cell(row),
            (_, None) => Cell::Missing,
        };
        let is_missing = match self.schema.task() {
            Task::Classification => {
                let n = block.first_row + row as u64 + 1;
                let class = self.labels.class(&mut self.schema.labels, cell, n)?;
                out.labels.get_or_insert_default().push(class);
                class.is_none()
            }
            Task::Regression => {
                let value = value_of(cell)?;
                out.values.get_or_insert_default().push(value);
                value.is_nan()
            }
        };
        if is_missing && self.require_targets {
            let error = DataError::from(DataProblem::MissingLabel);
            return Err(error.with_hint("--skip-unlabelled leaves such rows out").into());
        }
        Ok(())
    }

    fn encode_features(&mut self, block: &Block, rows: Range<usize>, out: &mut Encoded) -> Result<()> {
        let width = self.plan.n_features;
        let range = rows.start * width..rows.end * width;
        match &block.cells {
            Cells::Bytes(values) if self.takes_numbers() => {
                out.x.extend(values[range].iter().map(|&v| f32::from(v)));
                Ok(())
            }
            // Where a value is infinite, the way below finds its place.
            Cells::Numbers(values) if self.takes_numbers() && !values.iter().any(|v| v.is_infinite()) => {
                out.x.extend_from_slice(&values[range]);
                Ok(())
            }
            _ => {
                let start = out.x.len();
                out.x.resize(start + range.len(), f32::NAN);
                self.encode_cells(block, rows, &mut out.x[start..])
            }
        }
    }

    fn encode_cells(&mut self, block: &Block, rows: Range<usize>, x: &mut [f32]) -> Result<()> {
        let n_columns = self.names.len();
        for (row, to) in rows.zip(x.chunks_exact_mut(self.plan.n_features.max(1))) {
            for (i, role) in self.plan.roles.iter().enumerate() {
                let Role::Feature(k) = *role else { continue };
                let (codes, kind) = (&mut self.codes[k], &mut self.schema.columns[k].kind);
                let value = match block.cell(row, i, n_columns) {
                    Cell::Text(field, decimal) => codes.text(kind, field, decimal),
                    Cell::Int(value) => codes.number(kind, value as f64),
                    Cell::Number(value) => codes.number(kind, value),
                    Cell::Missing => Ok(f32::NAN),
                };
                to[k] = match value {
                    Ok(value) => value,
                    Err(problem) => return Err(in_cell(problem.into(), block, row, Some(&self.names[i]))),
                };
            }
        }
        Ok(())
    }
}

/// The categories of a column by name.
#[derive(Debug)]
struct Codes {
    of_name: HashMap<String, u32>,
    growth: Growth,
}

impl Codes {
    fn new(kind: &ColumnKind, growth: Growth) -> Self {
        let of_name = match kind {
            ColumnKind::Categorical { categories } => {
                categories.iter().enumerate().map(|(i, name)| (name.clone(), i as u32)).collect()
            }
            _ => HashMap::new(),
        };
        Self { of_name, growth }
    }

    /// A field of text as a number.
    fn text(&mut self, kind: &mut ColumnKind, field: &[u8], decimal: Decimal) -> Result<f32, DataProblem> {
        match kind {
            ColumnKind::Numeric => finite(field, decimal),
            ColumnKind::Boolean { no, yes } => {
                if field.eq_ignore_ascii_case(no.as_bytes()) || field == b"0" {
                    Ok(0.0)
                } else if field.eq_ignore_ascii_case(yes.as_bytes()) || field == b"1" {
                    Ok(1.0)
                } else if is_missing(field) || self.growth != Growth::Add {
                    Ok(f32::NAN)
                } else {
                    // A third word makes it a list of names in which the first two keep their numbers.
                    let categories = vec![no.clone(), yes.clone()];
                    *kind = ColumnKind::Categorical { categories };
                    *self = Self::new(kind, self.growth);
                    self.text(kind, field, decimal)
                }
            }
            ColumnKind::Categorical { categories } => {
                let point = with_point(field, decimal);
                let text = utf8(&point)?;
                if let Some(&code) = self.of_name.get(text) {
                    return Ok(code as f32);
                }
                if is_missing(field) {
                    return Ok(f32::NAN);
                }
                self.category(categories, text)
            }
        }
    }

    /// A number, in a column of whatever kind.
    fn number(&mut self, kind: &mut ColumnKind, value: f64) -> Result<f32, DataProblem> {
        let narrow = value as f32;
        if narrow.is_infinite() {
            return Err(DataProblem::Infinite { text: value.to_string() });
        }
        match kind {
            ColumnKind::Categorical { categories } if !value.is_nan() => {
                let text = number_text(value);
                match self.of_name.get(&text) {
                    Some(&code) => Ok(code as f32),
                    None => self.category(categories, &text),
                }
            }
            ColumnKind::Boolean { .. } if value != 0.0 && value != 1.0 => Ok(f32::NAN),
            _ => Ok(narrow),
        }
    }

    /// The code of a name that was not found as it stands.
    fn category(&mut self, categories: &mut Vec<String>, text: &str) -> Result<f32, DataProblem> {
        let name = canonical_label(text);
        if let Some(&code) = self.of_name.get(name.as_ref()) {
            return Ok(code as f32);
        }
        match self.growth {
            Growth::Missing => Ok(f32::NAN),
            Growth::Refuse => Err(DataProblem::Malformed {
                format: "arff",
                expected: format!("one of the {} values declared", categories.len()),
                got: format!("{text:?}"),
            }),
            Growth::Add if categories.len() >= MAX_CATEGORIES => Err(DataProblem::TooManyCategories),
            Growth::Add => {
                let code = categories.len() as u32;
                self.of_name.insert(name.to_string(), code);
                categories.push(name.into_owned());
                Ok(code as f32)
            }
        }
    }
}

/// The target of a regression; `NaN` is missing. Text is read in full precision.
fn value_of(cell: Cell<'_>) -> Result<f64, DataProblem> {
    let value = match cell {
        Cell::Text(field, decimal) => match parse_as(field, decimal) {
            Parsed::Missing => f64::NAN,
            Parsed::Text => return Err(DataProblem::NotAValue(utf8(field)?.to_string())),
            Parsed::Number(narrow) => utf8(&with_point(field, decimal))?.parse().unwrap_or(f64::from(narrow)),
        },
        Cell::Int(value) => value as f64,
        Cell::Number(value) => value,
        Cell::Missing => f64::NAN,
    };
    if (value as f32).is_infinite() {
        return Err(DataProblem::Infinite { text: value.to_string() });
    }
    Ok(value)
}

fn weight_of(cell: Cell<'_>) -> Result<f32, DataProblem> {
    let bad = |got: String| DataProblem::BadWeight(got);
    let value = match cell {
        Cell::Text(field, decimal) => match parse_as(field, decimal) {
            Parsed::Number(value) => value,
            _ => return Err(bad(format!("{:?}", String::from_utf8_lossy(field)))),
        },
        Cell::Int(value) => value as f32,
        Cell::Number(value) => value as f32,
        Cell::Missing => return Err(bad("text or nothing".into())),
    };
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(bad(value.to_string())) }
}
