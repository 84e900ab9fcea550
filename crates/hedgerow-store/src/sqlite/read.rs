//! Reading events.

use std::collections::HashMap;

use hedgerow_core::{ClassId, Result};
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension as _, Params, Row};

use super::fail::{OrFail as _, damaged};
use super::{Sqlite, first};
use crate::backend::Raw;
use crate::block::Change;

/// Columns of the queries before the features: number, weight, label, label before.
const FIRST_FEATURE: usize = 4;

/// Adds events from `seq` on, at most `most`, all of them rows or all of them labels.
pub(super) fn read(store: &Sqlite, seq: u64, most: usize, out: &mut Raw) -> Result<()> {
    let sql = "SELECT first_seq, first_seq + n, first_row FROM runs WHERE first_seq <= ?1 ORDER BY first_seq DESC LIMIT 1";
    let run: Option<(u64, u64, Option<u64>)> =
        first(&store.connection, sql, [seq], |row| row.try_into()).optional().or_fail()?;
    let Some((first_seq, end, first_row)) = run.filter(|run| seq < run.1) else {
        return Err(damaged(format!("event {seq} is missing")));
    };
    let n = (end - seq).min(most as u64);
    out.x.reserve_exact(n as usize * store.layout.n_features);
    let features = &store.layout.selected;
    if let Some(first_row) = first_row {
        // `first_seq - first_row` is what to add to a row's number to get its event.
        let sql = format!(
            "SELECT r.id, r.weight, l.class, NULL, {features} FROM rows r LEFT JOIN labels l ON l.seq = r.id + ?3 - ?4 \
             WHERE r.id BETWEEN ?1 AND ?2 ORDER BY r.id"
        );
        let start = first_row + (seq - first_seq);
        let params = [start, start + n - 1, first_seq, first_row];
        add_events(store, &sql, params, |new, _| Change::Row(new), out)?;
    } else {
        let sql = format!(
            "SELECT r.id, r.weight, l.class, p.class, {features} FROM labels l JOIN rows r ON r.id = l.row \
             LEFT JOIN labels p ON p.seq = l.replaces WHERE l.seq BETWEEN ?1 AND ?2 ORDER BY l.seq"
        );
        let change = |new: Option<ClassId>, old: Option<ClassId>| match (new, old) {
            (Some(new), Some(old)) => Change::Correction { old, new },
            (Some(new), None) => Change::Label(new),
            (None, _) => Change::Row(None),
        };
        add_events(store, &sql, [seq, seq + n - 1], change, out)?;
    }
    match out.rows.len() as u64 {
        got if got == n => Ok(()),
        got => Err(damaged(format!("{got} of {n} events are there"))),
    }
}

fn add_events(
    store: &Sqlite,
    sql: &str,
    params: impl Params,
    change: impl Fn(Option<ClassId>, Option<ClassId>) -> Change,
    out: &mut Raw,
) -> Result<()> {
    let mut find = store.connection.prepare_cached(sql).or_fail()?;
    let mut rows = find.query(params).or_fail()?;
    while let Some(row) = rows.next().or_fail()? {
        let number: u64 = row.get(0).or_fail()?;
        let weight: Option<f64> = row.get(1).or_fail()?;
        let class = |place: usize| row.get::<_, Option<u32>>(place).or_fail();
        let (new, old) = (class(2)?.map(ClassId), class(3)?.map(ClassId));
        out.rows.push(number);
        out.weights.push(weight.map_or(1.0, |weight| weight as f32));
        out.changes.push(change(new, old));
        if store.layout.is_wide {
            add_blob(row, store.layout.n_features, number, &mut out.x)?;
        } else {
            for (column, codes) in store.codes.iter().enumerate() {
                let value = row.get_ref(FIRST_FEATURE + column).or_fail()?;
                out.x.push(number_of(value, codes.as_ref(), number)?);
            }
        }
    }
    Ok(())
}

fn add_blob(row: &Row<'_>, n_features: usize, number: u64, x: &mut Vec<f32>) -> Result<()> {
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

fn number_of(value: ValueRef<'_>, codes: Option<&HashMap<String, f32>>, number: u64) -> Result<f32> {
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
