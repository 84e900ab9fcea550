use hedgerow_gp::Kernel;
use ndarray::Array2;

use super::*;
use crate::design::Design;
use crate::options::{RowsUsed, Solver};
use crate::params::RvmParams;
use crate::target::{Binary, Context, Regression};

/// Rows and a kernel with parameters, within a budget.
fn context<'a>(
    x: &'a Array2<f64>,
    kernel: &'a Kernel,
    params: &'a RvmParams,
    (budget, par): &'a (Budget, Par),
) -> Context<'a> {
    Context { design: Design { x, kernel }, params, budget, par }
}

fn open(threads: usize) -> (Budget, Par) {
    (Budget::open(), Par::new(threads).unwrap())
}

/// sin(x)/x with noise of deviation 0.1, at evenly spaced places.
fn sinc(n: usize, seed: u64) -> (Array2<f64>, Vec<f64>) {
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    let x = Array2::from_shape_fn((n, 1), |(i, _)| 20.0 * i as f64 / (n - 1) as f64 - 10.0);
    let t = x.iter().map(|&v| clean(v) + 0.1 * rng.normal()).collect();
    (x, t)
}

fn clean(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { libm::sin(x) / x }
}

fn params() -> RvmParams {
    RvmParams { seed: 1, ..RvmParams::default() }
}

fn clean_error(x: &Array2<f64>, kernel: &Kernel, fit: &SparseFit) -> f64 {
    let design = Design { x, kernel };
    let grid = Array2::from_shape_fn((500, 1), |(i, _)| f64::from(i as u32) / 25.0 - 9.98);
    let phi = design.centers(&fit.columns).values(kernel, grid.view(), &Par::sequential());
    let y = phi.dot(&fit.mean);
    let sum: f64 = grid.iter().zip(&y).map(|(x, y)| (clean(*x) - y).powi(2)).sum();
    (sum / 500.0).sqrt()
}

#[test]
fn every_trainer_fits_sinc_with_few_rows() {
    let (x, t) = sinc(400, 1);
    let kernel = Kernel::rbf(3.0 / std::f64::consts::SQRT_2);
    for solver in [Solver::Fast, Solver::Basic] {
        for trainer in [Trainer::Whole, Trainer::WorkingSet, Trainer::Incremental, Trainer::SplitMerge] {
            if (solver, trainer) == (Solver::Basic, Trainer::Whole) {
                continue; // The same path with more candidates, and slow.
            }
            let params = RvmParams { trainer, solver, partition_size: 25, patience: 0, ..params() };
            let [one, two] = [1, 2].map(|threads| {
                let limits = open(threads);
                let context = context(&x, &kernel, &params, &limits);
                train(&Regression { context, targets: &t }, None).unwrap()
            });
            assert_eq!(one.fit, two.fit, "threads change nothing");
            let error = clean_error(&x, &kernel, &one.fit);
            let n = one.fit.columns.len();
            assert!(error < 0.03 && n <= 14, "{solver:?} {trainer:?}: {error} with {n}");
            assert!((one.fit.noise.sqrt() - 0.1).abs() < 0.02);
            assert!(!one.log.trace.is_empty() && one.log.trace.iter().all(|p| p.error.is_finite()));
            assert_eq!(one.log.trace.last().unwrap().n_tried, 400);
        }
    }
}

#[test]
fn rows_can_be_all_a_sample_or_the_candidates() {
    let (x, t) = sinc(600, 2);
    let kernel = Kernel::rbf(2.0);
    let error = |rows| {
        let params = RvmParams {
            trainer: Trainer::WorkingSet,
            partition_size: 30,
            rows,
            sample_rows: 150,
            ..params()
        };
        let limits = open(1);
        let target = Regression { context: context(&x, &kernel, &params, &limits), targets: &t };
        clean_error(&x, &kernel, &train(&target, None).unwrap().fit)
    };
    let [all, sample, active] = [RowsUsed::All, RowsUsed::Sample, RowsUsed::Active].map(error);
    assert!(all < 0.02 && sample < 0.03, "{all} {sample}");
    assert!(active > all, "fewer rows cost accuracy: {active} {all}");
}

#[test]
fn a_budget_that_is_spent_still_gives_a_model() {
    let (x, t) = sinc(900, 3);
    let kernel = Kernel::rbf(2.0);
    for trainer in [Trainer::Whole, Trainer::WorkingSet, Trainer::Incremental, Trainer::SplitMerge] {
        let params = RvmParams { trainer, partition_size: 30, ..params() };
        let limits = open(1);
        limits.0.stop.stop();
        let target = Regression { context: context(&x, &kernel, &params, &limits), targets: &t };
        let trained = train(&target, None).unwrap();
        assert_eq!(trained.stop, StopReason::Interrupted);
        assert!(trained.fit.scores.iter().all(|v| v.is_finite()));
    }
}

/// Two classes of two normal distributions each, as Ripley drew them.
fn ripley(n: usize, seed: u64) -> (Array2<f64>, Vec<bool>) {
    let mut rng = Rng::new(seed, Purpose::Data, 1);
    let centres = [[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]];
    let is_one: Vec<bool> = (0..n).map(|i| i % 2 == 1).collect();
    let places: Vec<[f64; 2]> = is_one.iter().map(|&one| centres[usize::from(one)][rng.index(2)]).collect();
    let x = Array2::from_shape_fn((n, 2), |(i, c)| places[i][c] + 0.03_f64.sqrt() * rng.normal());
    (x, is_one)
}

