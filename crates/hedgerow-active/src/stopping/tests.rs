//! Vectors, and histories made up for the purpose.

use hedgerow_core::Params as _;
use hedgerow_core::rng::{Purpose, Rng};
use ndarray::{Array2, array};

use super::*;

fn stopper(rule: RuleName) -> Stopper {
    Stopper::new(StoppingParams { rule, ..StoppingParams::default() }.check().unwrap())
}

/// Certain predictions of three classes.
fn one_hot(classes: &[u32]) -> Array2<f64> {
    Array2::from_shape_fn(
        (classes.len(), 3),
        |(row, class)| if classes[row] == class as u32 { 0.9 } else { 0.05 },
    )
}

/// The predictions of a made-up model: of `n` rows, the share `error(labels)` is wrong because labels are missing, and `noise` because of the seed.
fn predicted(n: usize, missing: f64, noise: f64, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    let row = |row: usize| {
        // Rows that are learnt late come last; which they are does not depend on the seed.
        let is_missed = row as f64 >= (1.0 - missing) * n as f64;
        let flips = rng.unit() < noise;
        ((row * 7) % 3 + usize::from(is_missed) + usize::from(flips)) as u32 % 3
    };
    (0..n).map(row).collect()
}

/// Advice every five labels up to `most`, where a share `missing(labels)` is not learnt yet.
fn run(stopper: &mut Stopper, most: usize, missing: impl Fn(f64) -> f64, noise: f64) -> Vec<Advice> {
    let observe = |n_labels: usize| {
        let missing = missing(n_labels as f64);
        let [main, other] =
            [0, 1].map(|seed| one_hot(&predicted(1000, missing, noise, 2 * n_labels as u64 + seed)));
        let other_seed = (noise > 0.0).then(|| other.view());
        stopper.observe(&Observed { n_labels, proba: main.view(), other_seed, divergence: None }).unwrap()
    };
    (5..=most).step_by(5).map(observe).collect()
}

fn stopped_at(advice: &[Advice]) -> Option<usize> {
    advice.iter().find(|advice| advice.stop).map(|advice| advice.n_labels)
}

#[test]
fn kappa_of_tables_in_the_literature() {
    // Cohen's example as many books have it: 20 and 15 of 50 agree, kappa 0.4.
    let pairs = [((0, 0), 20), ((0, 1), 5), ((1, 0), 10), ((1, 1), 15)];
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for ((of_a, of_b), n) in pairs {
        a.extend(vec![of_a; n]);
        b.extend(vec![of_b; n]);
    }
    assert!((cohens_kappa(&a, &b) - 0.4).abs() < 1e-12);
    assert_eq!(cohens_kappa(&[3, 3], &[3, 3]), 1.0);
    assert_eq!(cohens_kappa(&[0, 1], &[1, 0]), -1.0);
    assert!(cohens_kappa(&[], &[]).is_nan());
}

#[test]
fn lambert_w_solves_its_equation() {
    // Corless et al.: W(1) = Ω, W(e) = 1, W(−1/e) = −1.
    assert!((lambert_w(1.0) - 0.567_143_290_409_783_8).abs() < 1e-15);
    assert!((lambert_w(std::f64::consts::E) - 1.0).abs() < 1e-15);
    assert_eq!(lambert_w(-1.0 / std::f64::consts::E), -1.0);
    assert!(lambert_w(-0.4).is_nan());
    for x in [-0.367_879, -0.3, -1e-3, 0.0, 1e-9, 0.3, 2.9, 3.1, 50.0, 1e9, 1e300] {
        let w = lambert_w(x);
        assert!(w >= -1.0 && (w * libm::exp(w) - x).abs() <= 1e-13 * x.abs().max(1e-3), "{x}: {w}");
    }
}

#[test]
fn the_bound_on_the_risk_is_the_formula_and_keeps_its_digits() {
    for divergence in [0.05, 0.3, 0.999, 1.0, 1.7, 5.0, 40.0] {
        let plain = libm::exp(lambert_w((divergence - 1.0) / std::f64::consts::E) + 1.0) - 1.0;
        let got = risk_bound(divergence);
        assert!((got - plain).abs() <= 1e-12 * (1.0 + plain), "{divergence}: {got} {plain}");
    }
    // √(2 KL) + KL/3 for small divergences.
    for divergence in [1e-14, 1e-10, 1e-7] {
        let series = (2.0_f64 * divergence).sqrt() + divergence / 3.0;
        assert!((risk_bound(divergence) / series - 1.0).abs() < 1e-7, "{divergence}");
    }
    assert_eq!(risk_bound(0.0), 0.0);
}

