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
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::backend::{Backend, Counts, Entry, LearnerInfo, Raw, Run};
use crate::checkpoint::{Checkpoint, Written};
use crate::growth::Grown;
use crate::input::Input;
use fail::OrFail as _;
pub use open::Options;
pub(crate) use open::{Opened, create, is_there, open, open_to_read};
use tables::Layout;
pub use tables::WIDE;

/// The version of the tables that this program writes, in `user_version` of the database.
pub const FORMAT_VERSION: i64 = 1;
/// The database's name in the store's folder.
pub const DATABASE: &str = "store.db";
/// The folder of models in the store's folder.
const CHECKPOINTS: &str = "checkpoints";

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

    fn run_at(&mut self, seq: u64) -> Result<Option<Run>> {
        let sql =
            "SELECT first_seq, n, first_row FROM runs WHERE first_seq <= ?1 ORDER BY first_seq DESC LIMIT 1";
        let mut find = self.connection.prepare_cached(sql).or_fail()?;
        let run = find
            .query_row([seq as i64], |row| {
                let first_row: Option<i64> = row.get(2)?;
                let first_row = first_row.map(|n| n as u64);
                Ok(Run {
                    first_seq: row.get::<_, i64>(0)? as u64,
                    n: row.get::<_, i64>(1)? as u64,
                    first_row,
                })
            })
            .optional()
            .or_fail()?;
        Ok(run.filter(|run| seq < run.end()))
    }

    fn read_rows(&mut self, run: Run, seq: u64, n: usize, _: &Schema, out: &mut Raw) -> Result<()> {
        read::rows(self, run, seq, n, out)
    }

    fn read_labels(&mut self, seq: u64, n: usize, _: &Schema, out: &mut Raw) -> Result<()> {
        read::labels(self, seq, n, out)
    }

    fn label_of(&mut self, row: u64) -> Result<Option<(u64, ClassId)>> {
        let sql = "SELECT seq, class FROM labels WHERE row = ?1 ORDER BY seq DESC LIMIT 1";
        let mut find = self.connection.prepare_cached(sql).or_fail()?;
        let found =
            find.query_row([row as i64], |row| Ok((row.get::<_, i64>(0)? as u64, ClassId(row.get(1)?))));
        found.optional().or_fail()
    }

    fn inputs(&mut self) -> Result<Vec<Input>> {
        let sql = "SELECT fingerprint, head_rows, name, rows, is_done FROM inputs ORDER BY id";
        let mut find = self.connection.prepare_cached(sql).or_fail()?;
        let inputs = find.query_map([], |row| {
            Ok(Input {
                fingerprint: row.get(0)?,
                head_rows: row.get::<_, i64>(1)? as u64,
                name: row.get(2)?,
                rows: row.get::<_, i64>(3)? as u64,
                is_done: row.get(4)?,
            })
        });
        inputs.or_fail()?.collect::<rusqlite::Result<_>>().or_fail()
    }

    fn set_input(&mut self, input: &Input) -> Result<()> {
        write::set_input(&self.connection, input).or_fail()
    }

    fn learners(&mut self) -> Result<Vec<LearnerInfo>> {
        learner::all(self)
    }

    fn set_learner(&mut self, name: &str, config: &str) -> Result<()> {
        let sql =
            "INSERT INTO learners(name, config) VALUES (?1, ?2) ON CONFLICT(name) DO UPDATE SET config = ?2";
        self.connection.execute(sql, params![name, config]).or_fail().map(|_| ())
    }

    fn models(&self) -> Option<PathBuf> {
        Some(self.dir.join(CHECKPOINTS))
    }

    fn save_checkpoint(&mut self, name: &str, cursor: u64, state: &str, model: Written) -> Result<()> {
        learner::save(self, name, cursor, state, &model)
    }

    fn load_checkpoint(&mut self, name: &str, warnings: &mut Vec<String>) -> Result<Option<Checkpoint>> {
        learner::load(self, name, warnings)
    }

    fn drop_checkpoint(&mut self, name: &str, cursor: u64) -> Result<()> {
        learner::forget(self, name, cursor)
    }

    fn counts(&mut self) -> Result<Counts> {
        // One statement sees one moment, even if another process writes meanwhile.
        let sql = "SELECT (SELECT coalesce(max(id), 0) FROM rows), (SELECT coalesce(max(first_seq + n), 0) FROM runs), \
                   count(*), count(replaces) FROM labels";
        let counted = self.connection.query_row(sql, [], |row| {
            Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?].map(|n| n as u64))
        });
        let [rows, events, labels, corrections] = counted.or_fail()?;
        let names = ["store.db", "store.db-wal"].map(|name| self.dir.join(name));
        let models = std::fs::read_dir(self.dir.join(CHECKPOINTS)).into_iter().flatten().flatten();
        let files = names.into_iter().chain(models.map(|entry| entry.path()));
        Ok(Counts {
            rows,
            events,
            labelled: labels - corrections,
            corrections,
            bytes: files.filter_map(|path| path.metadata().ok()).map(|meta| meta.len()).sum(),
        })
    }

    fn check(&mut self) -> Result<()> {
        open::check_everything(&self.connection)
    }
}
