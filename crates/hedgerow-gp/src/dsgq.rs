//! Doubly stochastic Gaussian quadrature: the exact prediction of a Gaussian process with link Φ(k0 f), as a ratio of two
//! orthant probabilities.
//!
//! With ξ = f + noise of variance 1/k0², a label is the sign of ξ, and ξ is normal with covariance Σ = K + I/k0². So
//!
//! ```text
//! P(y* = 1) = Pr(all signs as seen, ξ* > 0) / Pr(all signs as seen) = E[ Φ(k*ᵀΣ⁻¹ξ / s*) | all signs as seen ]
//! ```
//!
//! with s*² = k** + 1/k0² − k*ᵀΣ⁻¹k*. The expectation is a weighted mean over ξ drawn one coordinate after the other (Genz 1992) from a
//! lattice; where many rows leave the weight to a few draws only, over a Gibbs sampler's draws instead.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::{array, require};
use hedgerow_core::{Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::binary::check_signs;
use crate::kernel::Kernel;
use crate::linalg::{Cholesky, dot, mat_mul};
use crate::regression::{check_rows, checked_cross, unexplained};
use crate::special::{normal_cdf, normal_quantile};

/// Draws one coordinate after the other.
const DRAWS: usize = 512;
/// Draws of the Gibbs sampler, sweeps before the first, and from one to the next.
const KEPT: usize = 200;
const WARM_UP: usize = 100;
const BETWEEN: usize = 4;

/// A classifier of two classes; or of several, each against the rest, with one covariance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dsgq {
    #[serde(skip)]
    kernel: Kernel,
    k0: f64,
    #[serde(with = "array")]
    pub(crate) x: Array2<f64>,
    /// Of Σ.
    #[serde(skip)]
    factor: Cholesky,
    pub(crate) columns: Vec<Draws>,
}

/// Σ⁻¹ξ for draws of ξ whose signs are those seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Draws {
    /// A row a draw.
    #[serde(with = "array")]
    pub(crate) solved: Array2<f64>,
    /// Summing to 1.
    #[serde(with = "array")]
    pub(crate) weights: Array1<f64>,
    /// log Pr(all signs as seen), where the draws tell.
    #[serde(skip)]
    log_evidence: Option<f64>,
}

impl Dsgq {
    /// Learns labels (+1 or −1, a column a task) of rows.
    pub fn fit(
        kernel: Kernel,
        k0: f64,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        seed: u64,
        par: &Par,
    ) -> Result<Self> {
        check_rows(&kernel, x, "labels", y.nrows())?;
        check_signs(y)?;
        let mut model = Self::from_draws(kernel, k0, x.to_owned(), Vec::new(), par)?;
        let precision = model.factor.inverse(par);
        model.columns = par.map(y.ncols(), |column| {
            let (y, seed) =
                (y.column(column).to_vec(), Rng::new(seed, Purpose::Sample, 1000 + column as u64));
            let in_turn = Draws::in_turn(&model.factor, &y, seed.clone(), par);
            if in_turn.n_effective() >= DRAWS as f64 / 5.0 {
                in_turn
            } else {
                Draws::gibbs(&precision, &y, seed, par)
            }
        });
        Ok(model)
    }

    /// Makes what a file does not hold of a model of so many tasks.
    pub(crate) fn complete(&mut self, kernel: &Kernel, n_columns: usize, par: &Par) -> Result<()> {
        let n = self.x.nrows();
        let fits = self.columns.len() == n_columns && self.columns.iter().all(|draws| draws.fits(n));
        require(fits, || format!("expected draws of {n} numbers for {n_columns} tasks, and their weights"))?;
        let (x, columns) = (std::mem::take(&mut self.x), std::mem::take(&mut self.columns));
        *self = Self::from_draws(kernel.clone(), self.k0, x, columns, par)?;
        Ok(())
    }

    /// A model from draws: the rest follows.
    fn from_draws(kernel: Kernel, k0: f64, x: Array2<f64>, columns: Vec<Draws>, par: &Par) -> Result<Self> {
        kernel.check_rows(x.view())?;
        if !(k0.is_finite() && k0 > 0.0) {
            return Err(Error::param("k0", "a number above 0", k0));
        }
        let mut covariance = kernel.matrix(x.view(), par);
        covariance.diag_mut().iter_mut().for_each(|v| *v += 1.0 / (k0 * k0));
        let factor = Cholesky::robust_in_place(covariance, par)?;
        Ok(Self { kernel, k0, x, factor, columns })
    }

    /// The logarithm of the probability of a column's labels; none where there are too many rows to tell.
    pub fn log_evidence(&self, column: usize) -> Option<f64> {
        self.columns.get(column).and_then(|draws| draws.log_evidence)
    }

