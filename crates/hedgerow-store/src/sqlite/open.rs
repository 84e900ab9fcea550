//! Making and opening the database.

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use hedgerow_core::{Error, Result, Schema, StoreProblem};
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::fail::{OrFail as _, damaged};
use super::tables::Layout;
use super::{DATABASE, FORMAT_VERSION, Sqlite, WRITE_AHEAD_LOG, all, first, learner, write};
use crate::backend::Log;
use crate::checkpoint::{CHECKPOINTS, sync_folder};
use crate::growth::{Grown, History};

/// Marks the file as ours: "HEDG".
const APPLICATION_ID: i64 = 0x4845_4447;
/// A file under this name is a database that was never finished.
const UNFINISHED: &str = "store.db.unfinished";
const LOCK: &str = "lock";
/// How long to wait for another program that writes to the database.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a durable store is kept.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The most bytes that the database may take; what does not fit is refused.
    pub max_bytes: Option<u64>,
}

pub(crate) fn is_there(dir: &Path) -> bool {
    dir.join(DATABASE).exists()
}

pub(crate) fn create(dir: &Path, schema: &Schema, options: &Options) -> Result<(Log, Vec<String>)> {
    schema.check_sizes()?;
    let failed = |source| Error::io(dir, source);
    let is_new = !dir.exists();
    fs::create_dir_all(dir.join(CHECKPOINTS)).map_err(failed)?;
    let lock = take_lock(dir)?;
    if is_there(dir) {
        let detail = "there is a store already where a new one is to be made".to_string();
        return Err(Error::store(StoreProblem::Input(detail)));
    }
    // Under another name until it is whole: a crash leaves no half of a store.
    let unfinished = dir.join(UNFINISHED);
    for end in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(dir.join(format!("{UNFINISHED}{end}")));
    }
    {
        let mut connection = Connection::open(&unfinished).or_fail()?;
        connection.pragma_update(None, "journal_mode", "WAL").or_fail()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive).or_fail()?;
        fill(&transaction, schema)?;
        transaction.commit().or_fail()?;
        connection.close().map_err(|(_, error)| error).or_fail()?;
    }
    File::open(&unfinished).and_then(|file| file.sync_all()).map_err(failed)?;
    fs::rename(&unfinished, dir.join(DATABASE)).map_err(failed)?;
    sync_folder(dir).map_err(failed)?;
    if let Some(parent) = dir.parent().filter(|parent| is_new && !parent.as_os_str().is_empty()) {
        sync_folder(parent).map_err(failed)?;
    }
    finish(dir, options, Some(lock))
}

pub(crate) fn open(dir: &Path, options: &Options) -> Result<(Log, Vec<String>)> {
    check_there(dir)?;
    let lock = take_lock(dir)?;
    finish(dir, options, Some(lock))
}

pub(crate) fn open_to_read(dir: &Path) -> Result<(Log, Vec<String>)> {
    check_there(dir)?;
    finish(dir, &Options::default(), None)
}

fn check_there(dir: &Path) -> Result<()> {
    if is_there(dir) {
        return Ok(());
    }
    let detail = if dir.is_dir() { format!("there is no {DATABASE} in it") } else { "no such folder".into() };
    Err(Error::store(StoreProblem::NotAStore(detail)))
}

/// The tables, and what is known from the start.
fn fill(connection: &Connection, schema: &Schema) -> Result<()> {
    let layout = Layout::new(schema);
    connection.execute_batch(&layout.create(schema)).or_fail()?;
    let text = serde_json::to_string(schema).map_err(|error| damaged(error.to_string()))?;
    let about = "INSERT INTO about(key, value) VALUES ('schema', ?1), ('written_by', ?2)";
    connection.execute(about, params![text, concat!("hedgerow ", env!("CARGO_PKG_VERSION"))]).or_fail()?;
    for (place, column) in schema.columns.iter().enumerate() {
        let sql = "INSERT INTO columns(place, name, kind, stored_as) VALUES (?1, ?2, ?3, ?4)";
        let stored_as = layout.names.get(place);
        connection.execute(sql, params![place, column.name, column.kind.word(), stored_as]).or_fail()?;
    }
    write::add_names(connection, &all_names(schema)).or_fail()?;
    connection.pragma_update(None, "application_id", APPLICATION_ID).or_fail()?;
    connection.pragma_update(None, "user_version", FORMAT_VERSION).or_fail()
}

/// All names of a schema as if they had been added to one without any.
fn all_names(schema: &Schema) -> Vec<Grown> {
    let classes = schema.labels.names().iter().map(|name| (None, name));
    let categories = schema.columns.iter().enumerate().flat_map(|(place, column)| match &column.kind {
        hedgerow_core::ColumnKind::Categorical { categories } => {
            categories.iter().map(|name| (Some(place), name)).collect()
        }
        _ => Vec::new(),
    });
    let grown = |(column, name): (Option<usize>, &String)| Grown { column, name: name.clone(), since: 0 };
    classes.chain(categories).map(grown).collect()
}

