//! Every method on easy, hard and saved data.

use std::sync::atomic::{AtomicUsize, Ordering};

use hedgerow_core::testing::{
    blobs, check_damaged_arrays, check_distributions, check_prediction_is_pure, check_shapes,
    from_saved_parts, saved_copy, saved_parts,
};
use hedgerow_core::{Budget, ClassId, Features, Observer, Params as _, Silent};

use super::*;

const METHODS: [GpMethod; 7] = [
    GpMethod::Labels,
    GpMethod::Laplace,
    GpMethod::Ep,
    GpMethod::Softmax,
    GpMethod::Dsgq,
    GpMethod::Cik,
    GpMethod::Sik,
];

fn fit_with(data: &Dataset, params: GpParams, threads: usize) -> Result<FittedGp<GpClassifier>> {
    let par = Par::new(threads).unwrap();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    GpClassifier::fit(data, &params.check()?, &training)
}

fn fit(data: &Dataset, params: GpParams) -> GpClassifier {
    fit_with(data, params, 1).unwrap().model
}

fn quick(method: GpMethod) -> GpParams {
    GpParams { method, length_scale: 1.0, signal_variance: 4.0, noise_variance: 0.01, ..Default::default() }
}

fn right(model: &GpClassifier, data: &Dataset) -> usize {
    let predicted =
        model.predict(data.features.to_array(0..data.n_rows()).view(), &Par::sequential()).unwrap();
    predicted.iter().zip(data.labels()).filter(|(a, b)| a == b).count()
}

/// Blobs near enough to each other that not every row is easy.
fn near(n: usize, n_classes: usize, seed: u64) -> Dataset {
    let mut data = blobs(n, 2, n_classes, seed);
    let x = data.features.to_array(0..n).mapv(|v| (v / 3.0).sin() * 3.0);
    data.edit(|data| data.features = Features::from_view(x.view())).unwrap();
    data
}

#[test]
fn every_method_learns_and_keeps_the_contract() {
    for n_classes in [2, 4] {
        let data = near(120, n_classes, 1);
        for method in METHODS {
            let params = GpParams { method, ..Default::default() };
            let fitted = fit_with(&data, params.clone(), 2).unwrap();
            let model = fitted.model;
            assert!(model == fit(&data, params), "{method:?}: threads change nothing");
            let x = data.features.to_array(0..120);
            check_distributions(&model, x.view());
            check_prediction_is_pure(&model, x.slice(ndarray::s![..30, ..]));
            check_shapes(&model);
            let right = right(&model, &data);
            // Four of these overlap.
            let least = if n_classes == 2 { 105 } else { 85 };
            assert!(right > least, "{method:?} {n_classes}: {right} of 120");
            assert_eq!((model.n_rows(), model.rows().ncols()), (120, 2));
            assert!(model.bytes() > 120 * 2 * 8);
            assert_eq!(fitted.stop, StopReason::Done);
        }
    }
}

#[test]
fn probabilities_are_near_the_truth() {
    // Two classes that overlap: x ~ N(±1, 1), so P(1|x) = 1/(1 + exp(−2x)).
    let mut rng = Rng::new(3, Purpose::Data, 0);
    let mut data = blobs(300, 1, 2, 1);
    let mut x = Array2::<f32>::zeros((300, 1));
    for i in 0..300 {
        let class = rng.below(2);
        data.edit(|data| data.labels_mut()[i] = ClassId(class)).unwrap();
        x[(i, 0)] = (f64::from(2 * class) - 1.0 + rng.normal()) as f32;
    }
    data.edit(|data| data.features = Features::from_view(x.view())).unwrap();
    let at = Array2::from_shape_fn((9, 1), |(i, _)| i as f32 / 2.0 - 2.0);
    for method in METHODS {
        let model = fit(&data, GpParams { method, ..Default::default() });
        let p = model.predict_proba(at.view(), &Par::sequential()).unwrap();
        let off: f64 = at
            .iter()
            .zip(p.column(1))
            .map(|(x, p)| (p - 1.0 / (1.0 + (-2.0 * f64::from(*x)).exp())).abs())
            .sum::<f64>()
            / 9.0;
        // Kriging of indicators promises no calibration.
        let most = if matches!(method, GpMethod::Cik | GpMethod::Sik) { 0.25 } else { 0.1 };
        assert!(off < most, "{method:?}: {off}");
    }
}

