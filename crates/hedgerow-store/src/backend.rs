//! What a place to keep things must be able to do. [`Store`](crate::Store) does the rest, once for all of them.

use std::path::PathBuf;

use hedgerow_core::{ClassId, Result, Schema};
use ndarray::ArrayView2;
use serde::Serialize;

use crate::block::Change;
use crate::checkpoint::{Checkpoint, Written};
use crate::growth::Grown;
use crate::input::Input;

/// Everything that is appended at once: it is kept as a whole or not at all.
pub(crate) struct Entry<'a, 'e> {
    /// Sequence number of the first event.
    pub(crate) first_seq: u64,
    pub(crate) grown: &'a [Grown],
    pub(crate) events: Events<'e>,
    /// How far the input was read with it.
    pub(crate) input: Option<&'a Input>,
    /// The schema with `grown` in it.
    pub(crate) schema: &'a Schema,
}

pub(crate) enum Events<'a> {
    /// New rows, each with a label or without.
    Rows {
        first_row: u64,
        x: ArrayView2<'a, f32>,
        labels: Option<&'a [Option<ClassId>]>,
        weights: Option<&'a [f32]>,
    },
    /// Labels of rows that are there.
    Labels(&'a [NewLabel]),
}

/// A label, and the event that gave its row the label before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewLabel {
    pub(crate) row: u64,
    pub(crate) class: ClassId,
    pub(crate) replaces: Option<u64>,
}

/// A stretch of events of one sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first_seq: u64,
    pub(crate) n: u64,
    /// The first row, for events that are rows. Such rows follow one another.
    pub(crate) first_row: Option<u64>,
}

impl Run {
    pub(crate) fn end(self) -> u64 {
        self.first_seq + self.n
    }
}

/// Events as they come out of a backend.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    pub(crate) x: Vec<f32>,
    pub(crate) rows: Vec<u64>,
    pub(crate) changes: Vec<Change>,
    pub(crate) weights: Vec<f32>,
}

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Rows.
    pub rows: u64,
    /// Events: rows, late labels and corrections.
    pub events: u64,
    /// Rows that have a label now.
    pub labelled: u64,
    /// Labels that took the place of another.
    pub corrections: u64,
    /// Bytes on disk, or in memory where there is no disk.
    pub bytes: u64,
}

/// A learner and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearnerInfo {
    /// Its name.
    pub name: String,
    /// How it was begun, in whatever words its owner uses.
    pub config: String,
    /// Where its newest checkpoint stands; none if it has none.
    pub cursor: Option<u64>,
    /// Bytes of that checkpoint's model.
    pub model_bytes: u64,
}

/// A place to keep rows and labels.
pub(crate) trait Backend: Send {
    /// Keeps all of the entry or, if it fails, nothing of it. When it returns, it is safe.
    fn write(&mut self, entry: &Entry<'_, '_>) -> Result<()>;
    /// The stretch that an event lies in.
    fn run_at(&mut self, seq: u64) -> Result<Option<Run>>;
    /// Events of a stretch of rows, from `seq` on.
    fn read_rows(&mut self, run: Run, seq: u64, n: usize, schema: &Schema, out: &mut Raw) -> Result<()>;
    /// Events of a stretch of labels, from `seq` on.
    fn read_labels(&mut self, seq: u64, n: usize, schema: &Schema, out: &mut Raw) -> Result<()>;
    /// The label that a row has now, and the event that gave it.
    fn label_of(&mut self, row: u64) -> Result<Option<(u64, ClassId)>>;

    /// The inputs in the order in which they were begun.
    fn inputs(&mut self) -> Result<Vec<Input>>;
    /// Notes how far an input was read, without rows.
    fn set_input(&mut self, input: &Input) -> Result<()>;

    /// All learners.
    fn learners(&mut self) -> Result<Vec<LearnerInfo>>;
    /// Notes a learner, or other words about one that is there.
    fn set_learner(&mut self, name: &str, config: &str) -> Result<()>;
    /// The folder that models are written into; none if they are kept in memory.
    fn models(&self) -> Option<PathBuf>;
    /// Keeps a checkpoint whose model was written; afterwards at most two of the learner are kept.
    fn save_checkpoint(&mut self, name: &str, cursor: u64, state: &str, model: Written) -> Result<()>;
    /// The newest checkpoint that is whole, and words about those that are not.
    fn load_checkpoint(&mut self, name: &str, warnings: &mut Vec<String>) -> Result<Option<Checkpoint>>;
    /// Throws one checkpoint away: its owner could not use it.
    fn drop_checkpoint(&mut self, name: &str, cursor: u64) -> Result<()>;

    fn counts(&mut self) -> Result<Counts>;
    /// Looks at everything there is, and fails if something is wrong.
    fn check(&mut self) -> Result<()>;
}
