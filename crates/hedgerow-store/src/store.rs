//! The store: what is the same wherever rows are kept.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hedgerow_core::data::check_rows;
use hedgerow_core::error::check_shapes;
use hedgerow_core::{ClassId, Error, Result, Schema, StoreProblem};
use ndarray::{Array2, ArrayView2};
use serde::Serialize;

use crate::backend::{Counts, Entry, Events, LearnerInfo, Log, NewLabel, Raw};
use crate::block::Block;
use crate::checkpoint::{CHECKPOINTS, Restored, Written};
use crate::growth::History;
use crate::input::Input;
use crate::memory::Memory;
use crate::sqlite::{self, Options};
use crate::subscription::Subscription;

/// Rows to append.
#[derive(Debug, Clone, Copy)]
pub struct NewRows<'a> {
    /// The features; `NaN` is missing.
    pub x: ArrayView2<'a, f32>,
    /// The class of each row, where it is known; none where no label is.
    pub labels: Option<&'a [Option<ClassId>]>,
    /// The weight of each row; 1 where there is none.
    pub weights: Option<&'a [f32]>,
}

impl NewRows<'_> {
    /// The class of a row, where it is known.
    pub(crate) fn label(&self, i: usize) -> Option<ClassId> {
        self.labels.and_then(|labels| labels[i])
    }

    /// The weight of a row.
    pub(crate) fn weight(&self, i: usize) -> f32 {
        self.weights.map_or(1.0, |weights| weights[i])
    }
}

/// What rows got when they were appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The number of the first row, from 1; the others follow.
    pub first_row: u64,
    /// The place in the log after them.
    pub end: u64,
}

/// What became of labels that were given to rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Labelled {
    /// Rows that had no label before.
    pub added: u64,
    /// Rows that had another label before.
    pub corrected: u64,
    /// Rows that had this label already; nothing was written for them.
    pub unchanged: u64,
}

/// Rows and labels that only grow, in memory or in a folder. Clones are the same store.
#[derive(Clone)]
pub struct Store(Arc<Shared>);

struct Shared {
    log: Mutex<Log>,
    appended: Condvar,
    /// Held while the model of a checkpoint is written.
    saving: Mutex<()>,
    dir: Option<PathBuf>,
    /// What was found and set right when the store was opened.
    notes: Vec<String>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dir", &self.0.dir).finish_non_exhaustive()
    }
}

impl Store {
    /// An empty store in memory. A row takes as much of it as its values, and about 40 bytes more.
    pub fn in_memory(schema: Schema) -> Result<Self> {
        schema.check_sizes()?;
        let backend = Box::<Memory>::default();
        let history = History::new(schema, Vec::new())?;
        Ok(Self::new(Log { backend, history, n_rows: 0, end: 0, is_broken: false }, None, Vec::new()))
    }

    /// The durable store in a folder, to read and to append; fails if there is none, or if another process writes to it.
    pub fn open(dir: impl AsRef<Path>, options: &Options) -> Result<Self> {
        Self::from_opened(sqlite::open(dir.as_ref(), options), dir.as_ref())
    }

    /// A new durable store in a folder, which is made if it is not there; fails if a store is there already.
    pub fn create(dir: impl AsRef<Path>, schema: &Schema, options: &Options) -> Result<Self> {
        Self::from_opened(sqlite::create(dir.as_ref(), schema, options), dir.as_ref())
    }

    /// The durable store in a folder, to be looked at only; another process may write to it meanwhile.
    pub fn open_to_read(dir: impl AsRef<Path>) -> Result<Self> {
        Self::from_opened(sqlite::open_to_read(dir.as_ref()), dir.as_ref())
    }

    /// Whether a folder holds a store.
    pub fn is_there(dir: impl AsRef<Path>) -> bool {
        sqlite::is_there(dir.as_ref())
    }

    fn from_opened(opened: Result<(Log, Vec<String>)>, dir: &Path) -> Result<Self> {
        let (log, notes) = opened.map_err(|error| error.in_file(dir))?;
        Ok(Self::new(log, Some(dir.to_path_buf()), notes))
    }

    fn new(log: Log, dir: Option<PathBuf>, notes: Vec<String>) -> Self {
        let (log, appended, saving) = (Mutex::new(log), Condvar::new(), Mutex::default());
        Self(Arc::new(Shared { log, appended, saving, dir, notes }))
    }

