//! From cells to numbers, by the schema.

use std::collections::HashMap;
use std::ops::Range;

use hedgerow_core::data::{MAX_CATEGORIES, canonical_label};
use hedgerow_core::{ClassId, ColumnKind, DataProblem, Error, Result, Schema, Task};

use crate::block::{Block, Cells, ColumnCells, LabelCells, SourceColumn};
use crate::delimiter::Decimal;
use crate::labels::{LabelEncoder, number_text};
use crate::located::located;
use crate::number::{Parsed, is_missing, is_missing_number, parse_as, trim, with_point};
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
    pub(crate) fn new(schema: Schema, plan: Plan, columns: &[SourceColumn], growth: &[Growth]) -> Self {
        let codes = schema.columns.iter().zip(growth).map(|(c, g)| Codes::new(&c.kind, *g)).collect();
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
                let weight = weight_of(self.cell(block, row, column))
                    .map_err(|problem| in_cell(problem.into(), block, row, &self.names[column]))?;
                weights.push(weight);
            }
        }
        if self.plan.target == Target::Absent {
            return Ok(());
        }
        match self.schema.task {
            Task::Classification => out.labels.get_or_insert_default().reserve(rows.len()),
            Task::Regression => out.values.get_or_insert_default().reserve(rows.len()),
        }
        for row in rows {
            let is_missing = match self.schema.task {
                Task::Classification => self.label_at(block, row).map(|class| {
                    out.labels.get_or_insert_default().push(class);
                    class.is_none()
                }),
                Task::Regression => {
                    value_of(self.target_cell(block, row)).map_err(Error::from).map(|value| {
                        out.values.get_or_insert_default().push(value);
                        value.is_nan()
                    })
                }
            };
            let found = match is_missing {
                Ok(true) if self.require_targets => Err(DataProblem::MissingLabel.into()),
                other => other,
            };
            found.map_err(|error| {
                let name = match self.plan.target {
                    Target::Column(i) => self.names[i].as_str(),
                    _ => self.schema.target.as_deref().unwrap_or("label"),
                };
                in_cell(error, block, row, name)
            })?;
        }
        Ok(())
    }

    fn label_at(&mut self, block: &Block, row: usize) -> Result<Option<ClassId>> {
        let n = block.first_row + row as u64 + 1;
        let cell = self.target_cell(block, row);
        let (table, labels) = (&mut self.schema.labels, &mut self.labels);
        match cell {
            Cell::Text(field, decimal) => labels.text(table, &with_point(field, decimal), n),
            Cell::Int(value) => labels.int(table, value, n),
            Cell::Number(value) => labels.number(table, value, n),
            Cell::Missing => Ok(None),
        }
    }

    fn target_cell<'a>(&self, block: &'a Block, row: usize) -> Cell<'a> {
        match (self.plan.target, &block.labels) {
            (Target::Column(column), _) => self.cell(block, row, column),
            (_, Some(LabelCells::Ints(values))) => Cell::Int(values[row]),
            (_, Some(LabelCells::Floats(values))) => Cell::Number(values[row]),
            (_, Some(LabelCells::Text(cells))) => Cell::Text(cells.field(row, 0), Decimal::Point),
            (_, None) => Cell::Missing,
        }
    }

    fn cell<'a>(&self, block: &'a Block, row: usize, column: usize) -> Cell<'a> {
        let place = row * self.names.len() + column;
        match &block.cells {
            Cells::Text(cells) => Cell::Text(cells.field(row, column), cells.decimal),
            Cells::Bytes(values) => Cell::Int(i64::from(values[place])),
            Cells::Numbers(values) => Cell::Number(f64::from(values[place])),
            Cells::Columns(columns) => match &columns[column] {
                ColumnCells::Numbers(values) => Cell::Number(values[row]),
                ColumnCells::Text(cells, valid) if valid[row] => {
                    Cell::Text(cells.field(row, 0), cells.decimal)
                }
                _ => Cell::Missing,
            },
        }
    }

    fn encode_features(&mut self, block: &Block, rows: Range<usize>, out: &mut Encoded) -> Result<()> {
        let start = out.x.len();
        match &block.cells {
            Cells::Columns(columns) => {
                out.x.resize(start + rows.len() * self.plan.n_features, f32::NAN);
                self.encode_columns(columns, block, rows, &mut out.x[start..])
            }
            Cells::Bytes(values) if self.takes_numbers() => {
                let width = self.plan.n_features;
                out.x.extend(values[rows.start * width..rows.end * width].iter().map(|&v| f32::from(v)));
                Ok(())
            }
            // Where a value is infinite, the way below finds its place.
            Cells::Numbers(values) if self.takes_numbers() && !values.iter().any(|v| v.is_infinite()) => {
                let width = self.plan.n_features;
                out.x.extend_from_slice(&values[rows.start * width..rows.end * width]);
                Ok(())
            }
            _ => {
                out.x.resize(start + rows.len() * self.plan.n_features, f32::NAN);
                self.encode_rows(block, rows, &mut out.x[start..])
            }
        }
    }

    fn encode_rows(&mut self, block: &Block, rows: Range<usize>, x: &mut [f32]) -> Result<()> {
        let (width, n_features) = (self.names.len(), self.plan.n_features);
        for (row, to) in rows.zip(x.chunks_exact_mut(n_features.max(1))) {
            for (i, role) in self.plan.roles.iter().enumerate() {
                let Role::Feature(k) = *role else { continue };
                let (codes, kind) = (&mut self.codes[k], &mut self.schema.columns[k].kind);
                let value = match &block.cells {
                    Cells::Text(cells) => codes.text(kind, cells.field(row, i), cells.decimal),
                    Cells::Bytes(values) => codes.number(kind, f64::from(values[row * width + i])),
                    Cells::Numbers(values) => codes.number(kind, f64::from(values[row * width + i])),
                    Cells::Columns(_) => Ok(f32::NAN),
                };
                to[k] = match value {
                    Ok(value) => value,
                    Err(problem) => return Err(in_cell(problem.into(), block, row, &self.names[i])),
                };
            }
        }
        Ok(())
    }

    fn encode_columns(
        &mut self,
        columns: &[ColumnCells],
        block: &Block,
        rows: Range<usize>,
        x: &mut [f32],
    ) -> Result<()> {
        for (i, role) in self.plan.roles.iter().enumerate() {
            let Role::Feature(k) = *role else { continue };
            let (codes, kind) = (&mut self.codes[k], &mut self.schema.columns[k].kind);
            for (row, to) in rows.clone().zip(x.chunks_exact_mut(self.plan.n_features.max(1))) {
                let value = match &columns[i] {
                    ColumnCells::Numbers(values) => codes.number(kind, values[row]),
                    ColumnCells::Text(cells, valid) if valid[row] => {
                        codes.text(kind, cells.field(row, 0), cells.decimal)
                    }
                    _ => Ok(f32::NAN),
                };
                to[k] = value.map_err(|problem| in_cell(problem.into(), block, row, &self.names[i]))?;
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
        let field = trim(field);
        match kind {
            ColumnKind::Numeric => match parse_as(field, decimal) {
                Parsed::Number(value) if value.is_finite() => Ok(value),
                Parsed::Number(_) => Err(DataProblem::Infinite { text: utf8(field)?.to_string() }),
                Parsed::Missing => Ok(f32::NAN),
                Parsed::Text => Err(DataProblem::NotANumber { text: utf8(field)?.to_string() }),
            },
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
            Growth::Add if categories.len() >= MAX_CATEGORIES => {
                Err(DataProblem::TooManyCategories { limit: MAX_CATEGORIES })
            }
            Growth::Add => {
                let code = categories.len() as u32;
                self.of_name.insert(name.to_string(), code);
                categories.push(name.into_owned());
                Ok(code as f32)
            }
        }
    }
}

fn utf8(field: &[u8]) -> Result<&str, DataProblem> {
    std::str::from_utf8(field).map_err(|_| DataProblem::InvalidUtf8)
}

/// One cell, in whatever form its block has it.
#[derive(Clone, Copy)]
enum Cell<'a> {
    Text(&'a [u8], Decimal),
    Int(i64),
    Number(f64),
    Missing,
}

/// The target of a regression; `NaN` is missing. Text is read in full precision.
fn value_of(cell: Cell<'_>) -> Result<f64, DataProblem> {
    let value = match cell {
        Cell::Text(field, decimal) => {
            let field = trim(field);
            match parse_as(field, decimal) {
                Parsed::Missing => f64::NAN,
                Parsed::Text => return Err(DataProblem::NotAValue { text: utf8(field)?.to_string() }),
                Parsed::Number(narrow) => {
                    utf8(&with_point(field, decimal))?.parse().unwrap_or(f64::from(narrow))
                }
            }
        }
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
    let value = match cell {
        Cell::Text(field, decimal) => {
            let field = trim(field);
            match parse_as(field, decimal) {
                Parsed::Number(value) if !is_missing_number(field) => value,
                _ => {
                    let got = format!("{:?}", String::from_utf8_lossy(field));
                    return Err(DataProblem::BadWeight { got });
                }
            }
        }
        Cell::Int(value) => value as f32,
        Cell::Number(value) => value as f32,
        Cell::Missing => return Err(DataProblem::BadWeight { got: "text or nothing".into() }),
    };
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(DataProblem::BadWeight { got: value.to_string() })
    }
}

/// Adds the place to an error about one cell.
fn in_cell(error: Error, block: &Block, row: usize, column: &str) -> Error {
    located(error, Some(block.first_row + row as u64 + 1), block.lines.get(row).copied(), Some(column))
}
