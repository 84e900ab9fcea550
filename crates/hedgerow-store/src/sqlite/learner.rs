//! Checkpoints: the model is a file beside the database, everything else about it is in the database.
//!
//! The file is on the disk under its name before the database tells of it (`Written`), so what the database tells of is there. A crash in between leaves an unknown file; it goes when the store is opened next.

use std::fs;

use hedgerow_core::Result;
use rusqlite::{Connection, OptionalExtension as _, Params, TransactionBehavior, params};

use super::fail::OrFail as _;
use super::{Sqlite, all, first};
use crate::backend::{LearnerInfo, Learners};
use crate::checkpoint::{CHECKPOINTS, Checkpoint, KEPT, MODEL, UNFINISHED, Written};

impl Learners for Sqlite {
    fn learners(&mut self) -> Result<Vec<LearnerInfo>> {
        let sql = "SELECT l.name, l.config, c.cursor, coalesce(c.bytes, 0) FROM learners l LEFT JOIN checkpoints c ON c.learner = l.name \
                   AND c.cursor = (SELECT max(cursor) FROM checkpoints n WHERE n.learner = l.name) ORDER BY l.name";
        all(&self.connection, sql, [], |row| {
            Ok(LearnerInfo {
                name: row.get(0)?,
                config: row.get(1)?,
                cursor: row.get(2)?,
                model_bytes: row.get(3)?,
            })
        })
    }

    fn set_learner(&mut self, name: &str, config: &str) -> Result<()> {
        let sql =
            "INSERT INTO learners(name, config) VALUES (?1, ?2) ON CONFLICT(name) DO UPDATE SET config = ?2";
        self.connection.execute(sql, [name, config]).or_fail().map(|_| ())
    }

    fn save_checkpoint(&mut self, name: &str, cursor: u64, state: &str, model: Written) -> Result<()> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).or_fail()?;
        let newer = "DELETE FROM checkpoints WHERE learner = ?1 AND cursor >= ?2 RETURNING file";
        let mut gone = files(&transaction, newer, params![name, cursor])?;
        let insert = "INSERT INTO checkpoints(learner, cursor, file, bytes, crc32, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let values = params![name, cursor, model.file, model.len, model.crc, state];
        transaction.execute(insert, values).or_fail()?;
        let old = "DELETE FROM checkpoints WHERE learner = ?1 AND cursor NOT IN \
                   (SELECT cursor FROM checkpoints WHERE learner = ?1 ORDER BY cursor DESC LIMIT ?2) RETURNING file";
        gone.extend(files(&transaction, old, params![name, KEPT])?);
        transaction.commit().or_fail()?;
        self.remove(&gone);
        Ok(())
    }

    fn load_checkpoint(&mut self, name: &str, warnings: &mut Vec<String>) -> Result<Option<Checkpoint>> {
        let sql = "SELECT cursor, file, bytes, crc32, state FROM checkpoints WHERE learner = ?1 ORDER BY cursor DESC LIMIT 1";
        loop {
            let newest = first(&self.connection, sql, [name], |row| row.try_into());
            let Some(newest) = newest.optional().or_fail()? else { return Ok(None) };
            let (cursor, file, bytes, crc, state): (u64, String, u64, u32, String) = newest;
            let path = self.dir.join(CHECKPOINTS).join(&file);
            let wrong = match fs::read(&path) {
                Ok(model) if model.len() as u64 != bytes => {
                    format!("it has {} bytes instead of {bytes}", model.len())
                }
                Ok(model) if crc32fast::hash(&model) != crc => "its checksum is wrong".to_string(),
                Ok(model) => return Ok(Some(Checkpoint { cursor, state, model })),
                Err(error) => error.to_string(),
            };
            let shown = path.display();
            warnings.push(format!("the checkpoint {shown} cannot be used ({wrong}); an earlier one is"));
            self.drop_checkpoint(name, cursor)?;
        }
    }

    fn drop_checkpoint(&mut self, name: &str, cursor: u64) -> Result<()> {
        let sql = "DELETE FROM checkpoints WHERE learner = ?1 AND cursor = ?2 RETURNING file";
        let gone = files(&self.connection, sql, params![name, cursor])?;
        self.remove(&gone);
        Ok(())
    }
}

impl Sqlite {
    /// Removes files that the database does not tell of any more.
    fn remove(&self, files: &[String]) {
        files.iter().for_each(|file| drop(fs::remove_file(self.dir.join(CHECKPOINTS).join(file))));
    }
}

/// The files that a statement gives.
fn files(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<String>> {
    all(connection, sql, params, |row| row.get(0))
}

/// Removes files that the database does not tell of. Returns what the user should know about them.
pub(super) fn clean(store: &Sqlite, end: u64) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let known = files(&store.connection, "SELECT file FROM checkpoints", [])?;
    let folder = store.dir.join(CHECKPOINTS);
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = name.ends_with(MODEL) || name.ends_with(UNFINISHED);
        if !is_ours || known.contains(&name) {
            continue;
        }
        if cursor_of(&name).is_some_and(|cursor| cursor > end) {
            notes.push(format!(
                "the database ends at event {end}, but a model had learnt more ({name}): the end of the log is lost, because \
                 store.db-wal was cut off or removed; rows that are read again are appended again"
            ));
        }
        let _ = fs::remove_file(entry.path());
    }
    Ok(notes)
}

/// The cursor in the name of a model that was finished.
fn cursor_of(file: &str) -> Option<u64> {
    // The last number counts files of one cursor, if it follows another number; names may end in one too.
    file.strip_suffix(MODEL)?.rsplit('-').next()?.parse().ok()
}