#[test]
fn divergences_of_normals() {
    // ½(σ₀²/σ₁² − 1 + (μ₀ − μ₁)²/σ₁² − ln σ₀²/σ₁²), new from old and old from new.
    let got = Divergence::between_normals([0.0, 1.0], [1.0, 0.5]).unwrap();
    assert!((got.forward - 0.5 * (0.5 - 1.0 + 1.0 - libm::log(0.5))).abs() < 1e-15);
    assert!((got.backward - 0.5 * (2.0 - 1.0 + 2.0 - libm::log(2.0))).abs() < 1e-15);
    assert_eq!(Divergence::between_normals([2.0, 3.0], [2.0, 3.0]).unwrap(), Divergence::default());
    assert!(Divergence::between_normals([0.0, 0.0], [0.0, 1.0]).unwrap_err().to_string().contains("above 0"));
}

#[test]
fn divergences_of_gaussians_agree_with_those_of_normals() {
    let (old, new) = (array![[1.0, 0.0], [0.0, 2.0]], array![[0.5, 0.0], [0.0, 1.5]]);
    let (old_mean, new_mean) = (array![0.0, 1.0], array![1.0, -1.0]);
    let got =
        Divergence::between_gaussians((old_mean.view(), old.view()), (new_mean.view(), new.view())).unwrap();
    let apart = |i: usize| {
        Divergence::between_normals([old_mean[i], old[(i, i)]], [new_mean[i], new[(i, i)]]).unwrap()
    };
    let want = apart(0).and(apart(1));
    assert!((got.forward - want.forward).abs() < 1e-12 && (got.backward - want.backward).abs() < 1e-12);
    // A linear map of both changes nothing.
    let map = array![[1.0, 0.4], [-0.3, 2.0]];
    let mapped = |covariance: &Array2<f64>| map.dot(covariance).dot(&map.t());
    let turned = Divergence::between_gaussians(
        (map.dot(&old_mean).view(), mapped(&old).view()),
        (map.dot(&new_mean).view(), mapped(&new).view()),
    );
    let turned = turned.unwrap();
    assert!((got.forward - turned.forward).abs() < 1e-12 && (got.backward - turned.backward).abs() < 1e-12);
    let bad = array![[1.0, 2.0], [2.0, 1.0]];
    let error = Divergence::between_gaussians((old_mean.view(), old.view()), (new_mean.view(), bad.view()));
    assert!(error.unwrap_err().to_string().contains("positive definite"));
}

#[test]
fn one_label_moves_a_whole_process_as_far_as_its_own_row() {
    // A Gaussian process on three rows; a label with noise ½ is added at row 1.
    let prior = array![[1.0, 0.6, 0.2], [0.6, 1.0, 0.5], [0.2, 0.5, 1.0]];
    let (y, noise) = (1.3, 0.5);
    let gain: Vec<f64> = (0..3).map(|i| prior[(i, 1)] / (prior[(1, 1)] + noise)).collect();
    let mean = ndarray::Array1::from_iter(gain.iter().map(|g| g * y));
    let posterior = Array2::from_shape_fn((3, 3), |(i, j)| prior[(i, j)] - gain[i] * prior[(1, j)]);
    let zero = ndarray::Array1::zeros(3);
    let whole =
        Divergence::between_gaussians((zero.view(), prior.view()), (mean.view(), posterior.view())).unwrap();
    let row = Divergence::between_normals([0.0, prior[(1, 1)]], [mean[1], posterior[(1, 1)]]).unwrap();
    assert!((whole.forward - row.forward).abs() < 1e-12 && (whole.backward - row.backward).abs() < 1e-12);
}

#[test]
fn the_bound_on_f() {
    assert!((bound_on_f(0.99) - 4.0 * 0.01 / 0.99).abs() < 1e-15);
    assert_eq!((bound_on_f(1.0), bound_on_f(0.5), bound_on_f(0.0), bound_on_f(-0.2)), (0.0, 1.0, 1.0, 1.0));
}

#[test]
fn relative_stability_stops_where_the_curve_is_flat_and_not_before() {
    // Learnt by 150 labels; seeds differ in a tenth of the rows.
    let flat = run(&mut stopper(RuleName::RelativeStability), 400, |n| (0.4 - n / 375.0).max(0.0), 0.05);
    let at = stopped_at(&flat).unwrap();
    assert!((150..=260).contains(&at), "{at}");
    let rising = run(&mut stopper(RuleName::RelativeStability), 400, |n| 0.9 - n / 500.0, 0.05);
    assert_eq!(stopped_at(&rising), None);
    assert!(rising.last().unwrap().reason.contains("still change predictions more"));
    // The fixed threshold of kappa does not see the end: seeds alone keep kappa below it.
    let fixed =
        run(&mut stopper(RuleName::StabilizingPredictions), 400, |n| (0.4 - n / 375.0).max(0.0), 0.05);
    assert_eq!(stopped_at(&fixed), None);
}

