use hedgerow_core::synth::{Generator, KnownParams, Problem};
use hedgerow_core::testing::{blobs, check_damaged_arrays, check_distributions, check_shapes, saved_copy};
use hedgerow_core::{ClassId, Features, Params as _};
use ndarray::concatenate;

use super::*;

fn fit(data: &Dataset) -> IntervalEnsemble {
    IntervalEnsemble::fit(data, 3, &Par::sequential()).unwrap()
}

fn generate(problem: Problem, n_features: usize, seed: u64, n: usize) -> (Dataset, Vec<f64>) {
    let params = KnownParams { n_features, seed }.check().unwrap();
    let mut generator = Generator::known(problem, &params).unwrap();
    let data = generator.dataset(n).unwrap();
    let x = data.features.to_array(0..n);
    let truth = x.rows().into_iter().map(|row| generator.probabilities(&row.to_vec()).unwrap()[1]).collect();
    (data, truth)
}

/// What `examples/interval_coverage.rs` does at length.
#[test]
fn intervals_hold_the_true_probability_as_often_as_they_say_and_shrink() {
    let (mut covered, mut n, mut widths) = (0, 0, Vec::new());
    for (problem, width) in [(Problem::Gaussians, 2), (Problem::Logistic, 5), (Problem::Wave, 2)] {
        let (points, truth) = generate(problem, width, 99, 200);
        let x = points.features.to_array(0..200);
        for (seed, n_rows) in [(1, 500), (2, 500), (3, 2_000)] {
            let ensemble = fit(&generate(problem, width, seed, n_rows).0);
            let found = ensemble.predict_true_probability(x.view(), &Par::sequential()).unwrap();
            let [low, high] = found.interval(0.9).unwrap();
            let ends = || low.column(1).into_iter().zip(high.column(1));
            covered += ends().zip(&truth).filter(|((low, high), p)| (*low..=*high).contains(p)).count();
            n += truth.len();
            let sum: f64 = ends().map(|(low, high)| high - low).sum();
            widths.push(sum / truth.len() as f64);
        }
    }
    let share = covered as f64 / f64::from(n as u32);
    assert!((0.85..=0.99).contains(&share), "{share} of true probabilities inside 90 % intervals");
    for widths in widths.chunks(3) {
        assert!(widths[0] < 0.95 && widths[2] < 0.75 * widths[0], "{widths:?}");
    }
}

#[test]
fn threads_batches_and_files_change_nothing() {
    let data = blobs(240, 4, 3, 1);
    let ensemble = fit(&data);
    assert!(ensemble == IntervalEnsemble::fit(&data, 3, &Par::new(2).unwrap()).unwrap());
    let x = data.features.to_array(0..240);
    let [low, high] = ensemble.log_odds(x.view(), &Par::new(2).unwrap());
    let rows: Vec<[Array2<f64>; 2]> =
        x.axis_chunks_iter(Axis(0), 1).map(|row| ensemble.log_odds(row, &Par::sequential())).collect();
    for (which, all) in [low, high].iter().enumerate() {
        let views: Vec<_> = rows.iter().map(|row| row[which].view()).collect();
        assert_eq!(concatenate(Axis(0), &views).unwrap(), all);
    }
    assert!(saved_copy(&ensemble, &data.schema).unwrap() == ensemble);
    // A number of any size still gives distributions.
    check_damaged_arrays(&ensemble, &data.schema, |_, damage, model| {
        check_distributions(model, x.view());
        damage == "largest"
    });
    check_distributions(&ensemble, x.view());
    check_shapes(&ensemble);
}

#[test]
fn rows_that_tell_little_have_defined_intervals() {
    let interval = |data: &Dataset, x: Array2<f32>| {
        let found = fit(data).predict_true_probability(x.view(), &Par::sequential()).unwrap();
        assert!(found.mean().iter().all(|p| p.is_finite()));
        let [low, high] = found.interval(0.9).unwrap();
        [low[(0, 0)], high[(0, 0)]]
    };
    let data = blobs(40, 3, 2, 1);
    // Columns that are all alike leave the share of the class.
    let mut constant = data.clone();
    constant.edit(|data| data.features = Features::from_view(Array2::ones((40, 3)).view())).unwrap();
    let [low, high] = interval(&constant, Array2::ones((1, 3)));
    assert!(low < 0.5 && high > 0.5 && high - low < 0.5, "{low} {high}");
    // Rows of one class, one row, none: Jeffreys' interval.
    let mut single = data.clone();
    single.edit(|data| data.labels_mut().fill(ClassId(0))).unwrap();
    let [low, high] = interval(&single, Array2::ones((1, 3)));
    assert!(low > 0.8 && high == 1.0, "{low} {high}");
    let [low, high] = interval(&data.select(&[5]), Array2::ones((1, 3)));
    assert!(high - low > 0.5, "{low} {high}");
    let [low, high] = interval(&data.select(&[]), Array2::ones((1, 3)));
    assert!(high - low > 0.9, "{low} {high}");
    interval(&data.select(&[0, 1]), Array2::ones((1, 3)));
    // Rows far from all others, and missing values.
    interval(&data, Array2::from_elem((1, 3), f32::MAX));
    interval(&data, Array2::from_elem((1, 3), f32::NAN));
}

#[test]
fn weights_count_and_rows_of_weight_0_do_not() {
    let data = blobs(120, 3, 2, 1);
    let x = data.features.to_array(0..120);
    let share = |weights: Vec<f32>| {
        let mut weighted = data.clone();
        weighted.edit(|data| data.weights = Some(weights)).unwrap();
        fit(&weighted).predict_proba(x.view(), &Par::sequential()).unwrap()
    };
    let plain = fit(&data).predict_proba(x.view(), &Par::sequential()).unwrap();
    assert_eq!(share(vec![1.0; 120]), plain);
    let own =
        |weight: f32| data.labels().iter().map(|label| if label.0 == 0 { weight } else { 1.0 }).collect();
    assert!(share(own(9.0)).column(0).sum() > plain.column(0).sum() + 0.1);
    let half: Vec<usize> = (0..60).collect();
    let none = (0..120).map(|row| f32::from(u8::from(row < 60))).collect();
    let of_half = fit(&data.select(&half)).predict_proba(x.view(), &Par::sequential()).unwrap();
    assert_eq!(share(none), of_half);
}

#[test]
fn classes_without_rows_are_unlikely() {
    let mut data = blobs(150, 3, 3, 1);
    data.edit(|data| data.labels_mut().iter_mut().for_each(|label| label.0 = label.0.min(1))).unwrap();
    let found = fit(&data).predict_true_probability(data.features.to_array(0..20).view(), &Par::sequential());
    let [low, high] = found.unwrap().interval(0.9).unwrap();
    assert!(low.column(2).iter().all(|low| *low == 0.0) && high.column(2).iter().all(|high| *high < 0.4));
}