fn finish(dir: &Path, options: &Options, lock: Option<File>) -> Result<(Log, Vec<String>)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(dir.join(DATABASE), flags).or_fail()?;
    check_version(&connection)?;
    check_length(dir, &connection)?;
    prepare(&connection, options, lock.is_some())?;
    let sql = "SELECT value FROM about WHERE key = 'schema'";
    let schema: String = first(&connection, sql, [], |row| row.get(0)).or_fail()?;
    let base: Schema =
        serde_json::from_str(&schema).map_err(|error| damaged(format!("its schema: {error}")))?;
    let grown = read_grown(&connection, &base)?;
    let history = History::new(base, grown)?;
    let (n_rows, end) = sizes(&connection)?;
    let is_writer = lock.is_some();
    let backend = Sqlite::new(connection, dir, &history.now, lock);
    let notes = if is_writer { learner::clean(&backend, end)? } else { Vec::new() };
    Ok((Log { backend: Box::new(backend), history, n_rows, end, is_broken: false }, notes))
}

fn pragma(connection: &Connection, name: &str) -> Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0)).or_fail()
}

fn check_version(connection: &Connection) -> Result<()> {
    if pragma(connection, "application_id")? != APPLICATION_ID {
        let detail = format!("{DATABASE} is another database");
        return Err(Error::store(StoreProblem::NotAStore(detail)));
    }
    match pragma(connection, "user_version")? {
        1..=FORMAT_VERSION => Ok(()),
        got => Err(Error::store(StoreProblem::Version { got, newest: FORMAT_VERSION })),
    }
}

/// Fails if the file ends within its last page, which the database itself does not notice. While there is a log, the file need not
/// be whole.
fn check_length(dir: &Path, connection: &Connection) -> Result<()> {
    let len = |name: &str| fs::metadata(dir.join(name)).map_or(0, |meta| meta.len());
    if len(WRITE_AHEAD_LOG) > 0 {
        return Ok(());
    }
    let expected = (pragma(connection, "page_count")? * pragma(connection, "page_size")?) as u64;
    let got = len(DATABASE);
    if got >= expected {
        return Ok(());
    }
    Err(damaged(format!("{DATABASE} is cut off: expected {expected} bytes, got {got}")))
}

/// Sets how the database works. A commit returns when it is on the disk (`synchronous = FULL` with a write-ahead log).
fn prepare(connection: &Connection, options: &Options, is_writer: bool) -> Result<()> {
    connection.busy_timeout(PATIENCE).or_fail()?;
    connection.set_prepared_statement_cache_capacity(32);
    let set = |name: &str, value: i64| connection.pragma_update(None, name, value).or_fail();
    set("cache_size", -8_192)?; // 8 MiB, whatever the size of the database
    if !is_writer {
        return set("query_only", 1);
    }
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0)).or_fail()?;
    if !mode.eq_ignore_ascii_case("wal") {
        let detail = format!("it needs a write-ahead log, and the file system gives {mode:?}");
        return Err(Error::store(StoreProblem::Database(detail)));
    }
    connection.pragma_update(None, "synchronous", "FULL").or_fail()?;
    set("fullfsync", 1)?;
    set("checkpoint_fullfsync", 1)?;
    set("foreign_keys", 1)?;
    set("wal_autocheckpoint", 4_000)?; // pages, 16 MB
    set("journal_size_limit", 64 << 20)?;
    if let Some(most) = options.max_bytes {
        let pages = (most / pragma(connection, "page_size")?.max(1) as u64).max(1);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).or_fail()?;
    }
    Ok(())
}

/// Names added since the store was made.
fn read_grown(connection: &Connection, base: &Schema) -> Result<Vec<Grown>> {
    let sql = "SELECT NULL AS place, id, name, since FROM classes \
               UNION ALL SELECT place, id, name, since FROM categories ORDER BY place, id";
    let names = all(connection, sql, [], |row| {
        let grown = Grown { column: row.get(0)?, name: row.get(2)?, since: row.get(3)? };
        Ok((row.get::<_, usize>(1)?, grown))
    })?;
    let n_known = |column: Option<usize>| match column {
        None => base.n_classes(),
        Some(place) => base.columns.get(place).map_or(0, |column| column.kind.n_categories()),
    };
    let grown = names.into_iter().filter(|(id, name)| *id >= n_known(name.column));
    let mut grown: Vec<Grown> = grown.map(|(_, name)| name).collect();
    grown.sort_by_key(|name| name.since);
    Ok(grown)
}

/// How many rows and events there are, after a look whether the tables agree on it.
fn sizes(connection: &Connection) -> Result<(u64, u64)> {
    let sql = "SELECT (SELECT coalesce(max(id), 0) FROM rows), \
               (SELECT coalesce(max(first_seq + n), 0) FROM (SELECT * FROM runs ORDER BY first_seq DESC LIMIT 1)), \
               (SELECT coalesce(max(first_row + n - 1), 0) FROM (SELECT * FROM runs WHERE first_row NOT NULL \
                ORDER BY first_seq DESC LIMIT 1)), \
               (SELECT coalesce(max(seq) + 1, 0) FROM labels)";
    let found = first(connection, sql, [], |row| row.try_into()).or_fail()?;
    let (n_rows, end, in_runs, last_label): (u64, u64, u64, u64) = found;
    if in_runs != n_rows || last_label > end {
        return Err(damaged(format!("the log tells of {in_runs} rows, and {n_rows} are there")));
    }
    Ok((n_rows, end))
}

/// Takes the lock of the one process that may write. The system lets go of it when the process ends, however it ends.
fn take_lock(dir: &Path) -> Result<File> {
    let path = dir.join(LOCK);
    let failed = |source| Error::io(&path, source);
    let mut file =
        File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            let holder = text.trim().parse::<u32>().map_or(String::new(), |id| format!(" (process {id})"));
            return Err(Error::store(StoreProblem::InUse(holder)));
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    // Only for messages: if it cannot be written, the lock holds all the same.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}
