//! What a place to keep things must be able to do. [`Store`](crate::Store) does the rest, once for all of them.

use hedgerow_core::{ClassId, Result, Schema};
use serde::Serialize;

use crate::block::Change;
use crate::checkpoint::{Checkpoint, Written};
use crate::growth::{Grown, History};
use crate::input::Input;
use crate::store::NewRows;

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

#[derive(Clone, Copy)]
pub(crate) enum Events<'a> {
    /// New rows, the first of which has this number.
    Rows(u64, NewRows<'a>),
    /// Labels of rows that are there.
    Labels(&'a [NewLabel]),
}

impl Events<'_> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Rows(_, rows) => rows.x.nrows(),
            Self::Labels(labels) => labels.len(),
        }
    }

    /// What an event says of a column in numbers: its category, or without a column its class.
    pub(crate) fn code(&self, event: usize, column: Option<usize>) -> Option<usize> {
        match (self, column) {
            (Self::Rows(_, rows), None) => rows.label(event).map(ClassId::index),
            (Self::Rows(_, rows), Some(column)) => {
                Some(rows.x[[event, column]]).filter(|value| !value.is_nan()).map(|value| value as usize)
            }
            (Self::Labels(labels), None) => Some(labels[event].class.index()),
            (Self::Labels(_), Some(_)) => None,
        }
    }
}

/// A label, and the label that the row had before with the event that gave it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewLabel {
    pub(crate) row: u64,
    pub(crate) class: ClassId,
    pub(crate) replaces: Option<(u64, ClassId)>,
}

impl NewLabel {
    pub(crate) fn change(self) -> Change {
        match self.replaces {
            Some((_, old)) => Change::Correction { old, new: self.class },
            None => Change::Label(self.class),
        }
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

/// A place to keep rows and labels, and what is known of its content.
pub(crate) struct Log {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) history: History,
    pub(crate) n_rows: u64,
    /// The place after the last event.
    pub(crate) end: u64,
    /// Whether a write has failed so that nothing may follow it.
    pub(crate) is_broken: bool,
}

/// A place to keep rows and labels.
pub(crate) trait Backend: Learners + Send {
    /// Keeps all of the entry or, if it fails, nothing of it. When it returns, it is safe.
    fn write(&mut self, entry: &Entry<'_, '_>) -> Result<()>;
    /// Adds events from `seq` on, which is there, to `out`: at most `most`, all of them rows or all of them labels.
    fn read(&mut self, seq: u64, most: usize, out: &mut Raw) -> Result<()>;
    /// The label that a row has now, and the event that gave it.
    fn label_of(&mut self, row: u64) -> Result<Option<(u64, ClassId)>>;

    /// The inputs in the order in which they were begun.
    fn inputs(&mut self) -> Result<Vec<Input>>;
    /// Notes how far an input was read, without rows.
    fn set_input(&mut self, input: &Input) -> Result<()>;

    fn counts(&mut self) -> Result<Counts>;
    /// Looks at everything there is, and fails if something is wrong.
    fn check(&mut self) -> Result<()>;
}

/// A place to keep learners and their checkpoints.
pub(crate) trait Learners {
    /// All learners.
    fn learners(&mut self) -> Result<Vec<LearnerInfo>>;
    /// Notes a learner, or other words about one that is there.
    fn set_learner(&mut self, name: &str, config: &str) -> Result<()>;
    /// Keeps a checkpoint whose model was written; afterwards at most two of the learner are kept.
    fn save_checkpoint(&mut self, name: &str, cursor: u64, state: &str, model: Written) -> Result<()>;
    /// The newest checkpoint that is whole, and words about those that are not.
    fn load_checkpoint(&mut self, name: &str, warnings: &mut Vec<String>) -> Result<Option<Checkpoint>>;
    /// Throws one checkpoint away: its owner could not use it.
    fn drop_checkpoint(&mut self, name: &str, cursor: u64) -> Result<()>;
}
