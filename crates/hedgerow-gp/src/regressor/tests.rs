use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::testing::{check_damaged_arrays, check_regressor, saved_copy};
use hedgerow_core::{Budget, Column, ColumnKind, Features, Params as _, Silent};

use super::*;
use crate::classifier::KernelName;
use crate::regression::tests::drawn;

fn wave(n: usize, noise: f64, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    let x = Array2::from_shape_fn((n, 1), |_| (20.0 * rng.unit() - 10.0) as f32);
    let values: Vec<f64> = x.iter().map(|v| clean(*v) + noise * rng.normal()).collect();
    Dataset::new(Schema::unnamed(1), Features::from_view(x.view()), values, None).unwrap()
}

fn clean(x: f32) -> f64 {
    100.0 + 5.0 * libm::sin(f64::from(x))
}

fn fit_with(
    data: &Dataset,
    params: GpParams,
    budget: &Budget,
    threads: usize,
) -> Result<FittedGp<GpRegressor>> {
    let par = Par::new(threads).unwrap();
    GpRegressor::fit(data, &params.check()?, &Training { par: &par, budget, observer: &Silent })
}

fn fit(data: &Dataset, params: GpParams) -> FittedGp<GpRegressor> {
    fit_with(data, params, &Budget::open(), 1).unwrap()
}

#[test]
fn parameters_are_found_again() {
    let par = Par::sequential();
    let mut rng = Rng::new(2, Purpose::Data, 0);
    let at = Array2::from_shape_fn((150, 1), |(i, _)| i as f64 / 10.0);
    let truth = Kernel::rbf(0.7).scaled(2.0) + Kernel::white(0.02);
    let values = drawn(&truth, at.view(), &mut rng).to_vec();
    let x = at.mapv(|v| v as f32);
    let data = Dataset::new(Schema::unnamed(1), Features::from_view(x.view()), values, None).unwrap();
    let fitted = fit(&data, GpParams::default());
    let model = &fitted.model;
    assert!((model.noise_deviation() / 0.02_f64.sqrt() - 1.0).abs() < 0.2, "{}", model.noise_deviation());
    // Columns are divided by their deviation, targets by theirs.
    let (spread, scale) = ((150.0_f64 * 150.0 - 1.0) / 1200.0, model.settings.scale);
    let found = model.kernel().parameters();
    let expected = [2.0 / (scale * scale), 0.7 / spread.sqrt(), 0.02 / (scale * scale)];
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected.ln()).abs() < 0.8, "{found} {}", expected.ln());
    }
    let truth =
        GpRegression::fit(truth, model.settings.center, at.view(), data.values().into(), &par).unwrap();
    let log_evidence = fitted.log_evidence.unwrap();
    assert!(log_evidence >= truth.log_evidence(), "{log_evidence} {}", truth.log_evidence());
}

#[test]
fn predictions_are_those_of_the_plain_posterior() {
    let data = wave(60, 0.5, 1);
    let params =
        GpParams { length_scale: 0.2, signal_variance: 1.5, noise_variance: 0.01, ..Default::default() };
    let model = fit(&data, params).model;
    let (par, x) = (Par::sequential(), data.features.to_array(0..60));
    let mean = data.values().iter().sum::<f64>() / 60.0;
    let scale2 = data.values().iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 60.0;
    let prepared = Preparation::new(&data).map(x.view());
    let kernel = Kernel::rbf(0.2).scaled(1.5 * scale2) + Kernel::white(0.01 * scale2);
    let plain = GpRegression::fit(kernel, mean, prepared.view(), data.values().into(), &par).unwrap();
    let test = Array2::from_shape_fn((30, 1), |(i, _)| i as f32 - 15.0);
    let expected = plain.predict(Preparation::new(&data).map(test.view()).view(), &par).unwrap();
    let got = model.predict_values(test.view(), &par).unwrap();
    for i in 0..30 {
        assert!((got.mean[i] - expected.mean[i]).abs() < 1e-8);
        assert!((got.variance[i] - expected.variance[i] - 0.01 * scale2).abs() < 1e-8);
    }
}

#[test]
fn ninety_percent_intervals_hold_what_they_ought_to() {
    let (train, test) = (wave(400, 0.8, 3), wave(2000, 0.8, 4));
    let model = fit(&train, GpParams::default()).model;
    assert!((model.noise_deviation() - 0.8).abs() < 0.1, "{}", model.noise_deviation());
    let predictions =
        model.predict_values(test.features.to_array(0..2000).view(), &Par::sequential()).unwrap();
    let report = hedgerow_core::metrics::ValueReport::new(&predictions, test.values()).unwrap();
    assert!((report.coverage90 - 0.9).abs() < 0.03, "{report:?}");
    assert!(report.rmse < 0.87, "{report:?}");
    // Far from all rows little is known.
    let far = model.predict_values(ndarray::array![[1e4_f32]].view(), &Par::sequential()).unwrap();
    assert!(far.variance[0] > 5.0, "{far:?}");
}

