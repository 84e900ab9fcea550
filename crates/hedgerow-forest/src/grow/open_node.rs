//! Nodes that wait to be split, and the class groups of their rows.

use std::ops::Range;

use crate::tree::Above;

/// A node that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenNode {
    /// Its first row in the index array.
    pub(super) start: usize,
    /// How many rows of the bag it has.
    pub(super) len: usize,
    /// How many rows left out of the bag follow them.
    pub(super) n_held: usize,
    /// How many classes they have.
    pub(super) n_groups: usize,
    /// Splits above it.
    pub(super) depth: usize,
    /// Columns known to have one value in all of its rows.
    pub(super) n_constant: usize,
    /// The split above it and whether it is the right child.
    pub(super) parent: Above,
    /// Whether the rows left out have been taken in, here or above.
    pub(super) knows_all: bool,
    /// Whether its rows are those of the copy nearby.
    pub(super) is_nearby: bool,
    /// Whether to look at all columns at once for those that are constant.
    pub(super) look_at_all: bool,
}

impl OpenNode {
    /// Where its rows of the bag are in the index array.
    pub(super) fn rows(&self) -> Range<usize> {
        self.start..self.start + self.len
    }

    /// The same with the rows left out of the bag, which follow them.
    pub(super) fn all_rows(&self) -> Range<usize> {
        self.start..self.start + self.len + self.n_held
    }
}

/// A run of rows of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) class: u16,
    pub(super) len: u32,
}