    /// The probability of +1: a row a row, a column a task.
    pub fn probability(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Array2<f64>> {
        let cross = checked_cross(&self.kernel, x, self.x.view(), par)?;
        let means: Vec<Array2<f64>> =
            self.columns.iter().map(|draws| mat_mul(cross.view(), draws.solved.t(), par)).collect();
        let noise = 1.0 / (self.k0 * self.k0);
        let variance = unexplained(&self.kernel.diagonal(x), &self.factor, cross, par);
        let deviation = variance.mapv(|v| libm::sqrt(v + noise));
        Ok(Array2::from_shape_fn((x.nrows(), means.len()), |(i, column)| {
            let means = means[column].row(i);
            let terms = means.iter().zip(&self.columns[column].weights);
            terms.map(|(m, w)| w * normal_cdf(m / deviation[i])).sum::<f64>().clamp(0.0, 1.0)
        }))
    }
}

impl Draws {
    /// Whether they are draws of so many numbers.
    fn fits(&self, n: usize) -> bool {
        self.solved.dim() == (self.weights.len(), n)
            && self.solved.iter().all(|v| v.is_finite())
            && self.weights.iter().all(|w| *w >= 0.0)
            && (self.weights.sum() - 1.0).abs() < 1e-6
    }

    /// One coordinate after the other: each is drawn given those before it, and the probability of its sign goes into the weight.
    fn in_turn(factor: &Cholesky, y: &[f64], mut rng: Rng, par: &Par) -> Self {
        let n = y.len();
        let steps: Vec<f64> = primes(n).map(|p| libm::sqrt(p as f64)).collect();
        let shifts: Vec<f64> = (0..n).map(|_| rng.unit()).collect();
        let lower = factor.lower();
        let mut z = Array2::zeros((DRAWS, n));
        let mut logs = vec![0.0; DRAWS];
        for (draw, (mut row, log)) in z.rows_mut().into_iter().zip(&mut logs).enumerate() {
            let Some(z) = row.as_slice_mut().filter(|_| !par.is_stopped()) else { continue };
            for i in 0..n {
                let own = lower.row(i);
                let own = own.as_slice().unwrap_or_default();
                let bound = -dot(&own[..i], &z[..i]) / own[i];
                let turn = (draw + 1) as f64 * steps[i] + shifts[i];
                let unit = (2.0 * (turn - libm::floor(turn)) - 1.0).abs();
                let (value, p) = one_sided(y[i], bound, unit);
                z[i] = value;
                *log += libm::log(p);
            }
        }
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Array1<f64> = logs.iter().map(|log| libm::exp(log - largest)).collect();
        let sum = weights.sum();
        // ξ = L z, so Σ⁻¹ξ = L⁻ᵀ z.
        factor.backward_rows(&mut z, &Par::sequential());
        let log_evidence = Some(largest + libm::log(sum / DRAWS as f64));
        Self { solved: z, weights: weights / sum, log_evidence }
    }

    /// Each coordinate in turn, given all others, over and over.
    fn gibbs(precision: &Array2<f64>, y: &[f64], mut rng: Rng, par: &Par) -> Self {
        let mut xi: Array1<f64> =
            y.iter().enumerate().map(|(i, y)| y / libm::sqrt(precision[(i, i)])).collect();
        let mut solved = Array2::zeros((KEPT, y.len()));
        let mut image = precision.dot(&xi);
        for sweep in (0..WARM_UP + KEPT * BETWEEN).take_while(|_| !par.is_stopped()) {
            for (i, &y) in y.iter().enumerate() {
                let own = precision[(i, i)];
                let (mean, deviation) = (xi[i] - image[i] / own, 1.0 / libm::sqrt(own));
                let (z, _) = one_sided(y, -mean / deviation, rng.unit());
                let step = mean + deviation * z - xi[i];
                xi[i] += step;
                image.scaled_add(step, &precision.row(i));
            }
            if sweep >= WARM_UP && (sweep - WARM_UP).is_multiple_of(BETWEEN) {
                // Afresh, so that rounding does not gather.
                image = precision.dot(&xi);
                solved.row_mut((sweep - WARM_UP) / BETWEEN).assign(&image);
            }
        }
        Self { solved, weights: Array1::from_elem(KEPT, 1.0 / KEPT as f64), log_evidence: None }
    }

