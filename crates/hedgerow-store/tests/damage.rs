//! Files that were cut off, disks that are full, and stores that somebody else holds.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use hedgerow_core::{ClassId, Error, Schema, StoreProblem};
use hedgerow_store::{DATABASE, FORMAT_VERSION, NewRows, Options, Store};
use ndarray::Array2;
use tempfile::TempDir;

fn schema() -> Schema {
    let mut schema = Schema::unnamed(3);
    schema.labels.get_or_add("a").unwrap();
    schema
}

/// A store with so many batches of 100 rows.
fn filled(batches: usize) -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &schema(), &Options::default()).unwrap();
    for _ in 0..batches {
        append(&store).unwrap();
    }
    (folder, store)
}

fn append(store: &Store) -> Result<u64, Error> {
    let first = store.n_rows();
    let x = Array2::from_shape_fn((100, 3), |(i, d)| (first as usize + i) as f32 + d as f32);
    let new = NewRows { x: x.view(), labels: Some(&[Some(ClassId(0)); 100]), weights: None };
    store.append(&schema(), &new).map(|appended| appended.end)
}

fn open(dir: &Path) -> Result<Store, Error> {
    Store::open(dir, &Options::default())
}

/// Makes a copy of a folder, as it would be found after a crash: the store that is open on it has no chance to tidy up.
fn crashed(folder: &TempDir) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    fs::create_dir(copy.path().join("checkpoints")).unwrap();
    for sub in ["", "checkpoints"] {
        for entry in fs::read_dir(folder.path().join(sub)).unwrap().map(Result::unwrap) {
            if entry.path().is_file() && entry.file_name() != "store.db-shm" {
                fs::copy(entry.path(), copy.path().join(sub).join(entry.file_name())).unwrap();
            }
        }
    }
    copy
}

fn cut(path: &Path, share: f64) {
    let file = File::options().write(true).open(path).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len((len as f64 * share) as u64).unwrap();
}