    /// What was found and set right when the store was opened, in words for the user; empty if all was well.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// The columns and classes known now.
    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.lock().history.now)
    }

    /// The columns and classes that were known before any event: what a new learner begins with.
    pub fn first_schema(&self) -> Schema {
        self.lock().history.base.clone()
    }

    /// The columns and classes known at an event, from 0.
    pub fn schema_at(&self, seq: u64) -> Result<Arc<Schema>> {
        Ok(self.lock().history.at(seq)?.0)
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> u64 {
        self.lock().n_rows
    }

    /// The place after the last event.
    pub fn end(&self) -> u64 {
        self.lock().end
    }

    /// Appends rows. `schema` is that of the store, or that with classes and categories added at the ends. When this returns, the rows
    /// are as safe as the store is durable; if it fails, nothing was appended.
    pub fn append(&self, schema: &Schema, rows: &NewRows<'_>) -> Result<Appended> {
        self.append_impl(schema, rows, None)
    }

    /// The same for rows of an input, with a note of how far it has been read: both are kept or neither is.
    pub fn append_from(&self, schema: &Schema, rows: &NewRows<'_>, input: &Input) -> Result<Appended> {
        self.append_impl(schema, rows, Some(input))
    }

    fn append_impl(&self, schema: &Schema, rows: &NewRows<'_>, input: Option<&Input>) -> Result<Appended> {
        let mut log = self.lock();
        let first_row = log.n_rows + 1;
        check_new(schema, rows)?;
        let end = self.write(&mut log, schema, Events::Rows(first_row, *rows), input)?;
        log.n_rows += rows.x.nrows() as u64;
        Ok(Appended { first_row, end })
    }

    /// Gives labels to rows by number, from 1, whether they have one or not; the history is kept. `schema` is that of the store, or that
    /// with classes added at the end. All labels are written or, if it fails, none.
    pub fn label(&self, schema: &Schema, labels: &[(u64, ClassId)]) -> Result<Labelled> {
        let mut log = self.lock();
        let mut labelled = Labelled::default();
        let mut given: HashMap<u64, (u64, ClassId)> = HashMap::new();
        let mut new = Vec::new();
        for &(row, class) in labels {
            self.check_row(&log, row)?;
            if class.index() >= schema.n_classes() {
                let expected = format!("a number below {}", schema.n_classes());
                return Err(Error::param("class", expected, class.index()));
            }
            let replaces = match given.get(&row) {
                Some(&before) => Some(before),
                None => self.placed(log.backend.label_of(row))?,
            };
            match replaces {
                Some((_, old)) if old == class => {
                    labelled.unchanged += 1;
                    continue;
                }
                Some(_) => labelled.corrected += 1,
                None => labelled.added += 1,
            }
            given.insert(row, (log.end + new.len() as u64, class));
            new.push(NewLabel { row, class, replaces });
        }
        if !new.is_empty() {
            self.write(&mut log, schema, Events::Labels(&new), None)?;
        }
        Ok(labelled)
    }

    /// The label that a row has now, by number from 1.
    pub fn label_of(&self, row: u64) -> Result<Option<ClassId>> {
        let mut log = self.lock();
        self.check_row(&log, row)?;
        Ok(self.placed(log.backend.label_of(row))?.map(|(_, class)| class))
    }

    fn check_row(&self, log: &Log, row: u64) -> Result<()> {
        if row == 0 || row > log.n_rows {
            return Err(self.fail(StoreProblem::NoSuchRow { row, rows: log.n_rows }));
        }
        Ok(())
    }

    /// Writes events and wakes those who wait for them. Returns the place after them.
    fn write(
        &self,
        log: &mut Log,
        schema: &Schema,
        events: Events<'_>,
        input: Option<&Input>,
    ) -> Result<u64> {
        if log.is_broken {
            return Err(self.fail(StoreProblem::Broken));
        }
        let first_seq = log.end;
        let grown = self.placed(log.history.growth(schema, first_seq, events))?;
        let written = log.backend.write(&Entry { first_seq, grown: &grown, events, input, schema });
        // After a failed write to the disk it is unknown what it holds; a full one has taken nothing.
        log.is_broken = matches!(&written, Err(Error::Store { problem: StoreProblem::Database { .. }, .. }));
        self.placed(written)?;
        log.history.extend(grown)?;
        log.end += events.len() as u64;
        // They go on when the log is let go of.
        self.0.appended.notify_all();
        Ok(log.end)
    }

    /// Some events from a place in the log on, at most `most` (at least 1); none at the end. They are all rows or all labels, and all
    /// under one schema.
    pub fn read(&self, from: u64, most: usize) -> Result<Option<Block>> {
        let mut log = self.lock();
        let end = log.end;
        if from >= end {
            let problem = StoreProblem::NoSuchEvent { seq: from, end };
            return if from == end { Ok(None) } else { Err(self.fail(problem)) };
        }
        let (schema, known_until) = self.placed(log.history.at(from))?;
        let most = (known_until - from).min(most.max(1) as u64) as usize;
        let mut raw = Raw::default();
        let read = log.backend.read(from, most, &mut raw);
        drop(log);
        self.placed(read)?;
        let Raw { x, rows, changes, weights } = raw;
        let (what, expected, got) = ("values of events", rows.len() * schema.n_features(), x.len());
        let x = Array2::from_shape_vec((rows.len(), schema.n_features()), x).map_err(|_| Error::Shape {
            what,
            expected,
            got,
        })?;
        let weights = weights.iter().any(|&weight| weight != 1.0).then_some(weights);
        Ok(Some(Block { first: from, x, rows, changes, weights, schema }))
    }

    /// A learner's view from a place in the log on: 0, or where its checkpoint stands.
    pub fn subscribe(&self, cursor: u64) -> Subscription {
        Subscription::new(self.clone(), cursor)
    }

    /// Waits until the log goes on past a place, or the time is up; whether it does.
    pub(crate) fn wait_past(&self, cursor: u64, limit: Duration) -> bool {
        let end = Instant::now().checked_add(limit);
        let mut log = self.lock();
        while log.end <= cursor {
            let left = end.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            let waited = self.0.appended.wait_timeout(log, left);
            log = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// The inputs that rows came from, in the order in which they were begun.
    pub fn inputs(&self) -> Result<Vec<Input>> {
        self.placed(self.lock().backend.inputs())
    }

    /// Notes how far an input was read, without rows.
    pub fn set_input(&self, input: &Input) -> Result<()> {
        self.placed(self.lock().backend.set_input(input))
    }

    /// All learners that have left something here.
    pub fn learners(&self) -> Result<Vec<LearnerInfo>> {
        self.placed(self.lock().backend.learners())
    }

    /// Notes a learner and how it was begun. Its name is made of letters, digits, `-` and `_`.
    pub fn set_learner(&self, name: &str, config: &str) -> Result<()> {
        let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 100 || !name.chars().all(is_fine) {
            return Err(Error::param("learner", "1 to 100 letters, digits, - and _", format!("{name:?}")));
        }
        self.placed(self.lock().backend.set_learner(name, config))
    }

    /// Keeps what a learner needs to go on after the event before `cursor`: its model, which `write` writes, and `state`. The newest two are
    /// kept. Returns the bytes of the model. While it is being written, others may append and read.
    pub fn save_checkpoint(
        &self,
        name: &str,
        cursor: u64,
        state: &str,
        mut write: impl FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<u64> {
        // One at a time: two must not write the same file.
        let _saving = self.0.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match &self.0.dir {
            Some(dir) => Written::to_file(&dir.join(CHECKPOINTS), &format!("{name}-{cursor}"), &mut write),
            None => Written::to_memory(&mut write),
        };
        let written = self.placed(written)?;
        let len = written.len;
        self.placed(self.lock().backend.save_checkpoint(name, cursor, state, written))?;
        Ok(len)
    }

    /// The newest checkpoint of a learner that is whole. Damaged ones are dropped with a warning.
    pub fn load_checkpoint(&self, name: &str) -> Result<Restored> {
        let mut log = self.lock();
        let mut restored = Restored::default();
        restored.checkpoint = self.placed(log.backend.load_checkpoint(name, &mut restored.warnings))?;
        let end = log.end;
        match &restored.checkpoint {
            Some(checkpoint) if checkpoint.cursor > end => {
                Err(self.fail(StoreProblem::NoSuchEvent { seq: checkpoint.cursor, end }))
            }
            _ => Ok(restored),
        }
    }

    /// Throws a checkpoint away that its owner could not use; the one before it is then the newest.
    pub fn drop_checkpoint(&self, name: &str, cursor: u64) -> Result<()> {
        self.placed(self.lock().backend.drop_checkpoint(name, cursor))
    }

    /// How much there is.
    pub fn counts(&self) -> Result<Counts> {
        self.placed(self.lock().backend.counts())
    }

    /// Looks at everything on the disk, which takes a while for a large store; fails if something is wrong.
    pub fn check(&self) -> Result<()> {
        self.placed(self.lock().backend.check())
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        // A thread that panicked while writing has written nothing: the state here changes only after a write has succeeded.
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result with the store's folder in its error.
    fn placed<T>(&self, result: Result<T>) -> Result<T> {
        match &self.0.dir {
            Some(dir) => result.map_err(|error| error.in_file(dir)),
            None => result,
        }
    }

    fn fail(&self, problem: StoreProblem) -> Error {
        Error::Store { path: self.0.dir.clone(), problem }
    }
}

/// Fails unless rows fit the schema.
fn check_new(schema: &Schema, rows: &NewRows<'_>) -> Result<()> {
    let n = rows.x.nrows();
    check_shapes([
        ("feature columns", schema.n_features(), rows.x.ncols()),
        ("labels", n, rows.labels.map_or(n, <[_]>::len)),
        ("weights", n, rows.weights.map_or(n, <[f32]>::len)),
    ])?;
    // A row without a label is checked as if it had the first one.
    let labels: Vec<ClassId> = (0..n).map(|i| rows.label(i).unwrap_or(ClassId(0))).collect();
    if schema.n_classes() == 0 && (0..n).all(|i| rows.label(i).is_none()) {
        let with_one = Schema { labels: vec![String::new()].into(), ..schema.clone() };
        return check_rows(&with_one, rows.x, labels.as_slice().into(), rows.weights);
    }
    check_rows(schema, rows.x, labels.as_slice().into(), rows.weights)
}
