//! The classifier of a leaf: from covariances and labels to the weight of each row.
//!
//! Whatever the learner, the latent value of a class at a row is `offset + k(x)ᵀ weights`, and its score is that brought between −1 and 1. Each also has
//! leave-one-out scores of its rows:
//!
//! ```text
//! labels     f_i − α_i / ((K + σ²I)⁻¹)_ii                       exactly
//! laplace    f_i − s_i α_i,   s_i = v_i/(1 − W_i v_i)             the peak without the row's own factor
//! ivm        the same with the sites of active rows; others have no site
//! rvm        the same over relevant rows: v_i = φ_iᵀ Σ φ_i
//! ```

use hedgerow_core::{Budget, Par, Result};
use hedgerow_gp::ivm::{IvmParams, train};
use hedgerow_gp::linalg::Cholesky;
use hedgerow_gp::{BinaryGp, Given, Kernel, Likelihood};
use hedgerow_rvm::BinaryRvm;
use ndarray::{Array1, Array2, Axis};

use super::params::LeafLearner;

/// What was learnt in a leaf.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Learnt {
    /// A row for each training row, a column for each class.
    pub(super) weights: Array2<f64>,
    /// One for each class.
    pub(super) offsets: Array1<f64>,
    /// Leave-one-out latent values of the training rows.
    pub(super) without_each: Array2<f64>,
}

impl LeafLearner {
    /// Learns labels (±1, a column for each class) of rows with such covariances. There is at least one row.
    pub(super) fn learn(
        self,
        k: Array2<f64>,
        noise: f64,
        y: &Array2<f64>,
        n_active: usize,
        seed: u64,
    ) -> Result<Learnt> {
        match self {
            Self::Labels => by_regression(k, noise, y),
            Self::Laplace => each_class(y, &|y| by_laplace(&k, noise, y)),
            Self::Ivm => {
                let options = IvmParams { n_active, seed, ..IvmParams::default() };
                each_class(y, &|y| by_ivm(&k, noise, y, &options))
            }
            Self::Rvm => each_class(y, &|y| by_rvm(&k, y, seed)),
        }
    }

    /// The score for a latent value.
    pub(super) fn score(self, latent: f64) -> f64 {
        match self {
            Self::Labels => latent,
            Self::Laplace | Self::Rvm => Likelihood::Logistic.probability(latent, 0.0).mul_add(2.0, -1.0),
            Self::Ivm => Likelihood::Probit.probability(latent, 0.0).mul_add(2.0, -1.0),
        }
    }
}

/// Regression on labels less their means.
fn by_regression(mut k: Array2<f64>, noise: f64, y: &Array2<f64>) -> Result<Learnt> {
    let par = Par::sequential();
    let n = y.nrows().max(1) as f64;
    let offsets = y.sum_axis(Axis(0)) / n;
    k.diag_mut().iter_mut().for_each(|v| *v += noise);
    let factor = Cholesky::robust_in_place(k, &par)?;
    let mut weights = (y - &offsets).t().as_standard_layout().into_owned();
    factor.forward_rows(&mut weights, &par);
    factor.backward_rows(&mut weights, &par);
    let weights = weights.t().as_standard_layout().into_owned();
    let diagonal = factor.inverse_diagonal(&par).insert_axis(Axis(1));
    let without_each = y - &(&weights / &diagonal);
    Ok(Learnt { weights, offsets, without_each })
}

/// A one-vs-rest classifier: weights, offset, and leave-one-out latent values.
type OneClass = (Array1<f64>, f64, Array1<f64>);

