//! Reading events.

use std::collections::HashMap;

use hedgerow_core::{ClassId, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Params, Row};

use super::Sqlite;
use super::fail::{OrFail as _, damaged};
use crate::backend::{Raw, Run};
use crate::block::Change;

/// Columns of the queries before the features: number, weight, label, label before.
const FIRST_FEATURE: usize = 4;

/// Events of a stretch of rows, from `seq` on.
pub(super) fn rows(store: &Sqlite, run: Run, seq: u64, n: usize, out: &mut Raw) -> Result<()> {
    let first_row = run.first_row.unwrap_or(1);
    let first = first_row + (seq - run.first_seq);
    // What to add to a row's number to get its event.
    let offset = run.first_seq as i64 - first_row as i64;
    let sql = format!(
        "SELECT r.id, r.weight, l.class, NULL, {} FROM rows r LEFT JOIN labels l ON l.seq = r.id + ?3 \
         WHERE r.id BETWEEN ?1 AND ?2 ORDER BY r.id",
        store.layout.selected
    );
    let last = first + n as u64 - 1;
    read(store, &sql, [first as i64, last as i64, offset], |new, _| Change::Row(new), out)
}

/// Events of a stretch of labels, from `seq` on.
pub(super) fn labels(store: &Sqlite, seq: u64, n: usize, out: &mut Raw) -> Result<()> {
    let sql = format!(
        "SELECT r.id, r.weight, l.class, p.class, {} FROM labels l JOIN rows r ON r.id = l.row \
         LEFT JOIN labels p ON p.seq = l.replaces WHERE l.seq BETWEEN ?1 AND ?2 ORDER BY l.seq",
        store.layout.selected
    );
    let change = |new: Option<ClassId>, old: Option<ClassId>| match (new, old) {
        (Some(new), Some(old)) => Change::Correction { old, new },
        (Some(new), None) => Change::Label(new),
        (None, _) => Change::Row(None),
    };
    read(store, &sql, [seq as i64, (seq + n as u64) as i64 - 1], change, out)
}

fn read(
    store: &Sqlite,
    sql: &str,
    params: impl Params,
    change: impl Fn(Option<ClassId>, Option<ClassId>) -> Change,
    out: &mut Raw,
) -> Result<()> {
    let mut find = store.connection.prepare_cached(sql).or_fail()?;
    let mut rows = find.query(params).or_fail()?;
    while let Some(row) = rows.next().or_fail()? {
        let number: i64 = row.get(0).or_fail()?;
        let weight: Option<f64> = row.get(1).or_fail()?;
        let class = |place: usize| row.get::<_, Option<u32>>(place).or_fail();
        let (new, old) = (class(2)?.map(ClassId), class(3)?.map(ClassId));
        out.rows.push(number as u64);
        out.weights.push(weight.map_or(1.0, |weight| weight as f32));
        out.changes.push(change(new, old));
        if store.layout.is_wide {
            add_blob(row, store.layout.n_features(), number, &mut out.x)?;
        } else {
            for (column, codes) in store.codes.iter().enumerate() {
                let value = row.get_ref(FIRST_FEATURE + column).or_fail()?;
                out.x.push(number_of(value, codes.as_ref(), number)?);
            }
        }
    }
    Ok(())
}

fn add_blob(row: &Row<'_>, n_features: usize, number: i64, x: &mut Vec<f32>) -> Result<()> {
    let ValueRef::Blob(bytes) = row.get_ref(FIRST_FEATURE).or_fail()? else {
        return Err(damaged(format!("row {number} has no values")));
    };
    let (values, rest) = bytes.as_chunks::<4>();
    if values.len() != n_features || !rest.is_empty() {
        return Err(damaged(format!("row {number} has {} bytes, not {}", bytes.len(), 4 * n_features)));
    }
    x.extend(values.iter().map(|&value| f32::from_le_bytes(value)));
    Ok(())
}

fn number_of(value: ValueRef<'_>, codes: Option<&HashMap<String, f32>>, number: i64) -> Result<f32> {
    let found = match (value, codes) {
        (ValueRef::Null, _) => Some(f32::NAN),
        (ValueRef::Real(value), None) => Some(value as f32),
        (ValueRef::Text(bytes), Some(codes)) => {
            std::str::from_utf8(bytes).ok().and_then(|word| codes.get(word).copied())
        }
        _ => None,
    };
    found.ok_or_else(|| damaged(format!("row {number} holds a value that is not of its column")))
}