#[test]
fn every_kernel_works_with_and_without_a_length_a_column() {
    use KernelName as K;
    let data = near(90, 3, 2);
    for kernel in [
        K::Rbf,
        K::Matern12,
        K::Matern32,
        K::Matern52,
        K::RationalQuadratic,
        K::Exponential,
        K::InverseMultiquadric,
        K::Polynomial,
        K::Linear,
    ] {
        for (ard, method) in [
            (false, GpMethod::Labels),
            (true, GpMethod::Labels),
            (true, GpMethod::Laplace),
            (false, GpMethod::Sik),
        ] {
            let model = fit(&data, GpParams { kernel, ard, method, degree: 3, ..Default::default() });
            let right = right(&model, &data);
            let least = if kernel == K::Linear { 50 } else { 75 };
            assert!(right > least, "{kernel:?} {ard} {method:?}: {right} of 90");
        }
    }
}

/// One column decides the label, the other is noise.
#[test]
fn lengths_tell_which_columns_matter() {
    let mut rng = Rng::new(4, Purpose::Data, 0);
    let mut data = blobs(150, 2, 2, 1);
    let x = Array2::from_shape_fn((150, 2), |_| rng.normal() as f32);
    let labels: Vec<ClassId> =
        x.rows().into_iter().map(|r| ClassId(u32::from(f64::from(r[0]).sin() > 0.2))).collect();
    data.edit(|data| data.features = Features::from_view(x.view())).unwrap();
    data.edit(|data| data.targets = labels.into()).unwrap();
    for method in [GpMethod::Labels, GpMethod::Laplace] {
        let model = fit(&data, GpParams { method, ard: true, ..Default::default() });
        let names = model.kernel().parameter_names();
        let of = |name: &str| model.kernel().parameters()[names.iter().position(|n| n == name).unwrap()];
        assert!(of("length_scale[1]") > of("length_scale[0]") + 0.7, "{method:?} {:?}", model.kernel());
    }
}

#[test]
fn hard_data_do_not_break_any_method() {
    let constant = |value: f32| {
        let mut data = blobs(24, 3, 2, 1);
        data.edit(|data| data.features = Features::from_view(Array2::from_elem((24, 3), value).view()))
            .unwrap();
        data
    };
    let mut scales = blobs(24, 3, 3, 1);
    let x = scales.features.to_array(0..24);
    let x = Array2::from_shape_fn((24, 3), |(r, c)| x[(r, c)] * [1e-30, 1.0, 1e30][c]);
    scales.edit(|scales| scales.features = Features::from_view(x.view())).unwrap();
    // A class without rows, duplicates, two rows.
    let mut empty = blobs(20, 2, 4, 1);
    empty.edit(|empty| empty.labels_mut().iter_mut().for_each(|c| *c = ClassId(c.0 % 2))).unwrap();
    let twice = {
        let half = blobs(10, 2, 2, 1);
        let mut whole = half.clone();
        whole.append(&half).unwrap();
        whole
    };
    let two = blobs(2, 2, 2, 1);
    for (name, data) in [
        ("constant", constant(7.0)),
        ("huge", constant(3e38)),
        ("scales", scales),
        ("empty", empty),
        ("twice", twice),
        ("two", two),
    ] {
        for method in METHODS {
            for params in [GpParams { method, ..Default::default() }, quick(method)] {
                let model =
                    fit_with(&data, params, 1).unwrap_or_else(|e| panic!("{name} {method:?}: {e}")).model;
                let n = data.n_rows();
                check_distributions(&model, data.features.to_array(0..n).view());
                for value in [3e38, -3e38, 0.0, f32::NAN, f32::INFINITY] {
                    check_distributions(&model, Array2::from_elem((2, model.n_features()), value).view());
                }
            }
        }
    }
    let mut one = blobs(10, 2, 2, 1);
    one.edit(|one| one.labels_mut().iter_mut().for_each(|c| *c = ClassId(0))).unwrap();
    let refused = fit_with(&one, GpParams::default(), 1).unwrap_err().to_string();
    assert!(refused.contains("class"), "{refused}");
}

#[test]
fn models_come_back_and_damaged_ones_are_refused() {
    for n_classes in [2, 3] {
        let data = near(40, n_classes, 5);
        let x = data.features.to_array(0..40);
        for method in METHODS {
            let model = fit(&data, quick(method));
            let again = saved_copy(&model, &data.schema).unwrap();
            let ask = |m: &GpClassifier| m.predict_proba(x.view(), &Par::sequential()).unwrap();
            let off = ask(&model).iter().zip(&ask(&again)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-9, "{method:?}: {off}");
            assert_eq!(saved_parts(&again), saved_parts(&model));
            check_damaged_arrays(&model, &data.schema, |_, _, _| false);
            let (json, arrays) = saved_parts(&model);
            for wrong in [0, 7] {
                let json = json.replacen(
                    &format!("\"n_classes\":{n_classes}"),
                    &format!("\"n_classes\":{wrong}"),
                    1,
                );
                assert!(from_saved_parts::<GpClassifier>(&json, arrays.clone(), &data.schema).is_err());
                let mut schema = data.schema.clone();
                schema.labels = (0..wrong).map(|class| class.to_string()).collect::<Vec<_>>().into();
                assert!(
                    from_saved_parts::<GpClassifier>(&json, arrays.clone(), &schema).is_err(),
                    "{method:?}"
                );
            }
        }
    }
}