/// A one-vs-rest classifier for each class; of two classes one is enough.
fn each_class(y: &Array2<f64>, one: &dyn Fn(&[f64]) -> Result<OneClass>) -> Result<Learnt> {
    let (n, n_classes) = y.dim();
    let mut weights = Array2::zeros((n, n_classes));
    let mut offsets = Array1::<f64>::zeros(n_classes);
    let mut without_each = Array2::zeros((n, n_classes));
    let n_trained = if n_classes == 2 { 1 } else { n_classes };
    for class in 0..n_trained {
        let (of_class, offset, without) = one(&y.column(class).to_vec())?;
        weights.column_mut(class).assign(&of_class);
        without_each.column_mut(class).assign(&without);
        offsets[class] = offset;
    }
    if n_classes == 2 {
        for table in [&mut weights, &mut without_each] {
            let turned = table.column(0).mapv(|v: f64| -v);
            table.column_mut(1).assign(&turned);
        }
        offsets[1] = -offsets[0];
    }
    Ok(Learnt { weights, offsets, without_each })
}

/// The kernel that has such a matrix, and the numbers of its rows.
fn given(k: &Array2<f64>, noise: f64) -> Result<(Kernel, Array2<f64>)> {
    let mut k = k.clone();
    k.diag_mut().iter_mut().for_each(|v| *v += noise);
    let rows = Array2::from_shape_fn((k.nrows(), 1), |(i, _)| i as f64);
    Ok((Kernel::Given(Given::new(k)?), rows))
}

fn by_laplace(k: &Array2<f64>, noise: f64, y: &[f64]) -> Result<OneClass> {
    let par = Par::sequential();
    let (kernel, rows) = given(k, noise)?;
    let model = BinaryGp::laplace(kernel, Likelihood::Logistic, rows.view(), y, &par)?;
    let latent = model.latent(rows.view(), &par)?;
    let (weights, curvatures) = (model.weights().clone(), model.curvatures());
    let without = (0..y.len()).map(|i| {
        let variance = latent.variance[i] / (1.0 - curvatures[i] * latent.variance[i]).max(1e-6);
        latent.mean[i] - variance * weights[i]
    });
    let without = without.collect();
    Ok((weights, 0.0, without))
}

fn by_ivm(k: &Array2<f64>, noise: f64, y: &[f64], options: &IvmParams) -> Result<OneClass> {
    let par = Par::sequential();
    let (kernel, rows) = given(k, noise)?;
    let trained = train(&kernel, rows.view(), y, options, &par, &Budget::open())?;
    let mut weights = Array1::zeros(y.len());
    let bias = trained.ivm.bias();
    let mut without: Array1<f64> = trained.mean.iter().map(|m| f64::from(*m) + bias).collect();
    let (means, precisions) = trained.ivm.sites();
    for (place, &row) in trained.active.iter().enumerate() {
        weights[row] = trained.ivm.weights()[place];
        let (mean, variance) = (f64::from(trained.mean[row]), f64::from(trained.variance[row]).max(1e-9));
        // The posterior of the row without its own site.
        let precision = (1.0 / variance - precisions[place]).max(1e-9);
        without[row] = (mean / variance - precisions[place] * means[place]) / precision + bias;
    }
    Ok((weights, bias, without))
}

