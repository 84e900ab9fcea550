use hedgerow_core::rng::{Purpose, Rng};
use ndarray::Axis;

use super::*;

/// A small problem with its design matrix and targets, so that everything can be had the slow way.
fn problem(n: usize, m: usize, seed: u64) -> (Array2<f64>, Array1<f64>, Quadratic) {
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    let x: Array1<f64> = (0..n).map(|i| 20.0 * i as f64 / n as f64 - 10.0).collect();
    let t: Array1<f64> =
        x.mapv(|v| if v == 0.0 { 1.0 } else { libm::sin(v) / v }).mapv(|v| v + 0.1 * rng.normal());
    let step = n as f64 / m as f64;
    let phi = Array2::from_shape_fn((n, m), |(i, j)| {
        libm::exp(-(x[i] - x[(j as f64 * step) as usize]).powi(2) / 9.0)
    });
    let quadratic =
        Quadratic { gram: phi.t().dot(&phi), moment: phi.t().dot(&t), energy: t.dot(&t), n_rows: n as f64 };
    (phi, t, quadratic)
}

fn params(solver: Solver) -> RvmParams {
    RvmParams { solver, min_gain: 1e-4, max_iterations: 2000, ..RvmParams::default() }
}

fn rules(params: &RvmParams) -> Rules<'_> {
    Rules { params, noise_every: 1, water_mark: 0 }
}

fn outside(m: usize) -> Start {
    Start { alpha: vec![f64::INFINITY; m], beta: 100.0 }
}

/// log N(t | 0, C), C = β⁻¹I + ΦA⁻¹Φᵀ, and C⁻¹, by the definition.
fn naive(phi: &Array2<f64>, t: &Array1<f64>, alpha: &[f64], beta: f64) -> (f64, Array2<f64>) {
    let n = t.len();
    let mut c = Array2::<f64>::eye(n) / beta;
    for (column, alpha) in phi.columns().into_iter().zip(alpha) {
        let column = column.insert_axis(Axis(1));
        c = c + column.dot(&column.t()) / *alpha;
    }
    let factor = Cholesky::new(c, &Par::sequential()).unwrap();
    let quadratic = t.dot(&factor.solve(t.view()));
    let log = -0.5 * (n as f64 * (2.0 * std::f64::consts::PI).ln() + factor.log_det() + quadratic);
    (log, factor.inverse(&Par::sequential()))
}

#[test]
fn evidence_is_that_of_the_definition() {
    let (phi, t, quadratic) = problem(40, 7, 1);
    let par = Par::sequential();
    let active: Vec<usize> = vec![0, 2, 3, 6];
    let (alpha, beta) = (vec![0.5, 2.0, 10.0, 0.01], 30.0);
    let posterior = Posterior::new(&quadratic, &active, &alpha, beta, &par).unwrap();
    let fast = quadratic.log_evidence(&active, &alpha, beta, &posterior.mean, posterior.factor.log_det());
    let (slow, _) = naive(&phi.select(Axis(1), &active), &t, &alpha, beta);
    assert!((fast - slow).abs() < 1e-9 * slow.abs(), "{fast} {slow}");
    let residual = &t - &phi.select(Axis(1), &active).dot(&posterior.mean);
    assert!((quadratic.squared_error(&active, &posterior.mean) - residual.dot(&residual)).abs() < 1e-10);
}

#[test]
fn the_basic_solver_follows_the_formulae() {
    let (phi, t, quadratic) = problem(60, 9, 2);
    let found = solve(
        &quadratic,
        &outside(9),
        &rules(&RvmParams { max_iterations: 5, ..params(Solver::Basic) }),
        &Budget::open(),
        &Par::sequential(),
    )
    .unwrap();
    // The same five iterations by plain inverses.
    let par = Par::sequential();
    let (mut alpha, mut beta) = (vec![1.0 / 3600.0; 9], 100.0);
    for _ in 0..5 {
        let mut h = phi.t().dot(&phi) * beta;
        alpha.iter().enumerate().for_each(|(i, a)| h[(i, i)] += a);
        let sigma = Cholesky::new(h, &par).unwrap().inverse(&par);
        let mu = sigma.dot(&phi.t().dot(&t)) * beta;
        let gamma: Vec<f64> = (0..9).map(|i| 1.0 - alpha[i] * sigma[(i, i)]).collect();
        (0..9).for_each(|i| alpha[i] = gamma[i] / (mu[i] * mu[i]));
        let residual = &t - &phi.dot(&mu);
        beta = (60.0 - gamma.iter().sum::<f64>()) / residual.dot(&residual);
    }
    assert!(((1.0 / found.noise) / beta - 1.0).abs() < 1e-6);
    for (got, expected) in found.alpha.iter().zip(&alpha) {
        assert!((got.ln() - expected.ln()).abs() < 1e-6, "{got} {expected}");
    }
}

