//! Several classes at once by Laplace's method (Rasmussen and Williams 2006, algorithms 3.3 and 3.4): a latent function for each class, all
//! with one kernel, and probabilities in proportion to exp f.
//!
//! ```text
//! W = D − ΠΠᵀ,   E_c = √D_c (I + √D_c K √D_c)⁻¹ √D_c,   S = Σ_c E_c
//! log|I + K W| = Σ_c log|I + √D_c K √D_c| + log|S|
//! ```
//!
//! with D the diagonal matrix of all probabilities and Π a diagonal block a class: solving takes n × n matrices only.

use hedgerow_core::calibration::softmax as softmax_of;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::{array, require};
use hedgerow_core::{Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use crate::kernel::Kernel;
use crate::kriging::indicators;
use crate::linalg::{Cholesky, mat_mul};
use crate::optimize::halved;
use crate::regression::{check_rows, checked_cross};

/// Draws that predictions are averaged over.
const DRAWS: usize = 256;

/// A classifier of any number of classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SoftmaxLaplace {
    #[serde(skip)]
    kernel: Kernel,
    #[serde(with = "array")]
    pub(crate) x: Array2<f64>,
    /// y − π at the peak: a row a training row, a column a class.
    #[serde(with = "array")]
    pub(crate) gradient: Array2<f64>,
    /// Draws from the standard normal distribution, a row each.
    #[serde(skip)]
    draws: Array2<f64>,
    #[serde(skip)]
    blocks: Blocks,
    #[serde(skip)]
    log_evidence: f64,
}

impl SoftmaxLaplace {
    /// Learns classes (numbers below `n_classes`) of rows. The seed is that of the draws over which predictions are averaged.
    pub fn fit(
        kernel: Kernel,
        x: ArrayView2<'_, f64>,
        classes: &[usize],
        n_classes: usize,
        seed: u64,
        par: &Par,
    ) -> Result<Self> {
        check_rows(&kernel, x, "labels", classes.len())?;
        let y = indicators(classes, n_classes)?;
        let k = kernel.matrix(x, par);
        let (a, f) = climb(&k, &y, par)?;
        let p = softmax(&f);
        let blocks = Blocks::new(&k, &p, par)?;
        let log_evidence = height(&a, &f, &y) - 0.5 * blocks.log_det;
        Ok(Self {
            kernel,
            x: x.to_owned(),
            gradient: y - p,
            draws: draws(n_classes, seed),
            blocks,
            log_evidence,
        })
    }

