//! The kind of each column, inferred from the first rows.

use hedgerow_core::data::Column;
use hedgerow_core::{ColumnKind, DataProblem, Result, Schema};

use crate::block::{Block, Cells, Declared, TextCells};
use crate::located::{in_cell, located};
use crate::number::{Parsed, is_missing, parse_as, utf8};
use crate::options::ReadOptions;
use crate::plan::{Plan, Role, Target};
use crate::source::Source;

/// How many rows are looked at.
pub(crate) const SAMPLE_ROWS: usize = 1000;

/// Words for no and yes, in small letters.
const TRUTH_WORDS: [(&str, &str); 4] = [("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y")];

/// The schema without labels. `label_name` is the name of labels beside the columns.
pub(crate) fn infer_schema(
    source: &Source,
    plan: &Plan,
    options: &ReadOptions,
    label_name: Option<&str>,
    sample: &Block,
) -> Result<Schema> {
    let columns = &source.columns;
    let mut forced = vec![false; columns.len()];
    for column in &options.categorical {
        forced[column.resolve(columns)?] = true;
    }
    let target = match plan.target {
        Target::Absent => None,
        Target::Column(i) => Some(columns[i].name.as_str()),
        Target::Beside => label_name,
    };
    let mut schema = Schema {
        named: source.is_named,
        target: target.map(String::from),
        image: source.image.filter(|_| plan.is_identity()),
        ..Schema::default().for_task(options.task)
    };
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
    // Different words, as many as it takes to tell that they are not two.
    let mut words: Vec<&[u8]> = Vec::new();
    for row in 0..sample.n_rows {
        let field = cells.field(row, column);
        let is_word = match parse_as(field, cells.decimal) {
            Parsed::Number(_) => {
                n_numbers += 1;
                false
            }
            // `None` is missing among numbers and a word among words.
            Parsed::Missing => !is_missing(field),
            Parsed::Text => {
                n_texts += 1;
                first_text.get_or_insert(row);
                true
            }
        };
        if is_word && words.len() < 3 && !words.iter().any(|word| word.eq_ignore_ascii_case(field)) {
            words.push(field);
        }
    }
    let Some(row) = first_text else {
        return Ok(ColumnKind::Numeric);
    };
    if n_numbers == 0
        && let Some(kind) = truth(&words)
    {
        return Ok(kind);
    }
    if n_texts * 10 > n_numbers + n_texts {
        return Ok(ColumnKind::Categorical { categories: Vec::new() });
    }
    let text = utf8(cells.field(row, column));
    let problem = text.map_or_else(|e| e, |text| DataProblem::NotANumber(text.to_string()));
    Err(in_cell(problem.into(), sample, row, None))
}

/// Boolean where the words of a column are one pair for no and yes.
fn truth(words: &[&[u8]]) -> Option<ColumnKind> {
    let &[a, b] = words else { return None };
    let is_pair = |no: &[u8], yes: &[u8]| {
        let is = |word: &[u8], wanted: &str| word.eq_ignore_ascii_case(wanted.as_bytes());
        TRUTH_WORDS.iter().any(|pair| is(no, pair.0) && is(yes, pair.1))
    };
    let (no, yes) = if is_pair(a, b) { (a, b) } else { (b, a) };
    let [no, yes] = is_pair(no, yes).then(|| [no, yes].map(|word| String::from_utf8_lossy(word).into()))?;
    Some(ColumnKind::Boolean { no, yes })
}
