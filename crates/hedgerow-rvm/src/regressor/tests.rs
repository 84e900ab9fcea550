use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::testing::{check_damaged_arrays, saved_copy};
use hedgerow_core::{Dataset, Error, Features, OnlineModel as _, Params as _, Rows, Schema, StopReason};
use ndarray::{Array2, array, s};

use super::*;
use crate::rvm::FittedRvm;
use crate::{KernelName, LengthCriterion, RvmParams, Solver, Trainer, Variance};

fn sinc(n: usize, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    let x = Array2::from_shape_fn((n, 1), |_| (20.0 * rng.unit() - 10.0) as f32);
    let targets: Vec<f64> = x.iter().map(|v| clean(*v) + 0.1 * rng.normal()).collect();
    Dataset::new(Schema::unnamed(1), Features::from_view(x.view()), targets, None).unwrap()
}

fn clean(x: f32) -> f64 {
    let x = f64::from(x);
    if x == 0.0 { 1.0 } else { x.sin() / x }
}

fn fit(data: &Dataset, params: RvmParams, threads: usize) -> FittedRvm<RegressionModel> {
    let par = Par::new(threads).unwrap();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    RvmRegressor::fit(data, &params.check().unwrap(), &training).unwrap()
}

fn grid() -> Array2<f32> {
    Array2::from_shape_fn((200, 1), |(i, _)| i as f32 / 10.0 - 9.95)
}

fn error(model: &RvmRegressor) -> f64 {
    let predictions = model.predict_values(grid().view(), &Par::sequential()).unwrap();
    let squares: f64 = grid().iter().zip(&predictions.mean).map(|(x, y)| (clean(*x) - y).powi(2)).sum();
    (squares / 200.0).sqrt()
}

#[test]
fn lengths_are_found_by_either_search() {
    let data = sinc(300, 1);
    for search in [LengthCriterion::Cv, LengthCriterion::Evidence] {
        let params = RvmParams { search, search_rows: 200, ..Default::default() };
        let fitted = fit(&data, params.clone(), 2);
        assert_eq!(fitted.rvm, fit(&data, params, 1).rvm, "threads change nothing");
        let model = &fitted.rvm;
        assert!(error(model) < 0.04 && model.n_relevant() < 20, "{} {}", error(model), model.n_relevant());
        assert!((model.noise_deviation().unwrap() - 0.1).abs() < 0.03);
        assert!(fitted.log.notes.is_empty() && fitted.log_evidence.is_finite(), "{:?}", fitted.log.notes);
    }
}

/// Under the precisions and the noise that were found, a fit without the row is a ridge regression that is solved anew.
#[test]
fn predictions_without_a_row_are_those_of_a_fit_without_it() {
    let data = sinc(300, 9);
    let params = RvmParams { length_scale: 0.37, ..Default::default() };
    let fitted = fit(&data, params.clone(), 1);
    let validation = fitted.validation.unwrap();
    assert_eq!((validation.source, validation.len()), (hedgerow_core::Source::LeaveOneOut, 300));
    assert_eq!(validation, fit(&data, params, 2).validation.unwrap(), "threads change nothing");
    assert_eq!(validation.targets.view().values().len(), 300);
    let of_validation = validation.normals().unwrap();
    let rvm = &fitted.rvm;
    let Fit { basis, model, .. } = rvm.fit.as_ref().unwrap();
    let prepared = rvm.preparation.map(data.features.to_array(0..300).view());
    let (phi, precisions, noise, scale) = model.design(basis, prepared);
    for left in [0, 7, 150, 299] {
        let m = phi.ncols();
        let mut a = Array2::<f64>::from_diag(&ndarray::Array1::from(precisions.clone()));
        let mut b = ndarray::Array1::<f64>::zeros(m);
        for row in (0..300).filter(|row| *row != left) {
            let f = phi.row(row);
            for (i, j) in (0..m).flat_map(|i| (0..m).map(move |j| (i, j))) {
                a[(i, j)] += f[i] * f[j] / noise;
            }
            b.scaled_add(data.values()[row] / scale / noise, &f);
        }
        let (weights, covariance_times) = (solve(a.clone(), b), solve(a, phi.row(left).to_owned()));
        let mean = scale * phi.row(left).dot(&weights);
        let variance = scale * scale * (noise + phi.row(left).dot(&covariance_times));
        let (got, of_got) = (of_validation.mean[left], of_validation.variance[left]);
        assert!((got - mean).abs() < 1e-5, "{left}: {got} {mean}");
        assert!((of_got / variance - 1.0).abs() < 1e-4, "{left}: {of_got} {variance}");
    }
    let fresh = sinc(2_000, 10);
    let predictions =
        rvm.predict_values(fresh.features.to_array(0..2_000).view(), &Par::sequential()).unwrap();
    let report = hedgerow_core::metrics::ValueReport::new(&predictions, fresh.values()).unwrap();
    let hedgerow_core::Quality::Values(own) = validation.quality() else { panic!("classes") };
    assert!(
        (own.rmse - report.rmse).abs() < 0.02 && (own.nlpd - report.nlpd).abs() < 0.15,
        "{own:?} {report:?}"
    );
}