#[test]
fn both_solvers_find_few_columns_of_equal_evidence() {
    let (phi, t, quadratic) = problem(120, 60, 3);
    let par = Par::sequential();
    let [basic, fast] = [Solver::Basic, Solver::Fast]
        .map(|s| solve(&quadratic, &outside(60), &rules(&params(s)), &Budget::open(), &par).unwrap());
    assert!(fast.is_converged && fast.columns.len() <= 10, "{:?}", fast.columns);
    assert!(basic.columns.len() <= 20 && (basic.log_evidence - fast.log_evidence).abs() < 3.0);
    for found in [&basic, &fast] {
        let y = phi.select(Axis(1), &found.columns).dot(&found.mean);
        let error = (&y - &t).mapv(|v| v * v).mean().unwrap().sqrt();
        assert!(
            error < 0.11 && ((1.0 / found.noise) - 100.0).abs() < 40.0,
            "{error} {}",
            (1.0 / found.noise)
        );
    }
    // What the fast solver keeps up to date is what the definition gives: S = φᵀC⁻¹φ, Q = φᵀC⁻¹t; and no change would gain.
    let (_, inverse) = naive(&phi.select(Axis(1), &fast.columns), &t, &fast.alpha, 1.0 / fast.noise);
    for m in (0..60).filter(|m| !fast.columns.contains(m)) {
        let column = phi.column(m);
        let (s, q) = (column.dot(&inverse.dot(&column)), column.dot(&inverse.dot(&t)));
        let gain = if q * q > s { 0.5 * ((q * q - s) / s + (s / (q * q)).ln()) } else { 0.0 };
        assert!(gain < 2e-2, "column {m} would gain {gain}");
    }
}

#[test]
fn steps_of_the_fast_solver_gain_what_they_promise() {
    let (phi, t, quadratic) = problem(80, 30, 4);
    let par = Par::sequential();
    let mut old = naive(&phi.select(Axis(1), &[]), &t, &[], 100.0).0;
    for n in 1..40 {
        let params = RvmParams { max_iterations: n, ..params(Solver::Fast) };
        let part = Rules { noise_every: 0, ..rules(&params) };
        let found = solve(&quadratic, &outside(30), &part, &Budget::open(), &par).unwrap();
        let (slow, _) = naive(&phi.select(Axis(1), &found.columns), &t, &found.alpha, 1.0 / found.noise);
        assert!((found.log_evidence - slow).abs() < 1e-6, "{n}: {} {slow}", found.log_evidence);
        assert!(slow >= old - 1e-9, "{n}: the evidence fell from {old} to {slow}");
        old = slow;
    }
}

#[test]
fn marks_priors_and_budgets_are_obeyed() {
    let (_, _, quadratic) = problem(120, 60, 5);
    let par = Par::sequential();
    let (basic, fast) = (params(Solver::Basic), params(Solver::Fast));
    let marked = Rules { water_mark: 30, ..rules(&basic) };
    let found = solve(&quadratic, &outside(60), &marked, &Budget::open(), &par).unwrap();
    assert!(found.columns.len() < 30 && !found.is_converged);
    let broad = RvmParams { hyper_priors: [1e-5; 4], ..basic.clone() };
    let [with, without] =
        [&broad, &basic].map(|p| solve(&quadratic, &outside(60), &rules(p), &Budget::open(), &par).unwrap());
    assert!((with.log_evidence - without.log_evidence).abs() < 2.0, "a broad prior changes nothing much");
    let stopped = Budget::open();
    stopped.stop.stop();
    for params in [&basic, &fast] {
        let found = solve(&quadratic, &outside(60), &rules(params), &stopped, &par).unwrap();
        assert_eq!(found.n_iterations, 0);
    }
    let warm = solve(&quadratic, &outside(60), &rules(&fast), &Budget::open(), &par).unwrap();
    let mut start = outside(60);
    warm.columns.iter().zip(&warm.alpha).for_each(|(&i, a)| start.alpha[i] = *a);
    start.beta = 1.0 / warm.noise;
    let again = solve(&quadratic, &start, &rules(&fast), &Budget::open(), &par).unwrap();
    assert!(again.n_iterations < 8 && again.columns == warm.columns, "{}", again.n_iterations);
}
