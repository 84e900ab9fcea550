use std::sync::LazyLock;

use hedgerow_core::rng::{Purpose, Rng};
use ndarray::s;

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
    let quadratic = summed(&phi, &t.view().insert_axis(Axis(1)));
    (phi, t, quadratic)
}

/// The problem of columns and targets.
fn summed(phi: &Array2<f64>, targets: &ArrayView2<'_, f64>) -> Quadratic {
    Quadratic {
        gram: phi.t().dot(phi),
        moments: phi.t().dot(targets),
        energy: targets.iter().map(|t| t * t).sum(),
        n_rows: phi.nrows() as f64,
        n_targets: targets.ncols() as f64,
    }
}

fn params(solver: Solver) -> RvmParams {
    RvmParams { solver, min_gain: 1e-4, max_iterations: 2000, ..RvmParams::default() }
}

/// Without limits, on one thread.
static FREE: LazyLock<(Budget, Par)> = LazyLock::new(|| (Budget::open(), Par::sequential()));

fn rules(params: &RvmParams) -> Rules<'_> {
    let (budget, par) = &*FREE;
    Rules { params, noise_every: 1, water_mark: 0, least_share: 0.0, budget, par }
}

fn outside(m: usize) -> Precisions {
    Precisions { alpha: vec![f64::INFINITY; m], beta: 100.0 }
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
    let at = Precisions { alpha: vec![0.5, 2.0, 10.0, 0.01], beta: 30.0 };
    let posterior = Posterior::new(&quadratic, &active, &at, &par).unwrap();
    let error = quadratic.squared_error(&active, &posterior.mean);
    let weights = posterior.mean.view().insert_axis(Axis(1));
    let fast = quadratic.log_evidence(&at, weights, error, posterior.factor.log_det());
    let (slow, _) = naive(&phi.select(Axis(1), &active), &t, &at.alpha, at.beta);
    assert!((fast - slow).abs() < 1e-9 * slow.abs(), "{fast} {slow}");
    let residual = &t - &phi.select(Axis(1), &active).dot(&posterior.mean);
    assert!((error - residual.dot(&residual)).abs() < 1e-10);
    let all = quadratic.narrow(&active).squared_error_of_all(&weights.to_owned());
    assert!((all - error).abs() < 1e-10);
}

#[test]
fn the_basic_solver_follows_the_formulae() {
    let (phi, t, quadratic) = problem(60, 9, 2);
    let found =
        solve(&quadratic, &outside(9), &rules(&RvmParams { max_iterations: 5, ..params(Solver::Basic) }))
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
    let [basic, fast] =
        [Solver::Basic, Solver::Fast].map(|s| solve(&quadratic, &outside(60), &rules(&params(s))).unwrap());
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
    let mut old = naive(&phi.select(Axis(1), &[]), &t, &[], 100.0).0;
    for n in 1..40 {
        let params = RvmParams { max_iterations: n, ..params(Solver::Fast) };
        let part = Rules { noise_every: 0, ..rules(&params) };
        let found = solve(&quadratic, &outside(30), &part).unwrap();
        let (slow, _) = naive(&phi.select(Axis(1), &found.columns), &t, &found.alpha, 1.0 / found.noise);
        assert!((found.log_evidence - slow).abs() < 1e-6, "{n}: {} {slow}", found.log_evidence);
        assert!(slow >= old - 1e-9, "{n}: the evidence fell from {old} to {slow}");
        old = slow;
    }
}

