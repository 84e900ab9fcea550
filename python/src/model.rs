//! The model as Python sees it.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hedgerow::Delay;
use hedgerow::core::{
    ClassId, Column, ColumnKind, DataError, DataProblem, Dataset, Error, LabelTable, Mixed,
    OutlierScore as _, Par, Result, Rows, Schema, SecondOrder, SetOptions, Silent, Source, StopReason,
    Targets, Task, Training,
};
use ndarray::{Array2, ArrayView2, s};
use numpy::{IntoPyArray as _, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::early::Early;
use crate::errors::to_python;
use crate::evidence::Evidence;
use crate::limits::{Limits, params};
use crate::run;
use crate::table::{Table, View, first_infinite};

/// Rows predicted between two looks at signals.
const PREDICTED_AT_ONCE: usize = 4096;
/// Rows that are learnt on the calling thread: one that waits would cost more than they do.
const LEARNT_AT_ONCE: usize = 8;

/// A model and the schema it was trained on. Several threads may ask it at once; while it learns, they wait.
#[pyclass(frozen, module = "hedgerow._hedgerow")]
pub(crate) struct Model {
    model: RwLock<hedgerow::Model>,
    /// Rows that wait for their labels.
    delay: Mutex<Delay>,
}

/// Means and variances.
type Values<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Targets as Python gives them: places of classes, or numbers.
#[derive(FromPyObject)]
enum Given<'py> {
    Labels(PyReadonlyArray1<'py, i64>),
    Values(PyReadonlyArray1<'py, f64>),
}

impl Given<'_> {
    fn targets(&self) -> Targets {
        match self {
            Self::Labels(labels) => class_ids(labels).into(),
            Self::Values(values) => values.as_array().to_vec().into(),
        }
    }
}

/// What a fit gives. `raised` is what stopped it, where something was raised while it ran: the model is the best so far.
#[pyclass(frozen, module = "hedgerow._hedgerow", get_all)]
pub(crate) struct Fitted {
    model: Py<Model>,
    /// Probabilities of the training rows by trees that have not seen them, where there are such.
    oob: Option<Py<PyArray2<f64>>>,
    log_evidence: Option<f64>,
    /// What a user should know about the fit, in words; empty if all is well.
    notes: Vec<String>,
    /// Why training ended: done, converged, time, memory or interrupted.
    stop: String,
    raised: Option<Py<PyAny>>,
}

/// What came of learning some rows.
#[pyclass(frozen, module = "hedgerow._hedgerow", get_all)]
pub(crate) struct Update {
    /// What the model predicted before it learnt each row: probabilities, or mean and variance.
    predictions: Py<PyArray2<f64>>,
    n_learnt: usize,
    n_replaced: usize,
    n_forgotten: usize,
    /// The rows at which drift was noticed, counted from the first ever learnt.
    drifts: Vec<u64>,
    raised: Option<Py<PyAny>>,
}

#[pymethods]
impl Model {
    /// Fits a model to rows.
    ///
    /// `columns` describes them in JSON where they are more than numbers without names. `targets` are places in `classes`, or the numbers
    /// of a regression, which has no classes.
    #[staticmethod]
    #[pyo3(signature = (kind, settings, x, targets, classes=None, *, columns=None, weights=None, threads=0, seconds=None, memory=None, watch=None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are named in Python, and only our own code calls this"
    )]
    fn fit(
        py: Python<'_>,
        kind: &str,
        settings: Vec<(String, String)>,
        x: &Bound<'_, PyAny>,
        targets: Given<'_>,
        classes: Option<Vec<String>>,
        columns: Option<&str>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        threads: usize,
        seconds: Option<f64>,
        memory: Option<u64>,
        watch: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Fitted> {
        let limits = Limits { threads, seconds, bytes: memory };
        let params = params(kind, &settings).map_err(to_python)?;
        let table = Table::new(x)?;
        let schema = new_schema(table.shape()[1], columns, classes).map_err(to_python)?;
        let (view, targets) = (table.view(), targets.targets());
        let weights = weights.map(|w| w.as_array().to_vec());
        let data = run::at_once(py, || Dataset::new(schema, view.features(), targets, weights))?;
        let data =
            data.and_then(|data| data.check_trainable(data.task()).map(|()| data)).map_err(to_python)?;
        let budget = limits.budget(data.bytes()).map_err(to_python)?;
        let stop = budget.stop.clone();
        let outcome = run::watched(py, &stop, watch, move |observer| -> Result<_> {
            let par = limits.par()?;
            let fitted =
                hedgerow::Model::fit(&data, &params, &Training { par: &par, budget: &budget, observer })?;
            let oob = fitted.validation.filter(|validation| validation.source == Source::OutOfBag);
            let oob = oob.map(|oob| {
                let mut proba = Array2::from_elem((data.n_rows(), oob.values.ncols()), f64::NAN);
                for (&row, own) in oob.rows.iter().zip(oob.values.rows()) {
                    proba.row_mut(row).assign(&own);
                }
                proba
            });
            Ok((fitted.model, oob, fitted.log_evidence, fitted.notes, fitted.stop))
        })?;
        let (model, oob, log_evidence, notes, stop) = match (outcome.value, &outcome.raised) {
            (Ok(fitted), _) => fitted,
            // It was stopped before there was anything: what stopped it is what the caller should see.
            (Err(Error::Interrupted), Some(raised)) => return Err(raised.clone_ref(py)),
            (Err(error), _) => return Err(to_python(error)),
        };
        Ok(Fitted {
            model: Py::new(py, Self::of(model))?,
            oob: oob.map(|shares| shares.into_pyarray(py).unbind()),
            log_evidence,
            notes,
            stop: reason(stop),
            raised: exception(py, outcome.raised),
        })
    }

    /// A model that knows nothing yet and learns what it is given.
    #[new]
    #[pyo3(signature = (kind, settings, n_features, classes=None, *, columns=None))]
    fn new(
        kind: &str,
        settings: Vec<(String, String)>,
        n_features: usize,
        classes: Option<Vec<String>>,
        columns: Option<&str>,
    ) -> PyResult<Self> {
        let model = || -> Result<_> {
            let schema = new_schema(n_features, columns, classes)?;
            schema.check_sizes()?;
            hedgerow::Model::new(schema, &params(kind, &settings)?)
        };
        model().map(Self::of).map_err(to_python)
    }

    /// Learns rows in order, each when `delay` more rows have come. `new_classes` and `new_categories` (by column) are those that have not been seen
    /// before, `earlier` is what was predicted of each row when it came, if its label came later.
    #[pyo3(signature = (x, targets, *, new_classes=Vec::new(), new_categories=Vec::new(), weights=None, earlier=None, delay=0, threads=0, seconds=None, memory=None, watch=None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are named in Python, and only our own code calls this"
    )]
    fn learn(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        targets: Given<'_>,
        new_classes: Vec<String>,
        new_categories: Vec<(usize, Vec<String>)>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        earlier: Option<Vec<Py<Early>>>,
        delay: usize,
        threads: usize,
        seconds: Option<f64>,
        memory: Option<u64>,
        watch: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Update> {
        let limits = Limits { threads, seconds, bytes: memory };
        let table = Table::new(x)?;
        let (view, n_rows) = (table.view(), table.shape()[0]);
        let targets = targets.targets();
        let weights = weights.map(|w| w.as_array().to_vec());
        let earlier: Option<Vec<Mixed>> =
            earlier.map(|all| all.iter().map(|early| early.get().mixed.clone()).collect());
        let budget = limits.budget(0).map_err(to_python)?;
        let stop = budget.stop.clone();
        let work = |observer: &dyn hedgerow::core::Observer| -> Result<_> {
            let (mut waiting, mut model) = (self.delay(), self.write());
            *waiting = std::mem::take(&mut *waiting).with_rows(delay);
            let par = if n_rows <= LEARNT_AT_ONCE { Par::sequential() } else { limits.par()? };
            let schema = grown(model.schema(), new_classes, new_categories)?;
            let training = Training { par: &par, budget: &budget, observer };
            view.with_rows(0..n_rows, |x| {
                let rows =
                    Rows { earlier: earlier.as_deref(), ..Rows::new(x, targets.view(), weights.as_deref()) };
                waiting.learn(&mut model, &schema, rows, &training)
            })
        };
        let outcome = if n_rows <= LEARNT_AT_ONCE {
            run::Outcome { value: run::at_once(py, || work(&Silent))?, raised: None }
        } else {
            run::watched(py, &stop, watch, work)?
        };
        let update = outcome.value.map_err(to_python)?;
        Ok(Update {
            predictions: update.predictions.into_pyarray(py).unbind(),
            n_learnt: update.n_learnt,
            n_replaced: update.n_replaced,
            n_forgotten: update.n_forgotten,
            drifts: update.drifts.iter().map(|drift| drift.noticed_at).collect(),
            raised: exception(py, outcome.raised),
        })
    }

    /// A probability for every class of every row.
    #[pyo3(signature = (x, *, threads=0))]
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.predictions(py, x, threads)?.into_pyarray(py))
    }

    /// A probability for every class of every row, with what is given back when the labels come.
    fn predict_early<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<Early>)> {
        let table = Table::new(x)?;
        let (view, n_rows) = (table.view(), table.shape()[0]);
        let early = run::at_once(py, || {
            let (model, par) = (self.read(), Par::sequential());
            view.with_rows(0..n_rows, |x| {
                check_finite(model.schema(), x, 0, &par)?;
                model.predict_early(x, &par)
            })
        })?
        .map_err(to_python)?;
        let n_classes = early.first().map_or(0, |(proba, _)| proba.len());
        let (proba, mixed): (Vec<_>, Vec<_>) = early.into_iter().unzip();
        let table = Array2::from_shape_fn((n_rows, n_classes), |(row, class)| proba[row][class]);
        let early = mixed.into_iter().map(|mixed| Early { mixed }).collect();
        Ok((table.into_pyarray(py), early))
    }

    /// Whether each class is in the prediction set of each row.
    #[pyo3(signature = (x, level, *, method="balanced", never_empty=false, threads=0))]
    fn predict_set<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        level: f64,
        method: &str,
        never_empty: bool,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let thresholds = run::at_once(py, || {
            let method = method.parse()?;
            self.read().set_thresholds(&SetOptions { level, method, never_empty })
        })?
        .map_err(to_python)?;
        let proba = self.predictions(py, x, threads)?;
        Ok(thresholds.sets(proba.view()).into_table().into_pyarray(py))
    }

    /// How much evidence there is for the prediction of each row.
    #[pyo3(signature = (x, *, threads=0))]
    fn evidence(&self, py: Python<'_>, x: &Bound<'_, PyAny>, threads: usize) -> PyResult<Evidence> {
        self.second_order(py, x, threads, hedgerow::Model::predict_evidence_par)
    }

    /// How unlike the rows that the model has learnt each row is.
    #[pyo3(signature = (x, *, threads=0))]
    fn outlier_score<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let table = Table::new(x)?;
        let (view, n_rows) = (table.view(), table.shape()[0]);
        let work = || -> PyResult<Vec<f64>> {
            let (model, par) = (self.read(), threads_for(n_rows, threads)?);
            let outliers = model.outliers(&par).map_err(to_python)?;
            let mut scores = Vec::with_capacity(n_rows);
            in_blocks(view, n_rows, model.schema(), &par, |x, _| {
                scores.extend(outliers.outlier_score(x, &par)?);
                Ok(())
            })?;
            Ok(scores)
        };
        Ok(run::at_once(py, work)??.into_pyarray(py))
    }

    /// Where the true class probabilities of each row lie.
    #[pyo3(signature = (x, *, threads=0))]
    fn true_probability(&self, py: Python<'_>, x: &Bound<'_, PyAny>, threads: usize) -> PyResult<Evidence> {
        self.second_order(py, x, threads, hedgerow::Model::predict_true_probability_par)
    }

    /// The number of every row and the variance of what would be observed.
    #[pyo3(signature = (x, *, threads=0))]
    fn predict_values<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Values<'py>> {
        let table = self.predictions(py, x, threads)?;
        let column = |place: usize| table.column(place).to_owned().into_pyarray(py);
        Ok((column(0), column(1)))
    }

    /// The rows that wait for their labels, in JSON; none if there are none.
    fn waiting(&self, py: Python<'_>) -> PyResult<Option<String>> {
        run::at_once(py, || {
            let delay = self.delay();
            (delay.n_waiting() > 0).then(|| serde_json::to_string(&*delay)).transpose()
        })?
        .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Puts rows there that wait for their labels.
    fn wait(&self, waiting: &str) -> PyResult<()> {
        *self.delay() =
            serde_json::from_str(waiting).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(())
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

    /// A copy that learns no more: smaller, as it has no rows.
    fn frozen(&self, py: Python<'_>) -> PyResult<Self> {
        self.fact(py, |model| Self::of(model.clone().without_rows()))
    }

    /// The kind of model.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.fact(py, |model| model.kind().name())
    }

    /// What it predicts: classification or regression.
    #[getter]
    fn task(&self, py: Python<'_>) -> PyResult<String> {
        self.fact(py, |model| model.task().to_string())
    }

    /// The parameters it was made with, in JSON.
    #[getter]
    fn settings(&self, py: Python<'_>) -> PyResult<String> {
        self.fact(py, |model| serde_json::to_string(&model.params()).unwrap_or_default())
    }

    /// The names of the classes, in the order of the columns of its predictions.
    #[getter]
    fn classes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.fact(py, |model| model.schema().labels.names().to_vec())
    }

    /// The feature columns, in JSON; none where they are numbers without names.
    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.fact(py, |model| columns_of(model.schema()))
    }

    /// How many feature columns there are.
    #[getter]
    fn n_features(&self, py: Python<'_>) -> PyResult<usize> {
        self.fact(py, hedgerow::Model::n_features)
    }

    /// Whether it can go on learning.
    #[getter]
    fn can_learn(&self, py: Python<'_>) -> PyResult<bool> {
        self.fact(py, |model| model.check_can_learn().is_ok())
    }

    /// Rows that wait for their labels.
    #[getter]
    fn n_waiting(&self, py: Python<'_>) -> PyResult<usize> {
        run::at_once(py, || self.delay().n_waiting())
    }

    /// How many rows it has learnt, where it can go on learning.
    #[getter]
    fn n_seen(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.fact(py, hedgerow::Model::n_seen)
    }

    /// Bytes in memory.
    #[getter]
    fn n_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.fact(py, hedgerow::Model::bytes)
    }

    /// The share of each column in what the splits of trees gained, where the model can tell.
    #[getter]
    fn importances(&self, py: Python<'_>) -> PyResult<Option<Vec<f64>>> {
        self.fact(py, |model| model.summary().importances)
    }

    /// How many trees there are, where it is made of some.
    #[getter]
    fn n_trees(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        self.fact(py, |model| Some(model.summary().values.get("trees")?.as_u64()? as usize))
    }

    /// The parameters of the kernel by name, where there is one.
    #[getter]
    fn kernel(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        self.fact(py, hedgerow::Model::kernel)
    }

    /// The rows that predictions are computed from, where the model has such rows.
    #[getter]
    fn active_rows<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f32>>>> {
        let rows = self.fact(py, hedgerow::Model::active_rows)?;
        Ok(rows.map(|rows| rows.into_pyarray(py)))
    }
}

