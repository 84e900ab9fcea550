//! What can be wrong with a model file.

use crate::data::Task;

/// Why a model file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelProblem {
    /// Not one of our files at all.
    #[error("not a hedgerow model file ({detail})")]
    NotAModel {
        /// What gave it away.
        detail: String,
    },
    /// The file is shorter or longer than its header tells.
    #[error("the model file is cut off or damaged: expected {expected} bytes, got {got}")]
    Length {
        /// Bytes the header promises.
        expected: u64,
        /// Bytes there are.
        got: u64,
    },
    /// The checksum does not match.
    #[error(
        "the model file is damaged: its checksum is {got:08x}, expected {expected:08x}; use a backup or train again"
    )]
    Checksum {
        /// The checksum written in the file.
        expected: u32,
        /// The checksum of what is there.
        got: u32,
    },
    /// Written by a newer or an unknown version.
    #[error(
        "the model file has format version {got}, this program reads versions {oldest} to {newest}; update hedgerow"
    )]
    Version {
        /// The file's version.
        got: String,
        /// The oldest we read.
        oldest: u32,
        /// The newest we read.
        newest: u32,
    },
    /// A model of the other task.
    #[error(
        "this {kind} model {}; {expected} is needed here",
        if *expected == Task::Regression { "predicts classes" } else { "is a regression model" }
    )]
    Task {
        /// The kind of the model.
        kind: &'static str,
        /// The task wanted.
        expected: Task,
    },
    /// Nothing to make prediction sets from.
    #[error(
        "the model has no out-of-sample predictions to make prediction sets from: it was merged, or fitted by an older version; fit it again, or have it \
         learn rows, which it predicts first"
    )]
    NoScores,
    /// It has no rows that evidence could be counted from.
    #[error(
        "this {kind} model was saved without its rows, of which evidence is counted; fit it again and keep them"
    )]
    WithoutRows {
        /// The kind of the model.
        kind: &'static str,
    },
    /// A part is missing or of the wrong type.
    #[error("the model file's part {part:?} is missing or malformed: {detail}")]
    Part {
        /// The part's name.
        part: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The parts contradict each other.
    #[error("the model file contradicts itself: {detail}")]
    Inconsistent {
        /// How.
        detail: String,
    },
}
