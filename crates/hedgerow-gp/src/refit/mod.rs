//! All labels once a few rows are chosen (spec 000, 11.3): a regression of all rows on those that machines of any class have chosen.
//!
//! ```text
//! A = L⁻¹ K_un,  L Lᵀ = K_uu,   w = (A Aᵀ + s² I)⁻¹ A Y,   score(x) = k(x, U) L⁻ᵀ w
//! ```
//!
//! How a row would be scored without itself comes for free: with `h_i = a_iᵀ (A Aᵀ + s² I)⁻¹ a_i` it is `(f_i − h_i y_i)/(1 − h_i)`.

mod fitter;
mod folds;
mod saved;
mod sums;

use hedgerow_core::{Par, Result};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};

use crate::calibration::Calibration;
use crate::kernel::Kernel;

pub(crate) use fitter::MOST_JUDGES;
pub use fitter::{Fitter, Freedom, Refitted};
pub use saved::RefitFacts;
pub(crate) use sums::Sums;

/// s² that are tried, for labels 2 apart and a kernel of variance 1: the more noise in the labels, the larger the best.
pub const RIDGES: [f64; 4] = [0.003, 0.03, 0.3, 3.0];
/// Training rows taken in together.
pub(crate) const BLOCK: usize = 2048;

/// Scores of all classes from one set of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Refit {
    /// L⁻ᵀ w: a column a class.
    pub weights: Array2<f64>,
    /// s².
    pub ridge: f64,
    /// Length scale of its kernel: all labels may see finer differences than the machines that chose the rows.
    pub length: f64,
    /// Nearly all training rows have a covariance at least this large with an active row other than themselves.
    pub near: f64,
    /// The share of each class among the training rows.
    pub shares: Vec<f64>,
}

/// A number in a table of rows.
pub trait Number: Copy + Into<f64> + Send + Sync + 'static {}
impl<T: Copy + Into<f64> + Send + Sync + 'static> Number for T {}

/// What scores are fitted to.
struct Goal<'a, T> {
    /// All rows.
    x: ArrayView2<'a, T>,
    /// What is to be fitted: a column a class, above 0 for its own rows.
    y: &'a Array2<f64>,
    /// Training rows whose scores without themselves are wanted.
    judges: &'a [usize],
    /// The s² that are tried.
    ridges: &'a [f64],
    /// How bad such scores are.
    loss: &'a dyn Fn(&Array2<f64>) -> f64,
}

impl Refit {
    /// Fits scores to labels with the best s². Returns them with the scores of the judges as they would be without each of them.
    fn new<T: Number>(
        length: f64,
        kernel: &Kernel,
        rows: &[usize],
        goal: &Goal<'_, T>,
        par: &Par,
    ) -> Result<(Self, Array2<f64>)> {
        let Goal { x, y, judges, ridges, loss } = *goal;
        let mut all = Sums::new(length, kernel.clone(), x.select(Axis(0), rows), y.ncols(), par)?;
        for first in (0..x.nrows()).step_by(BLOCK) {
            let part = first..(first + BLOCK).min(x.nrows());
            all.add(x.slice(s![part.clone(), ..]), y.slice(s![part, ..]), par);
        }
        let features = |x: ArrayView2<'_, T>| all.features(x, par);
        let Sums { wide, lower, .. } = &all;
        let of_judges = features(x.select(Axis(0), judges).view());
        let mut best: Option<(f64, Array2<f64>, Array2<f64>, f64)> = None;
        for &ridge in ridges {
            let (factor, w) = all.solved(ridge, par)?;
            let mut without = of_judges.dot(&w.t());
            for first in (0..judges.len()).step_by(BLOCK) {
                let part = first..(first + BLOCK).min(judges.len());
                let mut a = of_judges.slice(s![part.clone(), ..]).to_owned();
                factor.forward_rows(&mut a, par);
                let mut rows = without.slice_mut(s![part.clone(), ..]);
                for ((&judge, a), mut row) in judges[part].iter().zip(a.rows()).zip(rows.rows_mut()) {
                    let h = a.dot(&a).min(1.0 - 1e-9);
                    row.zip_mut_with(&y.row(judge), |score, y| *score = (*score - h * y) / (1.0 - h));
                }
            }
            let value = if ridges.len() > 1 { loss(&without) } else { 0.0 };
            if best.as_ref().is_none_or(|(least, ..)| value < *least) {
                best = Some((value, w, without, ridge));
            }
        }
        let Some((_, mut w, without, ridge)) = best else {
            return Err(hedgerow_core::Error::param("ridges", "one at least", 0));
        };
        lower.backward_rows(&mut w, par);
        let near = nearness(kernel, x.select(Axis(0), judges).view(), wide.view(), par);
        let shares = shares(y.view());
        Ok((Self { weights: w.t().to_owned(), ridge, length, near, shares }, without))
    }

