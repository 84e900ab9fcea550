//! Rows of which some have labels, and what chooses among the others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hedgerow::active::stopping::{Retrospective, StoppingParams};
use hedgerow::active::{Pool, QueriedRow, Querier, QueryModel, QueryParams};
use hedgerow::core::{ClassId, Error, LabelTable, Par, Params, Result};
use ndarray::Array2;
use numpy::{IntoPyArray as _, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

use super::called::{CalledModel, CalledTrainer, Raised};
use crate::errors::to_python;
use crate::limits::params;
use crate::model::{Model, new_schema};
use crate::run;
use crate::table::Table;

/// Rows of which some have labels, and what chooses among the others.
#[pyclass(frozen, module = "hedgerow._hedgerow")]
pub(crate) struct ActivePool(Mutex<Inner>);

struct Inner {
    pool: Pool,
    querier: Querier,
    retrospective: Retrospective,
    /// What models that the retrospective keeps have raised.
    raised: Arc<Raised>,
}

/// Rows, their utilities, and reasons.
type Queries<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Vec<String>);

/// Rows, and the utilities of all candidates before each choice.
type WithUtilities<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>);

/// Whether to stop, the rule, labels, the figure that decided, the reason, and the gain: labels, mean, and the ends of an interval.
type Advised = (bool, &'static str, usize, Option<f64>, String, Option<(usize, f64, f64, f64)>);

#[pymethods]
impl ActivePool {
    /// A pool of rows without labels. Settings are names and values in JSON, `columns` describes the rows in JSON where they are more than numbers without names.
    #[new]
    #[pyo3(signature = (x, settings, stopping=Vec::new(), *, columns=None))]
    fn new(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        settings: Vec<(String, String)>,
        stopping: Vec<(String, String)>,
        columns: Option<&str>,
    ) -> PyResult<Self> {
        let table = Table::new(x)?;
        let (view, [n_rows, n_features]) = (table.view(), table.shape());
        let made = || -> Result<Self> {
            let query = with_settings(QueryParams::default(), &settings)?;
            let stopping = with_settings(StoppingParams::default(), &stopping)?;
            let schema = new_schema(n_features, columns, Some(Vec::new()))?;
            let seed = query.seed;
            Ok(Self(Mutex::new(Inner {
                pool: Pool::new(schema, view.features(), vec![None; n_rows])?,
                querier: Querier::new(query.check()?),
                retrospective: Retrospective::new(stopping.check()?, seed),
                raised: Arc::default(),
            })))
        };
        run::at_once(py, made)?.map_err(to_python)
    }

    /// Sets labels, as places in the list of classes; −1 takes a label away. The list replaces the one so far.
    fn label(
        &self,
        py: Python<'_>,
        rows: PyReadonlyArray1<'_, i64>,
        labels: PyReadonlyArray1<'_, i64>,
        classes: Vec<String>,
    ) -> PyResult<()> {
        let pairs: Vec<(i64, i64)> =
            rows.as_array().iter().copied().zip(labels.as_array().iter().copied()).collect();
        run::at_once(py, || self.lock().label(&pairs, classes))?.map_err(to_python)
    }

    /// Up to `n` rows that should be labelled, among those without a label or among `candidates`. Predictions come from `model`, from the function
    /// `predict`, or there are none; `members` gives those of a committee.
    #[pyo3(signature = (n, *, candidates=None, model=None, predict=None, members=None, threads=0))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are named in Python, and only our own code calls this"
    )]
    fn query<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        candidates: Option<PyReadonlyArray1<'py, i64>>,
        model: Option<Py<Model>>,
        predict: Option<Py<PyAny>>,
        members: Option<Py<PyAny>>,
        threads: usize,
    ) -> PyResult<Queries<'py>> {
        let candidates = candidates.map(|rows| rows.as_array().to_vec());
        let queried = self.with_model(py, model, predict, members, |inner, model| {
            let par = Par::new(threads)?;
            match candidates {
                None => inner.querier.query(&inner.pool, model, n, &par),
                Some(rows) => {
                    let rows = inner.places(&rows)?;
                    inner.querier.query_among(&inner.pool, model, rows, n, &par)
                }
            }
        })?;
        let rows = places_of(&queried);
        let utilities: Vec<f64> = queried.iter().map(|query| query.utility).collect();
        let reasons = queried.into_iter().map(|query| query.reason).collect();
        Ok((rows.into_pyarray(py), utilities.into_pyarray(py), reasons))
    }

    /// The same among candidates, with the utility of each before each choice; NaN for those chosen before.
    #[pyo3(signature = (n, candidates, *, model=None, predict=None, members=None, threads=0))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are named in Python, and only our own code calls this"
    )]
    fn query_with_utilities<'py>(
        &self,
        py: Python<'py>,
        n: usize,
        candidates: PyReadonlyArray1<'py, i64>,
        model: Option<Py<Model>>,
        predict: Option<Py<PyAny>>,
        members: Option<Py<PyAny>>,
        threads: usize,
    ) -> PyResult<WithUtilities<'py>> {
        let candidates = candidates.as_array().to_vec();
        let (queried, steps) = self.with_model(py, model, predict, members, |inner, model| {
            let (rows, par) = (inner.places(&candidates)?, Par::new(threads)?);
            inner.querier.query_with_utilities(&inner.pool, model, rows, n, &par)
        })?;
        let rows = places_of(&queried);
        let table =
            Array2::from_shape_fn((steps.len(), candidates.len()), |(step, place)| steps[step][place]);
        Ok((rows.into_pyarray(py), table.into_pyarray(py)))
    }

    /// Whether more labels are worth their price, by models of a kind of ours, or by models of the function `train`.
    #[pyo3(signature = (*, kind=None, settings=Vec::new(), train=None, threads=0))]
    fn advise(
        &self,
        py: Python<'_>,
        kind: Option<&str>,
        settings: Vec<(String, String)>,
        train: Option<Py<PyAny>>,
        threads: usize,
    ) -> PyResult<Advised> {
        let advise = || -> Result<_> {
            let par = Par::new(threads)?;
            let mut inner = self.lock();
            let Inner { pool, retrospective, raised, .. } = &mut *inner;
            match (kind, train) {
                (Some(kind), _) => retrospective.advise(pool, &params(kind, &settings)?, &par),
                (None, Some(train)) => {
                    retrospective.advise(pool, &CalledTrainer { train, raised: &*raised }, &par)
                }
                (None, None) => Err(Error::param("train", "a kind of model, or a function", "neither")),
            }
        };
        let advice = run::at_once(py, advise)?;
        let raised = run::at_once(py, || self.lock().raised.take())?;
        let advice = advice.map_err(|error| raised.unwrap_or_else(|| to_python(error)))?;
        let gain = advice.gain.map(|gain| (gain.labels, gain.mean, gain.low.max(0.0), gain.high));
        Ok((advice.stop, advice.rule, advice.n_labels, advice.figure, advice.reason, gain))
    }
}