#[test]
fn limits_and_rules_are_kept() {
    let data = blobs(50, 2, 2, 1);
    let refused =
        fit_with(&data, GpParams { max_rows: 49, ..Default::default() }, 1).unwrap_err().to_string();
    assert!(refused.contains("max_rows") && refused.contains("ivm"), "{refused}");
    let par = Par::sequential();
    let budget = Budget::open().with_bytes(1000);
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let checked = GpParams::default().check().unwrap();
    assert!(GpClassifier::fit(&data, &checked, &training).unwrap_err().to_string().contains("ivm"));
    for wrong in [
        GpParams { length_scale: -1.0, ..Default::default() },
        GpParams { signal_variance: f64::NAN, ..Default::default() },
        GpParams { noise_variance: 1e99, ..Default::default() },
        GpParams { degree: 0, ..Default::default() },
    ] {
        assert!(wrong.check().is_err());
    }
    let named =
        GpParams::default().with_settings([("method", "dsgq"), ("kernel", "rational-quadratic")]).unwrap();
    assert_eq!((named.method, named.kernel), (GpMethod::Dsgq, KernelName::RationalQuadratic));
    assert!(hedgerow_core::describe::<GpParams>().iter().all(|p| !p.meaning.is_empty()));
}

#[test]
fn a_spent_budget_leaves_a_model_and_progress_is_told() {
    struct Count(AtomicUsize);
    impl Observer for Count {
        fn progress(&self, _: Progress) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let data = blobs(60, 2, 3, 1);
    let par = Par::sequential();
    for method in METHODS {
        let counted = Count(AtomicUsize::new(0));
        let checked = GpParams { method, ..Default::default() }.check().unwrap();
        let open = Budget::open();
        GpClassifier::fit(&data, &checked, &Training { par: &par, budget: &open, observer: &counted })
            .unwrap();
        assert!(counted.0.load(Ordering::Relaxed) > 0, "{method:?}");
        let budget = Budget::open();
        budget.stop.stop();
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let fitted = GpClassifier::fit(&data, &checked, &training).unwrap();
        assert_eq!(fitted.stop, StopReason::Interrupted);
        check_distributions(&fitted.model, data.features.to_array(0..60).view());
    }
}

#[test]
fn who_interrupts_gets_a_model_of_fewer_rows() {
    // Far too many rows for the time there is: the switch is thrown while the first matrix is being made or factored.
    let data = blobs(2_500, 2, 3, 1);
    let par = Par::sequential();
    for method in METHODS {
        let params = GpParams { method, max_rows: 2_500, ..Default::default() }.check().unwrap();
        let budget = Budget::open();
        let stop = budget.stop.clone();
        let waits = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(60));
            stop.stop();
        });
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let fitted = GpClassifier::fit(&data, &params, &training).unwrap();
        waits.join().unwrap();
        assert_eq!(fitted.stop, StopReason::Interrupted);
        assert_eq!(fitted.model.n_rows(), method.usual_and_hasty_rows()[1], "{method:?}");
        let x = data.features.to_array(0..300);
        let right = fitted.model.predict(x.view(), &par).unwrap();
        let right = right.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
        assert!(right > 200, "{method:?}: {right} of 300");
        check_distributions(&fitted.model, x.view());
    }
}

#[test]
fn leave_one_out_predictions_tell_how_fresh_rows_are_predicted() {
    let mut rows = near(1_300, 3, 1);
    // Every seventh label is wrong.
    let noisy = |(row, class): (usize, &ClassId)| ClassId((class.0 + u32::from(row % 7 == 0)) % 3);
    let labels: Vec<ClassId> = rows.labels().iter().enumerate().map(noisy).collect();
    rows.edit(|rows| rows.targets = labels.into()).unwrap();
    let (first, later): (Vec<usize>, Vec<usize>) = (0..1_300).partition(|row| *row < 300);
    let (data, fresh) = (rows.select(&first), rows.select(&later));
    let FittedGp { model, validation, .. } = fit_with(&data, quick(GpMethod::Labels), 1).unwrap();
    let validation = validation.unwrap();
    assert_eq!(validation.rows, first);
    let proba = model.predict_proba(fresh.features.to_array(0..1_000).view(), &Par::sequential()).unwrap();
    let own = validation.quality().log_loss();
    let of_fresh = hedgerow_core::ClassQuality::new(&proba, fresh.labels()).log_loss;
    assert!((own - of_fresh).abs() < 0.08 && own > 0.3, "{own:.3} left out, {of_fresh:.3} on fresh rows");
    assert!(fit_with(&data, quick(GpMethod::Laplace), 1).unwrap().validation.is_none());
}