/// Neither noise nor signal variance matter to it: weights find their own scale.
fn by_rvm(k: &Array2<f64>, y: &[f64], seed: u64) -> Result<OneClass> {
    let (kernel, rows) = given(k, 0.0)?;
    let is_one: Vec<bool> = y.iter().map(|y| *y > 0.0).collect();
    let BinaryRvm { weights, bias, leave_one_out } = BinaryRvm::fit(&kernel, &rows, &is_one, seed)?;
    Ok((weights, bias, leave_one_out))
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use hedgerow_gp::LabelRegression;
    use ndarray::array;

    use super::*;

    fn rows(n: usize) -> (Array2<f64>, Array2<f64>) {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, 2), |_| 4.0 * rng.unit() - 2.0);
        let class = |r: usize| if x[(r, 0)] > 0.7 { 0 } else { 1 + usize::from(x[(r, 1)] > x[(r, 0)]) };
        let y = Array2::from_shape_fn((n, 3), |(r, c)| if class(r) == c { 1.0 } else { -1.0 });
        (x, y)
    }

    /// Computed by hand from the formulae of Fröhlich et al.
    #[test]
    fn four_rows_by_hand() {
        let x = array![[0.0], [1.0], [2.0], [3.0]];
        let y = array![[1.0], [1.0], [-1.0], [-1.0]];
        let k = Kernel::rbf(1.0).matrix(x.view(), &Par::sequential());
        let learnt = LeafLearner::Labels.learn(k, 0.1, &y, 1, 0).unwrap();
        for (got, expected) in learnt.weights.iter().zip([0.070_642, 1.959_015, -1.959_015, -0.070_642]) {
            assert!((got - expected).abs() < 1e-6, "{got}");
        }
        let k = Kernel::rbf(1.0).cross(array![[0.5]].view(), x.view(), &Par::sequential());
        assert!((k.dot(&learnt.weights)[(0, 0)] + learnt.offsets[0] - 1.152_063).abs() < 1e-6);
    }

    #[test]
    fn regression_is_that_of_the_exact_gp() {
        let par = Par::sequential();
        let (x, y) = rows(60);
        let kernel = Kernel::rbf(0.8);
        let learnt = LeafLearner::Labels.learn(kernel.matrix(x.view(), &par), 0.05, &y, 1, 0).unwrap();
        let exact = LabelRegression::fit(kernel, 0.05, x.view(), y.view(), &par).unwrap();
        let close = |a: &Array2<f64>, b: &Array2<f64>| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close(&learnt.weights, exact.weights()));
        assert!(close(&learnt.without_each, &exact.without_each(y.view(), &par)));
    }

    #[test]
    fn scores_without_a_row_are_nearly_those_of_a_fit_without_it() {
        let par = Par::sequential();
        let (x, y) = rows(60);
        let kernel = Kernel::rbf(1.0).scaled(10.0);
        let k = kernel.matrix(x.view(), &par);
        for learner in [LeafLearner::Laplace, LeafLearner::Ivm, LeafLearner::Rvm] {
            let learnt = learner.learn(k.clone(), 0.01, &y, 60, 0).unwrap();
            let mut differences = Vec::new();
            for left in [0, 17, 42, 59] {
                let others: Vec<usize> = (0..60).filter(|r| *r != left).collect();
                let (x_rest, y_rest) = (x.select(Axis(0), &others), y.select(Axis(0), &others));
                let k_rest = kernel.matrix(x_rest.view(), &par);
                let naive = learner.learn(k_rest, 0.01, &y_rest, 60, 0).unwrap();
                let cross = kernel.cross(x.select(Axis(0), &[left]).view(), x_rest.view(), &par);
                let latent = cross.dot(&naive.weights) + &naive.offsets;
                for class in 0..3 {
                    let (a, b) = (latent[(0, class)], learnt.without_each[(left, class)]);
                    let (a, b) = (learner.score(a), learner.score(b));
                    differences.push((a - b).abs());
                }
            }
            // Without a row, quite other rows may be relevant; on the whole that makes little difference.
            let mean = differences.iter().sum::<f64>() / differences.len() as f64;
            let most = differences.iter().copied().fold(0.0, f64::max);
            assert!(
                mean < 0.1 && (most < 0.25 || learner == LeafLearner::Rvm),
                "{learner:?}: {differences:.3?}"
            );
        }
    }

    #[test]
    fn of_two_classes_one_classifier_is_enough() {
        let par = Par::sequential();
        let (x, y) = rows(40);
        let y = Array2::from_shape_fn((40, 2), |(r, c)| if c == 0 { y[(r, 0)] } else { -y[(r, 0)] });
        let k = Kernel::rbf(1.0).scaled(5.0).matrix(x.view(), &par);
        for learner in [LeafLearner::Labels, LeafLearner::Laplace, LeafLearner::Ivm, LeafLearner::Rvm] {
            let learnt = learner.learn(k.clone(), 0.01, &y, 20, 0).unwrap();
            let sum = learnt.weights.sum_axis(Axis(1));
            assert!(sum.iter().all(|v| v.abs() < 1e-9), "{learner:?}");
            let right = (0..40).filter(|&row| learnt.without_each[(row, 0)] * y[(row, 0)] > 0.0).count();
            assert!(right > 32, "{learner:?}");
        }
    }
}
