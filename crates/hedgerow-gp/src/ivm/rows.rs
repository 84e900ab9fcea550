//! The training rows of an IVM classifier, and what can be learnt from them with a given kernel.

use hedgerow_core::{ClassId, OutOfSample, Par, Result, Source, Training};
use ndarray::{Array2, Axis};

use super::IvmParams;
use super::columns::{Base, Columns, squares};
use super::one_vs_rest::OneVsRest;
use super::train::Shared;
use crate::classifier::some_rows;
use crate::kernel::Kernel;
use crate::refit::{Fitter, MOST_VALIDATION};

/// Rows of a sample that stands for all, and active rows of a classifier in it, at most.
pub(super) const MOST_SAMPLE: usize = 3000;
const MOST_SAMPLE_ACTIVE: usize = 100;

/// Prepared rows with their classes, and how binary classifiers are trained on them.
pub(super) struct TrainingRows {
    pub(super) x: Array2<f32>,
    /// The squared distances of all pairs of rows, where they are at hand.
    pub(super) squares: Option<Array2<f32>>,
    pub(super) labels: Vec<ClassId>,
    pub(super) n_classes: usize,
    pub(super) params: IvmParams,
}

impl TrainingRows {
    pub(super) fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// Rows times squared active rows, summed over classes: what the choice of active rows takes, in products.
    pub(super) fn work(&self) -> f64 {
        let n_trained = self.is_trained().iter().filter(|is_trained| **is_trained).count();
        (self.n_rows() * n_trained) as f64 * (self.params.n_active as f64).powi(2)
    }

    pub(super) fn kernel(&self, [length, variance]: [f64; 2]) -> Kernel {
        Kernel::rbf(length).scaled(variance) + Kernel::white(self.params.noise_variance)
    }

    /// Some rows, in double precision.
    pub(super) fn wide(&self, rows: &[usize]) -> Array2<f64> {
        self.x.select(Axis(0), rows).mapv(f64::from)
    }

    /// Labels of one class against the rest.
    pub(super) fn signs(&self, class: usize) -> Vec<f64> {
        self.labels.iter().map(|label| if label.index() == class { 1.0 } else { -1.0 }).collect()
    }

    /// Covariances between the rows.
    pub(super) fn columns(&self, [length, variance]: [f64; 2]) -> Columns<'_> {
        let base = self.squares.as_ref().map_or_else(|| Base::rows(self.x.view()), Base::Squares);
        Columns::rbf(base, length, variance)
    }

    /// Classes that get a binary classifier: those that have rows, but of two only the second.
    pub(super) fn is_trained(&self) -> Vec<bool> {
        let mut has_rows = vec![false; self.n_classes];
        self.labels.iter().for_each(|label| has_rows[label.index()] = true);
        if has_rows.len() == 2 && has_rows[1] {
            has_rows[0] = false;
        }
        has_rows
    }

    /// Trains classifiers of some classes, each with its kernel; those with the same kernel go side by side.
    pub(super) fn train_each(
        &self,
        classes: &[usize],
        kernels: &[[f64; 2]],
        training: &Training<'_>,
    ) -> Result<Vec<OneVsRest>> {
        let mut found: Vec<OneVsRest> = Vec::new();
        let mut left: Vec<usize> = classes.to_vec();
        while let Some(&first) = left.first() {
            let kernel = kernels[first];
            let (alike, others): (Vec<usize>, Vec<usize>) =
                left.into_iter().partition(|class| kernels[*class] == kernel);
            let labels: Vec<Vec<f64>> = alike.iter().map(|&class| self.signs(class)).collect();
            let shared = Shared {
                columns: &self.columns(kernel),
                kernel: &self.kernel(kernel),
                rows: &|places| self.wide(places),
                params: &self.params,
                par: training.par,
                budget: training.budget,
            };
            let trained = shared.train(&labels)?;
            found.extend(alike.into_iter().zip(trained).map(|(class, one)| OneVsRest { class, ..one }));
            left = others;
        }
        Ok(found)
    }

    /// Trains a classifier of every class that has one.
    pub(super) fn train_all(&self, kernels: &[[f64; 2]], training: &Training<'_>) -> Result<Vec<OneVsRest>> {
        let is_trained = self.is_trained();
        let classes: Vec<usize> = (0..self.n_classes).filter(|class| is_trained[*class]).collect();
        self.train_each(&classes, kernels, training)
    }

    /// Some of the rows, drawn at random, with the squared distances at hand and fewer active rows: as dense as the whole will be, within reason, and
    /// so that rows are left for validation.
    pub(super) fn sample(&self, seed: u64, par: &Par) -> Self {
        let rows = some_rows(self.n_rows(), MOST_SAMPLE, seed);
        let most = MOST_SAMPLE_ACTIVE.min(rows.len() / (3 * self.n_classes.max(2)));
        let n_active = self.params.n_active.min(most).max(1);
        let params = IvmParams { n_active, n_candidates: 0, ..self.params.clone() };
        let small = self.select(&rows, params);
        Self { squares: Some(squares(small.x.view(), par)), ..small }
    }

    /// The chosen rows.
    pub(super) fn select(&self, rows: &[usize], params: IvmParams) -> Self {
        Self {
            x: self.x.select(Axis(0), rows),
            squares: None,
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
            n_classes: self.n_classes,
            params,
        }
    }

    /// What fits scores of all classes to all rows.
    pub(super) fn fitter<'a>(&'a self, training: &'a Training<'_>) -> Fitter<'a> {
        Fitter {
            x: self.x.view(),
            labels: &self.labels,
            n_classes: self.n_classes,
            par: training.par,
            budget: training.budget,
        }
    }

    /// The posterior's scores of rows, or of as many as calibration needs, each without its own sites.
    pub(super) fn left_out_scores(&self, classifiers: &[impl AsRef<OneVsRest>]) -> OutOfSample {
        let step = self.n_rows().div_ceil(MOST_VALIDATION).max(1);
        let rows: Vec<usize> = (0..self.n_rows()).step_by(step).collect();
        let mut values = Array2::from_elem((rows.len(), self.n_classes), f64::NEG_INFINITY);
        for found in classifiers.iter().map(AsRef::as_ref) {
            let (column, scores) = (values.column_mut(found.class), found.left_out_scores());
            column.into_iter().zip(&rows).for_each(|(to, &row)| *to = scores[row]);
        }
        OutOfSample::of_rows(Source::LeaveOneOut, rows, values, &self.labels)
    }
}

/// The rows that are active anywhere, in rising order.
pub(super) fn union(classifiers: &[impl AsRef<OneVsRest>]) -> Vec<usize> {
    let all = classifiers.iter().flat_map(|found| found.as_ref().sites.active.iter().copied());
    let mut union: Vec<usize> = all.collect();
    union.sort_unstable();
    union.dedup();
    union
}