impl Model {
    pub(crate) fn of(model: hedgerow::Model) -> Self {
        Self { model: RwLock::new(model), delay: Mutex::default() }
    }

    fn read(&self) -> RwLockReadGuard<'_, hedgerow::Model> {
        self.model.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, hedgerow::Model> {
        self.model.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn delay(&self) -> MutexGuard<'_, Delay> {
        self.delay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A fact of the model, asked for without the interpreter's lock: a thread that holds the model may wait for that one.
    fn fact<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&hedgerow::Model) -> T + Send) -> PyResult<T> {
        run::at_once(py, || ask(&self.read()))
    }

    fn predictions(&self, py: Python<'_>, x: &Bound<'_, PyAny>, threads: usize) -> PyResult<Array2<f64>> {
        let table = Table::new(x)?;
        let (view, n_rows) = (table.view(), table.shape()[0]);
        run::at_once(py, || self.predict_rows(view, n_rows, threads))?
    }

    fn predict_rows(&self, view: View<'_>, n_rows: usize, threads: usize) -> PyResult<Array2<f64>> {
        let (model, par) = (self.read(), threads_for(n_rows, threads)?);
        let width = if model.task() == Task::Regression { 2 } else { model.n_classes() };
        let mut predictions = Array2::zeros((n_rows, width));
        in_blocks(view, n_rows, model.schema(), &par, |x, rows| {
            let mut out = predictions.slice_mut(s![rows, ..]);
            if model.task() == Task::Classification {
                return model.classifier()?.predict_proba_into(x, &par, out);
            }
            out.assign(&model.predict_table(x, &par)?);
            Ok(())
        })?;
        Ok(predictions)
    }

    /// A distribution for each row, which `ask` gets from the model.
    fn second_order(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        threads: usize,
        ask: impl Fn(&hedgerow::Model, ArrayView2<'_, f32>, &Par) -> Result<SecondOrder> + Sync,
    ) -> PyResult<Evidence> {
        let table = Table::new(x)?;
        let (view, n_rows) = (table.view(), table.shape()[0]);
        let work = || -> Result<_> {
            let (model, par) = (self.read(), Par::new(threads)?);
            view.with_rows(0..n_rows, |x| {
                check_finite(model.schema(), x, 0, &par)?;
                ask(&model, x, &par)
            })
        };
        run::at_once(py, work)?.map(Evidence).map_err(to_python)
    }
}

