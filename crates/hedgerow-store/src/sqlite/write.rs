//! Appending.

use hedgerow_core::{ColumnKind, DataError, DataProblem, Result, Schema};
use rusqlite::{Connection, Statement, TransactionBehavior, params};

use super::fail::OrFail as _;
use super::tables::Layout;
use crate::backend::{Entry, Events, NewLabel};
use crate::growth::Grown;
use crate::input::Input;
use crate::store::NewRows;

/// Writes an entry in one transaction.
pub(super) fn write(connection: &mut Connection, layout: &Layout, entry: &Entry<'_, '_>) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).or_fail()?;
    add_names(&transaction, entry.grown).or_fail()?;
    let first_row = match entry.events {
        Events::Rows(first_row, rows) => {
            add_rows(&transaction, layout, entry.schema, first_row, &rows)?;
            let label = |i: usize| {
                let (seq, row) = (entry.first_seq + i as u64, first_row + i as u64);
                Some((seq, NewLabel { row, class: rows.label(i)?, replaces: None }))
            };
            add_labels(&transaction, (0..rows.x.nrows()).filter_map(label)).or_fail()?;
            Some(first_row)
        }
        Events::Labels(labels) => {
            add_labels(&transaction, (entry.first_seq..).zip(labels.iter().copied())).or_fail()?;
            None
        }
    };
    if entry.events.len() > 0 {
        add_run(&transaction, entry.first_seq, entry.events.len(), first_row).or_fail()?;
    }
    if let Some(input) = entry.input {
        set_input(&transaction, input).or_fail()?;
    }
    transaction.commit().or_fail()
}

/// Adds labels, each with its event.
fn add_labels(
    connection: &Connection,
    labels: impl Iterator<Item = (u64, NewLabel)>,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO labels(seq, row, class, replaces) VALUES (?1, ?2, ?3, ?4)";
    let mut insert = connection.prepare_cached(sql)?;
    for (seq, NewLabel { row, class, replaces }) in labels {
        insert.execute(params![seq, row, class.0, replaces.map(|(seq, _)| seq)])?;
    }
    Ok(())
}

/// Adds classes and categories at the ends of their lists.
pub(super) fn add_names(connection: &Connection, grown: &[Grown]) -> rusqlite::Result<()> {
    if grown.is_empty() {
        return Ok(());
    }
    let class = "INSERT INTO classes(id, name, since) SELECT coalesce(max(id) + 1, 0), ?1, ?2 FROM classes";
    let category = "INSERT INTO categories(place, id, name, since) \
                    SELECT ?1, coalesce(max(id) + 1, 0), ?2, ?3 FROM categories WHERE place = ?1";
    let mut class = connection.prepare(class)?;
    let mut category = connection.prepare(category)?;
    for name in grown {
        match name.column {
            None => class.execute(params![name.name, name.since])?,
            Some(place) => category.execute(params![place, name.name, name.since])?,
        };
    }
    Ok(())
}

fn add_rows(
    connection: &Connection,
    layout: &Layout,
    schema: &Schema,
    first_row: u64,
    rows: &NewRows<'_>,
) -> Result<()> {
    let mut insert = connection.prepare_cached(&layout.insert).or_fail()?;
    let mut blob = Vec::with_capacity(if layout.is_wide { 4 * layout.n_features } else { 0 });
    for (i, values) in rows.x.rows().into_iter().enumerate() {
        insert.raw_bind_parameter(1, first_row + i as u64).or_fail()?;
        insert.raw_bind_parameter(2, Some(rows.weight(i)).filter(|&weight| weight != 1.0)).or_fail()?;
        if layout.is_wide {
            blob.clear();
            values.iter().for_each(|value| blob.extend_from_slice(&(value + 0.0).to_le_bytes()));
            insert.raw_bind_parameter(3, blob.as_slice()).or_fail()?;
        } else {
            for (column, &value) in values.iter().enumerate() {
                bind(&mut insert, schema, (i, column), value)?;
            }
        }
        insert.raw_execute().or_fail()?;
    }
    Ok(())
}

/// Binds a value of a row: a number, or the word that it stands for.
fn bind(
    insert: &mut Statement<'_>,
    schema: &Schema,
    (row, column): (usize, usize),
    value: f32,
) -> Result<()> {
    let place = column + 3;
    if value.is_nan() {
        return insert.raw_bind_parameter(place, None::<f64>).or_fail();
    }
    let described = &schema.columns[column];
    let word = match &described.kind {
        // Minus zero is zero: the database makes no difference.
        ColumnKind::Numeric => return insert.raw_bind_parameter(place, f64::from(value + 0.0)).or_fail(),
        ColumnKind::Boolean { no, yes } => match value {
            0.0 => Some(no),
            1.0 => Some(yes),
            _ => None,
        },
        ColumnKind::Categorical { categories } => categories.get(value as usize),
    };
    if let Some(word) = word {
        return insert.raw_bind_parameter(place, word.as_str()).or_fail();
    }
    let problem =
        DataProblem::NoSuchCategory { got: value.to_string(), n: described.kind.n_categories().max(2) };
    Err(DataError::from(problem).at_row(row as u64 + 1).in_column(described.name.clone()).into())
}

/// Adds to the last run if it is of the same sort, otherwise begins a new one.
fn add_run(
    connection: &Connection,
    first_seq: u64,
    n: usize,
    first_row: Option<u64>,
) -> rusqlite::Result<()> {
    let longer = "UPDATE runs SET n = n + ?1 WHERE first_seq = (SELECT max(first_seq) FROM runs) \
                  AND first_seq + n = ?2 AND (first_row IS NULL) = ?3";
    let mut longer = connection.prepare_cached(longer)?;
    if longer.execute(params![n, first_seq, first_row.is_none()])? == 0 {
        let new = "INSERT INTO runs(first_seq, n, first_row) VALUES (?1, ?2, ?3)";
        let mut new = connection.prepare_cached(new)?;
        new.execute(params![first_seq, n, first_row])?;
    }
    Ok(())
}

pub(super) fn set_input(connection: &Connection, input: &Input) -> rusqlite::Result<()> {
    let sql = "INSERT INTO inputs(name, fingerprint, head_rows, rows, is_done) VALUES (?1, ?2, ?3, ?4, ?5) \
               ON CONFLICT(fingerprint) DO UPDATE SET name = ?1, rows = ?4, is_done = ?5";
    let mut set = connection.prepare_cached(sql)?;
    let Input { fingerprint, head_rows, name, rows, is_done } = input;
    set.execute(params![name, fingerprint, head_rows, rows, is_done]).map(|_| ())
}