    /// Probabilities of all classes for rows with these covariances with the chosen ones. A class that is not known has no score.
    pub fn answers(
        &self,
        covariances: &Array2<f64>,
        calibration: &Calibration,
        n_classes: usize,
        is_known: impl Fn(usize) -> bool,
    ) -> Array2<f64> {
        let known = covariances.dot(&self.weights);
        let mut answers = Array2::from_elem((covariances.nrows(), n_classes), f64::NEG_INFINITY);
        for (class, from) in known.columns().into_iter().enumerate().filter(|(class, _)| is_known(*class)) {
            answers.column_mut(class).assign(&from);
        }
        for (mut row, covariances) in answers.rows_mut().into_iter().zip(covariances.rows()) {
            if let Some(row) = row.as_slice_mut() {
                calibration.apply(row);
                self.doubt(row, covariances);
            }
        }
        answers
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        8 * (self.weights.len() + self.shares.len())
    }

    /// Draws the probabilities of a row towards the shares of the classes if it is farther from all active rows than training rows
    /// are: there a regression says something, but knows nothing.
    fn doubt(&self, row: &mut [f64], covariances: ArrayView1<'_, f64>) {
        let nearest = covariances.iter().copied().fold(0.0, f64::max);
        if nearest >= self.near {
            return;
        }
        let trust = nearest / self.near;
        let shares = self.shares.iter().copied().chain(std::iter::repeat(0.0));
        row.iter_mut().zip(shares).for_each(|(p, share)| *p = trust * *p + (1.0 - trust) * share);
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
}

/// The share of each class among the rows, whose labels are above 0 for their own class.
fn shares(y: ArrayView2<'_, f64>) -> Vec<f64> {
    let share = |column: ArrayView1<'_, f64>| {
        let n_own = column.iter().filter(|y| **y > 0.0).count() as f64;
        (n_own + 1.0) / (column.len() + y.ncols()) as f64
    };
    y.columns().into_iter().map(share).collect()
}

/// The covariance with the nearest active row that 99 of 100 judges exceed.
pub fn nearness<T: Number>(
    kernel: &Kernel,
    judges: ArrayView2<'_, T>,
    rows: ArrayView2<'_, f64>,
    par: &Par,
) -> f64 {
    const MOST: usize = 1000;
    let n = judges.nrows();
    let some: Vec<usize> = (0..n).step_by(n.div_ceil(MOST).max(1)).collect();
    let covariances = kernel.cross(judges.select(Axis(0), &some).mapv(Into::into).view(), rows, par);
    // A covariance of 1 is that of a row with itself, or of one that is equal.
    let nearest =
        |row: ArrayView1<'_, f64>| row.iter().copied().filter(|v| *v < 1.0 - 1e-9).fold(0.0, f64::max);
    let mut values: Vec<f64> = covariances.rows().into_iter().map(nearest).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 100).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;
    use crate::linalg::Cholesky;

    #[test]
    fn scores_without_a_row_are_those_of_a_fit_without_it() {
        let par = Par::sequential();
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let x = Array2::from_shape_fn((40, 2), |_| rng.unit() as f32);
        let y =
            Array2::from_shape_fn((40, 2), |(r, c)| if (x[(r, 0)] > 0.5) == (c == 0) { 1.0 } else { -1.0 });
        let (chosen, judges, kernel) = ([1, 5, 9, 20, 33], [0, 5, 17], Kernel::rbf(0.4));
        let rows = x.select(Axis(0), &chosen).mapv(f64::from);
        let goal = |judges| Goal { x: x.view(), y: &y, judges, ridges: &[0.01], loss: &|_| 0.0 };
        let (_, without) = Refit::new(0.4, &kernel, &chosen, &goal(&judges[..]), &par).unwrap();
        for (place, left) in judges.into_iter().enumerate() {
            // A row that is left out weighs nothing, but stays where it is if others are measured from it.
            let others: Vec<usize> = (0..40).filter(|r| *r != left).collect();
            let a = kernel.cross(x.mapv(f64::from).view(), rows.view(), &par);
            let mut own = kernel.matrix(rows.view(), &par);
            own.diag_mut().iter_mut().for_each(|v| *v += 1e-6);
            let part = a.select(Axis(0), &others);
            let ridged = part.t().dot(&part) + 0.01 * &own;
            let factor = Cholesky::robust(&ridged, &par).unwrap();
            let sums = part.t().dot(&y.select(Axis(0), &others));
            for class in 0..2 {
                let naive = a.row(left).dot(&factor.solve(sums.column(class)));
                assert!(
                    (naive - without[(place, class)]).abs() < 1e-7,
                    "{naive} {}",
                    without[(place, class)]
                );
            }
        }
    }
}
