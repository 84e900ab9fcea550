//! The database's errors in our words.

use hedgerow_core::{Error, Result, StoreProblem};
use rusqlite::{Error as SqlError, ErrorCode};

/// A result of the database as one of ours.
pub(super) trait OrFail<T> {
    fn or_fail(self) -> Result<T>;
}

impl<T> OrFail<T> for rusqlite::Result<T> {
    fn or_fail(self) -> Result<T> {
        self.map_err(|error| Error::store(problem(&error)))
    }
}

fn problem(error: &SqlError) -> StoreProblem {
    let detail = error.to_string();
    match error {
        SqlError::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DiskFull => StoreProblem::Full(detail),
            ErrorCode::DatabaseCorrupt => StoreProblem::Damaged(detail),
            ErrorCode::NotADatabase => StoreProblem::NotAStore(detail),
            // Writing past a limit on the size of files, or to a disk that fails.
            ErrorCode::SystemIoFailure => StoreProblem::Database(format!(
                "{detail}: is the disk full, a quota reached, or the disk failing?"
            )),
            _ => StoreProblem::Database(detail),
        },
        // What is in the tables is not what we write.
        SqlError::FromSqlConversionFailure(..)
        | SqlError::IntegralValueOutOfRange(..)
        | SqlError::InvalidColumnType(..)
        | SqlError::Utf8Error(..)
        | SqlError::QueryReturnedNoRows => StoreProblem::Damaged(detail),
        _ => StoreProblem::Database(detail),
    }
}

/// Tables that contradict each other.
pub(super) fn damaged(detail: impl Into<String>) -> Error {
    Error::store(StoreProblem::Damaged(detail.into()))
}
