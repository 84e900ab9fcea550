//! Checkpoints: the model is a file beside the database, everything else about it is in the database.
//!
//! The file is on the disk under its name before the database tells of it (`Written`), so what the database tells of is there. A crash in between leaves an unknown file; it goes when the store is opened next.

use std::fs;

use hedgerow_core::{Error, Result, StoreProblem};
use rusqlite::{TransactionBehavior, params};

use super::fail::OrFail as _;
use super::{CHECKPOINTS, Sqlite};
use crate::backend::LearnerInfo;
use crate::checkpoint::{Checkpoint, KEPT, MODEL, UNFINISHED, Written};

pub(super) fn all(store: &Sqlite) -> Result<Vec<LearnerInfo>> {
    let sql = "SELECT l.name, l.config, c.cursor, c.bytes FROM learners l LEFT JOIN checkpoints c ON c.learner = l.name \
               AND c.cursor = (SELECT max(cursor) FROM checkpoints n WHERE n.learner = l.name) ORDER BY l.name";
    let mut find = store.connection.prepare(sql).or_fail()?;
    let learners = find.query_map([], |row| {
        let (cursor, bytes): (Option<i64>, Option<i64>) = (row.get(2)?, row.get(3)?);
        Ok(LearnerInfo {
            name: row.get(0)?,
            config: row.get(1)?,
            cursor: cursor.map(|cursor| cursor as u64),
            model_bytes: bytes.unwrap_or(0) as u64,
        })
    });
    learners.or_fail()?.collect::<rusqlite::Result<_>>().or_fail()
}

pub(super) fn save(store: &mut Sqlite, name: &str, cursor: u64, state: &str, model: &Written) -> Result<()> {
    let Written::File { name: file, len, crc } = model else {
        let detail = "a model that is no file".to_string();
        return Err(Error::store(StoreProblem::Database { detail }));
    };
    let folder = store.dir.join(CHECKPOINTS);
    let transaction = store.connection.transaction_with_behavior(TransactionBehavior::Immediate).or_fail()?;
    let mut gone: Vec<String> = {
        let sql = "SELECT file FROM checkpoints WHERE learner = ?1 AND cursor >= ?2";
        let mut find = transaction.prepare_cached(sql).or_fail()?;
        let files = find.query_map(params![name, cursor as i64], |row| row.get(0)).or_fail()?;
        files.collect::<rusqlite::Result<_>>().or_fail()?
    };
    let delete = "DELETE FROM checkpoints WHERE learner = ?1 AND cursor >= ?2";
    transaction.execute(delete, params![name, cursor as i64]).or_fail()?;
    let insert =
        "INSERT INTO checkpoints(learner, cursor, file, bytes, crc32, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    transaction.execute(insert, params![name, cursor as i64, file, *len as i64, crc, state]).or_fail()?;
    let old = "DELETE FROM checkpoints WHERE learner = ?1 AND cursor NOT IN \
               (SELECT cursor FROM checkpoints WHERE learner = ?1 ORDER BY cursor DESC LIMIT ?2) RETURNING file";
    {
        let mut old = transaction.prepare_cached(old).or_fail()?;
        let files = old.query_map(params![name, KEPT as i64], |row| row.get(0)).or_fail()?;
        for file in files {
            gone.push(file.or_fail()?);
        }
    }
    transaction.commit().or_fail()?;
    gone.iter().for_each(|file| drop(fs::remove_file(folder.join(file))));
    Ok(())
}

pub(super) fn load(store: &mut Sqlite, name: &str, warnings: &mut Vec<String>) -> Result<Option<Checkpoint>> {
    loop {
        let sql = "SELECT cursor, file, bytes, crc32, state FROM checkpoints WHERE learner = ?1 ORDER BY cursor DESC LIMIT 1";
        let mut find = store.connection.prepare_cached(sql).or_fail()?;
        let mut rows = find.query([name]).or_fail()?;
        let Some(row) = rows.next().or_fail()? else { return Ok(None) };
        let (cursor, file): (i64, String) = (row.get(0).or_fail()?, row.get(1).or_fail()?);
        let (bytes, crc): (i64, u32) = (row.get(2).or_fail()?, row.get(3).or_fail()?);
        let state: String = row.get(4).or_fail()?;
        drop(rows);
        drop(find);
        let path = store.dir.join(CHECKPOINTS).join(&file);
        let wrong = match fs::read(&path) {
            Ok(model) if model.len() as i64 != bytes => {
                format!("it has {} bytes instead of {bytes}", model.len())
            }
            Ok(model) if crc32fast::hash(&model) != crc => "its checksum is wrong".to_string(),
            Ok(model) => return Ok(Some(Checkpoint { cursor: cursor as u64, state, model })),
            Err(error) => error.to_string(),
        };
        let shown = path.display();
        warnings.push(format!("the checkpoint {shown} cannot be used ({wrong}); an earlier one is"));
        forget(store, name, cursor as u64)?;
    }
}

pub(super) fn forget(store: &mut Sqlite, name: &str, cursor: u64) -> Result<()> {
    let sql = "DELETE FROM checkpoints WHERE learner = ?1 AND cursor = ?2 RETURNING file";
    let files: Vec<String> = {
        let mut forget = store.connection.prepare_cached(sql).or_fail()?;
        let files = forget.query_map(params![name, cursor as i64], |row| row.get(0)).or_fail()?;
        files.collect::<rusqlite::Result<_>>().or_fail()?
    };
    files.iter().for_each(|file| drop(fs::remove_file(store.dir.join(CHECKPOINTS).join(file))));
    Ok(())
}

/// Removes files that the database does not tell of. Returns what the user should know about them.
pub(super) fn clean(store: &mut Sqlite, end: u64) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let mut find = store.connection.prepare("SELECT file FROM checkpoints").or_fail()?;
    let files = find.query_map([], |row| row.get(0)).or_fail()?;
    let known: Vec<String> = files.collect::<rusqlite::Result<_>>().or_fail()?;
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
    let stem = file.strip_suffix(MODEL)?;
    let parts: Vec<&str> = stem.rsplit('-').collect();
    // The last number counts files of one cursor, if it follows another number; names may end in one too.
    parts.first()?.parse().ok()
}