    /// How many draws of equal weight these are worth.
    fn n_effective(&self) -> f64 {
        let squares: f64 = self.weights.iter().map(|w| w * w).sum();
        if squares > 0.0 { 1.0 / squares } else { 0.0 }
    }
}

/// A standard normal number above (y = 1) or below (y = −1) a bound, from a number in [0, 1); and the probability of that side.
fn one_sided(y: f64, bound: f64, unit: f64) -> (f64, f64) {
    let p = normal_cdf(-y * bound).max(1e-300);
    (-y * normal_quantile((p * unit).clamp(1e-300, 1.0 - 1e-16)), p)
}

/// The first primes.
fn primes(n: usize) -> impl Iterator<Item = usize> {
    let is_prime = |k: &usize| (2..*k).take_while(|d| d * d <= *k).all(|d| !k.is_multiple_of(d));
    (2..).filter(is_prime).take(n)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use ndarray::{ArrayView1, Axis, array};

    use super::*;
    use crate::binary::BinaryGp;

    /// k0 with which Φ(k0 f) is nearest to the logistic function: nowhere is the difference above 0.0095.
    const LOGISTIC_K0: f64 = 0.5876;

    /// log Pr(all signs of ξ as given) for a normal ξ of mean 0: the orthant probability, by the same draws.
    fn log_orthant(covariance: &Array2<f64>, signs: ArrayView1<'_, f64>) -> f64 {
        let par = Par::sequential();
        let factor = Cholesky::robust(covariance, &par).unwrap();
        let rng = Rng::new(0, Purpose::Sample, 1000);
        Draws::in_turn(&factor, &signs.to_vec(), rng, &par).log_evidence.unwrap()
    }

    /// Reference values: one row of class 0.
    #[test]
    fn one_row_gives_the_reference_values() {
        let par = Par::sequential();
        let signal = 40.0;
        let wanted: f64 = 0.920_23;
        // corr = k(x, x*)/(k + 1/k0²).
        let k = wanted * (signal + 1.0 / (LOGISTIC_K0 * LOGISTIC_K0)) / signal;
        let far = (-2.0 * k.ln()).sqrt();
        let kernel = Kernel::rbf(1.0).scaled(signal);
        let y = array![[-1.0]];
        let model = Dsgq::fit(kernel, LOGISTIC_K0, array![[0.0]].view(), y.view(), 0, &par).unwrap();
        let p = model.probability(array![[far], [100.0]].view(), &par).unwrap();
        assert!((p[(0, 0)] - 2.0 * (0.25 - wanted.asin() / (2.0 * PI))).abs() < 1e-3, "{p}");
        assert!((p[(0, 0)] - 0.128).abs() < 2e-3 && (p[(1, 0)] - 0.5).abs() < 1e-3);
        assert!((model.log_evidence(0).unwrap() - 0.5_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn orthants_of_three_dimensions_have_a_closed_form() {
        let c = array![[1.0, 0.6, -0.2], [0.6, 1.0, 0.3], [-0.2, 0.3, 1.0]];
        let all: f64 = 0.125 + (0.6_f64.asin() + 0.3_f64.asin() + (-0.2_f64).asin()) / (4.0 * PI);
        let got = log_orthant(&c, array![1.0, 1.0, 1.0].view());
        assert!((got.exp() - all).abs() < 1e-3, "{} {all}", got.exp());
        let mixed: f64 = 0.125 + ((-0.6_f64).asin() + 0.3_f64.asin() + 0.2_f64.asin()) / (4.0 * PI);
        let got = log_orthant(&c, array![-1.0, 1.0, 1.0].view());
        assert!((got.exp() - mixed).abs() < 1e-3, "{} {mixed}", got.exp());
    }

    /// Equation 7.15 against the short form of it.
    #[test]
    fn the_precision_in_closed_form_is_the_inverse_of_the_sum() {
        let par = Par::sequential();
        let x = array![[0.0], [0.7], [1.9], [2.4]];
        let (c, k0) = (Kernel::matern(1.5, 1.0).scaled(1.7).matrix(x.view(), &par), 0.5876);
        let inverse = |a: &Array2<f64>| Cholesky::new(a.clone(), &par).unwrap().inverse(&par);
        let (n, k2) = (3, k0 * k0);
        let sigma = c.slice(ndarray::s![..n, ..n]).to_owned();
        let small = c.slice(ndarray::s![..n, n]).to_owned();
        let s = inverse(&sigma).dot(&small);
        let spread = c[(n, n)] - small.dot(&s);
        let v = k2 / (spread * k2 + 1.0);
        let column = s.view().insert_axis(Axis(1));
        let r = Array2::<f64>::eye(n) * k2 + inverse(&sigma) + column.dot(&column.t()) * v;
        let rs = inverse(&r).dot(&s);
        let mut lambda = Array2::zeros((n + 1, n + 1));
        lambda
            .slice_mut(ndarray::s![..n, ..n])
            .assign(&(Array2::<f64>::eye(n) * k2 - inverse(&r) * (k2 * k2)));
        for i in 0..n {
            lambda[(i, n)] = -k2 * v * rs[i];
            lambda[(n, i)] = lambda[(i, n)];
        }
        lambda[(n, n)] = v - v * v * s.dot(&rs);
        let sum = &c + &(Array2::<f64>::eye(n + 1) / k2);
        let off = (lambda.dot(&sum) - Array2::<f64>::eye(n + 1)).iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        assert!(off < 1e-12, "{off}");
    }

    fn circle(n: usize) -> (Array2<f64>, Array2<f64>) {
        let mut rng = Rng::new(8, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, 2), |_| 4.0 * rng.unit() - 2.0);
        let y =
            Array2::from_shape_fn((n, 1), |(r, _)| if x.row(r).dot(&x.row(r)) < 1.5 { 1.0 } else { -1.0 });
        (x, y)
    }

    #[test]
    fn both_ways_of_drawing_agree_and_ep_is_near() {
        let par = Par::new(2).unwrap();
        let (x, y) = circle(40);
        let kernel = Kernel::rbf(0.9).scaled(4.0);
        let model = Dsgq::fit(kernel.clone(), 1.0, x.view(), y.view(), 1, &par).unwrap();
        let labels = y.column(0).to_vec();
        let rng = Rng::new(1, Purpose::Sample, 0);
        let each = [
            Draws::in_turn(&model.factor, &labels, rng.clone(), &par),
            Draws::gibbs(&model.factor.inverse(&par), &labels, rng, &par),
        ];
        let log_evidence = each[0].log_evidence.unwrap();
        let at = circle(60).0;
        let p: Vec<Array2<f64>> = each
            .into_iter()
            .map(|draws| Dsgq { columns: vec![draws], ..model.clone() }.probability(at.view(), &par).unwrap())
            .collect();
        // Of 512 draws a probability has a standard error of 0.022 at most; two of them differ by 0.02 on average, and rarely by 0.06.
        let differences: Vec<f64> = p[0].iter().zip(&p[1]).map(|(a, b)| (a - b).abs()).collect();
        let furthest = differences.iter().copied().fold(0.0, f64::max);
        let mean = differences.iter().sum::<f64>() / 60.0;
        assert!(furthest < 0.06 && mean < 0.02, "{furthest} {mean}");
        // EP is known to be very near the exact prediction.
        let ep = BinaryGp::ep(kernel, x.view(), &labels, &par).unwrap();
        let q = ep.probability(at.view(), &par).unwrap();
        let mean = p[0].iter().zip(&q).map(|(a, b)| (a - b).abs()).sum::<f64>() / 60.0;
        assert!(mean < 0.03, "{mean}");
        assert!((log_evidence - ep.log_evidence()).abs() < 0.5, "{log_evidence} {}", ep.log_evidence());
    }

    #[test]
    fn many_rows_twins_and_huge_variances() {
        let par = Par::new(2).unwrap();
        let (x, y) = circle(300);
        let model = Dsgq::fit(Kernel::rbf(0.9).scaled(20.0), 1.0, x.view(), y.view(), 0, &par).unwrap();
        assert!(model.log_evidence(0).is_none(), "the sampler has taken over");
        let p = model.probability(x.view(), &par).unwrap();
        let right = p.iter().zip(&y).filter(|(p, y)| (*p - 0.5) * *y > 0.0).count();
        assert!(right > 285, "{right}");
        assert_eq!(
            model,
            Dsgq::fit(Kernel::rbf(0.9).scaled(20.0), 1.0, x.view(), y.view(), 0, &Par::sequential()).unwrap()
        );
        let twins = Array2::zeros((6, 1));
        let y = array![[1.0], [-1.0], [1.0], [-1.0], [1.0], [1.0]];
        for variance in [1e-9, 1.0, 1e9] {
            let model =
                Dsgq::fit(Kernel::rbf(1.0).scaled(variance), LOGISTIC_K0, twins.view(), y.view(), 0, &par)
                    .unwrap();
            let p = model.probability(array![[0.0], [1e9]].view(), &par).unwrap();
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{p}");
        }
    }

    #[test]
    fn the_probit_scale_is_the_best_one() {
        let error = |k0: f64| {
            let difference = |i: i32| {
                let f = f64::from(i) / 100.0;
                (1.0 / (1.0 + (-f).exp()) - normal_cdf(k0 * f)).abs()
            };
            (0..1000).map(difference).fold(0.0, f64::max)
        };
        assert!((error(LOGISTIC_K0) - 0.009_47).abs() < 5e-5, "{}", error(LOGISTIC_K0));
        assert!(error(LOGISTIC_K0) < error(0.58) && error(LOGISTIC_K0) < error(0.595));
    }
}