impl ActivePool {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with a model, without the interpreter's lock.
    fn with_model<T: Send>(
        &self,
        py: Python<'_>,
        model: Option<Py<Model>>,
        predict: Option<Py<PyAny>>,
        members: Option<Py<PyAny>>,
        work: impl FnOnce(&mut Inner, Option<&dyn QueryModel>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let raised = Raised::default();
        let outcome = run::at_once(py, || {
            let mut inner = self.lock();
            if let Some(model) = &model {
                let model = model.get().read();
                return work(&mut inner, Some(&*model));
            }
            let n_classes = inner.pool.schema().n_classes();
            let called = predict.map(|predict| CalledModel { n_classes, predict, members, raised: &raised });
            work(&mut inner, called.as_ref().map(|called| called as &dyn QueryModel))
        })?;
        outcome.map_err(|error| raised.take().unwrap_or_else(|| to_python(error)))
    }
}

impl Inner {
    fn label(&mut self, pairs: &[(i64, i64)], classes: Vec<String>) -> Result<()> {
        self.pool.set_classes(LabelTable::from(classes))?;
        for &(row, label) in pairs {
            let row = self.places(&[row])?[0];
            match u32::try_from(label) {
                Ok(class) => self.pool.set_label(row, ClassId(class))?,
                Err(_) => drop(self.pool.take_label(row)),
            }
        }
        Ok(())
    }

    /// Rows by their places; fails for one that is not there.
    fn places(&self, rows: &[i64]) -> Result<Vec<usize>> {
        let n_rows = self.pool.n_rows();
        let place = |&row: &i64| {
            let place = usize::try_from(row).ok().filter(|place| *place < n_rows);
            place.ok_or_else(|| {
                Error::param("row", format!("a row from 0 to {}", n_rows.saturating_sub(1)), row)
            })
        };
        rows.iter().map(place).collect()
    }
}

/// The places of rows as numpy has numbers.
fn places_of(queried: &[QueriedRow]) -> Vec<i64> {
    queried.iter().map(|query| i64::try_from(query.row).unwrap_or(i64::MAX)).collect()
}

/// Parameters with settings, each a name and a value in JSON.
pub(super) fn with_settings<P: Params>(params: P, settings: &[(String, String)]) -> Result<P> {
    params.with_settings(settings.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}
