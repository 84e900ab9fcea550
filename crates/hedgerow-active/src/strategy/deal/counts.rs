//! How many labels of each class are near each of some rows, kept up to date label by label.

use hedgerow_core::{ClassId, Par};
use ndarray::{Array2, ArrayView1, ArrayView2};

use crate::pool::Pool;

/// Rows updated by one piece of work.
const BLOCK: usize = 1024;

/// 2^(d/2) exp(−r²/2h²), a row's weight for another at a squared distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DensityKernel {
    pub(super) bandwidth: f64,
    /// Dimensions that rows vary in.
    pub(super) dimensions: usize,
}

impl DensityKernel {
    pub(super) fn at(self, square: f64) -> f64 {
        let log = 0.5 * self.dimensions as f64 * std::f64::consts::LN_2;
        libm::exp(log - 0.5 * square / (self.bandwidth * self.bandwidth))
    }
}

pub(super) fn square(a: ArrayView1<'_, f32>, b: ArrayView1<'_, f32>) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a - b) * f64::from(a - b)).sum()
}

/// The weighted count of labels of each class near each row of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LabelCounts {
    counts: Array2<f64>,
    /// The labels counted, in the order in which they came.
    counted: Vec<(usize, ClassId)>,
}

impl LabelCounts {
    pub(super) fn new(n_rows: usize, n_classes: usize) -> Self {
        Self { counts: Array2::zeros((n_rows, n_classes)), counted: Vec::new() }
    }

    /// The count of each class near a row.
    pub(super) fn row(&self, row: usize) -> ArrayView1<'_, f64> {
        self.counts.row(row)
    }

    /// Counts the labels that came since the last time: a term for each row and label. A label that was changed or taken back makes it count anew, so that
    /// the counts are those of the labels there are, to the last bit.
    pub(super) fn update(&mut self, pool: &Pool, x: ArrayView2<'_, f32>, kernel: DensityKernel, par: &Par) {
        let labels: Vec<(usize, ClassId)> =
            pool.labelled().iter().filter_map(|&row| Some((row, pool.label(row)?))).collect();
        let n_classes = pool.schema().n_classes();
        if n_classes != self.counts.ncols() || !labels.starts_with(&self.counted) {
            *self = Self::new(x.nrows(), n_classes);
        }
        for &(row, class) in &labels[self.counted.len()..] {
            self.learn(x, x.row(row), class, kernel, par);
        }
        self.counted = labels;
    }

    /// Counts one label.
    pub(super) fn learn(
        &mut self,
        x: ArrayView2<'_, f32>,
        labelled: ArrayView1<'_, f32>,
        class: ClassId,
        kernel: DensityKernel,
        par: &Par,
    ) {
        let n_classes = self.counts.ncols();
        let Some(counts) = self.counts.as_slice_mut() else { return };
        par.for_chunks(counts, BLOCK * n_classes, |block, counts| {
            for (i, counts) in counts.chunks_mut(n_classes).enumerate() {
                counts[class.index()] += kernel.at(square(x.row(block * BLOCK + i), labelled));
            }
        });
    }
}