#[test]
fn rules_without_seeds_stop_where_predictions_do_not_change() {
    for rule in
        [RuleName::RelativeStability, RuleName::StabilizingPredictions, RuleName::ClassificationChange]
    {
        let flat = run(&mut stopper(rule), 400, |n| (0.4 - n / 375.0).max(0.0), 0.0);
        let at = stopped_at(&flat).unwrap();
        assert!((150..=230).contains(&at), "{rule:?}: {at}");
        let rising = run(&mut stopper(rule), 300, |n| 0.9 - n / 500.0, 0.0);
        assert_eq!(stopped_at(&rising), None, "{rule:?}");
    }
}

#[test]
fn nothing_stops_before_the_minimum_or_with_one_class() {
    for rule in [
        RuleName::RelativeStability,
        RuleName::StabilizingPredictions,
        RuleName::ClassificationChange,
        RuleName::Cost,
    ] {
        let params = StoppingParams { rule, lag: 5, window: 15, ..StoppingParams::default() };
        let mut stopper = Stopper::new(params.check().unwrap());
        let steady = run(&mut stopper, 60, |_| 0.0, 0.0);
        assert_eq!(stopped_at(&steady), Some(50), "{rule:?}");
        assert!(steady[3].reason.contains("20 labels of at least 50"), "{}", steady[3].reason);
        let mut constant =
            Stopper::new(StoppingParams { rule, ..StoppingParams::default() }.check().unwrap());
        for n_labels in (5..=200).step_by(5) {
            let advice = constant.observe(&Observed::new(n_labels, one_hot(&[1; 40]).view())).unwrap();
            assert!(!advice.stop);
            assert!(n_labels < 50 || advice.reason.contains("same class"), "{}", advice.reason);
        }
    }
}

#[test]
fn certain_models_stop_by_uncertainty_and_by_expected_error() {
    let certain = array![[1.0, 0.0], [0.0, 1.0], [0.995, 0.005]];
    let unsure = array![[0.7, 0.3], [0.0, 1.0], [0.9, 0.1]];
    for (rule, figure) in [(RuleName::OverallUncertainty, 0.015_138), (RuleName::ExpectedError, 0.005 / 3.0)]
    {
        let mut stopper = stopper(rule);
        let not_yet = stopper.observe(&Observed::new(60, unsure.view())).unwrap();
        let advice = stopper.observe(&Observed::new(61, certain.view())).unwrap();
        assert!(advice.stop && !not_yet.stop, "{rule:?}");
        assert!((advice.figure.unwrap() - figure).abs() < 1e-6, "{advice:?}");
        assert!(advice.reason.contains("below") && not_yet.reason.contains("at least"));
    }
}

#[test]
fn posteriors_that_hardly_move_stop() {
    let proba = one_hot(&[0, 1, 2]);
    let mut stopper = stopper(RuleName::PosteriorChange);
    let mut at = None;
    for n_labels in 1..=200 {
        // The k-th label at the same place of a process with noise 1: variance 1/k becomes 1/(k + 1).
        let k = n_labels as f64;
        let divergence = Divergence::between_normals([0.0, 1.0 / k], [0.0, 1.0 / (k + 1.0)]).ok();
        let advice =
            stopper.observe(&Observed { divergence, ..Observed::new(n_labels, proba.view()) }).unwrap();
        at = at.or(advice.stop.then_some(n_labels));
    }
    // Divergences fall as 1/4k², bounds as 1/k: to a twentieth of the first about label 30, so the minimum decides.
    assert_eq!(at, Some(50));
    let mut without = super::Stopper::new(
        StoppingParams { rule: RuleName::PosteriorChange, ..StoppingParams::default() }.check().unwrap(),
    );
    let advice = without.observe(&Observed::new(90, proba.view())).unwrap();
    assert!(!advice.stop && advice.reason.contains("Gaussian process"));
}