fn problem(result: Result<impl Sized, Error>) -> (StoreProblem, String) {
    match result {
        Err(error) => match &error {
            Error::Store { path: Some(_), problem } => (problem.clone(), error.to_string()),
            other => panic!("{other}"),
        },
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn a_crash_loses_nothing_that_was_acknowledged() {
    let (folder, store) = filled(7);
    let copy = crashed(&folder);
    let found = open(copy.path()).unwrap();
    assert_eq!((found.n_rows(), found.end()), (700, 700));
    assert_eq!(found.read(0, 700).unwrap(), store.read(0, 700).unwrap());
    assert!(found.notes().is_empty());
    found.check().unwrap();
}

#[test]
fn a_log_that_was_cut_off_keeps_what_is_before_the_cut() {
    let (folder, store) = filled(20);
    store.set_learner("l", "").unwrap();
    store.save_checkpoint("l", 2_000, "", |out| out.write_all(b"model")).unwrap();
    for share in [0.0, 0.1, 0.5, 0.8, 0.999] {
        let copy = crashed(&folder);
        cut(&copy.path().join("store.db-wal"), share);
        let found = open(copy.path()).unwrap();
        let rows = found.n_rows();
        assert!(rows < 2_000 || share > 0.9, "{rows}");
        assert_eq!(rows % 100, 0, "half of a batch");
        found.check().unwrap();
        if rows > 0 {
            let all = |store: &Store| store.read(0, rows as usize).unwrap();
            assert_eq!(all(&found).map(|block| block.x), all(&store).map(|block| block.x));
        }
        // That a model had learnt more shows that something is missing.
        let is_told = found.notes().iter().any(|note| note.contains("the end of the log is lost"));
        assert_eq!(is_told, rows < 2_000, "{:?}", found.notes());
        assert!(found.load_checkpoint("l").unwrap().checkpoint.is_none() || rows == 2_000);
        append(&found).unwrap();
        assert_eq!(found.n_rows(), rows + 100);
    }
}

#[test]
fn a_database_that_was_cut_off_is_refused_with_advice() {
    let (folder, store) = filled(50);
    drop(store); // writes the log into the database
    for share in [0.3, 0.9, 0.999] {
        let copy = crashed(&folder);
        cut(&copy.path().join(DATABASE), share);
        let (found, message) = problem(open(copy.path()));
        assert!(matches!(found, StoreProblem::Damaged { .. }), "{message}");
        assert!(message.contains("backup") && message.contains(".recover"), "{message}");
        problem(Store::open_to_read(copy.path()));
    }
    for content in ["", "nonsense, and not a database at all"] {
        let copy = crashed(&folder);
        fs::write(copy.path().join(DATABASE), content).unwrap();
        let (found, message) = problem(open(copy.path()));
        assert!(matches!(found, StoreProblem::NotAStore { .. }), "{message}");
    }
}

#[test]
fn nonsense_in_the_middle_is_found_by_a_check() {
    let (folder, store) = filled(50);
    drop(store);
    let path = folder.path().join(DATABASE);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2 / 4_096 * 4_096;
    bytes[middle..middle + 2_000].fill(0xA5);
    fs::write(&path, bytes).unwrap();
    let refused = open(folder.path()).and_then(|store| store.check());
    assert!(matches!(problem(refused).0, StoreProblem::Damaged { .. }));
}

fn models(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join("checkpoints")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn a_checkpoint_that_was_cut_off_gives_way_to_the_one_before() {
    let (folder, store) = filled(3);
    store.set_learner("l", "").unwrap();
    for cursor in [100, 200, 300] {
        store.save_checkpoint("l", cursor, "state", |out| write!(out, "model {cursor}")).unwrap();
    }
    let names = models(folder.path());
    assert_eq!(names.len(), 2);
    drop(store);
    cut(&names[1], 0.5);
    fs::write(folder.path().join("checkpoints/l-250.hedgerow.unfinished"), "half").unwrap();
    fs::write(folder.path().join("checkpoints/l-250.hedgerow"), "not a model file").unwrap();
    let store = open(folder.path()).unwrap();
    assert_eq!(models(folder.path()), names, "leftovers");
    let restored = store.load_checkpoint("l").unwrap();
    assert_eq!(restored.checkpoint.unwrap().cursor, 200);
    assert!(restored.warnings[0].contains("l-300.hedgerow") && restored.warnings[0].contains("bytes"));
    // The same length, but other bytes; then none is left.
    fs::write(&names[0], "MODEL 200").unwrap();
    let restored = store.load_checkpoint("l").unwrap();
    assert!(restored.checkpoint.is_none() && restored.warnings[0].contains("checksum"));
    assert!(store.load_checkpoint("l").unwrap().warnings.is_empty());
}

#[test]
fn a_full_disk_loses_nothing_and_more_room_helps() {
    let (folder, store) = filled(1);
    drop(store);
    let options = {
        let mut options = Options::default();
        options.max_bytes = Some(300_000);
        options
    };
    let store = Store::open(folder.path(), &options).unwrap();
    let (found, message) = loop {
        match append(&store) {
            Ok(_) => assert!(store.n_rows() < 100_000),
            failed => break problem(failed),
        }
    };
    assert!(matches!(found, StoreProblem::Full { .. }), "{message}");
    assert!(message.contains("safe") && message.contains("room"), "{message}");
    let rows = store.n_rows();
    assert_eq!(store.end(), rows);
    assert_eq!(store.read(rows - 100, 100).unwrap().unwrap().len(), 100);
    problem(append(&store)); // still full
    drop(store);
    let store = open(folder.path()).unwrap();
    assert_eq!((store.n_rows(), store.end()), (rows, rows));
    append(&store).unwrap();
    store.check().unwrap();
}

#[test]
fn one_process_writes_and_others_look() {
    let (folder, store) = filled(2);
    let (found, message) = problem(open(folder.path()));
    assert!(matches!(found, StoreProblem::InUse { .. }));
    assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
    let reader = Store::open_to_read(folder.path()).unwrap();
    assert_eq!(reader.n_rows(), 200);
    assert!(append(&reader).is_err());
    append(&store).unwrap();
    drop(store);
    assert_eq!(open(folder.path()).unwrap().n_rows(), 300);
}

#[test]
fn other_folders_and_newer_versions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (found, message) = problem(open(folder.path()));
    assert!(matches!(found, StoreProblem::NotAStore { .. }) && message.contains(DATABASE));
    assert!(problem(open(&folder.path().join("none"))).1.contains("no such folder"));
    let (folder, store) = filled(1);
    drop(store);
    problem(Store::create(folder.path(), &schema(), &Options::default()).map(drop));
    let database = rusqlite::Connection::open(folder.path().join(DATABASE)).unwrap();
    database.pragma_update(None, "user_version", FORMAT_VERSION + 1).unwrap();
    let (found, message) = problem(open(folder.path()));
    assert!(
        matches!(found, StoreProblem::Version { .. }) && message.contains("update hedgerow"),
        "{message}"
    );
    database.pragma_update(None, "application_id", 7).unwrap();
    assert!(problem(open(folder.path())).1.contains("another database"));
}

#[test]
fn anyone_can_query_it() {
    let mut schema = schema();
    schema.named = true;
    schema.columns[0].name = "petal width".into();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path(), &schema, &Options::default()).unwrap();
    let x = ndarray::array![[0.5, 2.0, f32::NAN], [1.5, 3.0, 4.0]];
    store.append(&schema, &NewRows { x: x.view(), labels: None, weights: None }).unwrap();
    schema.labels.get_or_add("b").unwrap();
    store.label(&schema, &[(2, ClassId(0)), (2, ClassId(1))]).unwrap();
    let database = rusqlite::Connection::open(folder.path().join(DATABASE)).unwrap();
    let label: String =
        database.query_row("SELECT label FROM current_labels WHERE row = 2", [], |row| row.get(0)).unwrap();
    assert_eq!(label, "b");
    let sql = "SELECT \"petal width\", \"2\", current_label FROM labelled_rows";
    let found = database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    assert_eq!(found.unwrap(), (1.5, 4.0, "b".to_string()));
}
