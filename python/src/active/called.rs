//! Models and trainings that are functions of Python: of any classifier there.

use std::sync::{Mutex, PoisonError};

use hedgerow::active::{QueryModel, Trainer};
use hedgerow::core::error::check_shapes;
use hedgerow::core::{Dataset, Error, Par, Result};
use ndarray::{Array2, Array3, ArrayView2};
use numpy::{IntoPyArray as _, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

/// What Python raised in a call, until the engine has returned.
#[derive(Default)]
pub(super) struct Raised(Mutex<Option<PyErr>>);

impl Raised {
    /// Keeps what was raised, and ends the work of the engine.
    fn keep<T>(&self, outcome: PyResult<T>) -> Result<T> {
        outcome.map_err(|raised| {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(raised);
            Error::Interrupted
        })
    }

    /// What was raised, if anything was.
    pub(super) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A model whose predictions are made by a function of rows.
pub(super) struct CalledModel<'a> {
    pub(super) n_classes: usize,
    /// Rows in, probabilities out.
    pub(super) predict: Py<PyAny>,
    /// Rows in, the probabilities of each member of a committee out.
    pub(super) members: Option<Py<PyAny>>,
    pub(super) raised: &'a Raised,
}

impl QueryModel for CalledModel<'_> {
    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba(&self, x: ArrayView2<'_, f32>, _par: &Par) -> Result<Array2<f64>> {
        let called = Python::attach(|py| -> PyResult<Array2<f64>> {
            let proba = self.predict.call1(py, (x.to_owned().into_pyarray(py),))?;
            let proba: PyReadonlyArray2<'_, f64> = proba.extract(py)?;
            Ok(proba.as_array().to_owned())
        });
        let proba = self.raised.keep(called)?;
        check_shapes([
            ("rows of probabilities", x.nrows(), proba.nrows()),
            ("columns of probabilities", self.n_classes, proba.ncols()),
        ])?;
        Ok(proba)
    }

    fn predict_members(&self, x: ArrayView2<'_, f32>, _par: &Par) -> Result<Option<Array3<f64>>> {
        let Some(members) = &self.members else { return Ok(None) };
        let called = Python::attach(|py| -> PyResult<Array3<f64>> {
            let proba = members.call1(py, (x.to_owned().into_pyarray(py),))?;
            let proba: PyReadonlyArray3<'_, f64> = proba.extract(py)?;
            Ok(proba.as_array().to_owned())
        });
        let proba = self.raised.keep(called)?;
        check_shapes([
            ("rows of the members' probabilities", x.nrows(), proba.dim().1),
            ("columns of the members' probabilities", self.n_classes, proba.dim().2),
        ])?;
        Ok(Some(proba))
    }
}

/// Trains by a function of rows, labels and a seed, which returns a function that predicts.
pub(super) struct CalledTrainer<'a> {
    pub(super) train: Py<PyAny>,
    pub(super) raised: &'a std::sync::Arc<Raised>,
}

/// A model that was trained so.
struct Trained {
    n_classes: usize,
    predict: Py<PyAny>,
    raised: std::sync::Arc<Raised>,
}

impl QueryModel for Trained {
    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        let predict = Python::attach(|py| self.predict.clone_ref(py));
        let model = CalledModel { n_classes: self.n_classes, predict, members: None, raised: &self.raised };
        model.predict_proba(x, par)
    }
}

impl Trainer for CalledTrainer<'_> {
    fn train(&self, data: &Dataset, seed: u64, _par: &Par) -> Result<Box<dyn QueryModel>> {
        let trained = Python::attach(|py| {
            let x = data.features.to_array(0..data.n_rows()).into_pyarray(py);
            let labels: Vec<i64> = data.labels().iter().map(|class| i64::from(class.0)).collect();
            self.train.call1(py, (x, labels.into_pyarray(py), seed))
        });
        let predict = self.raised.keep(trained)?;
        let n_classes = data.schema.n_classes();
        Ok(Box::new(Trained { n_classes, predict, raised: std::sync::Arc::clone(self.raised) }))
    }
}