#[test]
fn marks_priors_and_budgets_are_obeyed() {
    let (_, _, quadratic) = problem(120, 60, 5);
    let (basic, fast) = (params(Solver::Basic), params(Solver::Fast));
    let marked = Rules { water_mark: 30, ..rules(&basic) };
    let found = solve(&quadratic, &outside(60), &marked).unwrap();
    assert!(found.columns.len() < 30 && !found.is_converged);
    let broad = RvmParams { hyper_priors: [1e-5; 4], ..basic.clone() };
    let [with, without] = [&broad, &basic].map(|p| solve(&quadratic, &outside(60), &rules(p)).unwrap());
    assert!((with.log_evidence - without.log_evidence).abs() < 2.0, "a broad prior changes nothing much");
    let stopped = Budget::open();
    stopped.stop.stop();
    for params in [&basic, &fast] {
        let rules = Rules { budget: &stopped, ..rules(params) };
        let found = solve(&quadratic, &outside(60), &rules).unwrap();
        assert_eq!(found.n_iterations, 0);
    }
    let warm = solve(&quadratic, &outside(60), &rules(&fast)).unwrap();
    let mut start = outside(60);
    warm.columns.iter().zip(&warm.alpha).for_each(|(&i, a)| start.alpha[i] = *a);
    start.beta = 1.0 / warm.noise;
    let again = solve(&quadratic, &start, &rules(&fast)).unwrap();
    assert!(again.n_iterations < 8 && again.columns == warm.columns, "{}", again.n_iterations);
}

fn design(n: usize, m: usize, seed: u64) -> (Array2<f64>, Rng) {
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    let phi = Array2::from_shape_fn((n, m), |(i, j)| {
        libm::exp(-(i as f64 / n as f64 - j as f64 / m as f64).powi(2) / 0.02) + 0.05 * rng.normal()
    });
    (phi, rng)
}

#[test]
fn evidence_is_the_sum_over_targets_and_steps_raise_it() {
    let (phi, mut rng) = design(60, 8, 2);
    let weights = Array2::from_shape_fn((8, 3), |(i, _)| if i < 3 { rng.normal() } else { 0.0 });
    let targets = phi.dot(&weights) + Array2::from_shape_fn((60, 3), |_| 0.1 * rng.normal());
    let all = summed(&phi, &targets.view());
    let par = Par::sequential();
    let start = Precisions { alpha: vec![1.0; 8], beta: 20.0 };
    let of = |n| {
        let params = RvmParams { max_iterations: n, tolerance: 0.0, ..RvmParams::default() };
        all.solve(start.clone(), &Rules { least_share: 1e-6, ..rules(&params) }).unwrap()
    };
    // By the definition: log N(t_k | 0, I/β + ΦA⁻¹Φᵀ), a target at a time.
    let mut covariance = Array2::<f64>::eye(60) / 20.0;
    covariance += &phi.dot(&phi.t());
    let factor = Cholesky::new(covariance, &par).unwrap();
    let naive: f64 = targets
        .columns()
        .into_iter()
        .map(|t| {
            -0.5 * (60.0 * (2.0 * std::f64::consts::PI).ln() + factor.log_det() + t.dot(&factor.solve(t)))
        })
        .sum();
    let first = of(0);
    assert!((first.log_evidence - naive).abs() < 1e-7 * naive.abs(), "{} {naive}", first.log_evidence);
    let mut before = naive;
    for n in [1, 3, 10, 40] {
        let found = of(n);
        assert!(found.log_evidence > before - 1e-6, "{n}");
        before = found.log_evidence;
    }
    let found = of(200);
    assert!(
        found.active.len() < 8 && [0, 1, 2].iter().all(|i| found.active.contains(i)),
        "{:?}",
        found.active
    );
    assert!((found.at.beta / 100.0).ln().abs() < 0.3, "{}", found.at.beta);
    // Rows in two parts give the same.
    let mut parts = summed(&phi.slice(s![..25, ..]).to_owned(), &targets.slice(s![..25, ..]));
    parts.add(&summed(&phi.slice(s![25.., ..]).to_owned(), &targets.slice(s![25.., ..])));
    let at = Precisions { alpha: vec![1.0; 8], beta: 5.0 };
    let (a, b) = (parts.weights(&at, &par).unwrap().0, all.weights(&at, &par).unwrap().0);
    assert!((&a - &b).iter().all(|d| d.abs() < 1e-9));
}
