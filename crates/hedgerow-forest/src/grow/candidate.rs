//! A split that has been thought of, not yet made.

use crate::codes::{Code, ColumnCodes, Meaning};
use crate::tree::CategorySet;

/// What a split asks of a code.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Question {
    /// Is it this one or a smaller one?
    UpTo(usize),
    /// Is it in this set?
    In(CategorySet),
}

/// A possible split of a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) column: usize,
    pub(super) question: Question,
    pub(super) missing_left: bool,
    /// How much impurity it removes: impurity of the node minus that of its sides, weighted by size.
    pub(super) gain: f64,
}

/// The same question, prepared to be asked of many codes.
pub(super) enum Side<C> {
    UpTo { last: C, missing: Option<bool> },
    In { left: Vec<bool>, missing: bool },
}

impl Candidate {
    pub(super) fn side_of_code<C: Code>(&self, column: &ColumnCodes) -> Side<C> {
        let missing = column.has_missing.then_some(self.missing_left);
        match &self.question {
            Question::UpTo(code) => Side::UpTo { last: C::narrow(*code), missing },
            Question::In(set) => {
                let n_categories = match column.meaning {
                    Meaning::Category(n) => n,
                    _ => 0,
                };
                Side::In {
                    left: (0..n_categories).map(|c| set.contains(c)).collect(),
                    missing: self.missing_left,
                }
            }
        }
    }
}
