//! What decides which rows of a stream are labelled.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hedgerow::active::stream::{Because, StreamQueryParams, uncertainty};
use hedgerow::core::Params as _;
use numpy::{IntoPyArray as _, PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::pool::with_settings;
use crate::errors::to_python;

/// Decides about the rows of a stream one by one.
#[pyclass(frozen, module = "hedgerow._hedgerow")]
pub(crate) struct StreamQuerier(Mutex<hedgerow::active::stream::StreamQuerier>);

#[pymethods]
impl StreamQuerier {
    /// For a stream that begins. Settings are names and values in JSON.
    #[new]
    fn new(settings: Vec<(String, String)>) -> PyResult<Self> {
        let params =
            with_settings(StreamQueryParams::default(), &settings).and_then(StreamQueryParams::check);
        let params = params.map_err(to_python)?;
        Ok(Self(Mutex::new(hedgerow::active::stream::StreamQuerier::new(params))))
    }

    /// For each row of probabilities: 0 if its label is not asked for, 1 because it is uncertain, 2 at random. With `commit` false nothing is remembered.
    fn query<'py>(
        &self,
        py: Python<'py>,
        proba: PyReadonlyArray2<'py, f64>,
        commit: bool,
    ) -> Bound<'py, PyArray1<i64>> {
        let mut querier = self.lock();
        let mut next = querier.clone();
        let code = |because: Option<Because>| match because {
            None => 0,
            Some(Because::Uncertain) => 1,
            Some(Because::Random) => 2,
        };
        let codes: Vec<i64> = proba.as_array().rows().into_iter().map(|row| code(next.query(row))).collect();
        if commit {
            *querier = next;
        }
        codes.into_pyarray(py)
    }

    /// How uncertain each prediction is, from 0 to 1.
    #[staticmethod]
    fn uncertainty<'py>(py: Python<'py>, proba: PyReadonlyArray2<'py, f64>) -> Bound<'py, PyArray1<f64>> {
        let all: Vec<f64> = proba.as_array().rows().into_iter().map(uncertainty).collect();
        all.into_pyarray(py)
    }

    /// Rows, labels asked for, those of them at random, and the threshold.
    fn state(&self) -> (u64, u64, u64, f64) {
        let querier = self.lock();
        (querier.n_seen(), querier.n_queried(), querier.n_random(), querier.threshold())
    }

    /// The querier as text.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&*self.lock())
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
    }

    /// A querier from its text.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let wrong = |error: serde_json::Error| pyo3::exceptions::PyValueError::new_err(error.to_string());
        let querier: hedgerow::active::stream::StreamQuerier = serde_json::from_str(text).map_err(wrong)?;
        querier.check().map_err(to_python)?;
        Ok(Self(Mutex::new(querier)))
    }
}

impl StreamQuerier {
    fn lock(&self) -> MutexGuard<'_, hedgerow::active::stream::StreamQuerier> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
