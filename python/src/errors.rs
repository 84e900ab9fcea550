//! Errors of the engine as Python exceptions.

use hedgerow::core::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

/// The exception a Python programmer would expect for an error, with the engine's message.
pub(crate) fn to_python(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Io { path, source } => match source.raw_os_error() {
            // With a number, Python picks the class: FileNotFoundError, PermissionError, …
            Some(number) => {
                let reason = source.to_string();
                let reason = reason.split(" (os error").next().unwrap_or(&reason).to_owned();
                PyOSError::new_err((number, reason, path.display().to_string()))
            }
            None => PyOSError::new_err(message),
        },
        Error::BudgetTooSmall { .. } => PyMemoryError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(message),
        Error::Threads { .. } | Error::NoModel | Error::StillRunning => PyRuntimeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}
