//! What was predicted of rows whose labels come later.

use hedgerow::core::Mixed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What was predicted of a row when it came. It is given back with the label, for calibration to learn from.
#[pyclass(frozen, module = "hedgerow._hedgerow")]
pub(crate) struct Early {
    pub(crate) mixed: Mixed,
}

#[pymethods]
impl Early {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let mixed = serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { mixed })
    }

    /// The same in JSON.
    fn text(&self) -> PyResult<String> {
        serde_json::to_string(&self.mixed).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
