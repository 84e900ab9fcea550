//! Both methods against slow ones that integrate over everything.

use hedgerow_core::Par;
use hedgerow_core::rng::{Purpose, Rng};
use ndarray::{Array2, array};

use super::*;
use crate::kernel::{Metric, Shape};
use crate::likelihood::Likelihood;
use crate::special::normal_cdf;

fn circle(n: usize) -> (Array2<f64>, Vec<f64>) {
    let mut rng = Rng::new(8, Purpose::Data, 0);
    let x = Array2::from_shape_fn((n, 2), |_| 4.0 * rng.unit() - 2.0);
    let inside = |r: ndarray::ArrayView1<'_, f64>| if r.dot(&r) < 1.5 { 1.0 } else { -1.0 };
    let y = x.rows().into_iter().map(inside).collect();
    (x, y)
}

/// Reference values.
#[test]
fn ep_on_four_rows_gives_the_reference_values() {
    let x = array![[0.0], [1.0], [2.0], [3.0]];
    let kernel = Kernel::rbf(1.0) + Kernel::white(1e-6);
    let ep = BinaryGp::ep(kernel, x.view(), &[1.0, 1.0, -1.0, -1.0], &Par::sequential()).unwrap();
    for (got, expected) in ep.curvatures().iter().zip([0.423_539, 0.497_764, 0.497_764, 0.423_539]) {
        assert!((got - expected).abs() < 2e-6, "{got}");
    }
    let latent = ep.latent(x.view(), &Par::sequential()).unwrap();
    for (got, expected) in latent.mean.iter().zip([0.751_417, 0.459_630, -0.459_630, -0.751_417]) {
        assert!((got - expected).abs() < 1e-5, "{got}");
    }
    assert!((ep.log_evidence() + 2.638_308).abs() < 2e-6, "{}", ep.log_evidence());
}

/// One row: everything is an integral over one number.
#[test]
fn one_row_by_quadrature() {
    let par = Par::sequential();
    let x = array![[0.3]];
    let variance = 4.0;
    let kernel = Kernel::rbf(1.0).scaled(variance);
    let ep = BinaryGp::ep(kernel.clone(), x.view(), &[1.0], &par).unwrap();
    // Φ is symmetric, so the evidence is one half exactly, and a single site makes EP exact.
    assert!((ep.log_evidence() - 0.5_f64.ln()).abs() < 1e-9);
    let (mut z, mut first, mut exact) = (0.0, 0.0, 0.0);
    for i in 0..200_000 {
        let t = -12.0 + 24.0 * (f64::from(i) + 0.5) / 200_000.0;
        let f = variance.sqrt() * t;
        let weight = (-0.5 * t * t).exp() * normal_cdf(f);
        (z, first, exact) = (z + weight, first + weight * f, exact + weight * normal_cdf(f));
    }
    assert!((ep.latent(x.view(), &par).unwrap().mean[0] - first / z).abs() < 1e-6);
    // EP takes the posterior for a Gaussian, which it nearly is.
    assert!((ep.probability(x.view(), &par).unwrap()[0] - exact / z).abs() < 0.01);
}

/// Newton's method without any of the algebra that keeps it stable.
#[test]
fn laplace_agrees_with_the_plain_formulae() {
    let par = Par::sequential();
    let (x, y) = circle(25);
    let kernel = Kernel::rbf(0.8).scaled(3.0) + Kernel::white(0.01);
    let k = kernel.matrix(x.view(), &par);
    let inverse = |a: &Array2<f64>| crate::linalg::Cholesky::new(a.clone(), &par).unwrap();
    for likelihood in [Likelihood::Logistic, Likelihood::Probit] {
        let mut f = ndarray::Array1::<f64>::zeros(25);
        let mut a = k.clone();
        for _ in 0..60 {
            let local: Vec<_> = y.iter().zip(&f).map(|(&y, &f)| likelihood.at(y, f)).collect();
            let w: ndarray::Array1<f64> = local.iter().map(|l| l.curvature).collect();
            let g: ndarray::Array1<f64> = local.iter().map(|l| l.gradient).collect();
            a = inverse(&k).inverse(&par) + Array2::from_diag(&w);
            f = inverse(&a).solve((&w * &f + &g).view());
        }
        let log_p: f64 = y.iter().zip(&f).map(|(&y, &f)| likelihood.at(y, f).log_p).sum();
        let det = inverse(&k).log_det() + inverse(&a).log_det();
        let expected = log_p - 0.5 * f.dot(&inverse(&k).solve(f.view())) - 0.5 * det;
        let laplace = BinaryGp::laplace(kernel.clone(), likelihood, x.view(), &y, &par).unwrap();
        assert!((laplace.log_evidence() - expected).abs() < 1e-8, "{} {expected}", laplace.log_evidence());
        let at = array![[0.1, 0.2], [1.5, -1.0]];
        let cross = kernel.cross(at.view(), x.view(), &par);
        let latent = laplace.latent(at.view(), &par).unwrap();
        let w: ndarray::Array1<f64> =
            y.iter().zip(&f).map(|(&y, &f)| 1.0 / likelihood.at(y, f).curvature).collect();
        let noisy = inverse(&(&k + &Array2::from_diag(&w)));
        for i in 0..2 {
            let mean = cross.row(i).dot(&inverse(&k).solve(f.view()));
            let variance = 3.0 - cross.row(i).dot(&noisy.solve(cross.row(i)));
            assert!((latent.mean[i] - mean).abs() < 1e-7 && (latent.variance[i] - variance).abs() < 1e-7);
        }
    }
}