#[test]
fn classifiers_are_sparse_and_near_the_best_possible() {
    let (x, is_one) = ripley(500, 1);
    let (fresh, truth) = ripley(2000, 2);
    let kernel = Kernel::rbf(0.5 / std::f64::consts::SQRT_2);
    for solver in [Solver::Fast, Solver::Basic] {
        for trainer in [Trainer::Whole, Trainer::WorkingSet, Trainer::Incremental, Trainer::SplitMerge] {
            if (solver, trainer) == (Solver::Basic, Trainer::Whole) {
                continue;
            }
            let params = RvmParams { trainer, solver, partition_size: 40, ..params() };
            let design = Design { x: &x, kernel: &kernel };
            let [trained, same] = [2, 1].map(|threads| {
                let limits = open(threads);
                let context = context(&x, &kernel, &params, &limits);
                train(&Binary { context, is_one: &is_one, offsets: None }, None).unwrap()
            });
            assert_eq!(trained.fit, same.fit, "threads change nothing");
            let centers = design.centers(&trained.fit.columns);
            let y = centers.values(&kernel, fresh.view(), &Par::sequential()).dot(&trained.fit.mean);
            let wrong = y.iter().zip(&truth).filter(|(y, one)| (**y > 0.0) != **one).count();
            let n = trained.fit.columns.len();
            assert!(wrong < 240 && n <= 12, "{solver:?} {trainer:?}: {wrong} of 2000 with {n}");
        }
    }
}

#[test]
fn the_mode_is_where_the_posterior_is_flat() {
    let (x, is_one) = ripley(200, 4);
    let kernel = Kernel::rbf(0.4);
    let params = params();
    let design = Design { x: &x, kernel: &kernel };
    let limits = open(1);
    let context = context(&x, &kernel, &params, &limits);
    let fit = train(&Binary { context, is_one: &is_one, offsets: None }, None).unwrap().fit;
    let phi = design.centers(&fit.columns).values(&kernel, x.view(), &Par::sequential());
    // ∇J = Aw + Φᵀ(s − t), to be 0 at the mode; Σ⁻¹ = ΦᵀBΦ + A.
    let s = phi.dot(&fit.mean).mapv(|z| 1.0 / (1.0 + (-z).exp()));
    let t = ndarray::Array1::from_iter(is_one.iter().map(|one| f64::from(u8::from(*one))));
    let alpha = ndarray::Array1::from(fit.alpha.clone());
    let gradient = &alpha * &fit.mean + phi.t().dot(&(&s - &t));
    assert!(gradient.iter().all(|g| g.abs() < 1e-2), "{gradient}");
    let curvature = s.mapv(|p| p * (1.0 - p)).insert_axis(ndarray::Axis(1));
    let precision = phi.t().dot(&(&phi * &curvature)) + Array2::from_diag(&alpha);
    let product = precision.dot(&fit.covariance);
    assert!((product - Array2::<f64>::eye(alpha.len())).iter().all(|v| v.abs() < 1e-3));
    // Laplace's evidence by the definition.
    let log_p: f64 = s.iter().zip(&is_one).map(|(p, one)| if *one { p.ln() } else { (1.0 - p).ln() }).sum();
    let factor = hedgerow_gp::linalg::Cholesky::new(precision, &Par::sequential()).unwrap();
    let expected = log_p - 0.5 * (&alpha * &fit.mean).dot(&fit.mean) + 0.5 * alpha.mapv(f64::ln).sum()
        - 0.5 * factor.log_det();
    assert!((fit.log_evidence - expected).abs() < 1e-3, "{} {expected}", fit.log_evidence);
}

#[test]
fn odd_data_do_not_break_it() {
    let params = params();
    let kernel = Kernel::rbf(1.0);
    let limits = open(1);
    // Equal rows, equal targets, two rows, huge and tiny numbers.
    for (x, t) in [
        (Array2::ones((30, 2)), vec![1.0; 30]),
        (Array2::ones((30, 2)), (0..30).map(f64::from).collect()),
        (Array2::zeros((2, 1)), vec![0.0, 0.0]),
        (
            Array2::from_shape_fn((50, 1), |(i, _)| i as f64 * 1e9),
            (0..50).map(|i| f64::from(i) * 1e-9).collect(),
        ),
        (Array2::from_shape_fn((50, 1), |(i, _)| i as f64), vec![1e12; 50]),
    ] {
        let context = context(&x, &kernel, &params, &limits);
        let fit = train(&Regression { context, targets: &t }, None).unwrap().fit;
        assert!(fit.scores.iter().all(|v| v.is_finite()) && fit.noise.is_finite());
        let is_one: Vec<bool> = (0..t.len()).map(|i| i % 3 == 0).collect();
        for is_one in [is_one, vec![true; t.len()]] {
            let fit = train(&Binary { context, is_one: &is_one, offsets: None }, None).unwrap().fit;
            assert!(fit.scores.iter().all(|v| v.is_finite()));
        }
    }
}

/// √(N d) is 837 here, but no more than 600 rows are probed: the share of relevant ones is one of those 600.
#[test]
fn a_capped_probe_counts_the_rows_it_probed() {
    let (n, d) = (700, 1000);
    // Rows far apart, of which 28 % have a value.
    let x = Array2::from_shape_fn((n, d), |(i, c)| if i == c { 20.0 } else { 0.0 });
    let t: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i % 25 < 7))).collect();
    let kernel = Kernel::rbf(1.0);
    let params = RvmParams { noise_variance: 1e-4, noise_every: 0, bias: false, ..params() };
    let limits = open(1);
    let target = Regression { context: context(&x, &kernel, &params, &limits), targets: &t };
    let mut run = Run::new(&target);
    run.choose_partition().unwrap();
    let (size, share) = (run.log.partition_size, run.log.probe_share.unwrap());
    assert!((share - 0.28).abs() < 0.02, "{share}");
    assert_eq!(
        size,
        2 * (share * 600.0).round() as usize,
        "half sparse: 0.6 √(N d), no more than twice the relevant rows"
    );
}