/// Threads for so many rows.
pub(crate) fn threads_for(n_rows: usize, threads: usize) -> PyResult<Par> {
    if n_rows == 1 { Ok(Par::sequential()) } else { Par::new(threads).map_err(to_python) }
}

/// Does work on the rows of a table block by block, each with its range of rows, after looking for signals and infinite values.
pub(crate) fn in_blocks(
    view: View<'_>,
    n_rows: usize,
    schema: &Schema,
    par: &Par,
    mut work: impl FnMut(ArrayView2<'_, f32>, Range<usize>) -> Result<()>,
) -> PyResult<()> {
    for from in (0..n_rows).step_by(PREDICTED_AT_ONCE) {
        if from > 0 {
            run::check_signals()?;
        }
        let rows = from..(from + PREDICTED_AT_ONCE).min(n_rows);
        let worked = view.with_rows(rows.clone(), |x| {
            check_finite(schema, x, from, par)?;
            work(x, rows)
        });
        worked.map_err(to_python)?;
    }
    Ok(())
}

/// Fails on the first infinite value of rows, the first of which is row `from` of a table.
pub(crate) fn check_finite(schema: &Schema, x: ArrayView2<'_, f32>, from: usize, par: &Par) -> Result<()> {
    let Some((row, column)) = first_infinite(x, par) else { return Ok(()) };
    let problem = DataProblem::Infinite { text: x[(row, column)].to_string() };
    let name = schema.columns.get(column).map(|c| c.name.clone()).unwrap_or_default();
    Err(DataError::from(problem).at_row((from + row) as u64 + 1).in_column(name).into())
}

/// A schema for columns that Python describes.
pub(crate) fn new_schema(
    n_features: usize,
    columns: Option<&str>,
    classes: Option<Vec<String>>,
) -> Result<Schema> {
    let mut schema = Schema::unnamed(n_features);
    if let Some(columns) = columns {
        let columns: Vec<Column> = serde_json::from_str(columns)
            .map_err(|wrong| Error::param("columns", "columns in JSON", wrong))?;
        (schema.columns, schema.named) = (columns, true);
    }
    schema.labels = classes.map_or_else(LabelTable::of_numbers, LabelTable::from);
    Ok(schema)
}

/// The feature columns in JSON; none where they are numbers without names.
pub(crate) fn columns_of(schema: &Schema) -> Option<String> {
    let is_plain = !schema.named && schema.columns.iter().all(|c| c.kind == ColumnKind::Numeric);
    if is_plain { None } else { serde_json::to_string(&schema.columns).ok() }
}

/// A schema with classes and categories added at the ends.
fn grown(schema: &Schema, classes: Vec<String>, categories: Vec<(usize, Vec<String>)>) -> Result<Schema> {
    let mut schema = schema.clone();
    if !classes.is_empty() {
        let names = schema.labels.names().iter().cloned().chain(classes);
        schema.labels = LabelTable::from(names.collect::<Vec<_>>());
    }
    for (column, names) in categories {
        if let Some(ColumnKind::Categorical { categories }) =
            schema.columns.get_mut(column).map(|c| &mut c.kind)
        {
            categories.extend(names);
        }
    }
    schema.check_sizes()?;
    Ok(schema)
}

/// Labels come as places, which Python has looked up itself; a wrong one is noticed when the rows are checked.
fn class_ids(labels: &PyReadonlyArray1<'_, i64>) -> Vec<ClassId> {
    labels.as_array().iter().map(|&place| ClassId(u32::try_from(place).unwrap_or(u32::MAX))).collect()
}

/// Why training ended, in a word.
fn reason(stop: StopReason) -> String {
    match serde_json::to_value(stop) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// What was raised, as an object that Python can raise again.
pub(crate) fn exception(py: Python<'_>, raised: Option<PyErr>) -> Option<Py<PyAny>> {
    raised.map(|raised| raised.into_value(py).into_any())
}