#[test]
fn left_out_rows_tell_how_fresh_rows_are_predicted() {
    let (train, test) = (wave(300, 0.8, 8), wave(2000, 0.8, 9));
    let fitted = fit(&train, GpParams::default());
    let validation = fitted.validation.unwrap();
    assert_eq!((validation.source, validation.len()), (Source::LeaveOneOut, 300));
    assert_eq!(validation.targets.view().values(), train.values());
    let predictions =
        fitted.model.predict_values(test.features.to_array(0..2000).view(), &Par::sequential()).unwrap();
    let fresh = hedgerow_core::metrics::ValueReport::new(&predictions, test.values()).unwrap();
    let hedgerow_core::Quality::Values(own) = validation.quality() else { panic!("classes") };
    assert!((own.nlpd - fresh.nlpd).abs() < 0.1 && (own.rmse - fresh.rmse).abs() < 0.08, "{own:?} {fresh:?}");
    assert!((own.r2.unwrap() - (1.0 - fresh.nmse.unwrap())).abs() < 0.02, "{own:?} {fresh:?}");
    // A model that fits its rows too well would look too good on them.
    let known =
        fitted.model.predict_values(train.features.to_array(0..300).view(), &Par::sequential()).unwrap();
    let of_known = hedgerow_core::metrics::ValueReport::new(&known, train.values()).unwrap();
    assert!(own.rmse > of_known.rmse && own.nlpd > of_known.nlpd, "{own:?} {of_known:?}");
}

#[test]
fn categories_gaps_and_columns_that_do_not_matter() {
    let mut rng = Rng::new(5, Purpose::Data, 0);
    let mut features = Features::new(3);
    let mut values = Vec::new();
    for i in 0..240 {
        let (a, b, category) = (rng.unit() as f32, rng.unit() as f32, (i % 3) as f32);
        let gap = if i % 10 == 0 { f32::NAN } else { b };
        features.push(&[a, gap, if i % 20 == 7 { f32::NAN } else { category }]);
        values.push(3.0 * f64::from(category) + f64::from((5.0 * a).sin()) + 0.1 * rng.normal());
    }
    let mut schema = Schema::unnamed(3);
    let categories = ["x", "y", "z"].map(String::from).to_vec();
    schema.columns[2] = Column { name: "2".into(), kind: ColumnKind::Categorical { categories } };
    let data = Dataset::new(schema, features, values, None).unwrap();
    let rows: Vec<usize> = (0..240).collect();
    let (train, test) = (data.select(&rows[..180]), data.select(&rows[180..]));
    for params in [
        GpParams { ard: true, ..Default::default() },
        GpParams { kernel: KernelName::Matern52, ..Default::default() },
    ] {
        let model = fit(&train, params).model;
        let x = test.features.to_array(0..60);
        check_regressor(&model, x.view());
        let predictions = model.predict_values(x.view(), &Par::sequential()).unwrap();
        let report = hedgerow_core::metrics::ValueReport::new(&predictions, test.values()).unwrap();
        assert!(report.nmse.unwrap() < 0.15, "{report:?}");
    }
}

#[test]
fn threads_and_files_change_nothing() {
    let data = wave(300, 0.3, 6);
    let one = fit(&data, GpParams::default()).model;
    let three = fit_with(&data, GpParams::default(), &Budget::open(), 3).unwrap().model;
    assert_eq!(one, three);
    assert_eq!(saved_copy(&one, &data.schema).unwrap(), one);
    check_damaged_arrays(&one, &data.schema, |_, _, _| false);
    let mut wrong = one;
    wrong.settings.noise = -1.0;
    assert!(saved_copy(&wrong, &data.schema).is_err());
}

#[test]
fn budgets_and_limits() {
    let data = wave(900, 0.3, 7);
    let budget = Budget::open();
    budget.stop.stop();
    let hasty = fit_with(&data, GpParams::default(), &budget, 1).unwrap();
    assert_eq!((hasty.stop, hasty.model.n_rows()), (StopReason::Interrupted, ROWS_IN_HASTE));
    assert!(hasty.log_evidence.is_none() && hasty.validation.is_none());
    check_regressor(&hasty.model, data.features.to_array(0..50).view());
    let message =
        |params: GpParams, budget: &Budget| fit_with(&data, params, budget, 1).unwrap_err().to_string();
    assert!(message(GpParams::default(), &Budget::open().with_bytes(1000)).contains("rvm"));
    assert!(message(GpParams { max_rows: 100, ..Default::default() }, &Budget::open()).contains("max_rows"));
    let text = message(GpParams { method: GpMethod::Ep, ..Default::default() }, &Budget::open());
    assert!(text.contains("method") && text.ends_with("got ep"), "{text}");
}

#[test]
fn targets_that_do_not_vary() {
    for constant in [0.0, -7.5] {
        let x = Array2::from_shape_fn((20, 1), |(i, _)| i as f32);
        let data = Dataset::new(Schema::unnamed(1), Features::from_view(x.view()), vec![constant; 20], None)
            .unwrap();
        let model = fit(&data, GpParams::default()).model;
        check_regressor(&model, x.view());
        let predictions = model.predict_values(x.view(), &Par::sequential()).unwrap();
        assert!(predictions.mean.iter().all(|mean| (mean - constant).abs() < 1e-6));
    }
}
