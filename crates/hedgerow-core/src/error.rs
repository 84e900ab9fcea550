//! One error type for the whole project.
//!
//! Every message tells what was wanted, what came, and where. [`DataError`] carries the place (file, row, line, column)
//! apart from the problem, so that a reader can add what it knows on the way up.

mod data;
mod model;
mod nearest;
mod store;

use std::path::{Path, PathBuf};

pub use data::{DataError, DataProblem};
pub use model::ModelProblem;
pub use nearest::nearest;
pub use store::StoreProblem;

/// The result of anything in Hedgerow that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, in the words a user should see.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its range.
    #[error("parameter {name}: expected {expected}, got {got}")]
    Param {
        /// The field's name, as `--set` takes it.
        name: String,
        /// What would have been accepted.
        expected: String,
        /// What came.
        got: String,
    },
    /// A parameter of this name does not exist.
    #[error("no parameter is called {name:?}; there are: {known}{}", nearest::suggestion(.name, .known))]
    UnknownParam {
        /// The name that was given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Two things that must agree in size do not.
    #[error("{what}: expected {expected}, got {got}")]
    Shape {
        /// Which size.
        what: &'static str,
        /// The size wanted.
        expected: usize,
        /// The size that came.
        got: usize,
    },
    /// The data cannot be used; the place is inside.
    #[error(transparent)]
    Data(#[from] Box<DataError>),
    /// A model file cannot be used.
    #[error("{}: {problem}", .path.as_ref().map_or_else(|| "model".into(), |p| p.display().to_string()))]
    ModelFile {
        /// The file, where there is one.
        path: Option<PathBuf>,
        /// What is wrong with it.
        problem: ModelProblem,
    },
    /// A store of rows and labels cannot be used.
    #[error("{}: {problem}", .path.as_ref().map_or_else(|| "store".into(), |p| p.display().to_string()))]
    Store {
        /// The folder, where there is one.
        path: Option<PathBuf>,
        /// What is wrong.
        problem: StoreProblem,
    },
    /// The models given to `merge` do not fit together.
    #[error("cannot merge: {what} differ: {left} and {right}")]
    Merge {
        /// What must be the same.
        what: &'static str,
        /// The first model's.
        left: String,
        /// The other model's.
        right: String,
    },
    /// The model was saved without the rows that learning needs.
    #[error(
        "this model cannot learn more: it was saved without the rows it was fitted to; fit it again and keep them"
    )]
    Frozen,
    /// The model has no rows that outlier scores could compare others with.
    #[error(
        "this model has no reference rows, which outlier scores compare others with: it has learnt nothing yet, or was saved without its rows (--frozen) or by an earlier version; fit it again and keep its rows"
    )]
    NoReferenceRows,
    /// The model was saved without the rows that intervals are made from, and without intervals.
    #[error(
        "this model cannot tell intervals: it was saved without the rows it was fitted to; fit it again and keep them, or save what intervals take with it (fit --interval)"
    )]
    NoIntervals,
    /// Models of this kind cannot do what was asked.
    #[error("models of kind {kind} cannot {what}{}", if .able.is_empty() { String::new() } else { format!("; kinds that can: {able}") })]
    Unable {
        /// The kind.
        kind: String,
        /// What it cannot do.
        what: &'static str,
        /// The kinds that can, where they are known.
        able: String,
    },
    /// A budget is too small for any model at all.
    #[error("{what} needs at least {needed}, the limit is {limit}")]
    BudgetTooSmall {
        /// What the budget was for.
        what: String,
        /// The least that would do.
        needed: String,
        /// What was allowed.
        limit: String,
    },
    /// The work was interrupted before there was anything to return.
    #[error("interrupted before a model existed")]
    Interrupted,
    /// Training came to its end, or to that of its budget, without a model.
    #[error("training ended before a model existed: allow it more time or memory")]
    NoModel,
    /// An engine whose work is still held on to by another handle.
    #[error("the engine cannot be ended: something still holds on to its work")]
    StillRunning,
    /// The operating system refused to read or write.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file concerned.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// Threads could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many were wanted.
        threads: usize,
        /// The system's message.
        reason: String,
    },
}

impl Error {
    /// A parameter outside its range.
    pub fn param(name: impl Into<String>, expected: impl Into<String>, got: impl ToString) -> Self {
        Self::Param { name: name.into(), expected: expected.into(), got: got.to_string() }
    }

    /// Something that models of a kind cannot do.
    pub fn unable(kind: &str, what: &'static str) -> Self {
        Self::Unable { kind: kind.into(), what, able: String::new() }
    }

    /// A limit on memory that is too small.
    pub fn too_few_bytes(what: String, needed: u64, limit: u64) -> Self {
        let needed = format!("{} MB", needed.div_ceil(1_000_000));
        Self::BudgetTooSmall { what, needed, limit: format!("{} MB", limit / 1_000_000) }
    }

    /// An operating-system error at `path`.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// A problem with a model file that has not been given its path yet.
    pub fn model(problem: ModelProblem) -> Self {
        Self::ModelFile { path: None, problem }
    }

    /// A problem with a store that has not been given its folder yet.
    pub fn store(problem: StoreProblem) -> Self {
        Self::Store { path: None, problem }
    }

    /// The same error with the file's name, where it is one about a file that has none yet.
    #[must_use]
    pub fn in_file(self, file: &Path) -> Self {
        match self {
            Self::Data(mut data) => {
                data.file.get_or_insert_with(|| file.to_path_buf());
                Self::Data(data)
            }
            Self::ModelFile { path: None, problem } => {
                Self::ModelFile { path: Some(file.to_path_buf()), problem }
            }
            Self::Store { path: None, problem } => Self::Store { path: Some(file.to_path_buf()), problem },
            other => other,
        }
    }
}

impl From<DataError> for Error {
    fn from(error: DataError) -> Self {
        Self::Data(Box::new(error))
    }
}

impl From<DataProblem> for Error {
    fn from(problem: DataProblem) -> Self {
        DataError::from(problem).into()
    }
}

/// Fails at the first of some sizes that is not as expected; each is what is counted, how many are expected, and how many there are.
pub fn check_shapes<const N: usize>(shapes: [(&'static str, usize, usize); N]) -> Result<()> {
    match shapes.into_iter().find(|(_, expected, got)| expected != got) {
        Some((what, expected, got)) => Err(Error::Shape { what, expected, got }),
        None => Ok(()),
    }
}
