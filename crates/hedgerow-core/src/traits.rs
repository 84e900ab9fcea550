//! What every model predicts.

use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use crate::data::ClassId;
use crate::error::{Result, check_shapes};
use crate::par::Par;

/// A model that predicts a probability for every class.
pub trait Classifier: Send + Sync {
    /// Columns a row must have.
    fn n_features(&self) -> usize;

    /// Classes, which are the columns of the predictions.
    fn n_classes(&self) -> usize;

    /// Predicts rows of the right width into a table of the right size. Implementers may rely on both.
    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>);

    /// Writes a probability for every class of every row; each row of `out` sums to 1.
    fn predict_proba_into(
        &self,
        x: ArrayView2<'_, f32>,
        par: &Par,
        out: ArrayViewMut2<'_, f64>,
    ) -> Result<()> {
        check_shapes([
            ("feature columns", self.n_features(), x.ncols()),
            ("rows of the predictions", x.nrows(), out.nrows()),
            ("columns of the predictions", self.n_classes(), out.ncols()),
        ])?;
        self.predict_proba_impl(x, par, out);
        Ok(())
    }

    /// A probability for every class of every row.
    fn predict_proba(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        let mut out = Array2::zeros((x.nrows(), self.n_classes()));
        self.predict_proba_into(x, par, out.view_mut())?;
        Ok(out)
    }

    /// The most probable class of every row; of equals, the first.
    fn predict(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<ClassId>> {
        Ok(most_probable(self.predict_proba(x, par)?.view()))
    }
}

/// Predicted numbers: a normal distribution for each row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Normals {
    /// The means.
    pub mean: Vec<f64>,
    /// The variances of the targets, noise variance included.
    pub variance: Vec<f64>,
}

impl Normals {
    /// Those of a table with a column of means and one of variances.
    pub fn of_table(table: ArrayView2<'_, f64>) -> Self {
        let column = |place| table.column(place).to_vec();
        Self { mean: column(0), variance: column(1) }
    }

    /// A table with a column of means and one of variances.
    pub fn to_table(&self) -> Array2<f64> {
        let n = self.mean.len().min(self.variance.len());
        Array2::from_shape_fn((n, 2), |(row, column)| [self.mean[row], self.variance[row]][column])
    }
}

/// A model that predicts a number with its variance.
pub trait Regressor: Send + Sync {
    /// Columns a row must have.
    fn n_features(&self) -> usize;

    /// Predicts rows of the right width. Implementers may rely on that.
    fn predict_values_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Normals;

    /// A number and its variance for every row.
    fn predict_values(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Normals> {
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        Ok(self.predict_values_impl(x, par))
    }
}

/// The most probable class of every row of a probability table; of equals, the first.
pub fn most_probable(proba: ArrayView2<'_, f64>) -> Vec<ClassId> {
    let best = |row: ndarray::ArrayView1<'_, f64>| ClassId(largest(row).unwrap_or(0) as u32);
    proba.rows().into_iter().map(best).collect()
}

/// The place of the largest number; of equals, the first; none if there are no numbers.
pub fn largest<'a, N: PartialOrd + Copy + 'a>(numbers: impl IntoIterator<Item = &'a N>) -> Option<usize> {
    let mut best: Option<(usize, N)> = None;
    for (place, &number) in numbers.into_iter().enumerate() {
        if best.is_none_or(|(_, most)| number > most) {
            best = Some((place, number));
        }
    }
    best.map(|(place, _)| place)
}

/// How far a piece of work has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Rounds done.
    pub done: usize,
    /// Rounds to do, where that is known.
    pub total: Option<usize>,
    /// Out-of-bag accuracy so far, where it is known.
    pub accuracy: Option<f64>,
}

/// Receives the progress of a training run; training itself never prints.
pub trait Observer: Sync {
    /// Called after each round of work.
    fn progress(&self, progress: Progress);
}

/// An observer that ignores progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&self, _: Progress) {}
}
