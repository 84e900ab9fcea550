//! Events as learners read them.

use std::sync::Arc;

use hedgerow_core::{ClassId, Schema};
use ndarray::Array2;

/// What an event says about its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A new row, with its label if that came with it.
    Row(Option<ClassId>),
    /// The first label of a row that came without one.
    Label(ClassId),
    /// Another label in the place of an earlier one.
    Correction {
        /// The label so far.
        old: ClassId,
        /// The label from now on.
        new: ClassId,
    },
}

impl Change {
    /// The label that the row has after it.
    pub fn label(self) -> Option<ClassId> {
        match self {
            Self::Row(label) => label,
            Self::Label(label) | Self::Correction { new: label, .. } => Some(label),
        }
    }
}

/// Some events in order, each with the row it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The sequence number of the first event, from 0.
    pub first: u64,
    /// The features of the row of each event; `NaN` is missing.
    pub x: Array2<f32>,
    /// The number of the row of each event, from 1.
    pub rows: Vec<u64>,
    /// What each event says.
    pub changes: Vec<Change>,
    /// The weight of the row of each event; none where all are 1.
    pub weights: Option<Vec<f32>>,
    /// Columns and classes as they were known at these events: it does not depend on what came later.
    pub schema: Arc<Schema>,
}

impl Block {
    /// How many events there are.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The place after the last event: the cursor of a learner that has learnt the block.
    pub fn end(&self) -> u64 {
        self.first + self.changes.len() as u64
    }
}
