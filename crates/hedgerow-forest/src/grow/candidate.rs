//! A split that has been thought of, not yet made.

use crate::codes::Code;
use crate::tree::CategorySet;

/// What a split asks of a code.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Question<C> {
    /// Is it this one or a smaller one?
    UpTo(C),
    /// Is it in this set?
    In(CategorySet),
}

impl<C: Code> Question<C> {
    /// Whether the row goes to the first child.
    pub(super) fn holds(&self, code: C) -> bool {
        match self {
            Self::UpTo(last) => code <= *last,
            Self::In(set) => set.contains(code.wide()),
        }
    }
}

/// A possible split of a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate<C> {
    pub(super) column: usize,
    pub(super) question: Question<C>,
    pub(super) missing_left: bool,
    /// How much impurity it removes: impurity of the node minus that of its sides, weighted by size.
    pub(super) gain: f64,
}