/// Gaussian elimination.
fn solve(mut a: Array2<f64>, mut b: ndarray::Array1<f64>) -> ndarray::Array1<f64> {
    let n = b.len();
    for i in 0..n {
        for below in i + 1..n {
            let factor = a[(below, i)] / a[(i, i)];
            for j in i..n {
                a[(below, j)] -= factor * a[(i, j)];
            }
            b[below] -= factor * b[i];
        }
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| a[(i, j)] * b[j]).sum();
        b[i] = (b[i] - known) / a[(i, i)];
    }
    b
}

#[test]
fn intervals_hold_and_a_healed_variance_grows_away_from_the_rows() {
    let data = sinc(400, 2);
    let params = RvmParams { length_scale: 0.37, ..Default::default() };
    let plain = fit(&data, params.clone(), 1).rvm;
    let healed = fit(&data, RvmParams { variance: Variance::Healed, ..params }, 1).rvm;
    let par = Par::sequential();
    let fresh = sinc(500, 3);
    for model in [&plain, &healed] {
        let predictions = model.predict_values(fresh.features.to_array(0..500).view(), &par).unwrap();
        let report = hedgerow_core::metrics::ValueReport::new(&predictions, fresh.values()).unwrap();
        assert!((report.coverage90 - 0.9).abs() < 0.05, "{report:?}");
    }
    let far = array![[0.0_f32], [40.0]];
    let [of_plain, of_healed] =
        [&plain, &healed].map(|m| m.predict_values(far.view(), &par).unwrap().variance);
    assert!(of_plain[1] < 1.1 * of_plain[0], "the plain one does not grow: {of_plain:?}");
    assert!(of_healed[1] > 3.0 * of_healed[0] && of_healed[0] < 1.3 * of_plain[0], "{of_healed:?}");
}

#[test]
fn every_switch_still_gives_a_model() {
    let data = sinc(160, 4);
    let base = RvmParams { length_scale: 0.4, ..Default::default() };
    for params in [
        RvmParams { kernel: KernelName::Matern3, ..base.clone() },
        RvmParams { kernel: KernelName::Matern1, ..base.clone() },
        RvmParams { kernel: KernelName::InverseMultiquadric, ..base.clone() },
        RvmParams { kernel: KernelName::Exponential, ..base.clone() },
        RvmParams { kernel: KernelName::Compact, ..base.clone() },
        RvmParams { kernel: KernelName::Polynomial, ..base.clone() },
        RvmParams { kernel: KernelName::Linear, ..base.clone() },
        RvmParams { kernel: KernelName::Sigmoid, ..base.clone() },
        RvmParams { solver: Solver::Basic, hyper_priors: [1e-5; 4], ..base.clone() },
        RvmParams { trainer: Trainer::SplitMerge, partition_size: 20, ..base.clone() },
        RvmParams { trainer: Trainer::WorkingSet, reinsert: true, patience: 1, ..base.clone() },
        RvmParams { noise_every: 0, noise_variance: 0.1, bias: false, ..base.clone() },
        RvmParams { ard: true, ..base.clone() },
    ] {
        let model = fit(&data, params.clone(), 2).rvm;
        let limit = if params.kernel.is_of_products() { 0.4 } else { 0.1 };
        assert!(error(&model) < limit, "{params:?}: {}", error(&model));
    }
    let gains = fit(&data, base, 1).rvm.reinsertion_gains(&Par::sequential()).unwrap();
    assert!(gains.first().is_none_or(|gain| *gain < 0.05), "nothing is left to gain: {gains:?}");
}

#[test]
fn ard_finds_columns_that_do_not_matter() {
    let mut rng = Rng::new(5, Purpose::Data, 0);
    let x = Array2::from_shape_fn((250, 3), |_| rng.unit() as f32);
    let targets: Vec<f64> =
        x.rows().into_iter().map(|r| f64::from((6.0 * r[1]).sin()) + 0.1 * rng.normal()).collect();
    let data = Dataset::new(Schema::unnamed(3), Features::from_view(x.view()), targets, None).unwrap();
    let lengths = fit(&data, RvmParams { ard: true, ..Default::default() }, 2).rvm.lengths();
    assert!(lengths[0] > 1.9 * lengths[1] && lengths[2] > 1.9 * lengths[1], "{lengths:?}");
}