#[test]
fn the_gain_is_that_of_the_curve() {
    // A tenth of the rows is learnt with every e-fold of the labels.
    let advice = run(&mut stopper(RuleName::Cost), 200, |n| 0.8 - 0.1 * libm::log(n), 0.0);
    let gain = advice.last().unwrap().gain.unwrap();
    let want = 0.4 * 0.1 * libm::log(210.0 / 200.0);
    assert!((gain.mean / want - 1.0).abs() < 0.05, "{gain:?}, {want}");
    assert!(gain.low < want && want < gain.high && gain.deviation > 0.5 * gain.mean);
    assert_eq!(gain.labels, 10);
    // Before there is anything to compare, nothing is estimated.
    assert!(advice[..6].iter().all(|advice| advice.gain.is_none()));
}

#[test]
fn dear_labels_stop_sooner() {
    let stop = |label_price: f64| {
        let params =
            StoppingParams { rule: RuleName::Cost, label_price, horizon: 1000, ..StoppingParams::default() };
        let mut stopper = Stopper::new(params.check().unwrap());
        stopped_at(&run(&mut stopper, 1000, |n| 0.9 - 0.12 * libm::log(n), 0.02)).unwrap_or(usize::MAX)
    };
    let stops = [1.0, 0.3, 0.1].map(stop);
    assert!(stops[0] == 50 && stops[0] < stops[1] && stops[1] < stops[2], "{stops:?}");
}

#[test]
fn labels_taken_back_are_forgotten() {
    let mut all = stopper(RuleName::RelativeStability);
    let advice = run(&mut all, 200, |n| (0.4 - n / 375.0).max(0.0), 0.05);
    let mut back = stopper(RuleName::RelativeStability);
    run(&mut back, 300, |_| 0.3, 0.1);
    back.take_back(0);
    assert_eq!(back.history().checkpoints().len(), 0);
    assert_eq!(run(&mut back, 200, |n| (0.4 - n / 375.0).max(0.0), 0.05), advice);
    assert_eq!(back.history(), all.history());
    // The same number of labels again replaces what was observed with it.
    let again = one_hot(&predicted(1000, 0.0, 0.0, 1));
    back.observe(&Observed::new(150, again.view())).unwrap();
    assert_eq!(back.history().last().unwrap().n_labels, 150);
    assert_eq!(back.history().checkpoints().len(), 30);
}

#[test]
fn classes_may_come_late() {
    let mut stopper = stopper(RuleName::StabilizingPredictions);
    stopper.observe(&Observed::new(5, array![[0.9, 0.1], [0.8, 0.2]].view())).unwrap();
    let advice = stopper.observe(&Observed::new(6, array![[0.9, 0.1, 0.0], [0.1, 0.2, 0.7]].view())).unwrap();
    assert!(!advice.stop);
    assert_eq!(stopper.history().last().unwrap().n_changed, Some(1));
}

#[test]
fn bad_input_says_what_was_wanted() {
    let mut stopper = stopper(RuleName::RelativeStability);
    let fails = |stopper: &mut Stopper, proba: Array2<f64>| {
        stopper.observe(&Observed::new(5, proba.view())).unwrap_err().to_string()
    };
    assert!(fails(&mut stopper, Array2::zeros((0, 2))).contains("at least one row"));
    assert!(fails(&mut stopper, array![[0.5, f64::NAN]]).contains("NaN"));
    assert!(fails(&mut stopper, array![[1.5, -0.5]]).contains("0 to 1"));
    stopper.observe(&Observed::new(5, one_hot(&[0, 1]).view())).unwrap();
    assert!(fails(&mut stopper, one_hot(&[0, 1, 2])).contains("expected 2, got 3"));
    for (params, name) in [
        (StoppingParams { min_labels: 3, ..StoppingParams::default() }, "min_labels"),
        (StoppingParams { lag: 0, ..StoppingParams::default() }, "lag"),
        (StoppingParams { label_price: 0.0, ..StoppingParams::default() }, "label_price"),
        (StoppingParams { error_price: f64::NAN, ..StoppingParams::default() }, "error_price"),
        (StoppingParams { tolerance: -0.1, ..StoppingParams::default() }, "tolerance"),
    ] {
        assert!(params.check().unwrap_err().to_string().contains(name));
    }
}

#[test]
fn advice_in_words() {
    let advice = run(&mut stopper(RuleName::RelativeStability), 120, |n| 0.8 - 0.1 * libm::log(n), 0.02);
    let text = advice.last().unwrap().to_string();
    assert!(text.starts_with("not yet: 30 labels still change predictions more (kappa 0."), "{text}");
    assert!(text.contains("; the next 10 labels would gain about 0."), "{text}");
    let json = serde_json::to_value(advice.last().unwrap()).unwrap();
    assert_eq!((&json["rule"], &json["stop"]), (&"relative_stability".into(), &false.into()));
}
