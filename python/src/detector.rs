//! The outlier detector as Python sees it.

use hedgerow::core::{Budget, Error, Par, Params as _, Result, Training};
use hedgerow::outliers::OutlierParams;
use hedgerow::{detector_from_bytes, detector_to_bytes};
use numpy::{IntoPyArray as _, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::to_python;
use crate::limits::Limits;
use crate::model::{check_finite, columns_of, exception, in_blocks, new_schema, threads_for};
use crate::run;
use crate::table::Table;

/// A detector and the columns it was fitted to.
#[pyclass(frozen, module = "hedgerow._hedgerow")]
pub(crate) struct Detector {
    detector: hedgerow::outliers::Detector,
    schema: hedgerow::core::Schema,
}

/// A detector, and what stopped its fit where something was raised while it ran: it is made of what there was time for.
#[pyclass(frozen, module = "hedgerow._hedgerow", get_all)]
pub(crate) struct FittedDetector {
    detector: Py<Detector>,
    raised: Option<Py<PyAny>>,
}

#[pymethods]
impl Detector {
    /// Fits a detector to rows. `columns` describes them in JSON where they are more than numbers without names.
    #[staticmethod]
    #[pyo3(signature = (settings, x, *, columns=None, threads=0, seconds=None, watch=None))]
    fn fit(
        py: Python<'_>,
        settings: Vec<(String, String)>,
        x: &Bound<'_, PyAny>,
        columns: Option<&str>,
        threads: usize,
        seconds: Option<f64>,
        watch: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<FittedDetector> {
        let settings = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let params = OutlierParams::default().with_settings(settings).and_then(OutlierParams::check);
        let params = params.map_err(to_python)?;
        let limits = Limits { threads, seconds, bytes: None };
        let table = Table::new(x)?;
        let schema = new_schema(table.shape()[1], columns, None).map_err(to_python)?;
        let view = table.view();
        let features = run::at_once(py, || view.features())?;
        let budget: Budget = limits.budget(0).map_err(to_python)?;
        let stop = budget.stop.clone();
        let outcome = run::watched(py, &stop, watch, |observer| -> Result<_> {
            let training = Training { par: &limits.par()?, budget: &budget, observer };
            hedgerow::outliers::Detector::fit(&schema, &features, &params, &training)
        })?;
        let detector = match (outcome.value, &outcome.raised) {
            (Ok(detector), _) => detector,
            (Err(Error::Interrupted), Some(raised)) => return Err(raised.clone_ref(py)),
            (Err(error), _) => return Err(to_python(error)),
        };
        let detector = Py::new(py, Self { detector, schema })?;
        Ok(FittedDetector { detector, raised: exception(py, outcome.raised) })
    }

    /// Scores rows: from 0 to 1, larger is stranger.
    #[pyo3(signature = (x, *, threads=0))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let table = Table::new(x)?;
        let (view, n_rows) = (table.view(), table.shape()[0]);
        let scores = run::at_once(py, || -> PyResult<Vec<f64>> {
            let par = threads_for(n_rows, threads)?;
            let mut scores = Vec::with_capacity(n_rows);
            in_blocks(view, n_rows, &self.schema, &par, |x, _| {
                scores.extend(self.detector.score(x, &par)?);
                Ok(())
            })?;
            Ok(scores)
        })??;
        Ok(scores.into_pyarray(py))
    }

    /// The share of each column in what makes each row strange.
    #[pyo3(signature = (x, *, threads=0))]
    fn attributions<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let table = Table::new(x)?;
        let (view, n_rows) = (table.view(), table.shape()[0]);
        let shares = run::at_once(py, || {
            view.with_rows(0..n_rows, |x| {
                let par = Par::new(threads)?;
                check_finite(&self.schema, x, 0, &par)?;
                self.detector.attributions(x, &par)
            })
        })?;
        shares.map(|shares| shares.into_pyarray(py)).map_err(to_python)
    }

    /// The scores of the rows it was fitted to, by what was not made from the row itself.
    fn training_scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.detector.training_scores().to_vec().into_pyarray(py)
    }

    /// The score above which a row is taken for an outlier.
    #[getter]
    fn threshold(&self) -> f64 {
        self.detector.threshold()
    }

    /// The columns in JSON, where they are more than numbers without names.
    #[getter]
    fn columns(&self) -> Option<String> {
        columns_of(&self.schema)
    }

    /// The detector as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = run::at_once(py, || detector_to_bytes(&self.detector))?.map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A detector from its bytes, with the columns it was fitted to.
    #[staticmethod]
    #[pyo3(signature = (bytes, *, columns=None))]
    fn from_bytes(py: Python<'_>, bytes: &[u8], columns: Option<&str>) -> PyResult<Self> {
        let detector = run::at_once(py, || detector_from_bytes(bytes))?.map_err(to_python)?;
        let schema = new_schema(detector.n_features(), columns, None).map_err(to_python)?;
        Ok(Self { detector, schema })
    }
}

/// The parameters of a detector as they are when none is given, in JSON.
pub(crate) fn default_settings() -> String {
    serde_json::to_string(&OutlierParams::default()).unwrap_or_default()
}
