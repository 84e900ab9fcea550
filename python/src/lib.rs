//! The native half of the Python package: numpy arrays in, the engine without the interpreter's lock, numpy arrays out.
//!
//! What people use is written in Python (`hedgerow/`); this module is private to it. `table` reads arrays, `run` is the one way
//! into the engine, `errors` the one way out of it when something is wrong.

mod detector;
mod early;
mod errors;
mod evidence;
mod limits;
mod model;
mod run;
mod table;

/// The private native module. Use the classes of `hedgerow` instead.
#[pyo3::pymodule]
mod _hedgerow {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::detector::{Detector, FittedDetector};
    #[pymodule_export]
    use crate::early::Early;
    #[pymodule_export]
    use crate::evidence::Evidence;
    #[pymodule_export]
    use crate::model::{Fitted, Model, Update};

    /// The version of the engine.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Runs the command line and returns its exit code.
    #[pyfunction]
    fn command_line(py: Python<'_>, args: Vec<OsString>) -> u8 {
        py.detach(|| hedgerow_cli::run(args))
    }

    /// Reads a model file.
    #[pyfunction]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        let model = crate::run::at_once(py, || hedgerow::Model::load(path))?;
        model.map(Model::of).map_err(crate::errors::to_python)
    }

    /// A model from the bytes of a model file.
    #[pyfunction]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Model> {
        let model = crate::run::at_once(py, || hedgerow::Model::from_bytes(bytes))?;
        model.map(Model::of).map_err(crate::errors::to_python)
    }

    /// The parameters of a kind of model as they are when none is given: an object in JSON.
    #[pyfunction]
    fn default_settings(kind: &str) -> PyResult<String> {
        crate::limits::default_settings(kind).map_err(crate::errors::to_python)
    }

    /// The parameters of an outlier detector as they are when none is given: an object in JSON.
    #[pyfunction]
    fn default_outlier_settings() -> String {
        crate::detector::default_settings()
    }
}