#[test]
fn what_is_wrong_is_said_in_words() {
    let data = sinc(200, 6);
    let narrow = fit(&data, RvmParams { length_scale: 1e-4, ..Default::default() }, 1);
    assert!(
        narrow.log.notes.iter().any(|n| n.contains("too narrow") || n.contains("no row is relevant")),
        "{:?}",
        narrow.log.notes
    );
    let cut = fit(&data, RvmParams { length_scale: 0.4, max_iterations: 1, ..Default::default() }, 1);
    assert!(cut.log.notes.iter().any(|n| n.contains("without convergence")), "{:?}", cut.log.notes);
    let rules = |params: RvmParams| params.check().unwrap_err().to_string();
    assert!(
        rules(RvmParams { hyper_priors: [1.0, 0.0, 0.0, 0.0], ..Default::default() })
            .contains("solver=basic")
    );
    assert!(rules(RvmParams { length_scale: f64::NAN, ..Default::default() }).contains("length_scale"));
    let limits = RvmParams { probe_limits: [0.9, 0.1], ..Default::default() };
    assert!(rules(limits).contains("probe_limits"));
}

#[test]
fn learning_does_not_depend_on_batches_or_files_and_gets_better() {
    let data = sinc(600, 7);
    let x = data.features.to_array(0..600);
    let par = Par::sequential();
    let budget = Budget::open();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let params = RvmParams { max_rows: 150, search_rows: 100, ..Default::default() }.check().unwrap();
    let mut whole = RvmRegressor::new(&data.schema, &params).unwrap();
    let update = whole.learn(&data.schema, Rows::new(x.view(), data.values(), None), &training).unwrap();
    assert!(update.n_learnt == 600 && update.n_forgotten > 0 && update.n_replaced > 0);
    assert!(whole.n_retained() <= 150 + 128 && whole.n_seen() == 600);
    assert!(error(&whole) < 0.08, "{}", error(&whole));
    let mut parts = RvmRegressor::new(&data.schema, &params).unwrap();
    let mut predictions = Vec::new();
    for start in (0..600).step_by(37) {
        let range = start..(start + 37).min(600);
        let part = Rows::new(x.slice(s![range.clone(), ..]), &data.values()[range], None);
        predictions
            .extend(parts.learn(&data.schema, part, &training).unwrap().predictions.column(0).to_vec());
        parts = saved_copy(&parts, &data.schema).unwrap();
    }
    assert_eq!(parts, whole);
    assert_eq!(predictions, update.predictions.column(0).to_vec());
    let mut frozen = whole.clone().frozen();
    assert!(saved_copy(&frozen, &data.schema).unwrap() == frozen && !frozen.can_learn());
    let rows = Rows::new(x.view(), data.values(), None);
    assert!(matches!(frozen.learn(&data.schema, rows, &training), Err(Error::Frozen)));
    let healed = RvmParams { variance: Variance::Healed, length_scale: 0.4, ..Default::default() };
    let fitted = fit(&data, healed, 1).rvm;
    assert_eq!(saved_copy(&fitted, &data.schema).unwrap(), fitted);
    // Any evidence may be that of a fit, and there may be no rows that stand for all (the array after the covariance).
    check_damaged_arrays(&fitted, &data.schema, |number, damage, model| {
        let has_evidence = model.fit.as_ref().is_some_and(|fit| fit.log_evidence.is_finite());
        (damage == "largest" && !has_evidence) || (damage == "empty" && number == 6)
    });
}

#[test]
fn a_spent_budget_gives_a_model_all_the_same() {
    let data = sinc(1500, 8);
    let par = Par::sequential();
    let budget = Budget::open();
    budget.stop.stop();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let fitted = RvmRegressor::fit(&data, &RvmParams::default().check().unwrap(), &training).unwrap();
    assert_eq!(fitted.stop, StopReason::Interrupted);
    assert!(fitted.rvm.n_relevant() > 0 && error(&fitted.rvm) < 0.3);
    let small = Budget::open().with_bytes(1000);
    let training = Training { par: &par, budget: &small, observer: &Silent };
    assert!(RvmRegressor::fit(&data, &RvmParams::default().check().unwrap(), &training).is_err());
}