#[test]
fn the_gradient_of_laplace_agrees_with_differences() {
    let par = Par::sequential();
    let (x, y) = circle(30);
    let kernel = Kernel::Stationary { shape: Shape::Rbf, metric: Metric::Each(vec![0.8, 1.3]) }.scaled(3.0)
        + Kernel::white(0.05);
    for likelihood in [Likelihood::Logistic, Likelihood::Probit] {
        let at = |parameters: &[f64]| {
            let moved = kernel.with_parameters(parameters);
            BinaryGp::laplace(moved, likelihood, x.view(), &y, &par).unwrap()
        };
        let (parameters, k) = (kernel.parameters(), kernel.matrix(x.view(), &par));
        let found = laplace::posterior(likelihood, &k, &y, &par).unwrap();
        let weights = laplace::evidence_weights(&found, likelihood, &k, &y, &par);
        for (i, derivative) in kernel.gradient(x.view(), &weights, &par).into_iter().enumerate() {
            let moved = |h: f64| {
                let mut parameters = parameters.clone();
                parameters[i] += h;
                at(&parameters).log_evidence()
            };
            let difference = (moved(1e-4) - moved(-1e-4)) / 2e-4;
            assert!((difference - derivative).abs() < 1e-5, "{likelihood:?} {i}: {difference} {derivative}");
        }
    }
}

#[test]
fn both_methods_learn_a_circle_and_agree() {
    let par = Par::new(2).unwrap();
    let (x, y) = circle(160);
    let (at, truth) = circle(400);
    let kernel = Kernel::rbf(0.9).scaled(4.0) + Kernel::white(1e-3);
    let laplace = BinaryGp::laplace(kernel.clone(), Likelihood::Probit, x.view(), &y, &par).unwrap();
    let ep = BinaryGp::ep(kernel, x.view(), &y, &par).unwrap();
    let (p, q) = (laplace.probability(at.view(), &par).unwrap(), ep.probability(at.view(), &par).unwrap());
    let right =
        |p: &ndarray::Array1<f64>| p.iter().zip(&truth).filter(|(p, y)| (*p - 0.5) * **y > 0.0).count();
    assert!(right(&p) > 376 && right(&q) > 376, "{} {}", right(&p), right(&q));
    // Laplace's method is the more timid of the two, but on the same side.
    let furthest = p.iter().zip(&q).map(|(p, q)| (p - q).abs()).fold(0.0, f64::max);
    assert!(furthest < 0.1, "{furthest}");
    assert!((ep.log_evidence() - laplace.log_evidence()).abs() < 0.2 * ep.log_evidence().abs());
}

#[test]
fn hard_data_do_not_break_either() {
    let par = Par::sequential();
    let twins = Array2::zeros((12, 2));
    let mixed: Vec<f64> = (0..12).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    for (kernel, y) in [
        (Kernel::rbf(1.0).scaled(1e8), mixed.clone()),
        (Kernel::rbf(1e-8), vec![1.0; 12]),
        (Kernel::linear(1e-12), mixed),
    ] {
        let laplace =
            BinaryGp::laplace(kernel.clone(), Likelihood::Logistic, twins.view(), &y, &par).unwrap();
        let ep = BinaryGp::ep(kernel, twins.view(), &y, &par).unwrap();
        let at = array![[0.0, 0.0], [1e6, -1e6]];
        for p in [laplace.probability(at.view(), &par).unwrap(), ep.probability(at.view(), &par).unwrap()] {
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{p}");
        }
    }
    let refused = BinaryGp::laplace(Kernel::rbf(1.0), Likelihood::Probit, twins.view(), &[2.0; 12], &par);
    assert!(refused.unwrap_err().to_string().contains("+1 or -1"));
}
