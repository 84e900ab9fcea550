//! Rows and labels in a folder: an `SQLite` database that anyone can open and query, and model files beside it.
//!
//! `tables` says what is in the database (`docs/store.md` describes it for users), `open` makes and opens it, `write` and `read` are the two
//! ways of events, `learner` keeps checkpoints, `fail` turns the database's errors into ours.

mod fail;
mod learner;
mod open;
mod read;
mod tables;
mod write;

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use hedgerow_core::{ClassId, ColumnKind, Result, Schema};
use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use crate::backend::{Backend, Counts, Entry, Raw};
use crate::checkpoint::CHECKPOINTS;
use crate::growth::Grown;
use crate::input::Input;
use fail::{OrFail as _, damaged};
pub use open::Options;
pub(crate) use open::{create, is_there, open, open_to_read};
use tables::Layout;
pub use tables::WIDE;

/// The version of the tables that this program writes, in `user_version` of the database.
pub const FORMAT_VERSION: i64 = 1;
/// The database's name in the store's folder.
pub const DATABASE: &str = "store.db";
const WRITE_AHEAD_LOG: &str = "store.db-wal";

/// The database and what is known about its columns.
pub(crate) struct Sqlite {
    connection: Connection,
    dir: PathBuf,
    layout: Layout,
    /// For each column that is kept as words: the number of each word.
    codes: Vec<Option<HashMap<String, f32>>>,
    /// Held as long as this process may write.
    _lock: Option<File>,
}

impl Sqlite {
    fn new(connection: Connection, dir: &Path, schema: &Schema, lock: Option<File>) -> Self {
        let number = |names: &[String]| names.iter().cloned().zip((0_u32..).map(|n| n as f32)).collect();
        let codes = schema.columns.iter().map(|column| match &column.kind {
            ColumnKind::Numeric => None,
            ColumnKind::Boolean { no, yes } => Some(number(&[no.clone(), yes.clone()])),
            ColumnKind::Categorical { categories } => Some(number(categories)),
        });
        let layout = Layout::new(schema);
        Self { codes: codes.collect(), connection, dir: dir.to_path_buf(), layout, _lock: lock }
    }

    /// Takes up categories that have been written.
    fn note(&mut self, grown: &[Grown]) {
        for name in grown {
            if let Some(codes) = name.column.and_then(|column| self.codes[column].as_mut()) {
                codes.insert(name.name.clone(), codes.len() as f32);
            }
        }
    }
}

impl Backend for Sqlite {
    fn write(&mut self, entry: &Entry<'_, '_>) -> Result<()> {
        write::write(&mut self.connection, &self.layout, entry)?;
        self.note(entry.grown);
        Ok(())
    }

    fn read(&mut self, seq: u64, most: usize, out: &mut Raw) -> Result<()> {
        read::read(self, seq, most, out)
    }

    fn label_of(&mut self, row: u64) -> Result<Option<(u64, ClassId)>> {
        let sql = "SELECT seq, class FROM labels WHERE row = ?1 ORDER BY seq DESC LIMIT 1";
        let found = first(&self.connection, sql, [row], |row| Ok((row.get(0)?, ClassId(row.get(1)?))));
        found.optional().or_fail()
    }

    fn inputs(&mut self) -> Result<Vec<Input>> {
        let sql = "SELECT fingerprint, head_rows, name, rows, is_done FROM inputs ORDER BY id";
        all(&self.connection, sql, [], |row| {
            Ok(Input {
                fingerprint: row.get(0)?,
                head_rows: row.get(1)?,
                name: row.get(2)?,
                rows: row.get(3)?,
                is_done: row.get(4)?,
            })
        })
    }

    fn set_input(&mut self, input: &Input) -> Result<()> {
        write::set_input(&self.connection, input).or_fail()
    }

    fn counts(&mut self) -> Result<Counts> {
        // One statement sees one moment, even if another process writes meanwhile.
        let sql = "SELECT (SELECT coalesce(max(id), 0) FROM rows), (SELECT coalesce(max(first_seq + n), 0) FROM runs), \
                   count(*), count(replaces) FROM labels";
        let counted = first(&self.connection, sql, [], |row| row.try_into());
        let (rows, events, labels, corrections): (u64, u64, u64, u64) = counted.or_fail()?;
        let names = [DATABASE, WRITE_AHEAD_LOG].map(|name| self.dir.join(name));
        let models = std::fs::read_dir(self.dir.join(CHECKPOINTS)).into_iter().flatten().flatten();
        let files = names.into_iter().chain(models.map(|entry| entry.path()));
        let bytes = files.filter_map(|path| path.metadata().ok()).map(|meta| meta.len()).sum();
        Ok(Counts { rows, events, labelled: labels - corrections, corrections, bytes })
    }

    fn check(&mut self) -> Result<()> {
        let found: Vec<String> = all(&self.connection, "PRAGMA integrity_check(5)", [], |row| row.get(0))?;
        if found == ["ok"] { Ok(()) } else { Err(damaged(found.join("; "))) }
    }
}

/// The first row that a query finds.
fn first<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.prepare_cached(sql)?.query_row(params, map)
}

/// All rows that a query finds.
fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut find = connection.prepare_cached(sql).or_fail()?;
    let rows = find.query_map(params, map).or_fail()?;
    rows.collect::<rusqlite::Result<_>>().or_fail()
}
