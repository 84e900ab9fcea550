//! Models of values as Python sees them.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use hedgerow::core::{Dataset, Error, Par, Regressor as _, Result, Rows, Training};
use hedgerow::{AnyModel, ValueModel as Engine};
use ndarray::Array2;
use numpy::{IntoPyArray as _, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::to_python;
use crate::limits::{Limits, params};
use crate::model::{Model, check_finite, exception, new_schema, reason};
use crate::run;
use crate::table::Table;

/// A model of values and the schema it was trained on.
#[pyclass(frozen, module = "hedgerow._hedgerow")]
pub(crate) struct ValueModel(RwLock<Engine>);

/// What a fit gives. `raised` is what stopped it, where something was raised while it ran: the model is the best so far.
#[pyclass(frozen, module = "hedgerow._hedgerow", get_all)]
pub(crate) struct FittedValues {
    model: Py<ValueModel>,
    log_evidence: f64,
    /// Why training ended: done, converged, time, memory or interrupted.
    stop: String,
    /// What a user should know of the fit.
    notes: Vec<String>,
    raised: Option<Py<PyAny>>,
}

type Values<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl ValueModel {
    /// Fits a model to rows and their values. `columns` describes the rows in JSON where they are more than numbers without names.
    #[staticmethod]
    #[pyo3(signature = (kind, settings, x, values, *, columns=None, threads=0, seconds=None, memory=None, watch=None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are named in Python, and only our own code calls this"
    )]
    fn fit(
        py: Python<'_>,
        kind: &str,
        settings: Vec<(String, String)>,
        x: &Bound<'_, PyAny>,
        values: PyReadonlyArray1<'_, f64>,
        columns: Option<&str>,
        threads: usize,
        seconds: Option<f64>,
        memory: Option<u64>,
        watch: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<FittedValues> {
        let limits = Limits { threads, seconds, bytes: memory };
        let params = params(kind, &settings).map_err(to_python)?;
        let table = Table::new(x)?;
        let schema = new_schema(table.shape()[1], columns, Vec::new()).map_err(to_python)?;
        let (view, targets) = (table.view(), values.as_array().to_vec());
        let data =
            run::at_once(py, || Dataset::new(schema, view.features(), targets, None))?.map_err(to_python)?;
        let budget = limits.budget(data.features.bytes()).map_err(to_python)?;
        let stop = budget.stop.clone();
        let outcome = run::watched(py, &stop, watch, move |observer| -> Result<_> {
            let par = limits.par()?;
            Engine::fit(&data, &params, &Training { par: &par, budget: &budget, observer })
        })?;
        let fitted = match (outcome.value, &outcome.raised) {
            (Ok(fitted), _) => fitted,
            (Err(Error::Interrupted), Some(raised)) => return Err(raised.clone_ref(py)),
            (Err(error), _) => return Err(to_python(error)),
        };
        Ok(FittedValues {
            model: Py::new(py, Self(RwLock::new(fitted.model)))?,
            log_evidence: fitted.log_evidence,
            stop: reason(fitted.stop),
            notes: fitted.notes,
            raised: exception(py, outcome.raised),
        })
    }

    /// A model that knows nothing yet and learns what it is given.
    #[new]
    #[pyo3(signature = (kind, settings, n_features, *, columns=None))]
    fn new(
        kind: &str,
        settings: Vec<(String, String)>,
        n_features: usize,
        columns: Option<&str>,
    ) -> PyResult<Self> {
        let model = || Engine::new(new_schema(n_features, columns, Vec::new())?, &params(kind, &settings)?);
        Ok(Self(RwLock::new(model().map_err(to_python)?)))
    }

    /// Learns rows in order. Returns what was raised while it did so, if anything was.
    #[pyo3(signature = (x, values, *, threads=0, seconds=None, memory=None, watch=None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are named in Python, and only our own code calls this"
    )]
    fn learn(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        values: PyReadonlyArray1<'_, f64>,
        threads: usize,
        seconds: Option<f64>,
        memory: Option<u64>,
        watch: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let limits = Limits { threads, seconds, bytes: memory };
        let table = Table::new(x)?;
        let (view, n_rows) = (table.view(), table.shape()[0]);
        let targets = values.as_array().to_vec();
        let budget = limits.budget(0).map_err(to_python)?;
        let stop = budget.stop.clone();
        let outcome = run::watched(py, &stop, watch, |observer| -> Result<()> {
            let mut model = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let par = limits.par()?;
            let training = Training { par: &par, budget: &budget, observer };
            view.with_rows(0..n_rows, |x| {
                check_finite(&model.schema, x, 0)?;
                model.learn(Rows::new(x, targets.as_slice(), None), &training)
            })?;
            Ok(())
        })?;
        outcome.value.map_err(to_python)?;
        Ok(exception(py, outcome.raised))
    }

    /// The value of every row and the variance of what would be observed.
    #[pyo3(signature = (x, *, threads=0))]
    fn predict<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, threads: usize) -> PyResult<Values<'py>> {
        let table = Table::new(x)?;
        let (view, n_rows) = (table.view(), table.shape()[0]);
        let answers = run::at_once(py, || {
            let model = self.read();
            let par = if n_rows == 1 { Par::sequential() } else { Par::new(threads)? };
            view.with_rows(0..n_rows, |x| {
                check_finite(&model.schema, x, 0)?;
                model.predict_values(x, &par)
            })
        })?
        .map_err(to_python)?;
        Ok((answers.mean.into_pyarray(py), answers.variance.into_pyarray(py)))
    }

    /// Writes the model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        run::at_once(py, || self.read().save(path))?.map_err(to_python)
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = run::at_once(py, || self.read().to_bytes())?.map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The kind of model.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.told(py, |model| model.kind().name())
    }

    /// The parameters it was made with, in JSON.
    #[getter]
    fn settings(&self, py: Python<'_>) -> PyResult<String> {
        self.told(py, |model| serde_json::to_string(&model.params()).unwrap_or_default())
    }

    /// The feature columns, in JSON; none where they are numbers without names.
    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.told(py, |model| crate::model::columns_of(&model.schema))
    }

    /// How many feature columns there are.
    #[getter]
    fn n_features(&self, py: Python<'_>) -> PyResult<usize> {
        self.told(py, hedgerow::core::Regressor::n_features)
    }

    /// The parameters of the kernel by name.
    #[getter]
    fn kernel(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        self.told(py, Engine::kernel)
    }

    /// The rows that answers are computed from.
    #[getter]
    fn active_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let rows: Array2<f32> = self.told(py, Engine::active_rows)?;
        Ok(rows.into_pyarray(py))
    }
}

impl ValueModel {
    fn read(&self) -> RwLockReadGuard<'_, Engine> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn told<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&Engine) -> T + Send) -> PyResult<T> {
        run::at_once(py, || ask(&self.read()))
    }
}

/// A model of either sort as Python sees it.
pub(crate) fn any(py: Python<'_>, model: AnyModel) -> PyResult<Py<PyAny>> {
    match model {
        AnyModel::Classes(model) => Ok(Py::new(py, Model::of(model))?.into_any()),
        AnyModel::Values(model) => Ok(Py::new(py, ValueModel(RwLock::new(model)))?.into_any()),
    }
}
