use hedgerow_core::testing::{blobs, check_damaged_arrays, saved_copy};
use hedgerow_core::{
    Budget, ClassId, Dataset, OnlineModel as _, Par, Params as _, RelativeEvidence as _, Silent, Training,
    fit,
};
use ndarray::{Array2, array};

use super::*;

const METHODS: [KnnMethod; 3] = [KnnMethod::Probabilistic, KnnMethod::DataDriven, KnnMethod::Epsilon];

fn fitted(data: &Dataset, params: KnnParams) -> KnnClassifier {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    fit(data, &params.check().unwrap(), &training).unwrap().model
}

fn counts(model: &KnnClassifier, x: &Array2<f32>) -> Array2<f64> {
    model.predict_evidence(x.view(), &Par::sequential()).unwrap().counts()
}

#[test]
fn evidence_is_at_most_k_and_none_far_away() {
    let data = blobs(300, 2, 2, 1);
    let far = array![[900.0_f32, -900.0]];
    for method in METHODS {
        let model = fitted(&data, KnnParams { method, k: 8, ..Default::default() });
        let near = counts(&model, &data.features.to_array(0..50));
        if method != KnnMethod::Epsilon {
            assert!(near.rows().into_iter().all(|row| row.sum() <= 8.0 + 1e-9));
        }
        assert!(near.mean().unwrap() > 2.0, "{method:?}");
        assert!(counts(&model, &far).sum() < 1e-9, "{method:?}");
        let evidence = model.predict_evidence(far.view(), &Par::sequential()).unwrap();
        assert!((evidence.variance()[(0, 0)] - 0.125).abs() < 1e-9, "the prior of Jeffreys");
    }
}

#[test]
fn a_ball_counts_its_rows_whatever_the_metric() {
    let data = blobs(120, 3, 2, 4);
    for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Chebyshev] {
        let params = KnnParams { method: KnnMethod::Epsilon, radius: 1.1, metric, ..Default::default() };
        let model = fitted(&data, params);
        let x = data.features.to_array(0..120);
        let prepared = model.preparation.map_narrow(x.view());
        let found = counts(&model, &x);
        let (prepared, labels) = (&prepared, data.labels());
        for row in 0..30 {
            let apart = |other: usize| {
                (0..3).map(move |c| f64::from((prepared[(row, c)] - prepared[(other, c)]).abs()))
            };
            let distance = &|other: usize| match metric {
                Metric::Euclidean => apart(other).map(|d| d * d).sum::<f64>().sqrt(),
                Metric::Manhattan => apart(other).sum(),
                Metric::Chebyshev => apart(other).fold(0.0, f64::max),
            };
            for class in 0..2 {
                let is_in = |other: &usize| labels[*other].index() == class && distance(*other) <= 1.1;
                assert_eq!(found[(row, class)], (0..120).filter(is_in).count() as f64);
            }
        }
    }
}

#[test]
fn artificial_rows_keep_the_accuracy() {
    let data = blobs(300, 2, 3, 7);
    let model = fitted(&data, KnnParams { method: KnnMethod::DataDriven, ..Default::default() });
    let background = model.settings.as_ref().unwrap().background.as_ref().unwrap();
    assert!(background.n >= 300, "blobs that lie apart bear many artificial rows: {}", background.n);
    let given = KnnParams { method: KnnMethod::DataDriven, n_artificial: 77, ..Default::default() };
    assert_eq!(fitted(&data, given).settings.unwrap().background.unwrap().n, 77);
}

#[test]
fn rows_that_are_all_alike_share_what_there_is() {
    let mut data = blobs(40, 2, 2, 1);
    data.edit(|data| data.features = hedgerow_core::Features::from_view(Array2::zeros((40, 2)).view()))
        .unwrap();
    data.edit(|data| {
        data.labels_mut()
            .iter_mut()
            .enumerate()
            .for_each(|(row, label)| *label = ClassId(u32::from(row % 4 == 0)));
    })
    .unwrap();
    for method in METHODS {
        let model = fitted(&data, KnnParams { method, k: 10, ..Default::default() });
        let found = counts(&model, &Array2::zeros((1, 2)));
        assert!((found[(0, 1)] / found.sum() - 0.25).abs() < 1e-9, "{method:?}: {found}");
    }
}

#[test]
fn a_copy_is_the_model_and_damaged_ones_are_refused() {
    let data = blobs(60, 2, 3, 1);
    for method in METHODS {
        let model = fitted(&data, KnnParams { method, ..Default::default() });
        for model in [model.clone(), model.frozen()] {
            assert_eq!(saved_copy(&model, &data.schema).unwrap(), model);
            check_damaged_arrays(&model, &data.schema, |_, damage, _| damage == "largest");
        }
    }
}
