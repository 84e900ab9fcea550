//! The values of a kernel for all pairs of rows, in as few passes over the matrix as can be.

use hedgerow_core::Par;
use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::metric::square_distances;
use super::{Kernel, Metric, Shape, matches};
use crate::linalg::{mat_mul, on_rows};

/// Rows that a thread works on at a time.
const ROWS: usize = 64;

/// Whether both are the training rows, so that noise counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Same {
    No,
    Whole,
    /// They are, and only what is up to the diagonal is wanted.
    Lower,
}

/// Rows of `a` with rows of `b`.
#[derive(Clone, Copy)]
pub(super) struct Pairs<'a> {
    pub(super) a: ArrayView2<'a, f64>,
    pub(super) b: ArrayView2<'a, f64>,
    pub(super) same: Same,
    pub(super) par: &'a Par,
}

impl Pairs<'_> {
    /// `factor` times a kernel.
    pub(super) fn of(self, kernel: &Kernel, factor: f64) -> Array2<f64> {
        let size = (self.a.nrows(), self.b.nrows());
        match kernel {
            Kernel::Stationary { shape, metric } => self.stationary(*shape, metric, factor),
            Kernel::Polynomial { .. } | Kernel::Sigmoid { .. } => {
                let mut out = mat_mul(self.a, self.b.t(), self.par);
                on_rows(&mut out, ROWS, self.par, |_, mut rows| {
                    rows.mapv_inplace(|v| factor * kernel.of_product(v));
                });
                out
            }
            Kernel::Constant => Array2::from_elem(size, factor),
            Kernel::Matches => {
                let mut out = matches::shares(self.a, self.b, self.par);
                if self.same != Same::No {
                    out.diag_mut().fill(1.0);
                }
                on_rows(&mut out, ROWS, self.par, |_, mut rows| rows *= factor);
                out
            }
            Kernel::Given(given) => {
                Array2::from_shape_fn(size, |(i, j)| factor * given.value(self.a[(i, 0)], self.b[(j, 0)]))
            }
            Kernel::White => {
                let mut out = Array2::zeros(size);
                self.add_noise(factor, &mut out);
                out
            }
            Kernel::Scaled { variance, kernel } => self.of(kernel, factor * variance),
            Kernel::Sum(kernels) => self.sum(kernels, factor),
            Kernel::Product(kernels) => {
                let Some((first, others)) = kernels.split_first() else {
                    return Array2::from_elem(size, factor);
                };
                others.iter().fold(self.of(first, factor), |mut product, kernel| {
                    let other = self.of(kernel, 1.0);
                    self.join(&mut product, &other, |to, from| *to *= from);
                    product
                })
            }
        }
    }

    fn stationary(self, shape: Shape, metric: &Metric, factor: f64) -> Array2<f64> {
        // Distances do not change when all rows move, and small numbers keep more digits.
        let center = self.b.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(self.b.ncols()));
        let map = |x: ArrayView2<'_, f64>| metric.map((&x - &center).view());
        let finish = |row: &mut [f64]| shape.value_all(row, factor);
        let a = map(self.a);
        if self.same == Same::No {
            return square_distances(&a, &map(self.b), self.same, self.par, finish);
        }
        let mut out = square_distances(&a, &a, self.same, self.par, finish);
        out.diag_mut().fill(factor);
        out
    }

    /// Noise has nothing to add but to the diagonal.
    fn sum(self, kernels: &[Kernel], factor: f64) -> Array2<f64> {
        let mut noise = 0.0;
        let mut sum: Option<Array2<f64>> = None;
        for kernel in kernels {
            if let Some(variance) = kernel.as_noise() {
                noise += factor * variance;
                continue;
            }
            let next = self.of(kernel, factor);
            match &mut sum {
                Some(sum) => self.join(sum, &next, |to, from| *to += from),
                None => sum = Some(next),
            }
        }
        let mut sum = sum.unwrap_or_else(|| Array2::zeros((self.a.nrows(), self.b.nrows())));
        self.add_noise(noise, &mut sum);
        sum
    }

    fn add_noise(self, variance: f64, out: &mut Array2<f64>) {
        if self.same != Same::No {
            out.diag_mut().iter_mut().for_each(|v| *v += variance);
        }
    }

    fn join(self, to: &mut Array2<f64>, from: &Array2<f64>, how: impl Fn(&mut f64, &f64) + Sync) {
        on_rows(to, ROWS, self.par, |first, mut rows| {
            for (mut to, from) in rows.rows_mut().into_iter().zip(from.rows().into_iter().skip(first)) {
                to.iter_mut().zip(from).for_each(|(to, from)| how(to, from));
            }
        });
    }
}
