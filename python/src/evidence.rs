//! Second-order predictions as Python sees them.

use hedgerow::core::SecondOrder;
use numpy::{IntoPyArray as _, PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;

use crate::errors::to_python;
use crate::run;

type Table<'py> = Bound<'py, PyArray2<f64>>;
type Column<'py> = Bound<'py, PyArray1<f64>>;

/// A distribution over the class probabilities of each of some rows.
#[pyclass(frozen, module = "hedgerow._hedgerow")]
pub(crate) struct Evidence(pub(crate) SecondOrder);

#[pymethods]
impl Evidence {
    /// What the distributions are about.
    #[getter]
    fn about(&self) -> &'static str {
        self.0.about().name()
    }

    /// The concentrations of the Dirichlet distributions; none where they are samples.
    #[getter]
    fn concentrations<'py>(&self, py: Python<'py>) -> Option<Table<'py>> {
        self.0.concentrations().map(|concentrations| concentrations.to_owned().into_pyarray(py))
    }

    /// The mean of each class's probability.
    fn mean<'py>(&self, py: Python<'py>) -> Table<'py> {
        self.0.mean().into_pyarray(py)
    }

    /// The variance of each class's probability.
    fn variance<'py>(&self, py: Python<'py>) -> Table<'py> {
        self.0.variance().into_pyarray(py)
    }

    /// The quantile of each class's probability.
    fn quantile<'py>(&self, py: Python<'py>, level: f64) -> PyResult<Table<'py>> {
        let found = run::at_once(py, || self.0.quantile(level))?.map_err(to_python)?;
        Ok(found.into_pyarray(py))
    }

    /// The lower and the upper ends of equal-tailed intervals.
    fn interval<'py>(&self, py: Python<'py>, level: f64) -> PyResult<(Table<'py>, Table<'py>)> {
        let [low, high] = run::at_once(py, || self.0.interval(level))?.map_err(to_python)?;
        Ok((low.into_pyarray(py), high.into_pyarray(py)))
    }

    /// The density of a class's probability at some points.
    #[pyo3(signature = (class_, points))]
    fn density<'py>(&self, py: Python<'py>, class_: usize, points: Vec<f64>) -> PyResult<Table<'py>> {
        let found = run::at_once(py, || self.0.density(class_, &points))?.map_err(to_python)?;
        Ok(found.into_pyarray(py))
    }

    /// Total, aleatoric and epistemic uncertainty: entropies, or variances summed over classes.
    #[pyo3(signature = (*, by_variance=false))]
    fn parts<'py>(
        &self,
        py: Python<'py>,
        by_variance: bool,
    ) -> PyResult<(Column<'py>, Column<'py>, Column<'py>)> {
        let parts = run::at_once(py, || if by_variance { self.0.variances() } else { self.0.entropies() })?;
        let [total, aleatoric, epistemic] =
            [parts.total, parts.aleatoric, parts.epistemic].map(|part| part.into_pyarray(py));
        Ok((total, aleatoric, epistemic))
    }

    /// Counts of labels that stand for the evidence.
    fn counts<'py>(&self, py: Python<'py>) -> Table<'py> {
        self.0.counts().into_pyarray(py)
    }

    /// Draws of probability vectors: sample, row, class.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        n_samples: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        Ok(run::at_once(py, || self.0.sample(n_samples, seed))?.into_pyarray(py))
    }
}
