//! The kind of each column, inferred from the first rows.

use hedgerow_core::data::Column;
use hedgerow_core::{ColumnKind, DataProblem, Result, Schema};

use crate::block::{Block, Cells, Declared, SourceColumn, TextCells};
use crate::located::located;
use crate::number::{Parsed, is_missing, parse_as, trim};
use crate::options::ReadOptions;
use crate::plan::{Plan, Role};

/// How many rows are looked at.
pub(crate) const SAMPLE_ROWS: usize = 1000;

/// Words for no and yes, in small letters.
const TRUTH_WORDS: [(&str, &str); 4] = [("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y")];

/// The schema of the features, without target and labels.
pub(crate) fn infer_schema(
    columns: &[SourceColumn],
    named: bool,
    plan: &Plan,
    options: &ReadOptions,
    sample: &Block,
) -> Result<Schema> {
    let mut forced = vec![false; columns.len()];
    for column in &options.categorical {
        forced[column.resolve(columns)?] = true;
    }
    let mut schema = Schema { named, ..Schema::default() };
    for (i, column) in columns.iter().enumerate() {
        if !matches!(plan.roles[i], Role::Feature(_)) {
            continue;
        }
        let no_categories = || ColumnKind::Categorical { categories: Vec::new() };
        let kind = match (&column.declared, &sample.cells) {
            (Declared::Nominal(names), _) => ColumnKind::Categorical { categories: names.clone() },
            _ if forced[i] => no_categories(),
            (Declared::Text, _) => no_categories(),
            (Declared::Boolean, _) => ColumnKind::Boolean { no: "false".into(), yes: "true".into() },
            (Declared::Unknown, Cells::Text(cells)) => {
                infer_text(cells, sample, i).map_err(|e| located(e, None, None, Some(&column.name)))?
            }
            _ => ColumnKind::Numeric,
        };
        schema.columns.push(Column { name: column.name.clone(), kind });
    }
    Ok(schema)
}

/// The kind of one column of text.
///
/// Numbers only: numeric. Two words for no and yes: boolean. More than a tenth text: categorical. Less is a column of
/// numbers with mistakes in it, and the first of them is reported.
fn infer_text(cells: &TextCells, sample: &Block, column: usize) -> Result<ColumnKind> {
    let (mut n_numbers, mut n_texts) = (0_usize, 0_usize);
    let mut first_text = None;
    let mut truth = Truth::default();
    for row in 0..sample.n_rows {
        let field = trim(cells.field(row, column));
        match parse_as(field, cells.decimal) {
            Parsed::Number(_) => n_numbers += 1,
            Parsed::Missing => {
                // `None` is missing among numbers and a word among words.
                if !is_missing(field) {
                    truth.is_possible = false;
                }
            }
            Parsed::Text => {
                n_texts += 1;
                first_text.get_or_insert(row);
                truth.note(field);
            }
        }
    }
    let Some(row) = first_text else {
        return Ok(ColumnKind::Numeric);
    };
    if n_numbers == 0
        && let Some(kind) = truth.kind()
    {
        return Ok(kind);
    }
    if n_texts * 10 > n_numbers + n_texts {
        return Ok(ColumnKind::Categorical { categories: Vec::new() });
    }
    let problem = match std::str::from_utf8(trim(cells.field(row, column))) {
        Ok(text) => DataProblem::NotANumber { text: text.to_string() },
        Err(_) => DataProblem::InvalidUtf8,
    };
    Err(located(
        problem.into(),
        Some(sample.first_row + row as u64 + 1),
        sample.lines.get(row).copied(),
        None,
    ))
}

/// The words for no and yes that a column was seen to hold.
struct Truth {
    is_possible: bool,
    no: Option<String>,
    yes: Option<String>,
}

impl Default for Truth {
    fn default() -> Self {
        Self { is_possible: true, no: None, yes: None }
    }
}

impl Truth {
    fn note(&mut self, field: &[u8]) {
        let is_same =
            |word: &Option<String>| word.as_ref().is_some_and(|w| w.as_bytes().eq_ignore_ascii_case(field));
        if !self.is_possible || is_same(&self.no) || is_same(&self.yes) {
            return;
        }
        let text = String::from_utf8_lossy(field).into_owned();
        let small = text.to_ascii_lowercase();
        if self.no.is_none() && TRUTH_WORDS.iter().any(|(no, _)| *no == small) {
            self.no = Some(text);
        } else if self.yes.is_none() && TRUTH_WORDS.iter().any(|(_, yes)| *yes == small) {
            self.yes = Some(text);
        } else {
            self.is_possible = false;
        }
    }

    /// Boolean if both words of one pair were there.
    fn kind(self) -> Option<ColumnKind> {
        let (no, yes) = (self.no?, self.yes?);
        let is_pair =
            TRUTH_WORDS.iter().any(|(n, y)| n.eq_ignore_ascii_case(&no) && y.eq_ignore_ascii_case(&yes));
        (self.is_possible && is_pair).then_some(ColumnKind::Boolean { no, yes })
    }
}