    /// Makes what a file does not hold of a model of so many classes: everything follows from what is known at the peak.
    pub(crate) fn complete(&mut self, kernel: &Kernel, n_classes: usize, seed: u64, par: &Par) -> Result<()> {
        let Self { x, gradient, .. } = self;
        let fits = gradient.dim() == (x.nrows(), n_classes) && gradient.iter().all(|v| v.is_finite());
        require(fits, || "expected a finite gradient for each row and class")?;
        // Of a row's classes one has 1 − π, the only gradient above 0, and the others −π.
        let own = |row: ndarray::ArrayView1<'_, f64>| {
            row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(place, _)| place)
        };
        let classes: Vec<usize> = gradient.rows().into_iter().map(own).collect();
        let p = indicators(&classes, n_classes)? - &*gradient;
        self.blocks = Blocks::new(&kernel.matrix(x.view(), par), &p, par)?;
        self.draws = draws(n_classes, seed);
        (self.kernel, self.log_evidence) = (kernel.clone(), f64::NAN);
        Ok(())
    }

    /// The logarithm of the probability of the labels, as far as the Gaussian is right.
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// What is known about the latent values of each row: means (a column a class), and the covariance between classes.
    pub fn latent(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<(Array2<f64>, Vec<Array2<f64>>)> {
        let n_classes = self.gradient.ncols();
        let cross = checked_cross(&self.kernel, x, self.x.view(), par)?;
        let mean = mat_mul(cross.view(), self.gradient.view(), par);
        let own = self.kernel.diagonal(x);
        // With b_c = E_c k: covariance (c, d) = [c = d] (k** − kᵀb_c) + b_cᵀ S⁻¹ b_d.
        let mut plain = Array2::zeros((x.nrows(), n_classes));
        let mut solved = Vec::with_capacity(n_classes);
        for (c, e) in self.blocks.each.iter().enumerate() {
            let mut b = mat_mul(cross.view(), e.view(), par);
            for i in 0..x.nrows() {
                plain[(i, c)] = own[i] - b.row(i).dot(&cross.row(i));
            }
            self.blocks.sum.forward_rows(&mut b, par);
            solved.push(b);
        }
        let covariance = |i: usize| {
            Array2::from_shape_fn((n_classes, n_classes), |(c, d)| {
                let shared = solved[c].row(i).dot(&solved[d].row(i));
                if c == d { plain[(i, c)].max(0.0) + shared } else { shared }
            })
        };
        Ok((mean, (0..x.nrows()).map(covariance).collect()))
    }

    /// A probability a class for each row: softmax averaged over draws from what is known about the latent values.
    pub fn probability(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Array2<f64>> {
        let (mean, covariances) = self.latent(x, par)?;
        let mut out = Array2::zeros(mean.raw_dim());
        for (i, covariance) in covariances.iter().enumerate() {
            let spread = Cholesky::robust(covariance, &Par::sequential()).map_or_else(
                |_| Array2::from_diag(&covariance.diag().mapv(|v| libm::sqrt(v.max(0.0)))),
                Cholesky::into_memory,
            );
            let latent = self.draws.dot(&spread.t()) + mean.row(i);
            out.row_mut(i).assign(&softmax(&latent).sum_axis(Axis(0)));
        }
        out /= self.draws.nrows() as f64;
        Ok(out)
    }
}

/// Half of the draws, and the same mirrored: their mean is 0 exactly.
fn draws(n_classes: usize, seed: u64) -> Array2<f64> {
    let mut rng = Rng::new(seed, Purpose::Sample, 3);
    let half = Array2::from_shape_fn((DRAWS / 2, n_classes), |_| rng.normal());
    let mut draws = Array2::zeros((DRAWS, n_classes));
    draws.slice_mut(s![..DRAWS / 2, ..]).assign(&half);
    draws.slice_mut(s![DRAWS / 2.., ..]).assign(&-half);
    draws
}

/// Rows of latent values as probabilities.
fn softmax(f: &Array2<f64>) -> Array2<f64> {
    let mut p = f.as_standard_layout().into_owned();
    for mut row in p.rows_mut() {
        row.as_slice_mut().into_iter().for_each(|row| softmax_of(row, 1.0, 0.0));
    }
    p
}

/// `log p(y|f) − ½ fᵀK⁻¹f`.
fn height(a: &Array2<f64>, f: &Array2<f64>, y: &Array2<f64>) -> f64 {
    let log_p = f.rows().into_iter().zip(y.rows()).map(|(f, y)| {
        let largest = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = f.iter().map(|v| libm::exp(v - largest)).sum();
        f.dot(&y) - largest - libm::log(sum)
    });
    log_p.sum::<f64>() - 0.5 * a.iter().zip(f).map(|(a, f)| a * f).sum::<f64>()
}

/// Newton's steps to the peak, each halved until it helps. Returns K⁻¹f and f.
fn climb(k: &Array2<f64>, y: &Array2<f64>, par: &Par) -> Result<(Array2<f64>, Array2<f64>)> {
    const MOST_STEPS: usize = 100;
    let mut a = Array2::zeros(y.raw_dim());
    let mut f = Array2::zeros(y.raw_dim());
    let mut now = height(&a, &f, y);
    for _ in 0..MOST_STEPS {
        if par.is_stopped() {
            return Err(Error::Interrupted);
        }
        let p = softmax(&f);
        let e = y - &p - &a;
        let blocks = Blocks::new(k, &p, par)?;
        let direction = blocks.step(&e, &mat_mul(k.view(), e.view(), par), par);
        let along = mat_mul(k.view(), direction.view(), par);
        let promised = 0.5 * e.iter().zip(&along).map(|(e, f)| e * f).sum::<f64>();
        if promised < 1e-9 {
            a += &direction;
            f += &along;
            break;
        }
        let next = halved([&a, &f], [&direction, &along], now, |a, f| height(a, f, y));
        let Some(([next_a, next_f], next)) = next else { break };
        let gain = next - now;
        (a, f, now) = (next_a, next_f, next);
        if gain < 1e-12 {
            break;
        }
    }
    Ok((a, f))
}

/// What solving with the curvature needs.
#[derive(Debug, Clone, Default, PartialEq)]
struct Blocks {
    /// `E_c`.
    each: Vec<Array2<f64>>,
    /// Of `S = Σ E_c`.
    sum: Cholesky,
    /// `log|I + K W|`.
    log_det: f64,
}

impl Blocks {
    fn new(k: &Array2<f64>, p: &Array2<f64>, par: &Par) -> Result<Self> {
        let mut each = Vec::with_capacity(p.ncols());
        let mut sum = Array2::zeros(k.raw_dim());
        let mut log_det = 0.0;
        for column in p.columns() {
            let root: Array1<f64> = column.mapv(|v| libm::sqrt(v.max(0.0)));
            let factor = crate::binary::factor_of_one_and(k, &root, par)?;
            log_det += factor.log_det();
            let mut e = factor.inverse(par);
            for (i, mut row) in e.rows_mut().into_iter().enumerate() {
                let own = root[i];
                row.zip_mut_with(&root, |v, r| *v *= own * r);
            }
            sum += &e;
            each.push(e);
        }
        let sum = Cholesky::robust_in_place(sum, par)?;
        log_det += sum.log_det();
        Ok(Self { each, sum, log_det })
    }

    /// E v, class by class.
    fn apply(&self, v: &Array2<f64>, par: &Par) -> Array2<f64> {
        let mut out = Array2::zeros(v.raw_dim());
        for ((e, v), mut out) in self.each.iter().zip(v.columns()).zip(out.columns_mut()) {
            out.assign(&crate::linalg::mat_vec(e, v, par));
        }
        out
    }

    /// Newton's step for K⁻¹f, which is `e − (E − E R S⁻¹ Rᵀ E) K e` with R stacking identities; `ke` is K e.
    fn step(&self, e: &Array2<f64>, ke: &Array2<f64>, par: &Par) -> Array2<f64> {
        let c = self.apply(ke, par);
        let total = c.sum_axis(Axis(1));
        let shared = self.sum.solve(total.view());
        let stacked = Array2::from_shape_fn(e.raw_dim(), |(i, _)| shared[i]);
        e - &c + &self.apply(&stacked, par)
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use ndarray::array;

    use super::*;
    use crate::binary::BinaryGp;
    use crate::likelihood::Likelihood;

    fn rows(n: usize, n_classes: usize) -> (Array2<f64>, Vec<usize>) {
        let mut rng = Rng::new(5, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, 2), |_| 4.0 * rng.unit() - 2.0);
        let class =
            |r: ndarray::ArrayView1<'_, f64>| ((r[0] + 2.0 + 0.3 * r[1]) / 4.01 * n_classes as f64) as usize;
        let classes = x.rows().into_iter().map(|r| class(r).min(n_classes - 1)).collect();
        (x, classes)
    }

    /// The stacked system, without any of the algebra that keeps it small.
    #[test]
    fn it_agrees_with_newtons_method_on_the_stacked_system() {
        let par = Par::new(2).unwrap();
        let (n, m) = (18, 3);
        let (x, classes) = rows(n, m);
        let kernel = Kernel::rbf(0.9).scaled(2.5) + Kernel::white(0.05);
        let k = kernel.matrix(x.view(), &par);
        let big = Array2::from_shape_fn(
            (n * m, n * m),
            |(i, j)| if i / n == j / n { k[(i % n, j % n)] } else { 0.0 },
        );
        let y = indicators(&classes, m)
            .unwrap()
            .t()
            .as_standard_layout()
            .into_owned()
            .into_shape_with_order(n * m)
            .unwrap();
        let inverse = |a: &Array2<f64>| Cholesky::new(a.clone(), &par).unwrap();
        let big_inverse = inverse(&big).inverse(&par);
        let mut f = Array1::<f64>::zeros(n * m);
        let mut w = big.clone();
        for _ in 0..50 {
            let p = softmax(&f.clone().into_shape_with_order((m, n)).unwrap().t().to_owned());
            w = Array2::from_shape_fn((n * m, n * m), |(i, j)| {
                let (a, b) = (p[(i % n, i / n)], p[(j % n, j / n)]);
                let diagonal = if i == j { a } else { 0.0 };
                if i % n == j % n { diagonal - a * b } else { 0.0 }
            });
            let p = Array1::from_shape_fn(n * m, |i| p[(i % n, i / n)]);
            f = inverse(&(&big_inverse + &w)).solve((w.dot(&f) + &y - &p).view());
        }
        let a = big_inverse.dot(&f);
        let shaped = |v: &Array1<f64>| v.clone().into_shape_with_order((m, n)).unwrap().t().to_owned();
        let det = inverse(&big).log_det() + inverse(&(&big_inverse + &w)).log_det();
        let expected = height(&shaped(&a), &shaped(&f), &indicators(&classes, m).unwrap()) - 0.5 * det;
        let model = SoftmaxLaplace::fit(kernel.clone(), x.view(), &classes, m, 0, &par).unwrap();
        assert!((model.log_evidence() - expected).abs() < 1e-8, "{} {expected}", model.log_evidence());
        let at = array![[0.2, -0.4], [1.4, 1.9]];
        let (mean, covariance) = model.latent(at.view(), &par).unwrap();
        let cross = kernel.cross(at.view(), x.view(), &par);
        let posterior = inverse(&(&big_inverse + &w)).inverse(&par);
        for (i, covariance) in covariance.iter().enumerate() {
            for c in 0..m {
                let expected: f64 = (0..n).map(|r| cross[(i, r)] * a[c * n + r]).sum();
                assert!((mean[(i, c)] - expected).abs() < 1e-7);
                for d in 0..m {
                    // Cov = [c = d] (k** − kᵀK⁻¹k) + kᵀK⁻¹ A⁻¹ K⁻¹k.
                    let stacked = |c: usize| {
                        let mut v = Array1::zeros(n * m);
                        v.slice_mut(s![c * n..(c + 1) * n]).assign(&cross.row(i));
                        big_inverse.dot(&v)
                    };
                    let prior = if c == d {
                        2.5 - cross.row(i).dot(&stacked(c).slice(s![c * n..(c + 1) * n]))
                    } else {
                        0.0
                    };
                    let expected = prior + stacked(c).dot(&posterior.dot(&stacked(d)));
                    assert!((covariance[(c, d)] - expected).abs() < 1e-7, "{c} {d}");
                }
            }
        }
    }

    /// With two classes only the difference counts, and its prior has twice the variance.
    #[test]
    fn two_classes_are_those_of_the_logistic_model() {
        let par = Par::sequential();
        let (x, classes) = rows(40, 2);
        let kernel = Kernel::rbf(1.1).scaled(1.5);
        let softmax = SoftmaxLaplace::fit(kernel, x.view(), &classes, 2, 1, &par).unwrap();
        let y: Vec<f64> = classes.iter().map(|c| 2.0 * *c as f64 - 1.0).collect();
        let doubled = Kernel::rbf(1.1).scaled(3.0);
        let binary = BinaryGp::laplace(doubled, Likelihood::Logistic, x.view(), &y, &par).unwrap();
        assert!((softmax.log_evidence() - binary.log_evidence()).abs() < 1e-7);
        let at = array![[0.1, 0.2], [1.5, -1.0], [-1.0, 1.0], [30.0, 0.0]];
        let (p, q) =
            (softmax.probability(at.view(), &par).unwrap(), binary.probability(at.view(), &par).unwrap());
        let latent = binary.latent(at.view(), &par).unwrap();
        let (mean, covariance) = softmax.latent(at.view(), &par).unwrap();
        for i in 0..4 {
            let c = &covariance[i];
            assert!((mean[(i, 1)] - mean[(i, 0)] - latent.mean[i]).abs() < 1e-6);
            assert!((c[(0, 0)] + c[(1, 1)] - 2.0 * c[(0, 1)] - latent.variance[i]).abs() < 1e-6);
            assert!((p[(i, 1)] - q[i]).abs() < 0.02, "{} {}", p[(i, 1)], q[i]);
        }
    }

    #[test]
    fn it_learns_and_hard_data_do_not_break_it() {
        let par = Par::new(2).unwrap();
        let (x, classes) = rows(150, 4);
        let model =
            SoftmaxLaplace::fit(Kernel::rbf(0.8).scaled(8.0), x.view(), &classes, 4, 0, &par).unwrap();
        let p = model.probability(x.view(), &par).unwrap();
        let predicted = hedgerow_core::traits::most_probable(p.view());
        let right = predicted.iter().zip(&classes).filter(|(a, b)| a.index() == **b).count();
        assert!(right > 140, "{right}");
        let mut again =
            SoftmaxLaplace { blocks: Blocks::default(), draws: Array2::default((0, 0)), ..model.clone() };
        again.complete(&model.kernel, 4, 0, &par).unwrap();
        let q = again.probability(x.view(), &par).unwrap();
        assert!(p.iter().zip(&q).all(|(a, b)| (a - b).abs() < 1e-9));
        // A class without rows, twins of different classes, a huge variance.
        let twins = Array2::zeros((9, 2));
        let classes = [0, 2, 0, 2, 0, 2, 0, 0, 0];
        for kernel in [Kernel::rbf(1.0).scaled(1e6), Kernel::linear(1e-9), Kernel::rbf(1e-9)] {
            let model = SoftmaxLaplace::fit(kernel, twins.view(), &classes, 3, 0, &par).unwrap();
            let p = model.probability(array![[0.0, 0.0], [1e6, 0.0]].view(), &par).unwrap();
            assert!(
                p.rows().into_iter().all(|r| (r.sum() - 1.0).abs() < 1e-9 && r.iter().all(|v| *v >= 0.0))
            );
        }
        assert!(SoftmaxLaplace::fit(Kernel::rbf(1.0), twins.view(), &[7; 9], 3, 0, &par).is_err());
    }
}
