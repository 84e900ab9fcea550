//! What a forest promises, checked on small data.

#![allow(clippy::unwrap_used)]

use hedgerow_core::testing::{blobs, check_distributions, check_prediction_is_pure, check_shapes};
use hedgerow_core::{
    Budget, ClassId, Classifier as _, Column, ColumnKind, Dataset, Features, LabelTable, Par, Params as _,
    Schema, Silent, StopReason, Targets, Training,
};
use hedgerow_forest::proximity::{ForestKernel, proximities};
use hedgerow_forest::{Fitted, Forest, ForestParams, merge};
use ndarray::{Array2, s};

fn fit_with(data: &Dataset, settings: &[(&str, &str)], threads: usize, budget: &Budget) -> Fitted {
    let settings = [("n_trees", "15")].into_iter().chain(settings.iter().copied());
    let params = ForestParams::default().with_settings(settings).unwrap().check().unwrap();
    let par = Par::new(threads).unwrap();
    Forest::fit(data, &params, &Training { par: &par, budget, observer: &Silent }).unwrap()
}

fn fit(data: &Dataset, settings: &[(&str, &str)]) -> Fitted {
    fit_with(data, settings, 1, &Budget::open())
}

fn accuracy(forest: &Forest, data: &Dataset) -> f64 {
    let x = data.features.to_array(0..data.n_rows());
    let predictions = forest.predict(x.view(), &Par::sequential()).unwrap();
    predictions.iter().zip(data.labels()).filter(|(a, b)| a == b).count() as f64 / data.n_rows() as f64
}

/// Two numeric columns (one with gaps) and a categorical one with gaps; the class follows from the category and a number.
fn mixed(n_rows: usize, n_categories: usize) -> Dataset {
    use hedgerow_core::rng::{Purpose, Rng};
    let mut rng = Rng::new(5, Purpose::Data, 0);
    let mut schema = Schema::unnamed(3);
    schema.columns[2] = Column {
        name: "kind".into(),
        kind: ColumnKind::Categorical { categories: (0..n_categories).map(|c| format!("c{c}")).collect() },
    };
    schema.labels = LabelTable::from(vec!["no".to_string(), "yes".into(), "gone".into()]);
    let mut features = Features::new(3);
    let mut labels = Vec::new();
    for _ in 0..n_rows {
        let (a, b, c) = (rng.normal() as f32, rng.normal() as f32, rng.index(n_categories));
        let gone = rng.unit() < 0.2;
        let odd = c % 3 == 1;
        labels.push(ClassId(if gone { 2 } else { u32::from(odd ^ (b > 0.5)) }));
        features.push(&[a, if gone { f32::NAN } else { b }, c as f32]);
    }
    Dataset::new(schema, features, labels, None).unwrap()
}

#[test]
fn keeps_the_contract() {
    let data = blobs(400, 5, 4, 3);
    for settings in [&[][..], &[("splits", "best")], &[("probabilities", "votes")], &[("bagging", "all")]] {
        let fitted = fit(&data, settings);
        let x = data.features.to_array(0..60);
        check_distributions(&fitted.forest, x.view());
        check_prediction_is_pure(&fitted.forest, x.view());
        check_shapes(&fitted.forest);
        assert!(accuracy(&fitted.forest, &data) > 0.95, "{settings:?}");
    }
}

#[test]
fn same_seed_same_forest_for_any_threads() {
    let data = blobs(500, 8, 3, 1);
    let sets: [&[(&str, &str)]; 4] = [
        &[],
        &[("bagging", "bootstrap"), ("criterion", "entropy")],
        &[("splits", "best"), ("class_weights", "balanced")],
        &[("n_trees", "0"), ("patience", "2")],
    ];
    for settings in sets {
        let one = fit_with(&data, settings, 1, &Budget::open());
        for threads in [2, 5] {
            let many = fit_with(&data, settings, threads, &Budget::open());
            assert_eq!(one.forest, many.forest, "{settings:?}");
            assert_eq!(one.oob, many.oob, "{settings:?}");
        }
        let other = fit_with(&data, &[settings, &[("seed", "1")]].concat(), 1, &Budget::open());
        assert_ne!(one.forest.trees(), other.forest.trees());
    }
}

#[test]
fn trees_of_a_forest_differ() {
    let fitted = fit(&blobs(300, 4, 3, 1), &[("bagging", "all")]);
    for (i, tree) in fitted.forest.trees().iter().enumerate() {
        assert!(fitted.forest.trees()[..i].iter().all(|other| other != tree));
    }
}

#[test]
fn grown_trees_know_their_rows() {
    // Without noise and limits every tree predicts every row it has learnt right, left-out rows included.
    let data = blobs(300, 6, 5, 9);
    for settings in [&[("bagging", "all")][..], &[], &[("bagging", "bootstrap")], &[("sample_rows", "8")]] {
        let fitted = fit(&data, settings);
        let x = data.features.to_array(0..data.n_rows());
        for tree in fitted.forest.trees() {
            let single =
                Forest::from_parts(fitted.forest.params().clone(), 5, vec![tree.clone()], None, vec![0.0; 6]);
            let predictions = single.predict(x.view(), &Par::sequential()).unwrap();
            assert_eq!(predictions, data.labels(), "{settings:?}");
        }
    }
}

#[test]
fn missing_values_and_categories_carry_information() {
    for n_categories in [6, 40, 300] {
        let data = mixed(1500, n_categories);
        let test = data.select(&(1000..1500).collect::<Vec<_>>());
        let train = data.select(&(0..1000).collect::<Vec<_>>());
        for rule in ["random", "best"] {
            let fitted = fit(&train, &[("splits", rule), ("max_features", "all"), ("n_thresholds", "4")]);
            let accuracy = accuracy(&fitted.forest, &test);
            let wanted = if n_categories < 100 { 0.9 } else { 0.6 };
            assert!(accuracy > wanted, "{n_categories} categories, {rule}: {accuracy}");
            check_prediction_is_pure(&fitted.forest, test.features.to_array(0..50).view());
        }
    }
}

#[test]
fn one_category_and_missing_values_can_be_told_apart() {
    // Missing means class 0, the one category means class 1.
    let mut schema = Schema::unnamed(1);
    schema.columns[0].kind =
        ColumnKind::Categorical { categories: (0..300).map(|c| c.to_string()).collect() };
    schema.labels = LabelTable::from(vec!["gone".to_string(), "there".into()]);
    let mut features = Features::new(1);
    let mut labels = Vec::new();
    for i in 0..100 {
        features.push(&[if i % 2 == 0 { f32::NAN } else { 290.0 }]);
        labels.push(ClassId(i % 2));
    }
    let data = Dataset::new(schema, features, labels, None).unwrap();
    for rule in ["random", "best"] {
        assert_eq!(accuracy(&fit(&data, &[("splits", rule)]).forest, &data), 1.0);
    }
}

#[test]
fn weights_count_as_rows_do() {
    // A row of weight 0 might as well not be there.
    let data = blobs(200, 3, 2, 4);
    let mut noisy = data.clone();
    let extra = blobs(100, 3, 2, 5);
    let flipped = extra.labels().iter().map(|c| ClassId(1 - c.0));
    let labels: Vec<ClassId> = data.labels().iter().copied().chain(flipped).collect();
    noisy
        .edit(|noisy| {
            noisy.features.extend(extra.features.to_array(0..100).view());
            noisy.targets = Targets::Classes(labels);
            noisy.weights = Some([vec![1.0; 200], vec![0.0; 100]].concat());
        })
        .unwrap();
    let fitted = fit(&noisy, &[("bagging", "all")]);
    assert_eq!(accuracy(&fitted.forest, &data), 1.0);
    let heavy = fit(&mixed(300, 4), &[("class_weights", r#"{"gone": 50}"#), ("min_leaf_rows", "20")]);
    let light = fit(&mixed(300, 4), &[("class_weights", r#"{"gone": 0.02}"#), ("min_leaf_rows", "20")]);
    let share_of_gone = |fitted: &Fitted| {
        let x = mixed(300, 4).features.to_array(0..300);
        fitted.forest.predict_proba(x.view(), &Par::sequential()).unwrap().column(2).sum()
    };
    assert!(share_of_gone(&heavy) > share_of_gone(&light) + 10.0);
}

#[test]
fn class_weights_reach_the_predictions_of_deep_trees() {
    // Labels that are half noise: pure leaves alone would predict the same whatever classes weigh.
    use hedgerow_core::rng::{Purpose, Rng};
    let mut data = blobs(600, 3, 2, 5);
    let mut rng = Rng::new(1, Purpose::Data, 0);
    data.edit(|data| {
        for class in data.labels_mut() {
            if rng.unit() < 0.5 {
                *class = ClassId(1 - class.0);
            }
        }
    })
    .unwrap();
    let label = data.schema.labels.name(ClassId(1)).to_string();
    let x = blobs(300, 3, 2, 6).features.to_array(0..300);
    let share = |settings: &[(&str, &str)]| {
        let predictions = fit(&data, settings).forest.predict(x.view(), &Par::sequential()).unwrap();
        predictions.iter().filter(|class| class.0 == 1).count() as f64 / 300.0
    };
    let weight = |w: &str| format!(r#"{{"{label}": {w}}}"#);
    for bagging in ["fraction:0.8", "all"] {
        let of = |w: &str| share(&[("bagging", bagging), ("class_weights", &weight(w))]);
        let (heavy, light) = (of("20"), of("0.05"));
        assert!(heavy > 0.85 && light < 0.15, "{bagging}: {heavy} {light}");
        let raw = share(&[("bagging", bagging), ("class_weights", &weight("20")), ("calibrate", "false")]);
        assert!(raw < heavy, "{bagging}: the predictions of the trees themselves are not shifted: {raw}");
    }
}

#[test]
fn odd_weights_leave_a_forest_that_predicts() {
    let data = mixed(300, 5);
    let x = data.features.to_array(0..50);
    let class_weights =
        [r#"{"gone": 0}"#, r#"{"gone": 1e9}"#, r#"{"gone": 1e-60, "no": 1e-60, "yes": 1e-60}"#];
    for weights in class_weights {
        for rule in ["random", "best"] {
            let fitted = fit(&data, &[("class_weights", weights), ("splits", rule)]);
            check_distributions(&fitted.forest, x.view());
        }
    }
    let mut few = data.clone();
    few.edit(|few| few.weights = Some((0..300).map(|row| if row < 3 { 1.0 } else { 0.0 }).collect()))
        .unwrap();
    if few.labels()[0] == few.labels()[1] {
        few.edit(|few| few.labels_mut()[1] = ClassId((few.labels()[0].0 + 1) % 3)).unwrap();
    }
    check_distributions(&fit(&few, &[("bagging", "amount:1")]).forest, x.view());
    few.edit(|few| few.weights = Some(vec![3e38; 300])).unwrap();
    check_distributions(&fit(&few, &[("min_leaf_rows", "9")]).forest, x.view());
    few.edit(|few| few.weights = Some(vec![0.0; 300])).unwrap();
    let params = ForestParams::default().check().unwrap();
    let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
    assert!(
        Forest::fit(&few, &params, &training).unwrap_err().to_string().contains("fewer than two classes")
    );
}

#[test]
fn more_values_than_codes_cost_no_consistency() {
    // A column with more values than two bytes can number: every tree must still predict its own rows as it learnt them.
    use hedgerow_core::rng::{Purpose, Rng};
    let n = 100_000;
    let mut rng = Rng::new(1, Purpose::Data, 0);
    let x = Array2::from_shape_fn((n, 2), |_| rng.normal() as f32);
    let labels: Vec<_> = x.rows().into_iter().map(|row| ClassId(u32::from(row[0] * row[1] > 0.0))).collect();
    let mut schema = Schema::unnamed(2);
    schema.labels = LabelTable::from(vec!["a".to_string(), "b".into()]);
    let data = Dataset::new(schema, Features::from_view(x.view()), labels, None).unwrap();
    let fitted = fit(&data, &[("n_trees", "2"), ("bagging", "all"), ("calibrate", "false")]);
    let proba = fitted.forest.predict_proba(x.view(), &Par::new(2).unwrap()).unwrap();
    let unheard = (0..n).filter(|&row| proba[(row, data.labels()[row].index())] == 0.0).count();
    assert_eq!(unheard, 0, "rows whose own leaf gives their class nothing");
}

#[test]
fn rare_classes_are_seen() {
    let mut data = blobs(20_000, 4, 2, 3);
    let keep: Vec<usize> = (0..20_000).filter(|row| row % 2 == 0 || row % 500 == 1).collect();
    data = data.select(&keep);
    let fitted = fit(&data, &[("n_trees", "20")]);
    let oob = fitted.oob.unwrap();
    let proba = oob.probabilities(&fitted.forest);
    let predicted: Vec<usize> = (0..keep.len()).filter(|&row| oob.n_trees[row] > 0).collect();
    let scores: Vec<f64> = predicted.iter().map(|&row| proba[(row, 1)]).collect();
    let hits: Vec<bool> = predicted.iter().map(|&row| data.labels()[row] == ClassId(1)).collect();
    assert!(auc(&scores, &hits) > 0.95);
}

fn auc(scores: &[f64], hits: &[bool]) -> f64 {
    hedgerow_core::metrics::binary_auc(scores, hits).unwrap()
}

#[test]
fn limits_on_height_and_leaves_are_kept() {
    let data = mixed(600, 5);
    for height in [1, 3, 7] {
        let fitted = fit(&data, &[("max_height", &height.to_string())]);
        assert!(fitted.forest.trees().iter().all(|tree| tree.height() <= height));
    }
    let settings = [("min_leaf_rows", "25"), ("bagging", "all"), ("sample_rows", "50")];
    let fitted = fit(&data, &settings);
    let places =
        fitted.forest.leaf_places(data.features.to_array(0..600).view(), &Par::sequential()).unwrap();
    for tree in places.columns() {
        let mut sizes = std::collections::BTreeMap::new();
        tree.iter().for_each(|&place| *sizes.entry(place).or_insert(0) += 1);
        assert!(sizes.values().all(|&n| n >= 25), "{sizes:?}");
    }
}

#[test]
fn out_of_bag_predictions_are_those_of_trees_that_did_not_see_the_row() {
    let data = blobs(200, 3, 3, 8);
    let fitted =
        fit(&data, &[("learn_left_out", "false"), ("bagging", "fraction:0.5"), ("calibrate", "false")]);
    let oob = fitted.oob.unwrap();
    // Half of 15 trees leave a row out on average.
    let mean = oob.n_trees.iter().sum::<u32>() as f64 / 200.0;
    assert!((6.5..8.5).contains(&mean), "{mean}");
    for (row, &n) in oob.shares.rows().into_iter().zip(&oob.n_trees) {
        assert!((f64::from(row.sum()) - f64::from(n)).abs() < 1e-4);
    }
    assert!(oob.accuracy(&data).unwrap() > 0.9);
    // Probabilities without calibration, with leaves that count the same or by their size.
    let weighed = fit(&data, &[("leaf_power", "0.5"), ("calibrate", "false")]);
    for (oob, forest) in [(&oob, &fitted.forest), (&weighed.oob.unwrap(), &weighed.forest)] {
        let proba = oob.probabilities(forest);
        assert!(proba.rows().into_iter().all(|r| r[0].is_nan() || (r.sum() - 1.0).abs() < 1e-5));
    }
    // A row's own label must not matter: wherever one label is flipped, out-of-bag votes for the wrong class stay rare. Trees that had learnt
    // it would all vote for it.
    let (mut wrong_votes, mut votes) = (0.0, 0.0);
    for row in (0..200).step_by(20) {
        let mut flipped = data.clone();
        let wrong = ClassId((data.labels()[row].0 + 1) % 3);
        flipped.edit(|flipped| flipped.labels_mut()[row] = wrong).unwrap();
        let all_features =
            [("max_features", "all"), ("learn_left_out", "false"), ("bagging", "fraction:0.5")];
        let oob = fit(&flipped, &all_features).oob.unwrap();
        wrong_votes += f64::from(oob.shares[(row, wrong.index())]);
        votes += f64::from(oob.n_trees[row]);
    }
    assert!(votes > 50.0 && wrong_votes < 0.15 * votes, "{wrong_votes} of {votes} votes");
}

#[test]
fn calibration_lowers_the_loss_of_fresh_rows() {
    let data = mixed(3000, 6);
    let (train, test) =
        (data.select(&(0..2000).collect::<Vec<_>>()), data.select(&(2000..3000).collect::<Vec<_>>()));
    let loss = |calibrate| {
        let fitted = fit(&train, &[("calibrate", calibrate), ("n_trees", "60")]);
        let x = test.features.to_array(0..1000);
        let proba = fitted.forest.predict_proba(x.view(), &Par::sequential()).unwrap();
        hedgerow_core::metrics::Report::new(proba.view(), test.labels(), None).unwrap().log_loss
    };
    assert!(loss("true") < loss("false"));
}

#[test]
fn budgets_end_the_work_with_a_usable_forest() {
    let data = blobs(3000, 10, 4, 2);
    let stopped = Budget::open();
    stopped.stop.stop();
    let fitted = fit_with(&data, &[("n_trees", "0"), ("patience", "1000")], 2, &stopped);
    assert_eq!(fitted.stop, StopReason::Interrupted);
    assert!(!fitted.forest.trees().is_empty());
    check_distributions(&fitted.forest, data.features.to_array(0..20).view());

    let in_time = Budget::open().with_time(std::time::Duration::from_millis(300));
    let fitted = fit_with(&data, &[("n_trees", "0")], 2, &in_time);
    assert_eq!(fitted.stop, StopReason::Time);
    assert!(accuracy(&fitted.forest, &data) > 0.9);

    let small = Budget::open().with_bytes(4 << 20);
    let fitted = fit_with(&data, &[("n_trees", "0")], 2, &small);
    assert_eq!(fitted.stop, StopReason::Memory);
    assert!(fitted.forest.bytes() < 4 << 20 && fitted.forest.trees().len() > 1);

    let tiny = Budget::open().with_bytes(1000);
    let params = ForestParams::default().check().unwrap();
    let training = Training { par: &Par::sequential(), budget: &tiny, observer: &Silent };
    let message = Forest::fit(&data, &params, &training).unwrap_err().to_string();
    assert!(message.contains("needs at least"), "{message}");

    let patient = fit_with(&data, &[("n_trees", "0"), ("patience", "1")], 2, &Budget::open());
    assert_eq!(patient.stop, StopReason::Converged);
}

#[test]
fn proximities_and_the_kernel_are_kernels() {
    let data = blobs(60, 4, 3, 6);
    let fitted = fit(&data, &[]);
    let x = data.features.to_array(0..60);
    let par = Par::new(2).unwrap();
    let kernel = ForestKernel::new(&fitted.forest, 1);
    assert_eq!(kernel.heights(), ForestKernel::new(&fitted.forest, 1).heights());
    let places = fitted.forest.leaf_places(x.view(), &par).unwrap();
    for matrix in
        [proximities(&places, &places, &par).unwrap(), kernel.matrix(x.view(), x.view(), &par).unwrap()]
    {
        assert!((0..60).all(|i| matrix[(i, i)] == 1.0));
        assert_eq!(matrix, matrix.t());
        // Positive semi-definite: xᵀKx is the mean over trees and places of squared sums.
        let mut rng = hedgerow_core::rng::Rng::new(2, hedgerow_core::rng::Purpose::Data, 0);
        for _ in 0..50 {
            let v = ndarray::Array1::from_shape_fn(60, |_| rng.normal());
            assert!(v.dot(&matrix.dot(&v)) > -1e-9);
        }
    }
    let coarse = kernel.matrix(x.view(), x.view(), &par).unwrap();
    let fine = proximities(&places, &places, &par).unwrap();
    assert!(coarse.iter().zip(&fine).all(|(c, f)| c >= f), "equal leaves are equal at every height");
}

#[test]
fn importances_find_the_columns_that_matter() {
    let data = mixed(800, 6);
    let fitted = fit(&data, &[("n_trees", "40")]);
    let impurity = fitted.forest.impurity_importances();
    assert!((impurity.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let loss =
        hedgerow_core::importance::permutation(&fitted.forest, &mixed(800, 6), 2, 0, &Par::new(2).unwrap())
            .unwrap();
    assert!(loss[0] < loss[1] && loss[0] < loss[2], "{loss:?}");
}

#[test]
fn merging_forests_of_different_classes_knows_them_all() {
    let all = blobs(900, 6, 6, 12);
    let part = |classes: &[u32], names: &[&str]| {
        let rows: Vec<usize> = (0..600).filter(|&r| classes.contains(&all.labels()[r].0)).collect();
        let mut part = all.select(&rows);
        let place = |c: ClassId| classes.iter().position(|&k| k == c.0).unwrap() as u32;
        part.edit(|part| {
            part.labels_mut().iter_mut().for_each(|class| *class = ClassId(place(*class)));
            part.schema.labels = LabelTable::from(names.iter().map(ToString::to_string).collect::<Vec<_>>());
        })
        .unwrap();
        part
    };
    let (left, right) =
        (part(&[3, 0, 1, 2], &["3", "0", "1", "2"]), part(&[2, 3, 4, 5], &["2", "3", "4", "5"]));
    let (a, b) = (fit(&left, &[]).forest, fit(&right, &[]).forest);
    let (schema, merged) = merge(&[(&left.schema, &a), (&right.schema, &b)]).unwrap();
    assert_eq!(schema.labels.names(), ["3", "0", "1", "2", "4", "5"]);
    let test = all.select(&(600..900).collect::<Vec<_>>());
    let share_right = |schema: &Schema, forest: &Forest| {
        let x = test.features.to_array(0..300);
        let predictions = forest.predict(x.view(), &Par::sequential()).unwrap();
        let right = |(a, t): (&ClassId, &ClassId)| schema.labels.name(*a) == t.0.to_string();
        predictions.iter().zip(test.labels()).filter(|&pair| right(pair)).count()
    };
    let parts = share_right(&left.schema, &a).max(share_right(&right.schema, &b));
    assert!(share_right(&schema, &merged) > parts + 30);
    check_distributions(&merged, test.features.to_array(0..20).view());
}

#[test]
fn merging_is_at_least_as_good_as_the_better_part() {
    // Ten overlapping classes; parts that know all, most or few of them.
    let all = hard_blobs(6000, 10);
    let (train, test) =
        (all.select(&(0..3000).collect::<Vec<_>>()), all.select(&(3000..6000).collect::<Vec<_>>()));
    let part = |classes: std::ops::Range<u32>, seed: &str| {
        let rows: Vec<usize> = (0..3000).filter(|&r| classes.contains(&train.labels()[r].0)).collect();
        let mut part = train.select(&rows);
        part.edit(|part| part.labels_mut().iter_mut().for_each(|c| c.0 -= classes.start)).unwrap();
        part.edit(|part| {
            part.schema.labels = LabelTable::from(classes.map(|c| c.to_string()).collect::<Vec<_>>());
        })
        .unwrap();
        let forest = fit(&part, &[("n_trees", "60"), ("seed", seed)]).forest;
        (part.schema.clone(), forest)
    };
    let right = |schema: &Schema, forest: &Forest| {
        let x = test.features.to_array(0..test.n_rows());
        let predictions = forest.predict(x.view(), &Par::sequential()).unwrap();
        let hit = |(a, t): &(&ClassId, &ClassId)| schema.labels.name(**a) == t.0.to_string();
        predictions.iter().zip(test.labels()).filter(hit).count()
    };
    for (left, other) in
        [(0..10, 0..2), (0..10, 0..5), (0..8, 8..10), (0..9, 1..10), (0..5, 5..10), (0..10, 0..10)]
    {
        let (a, b) = (part(left.clone(), "1"), part(other.clone(), "2"));
        let (schema, merged) = merge(&[(&a.0, &a.1), (&b.0, &b.1)]).unwrap();
        let (best, got) = (right(&a.0, &a.1).max(right(&b.0, &b.1)), right(&schema, &merged));
        // One standard error of the difference on 3,000 rows is about ten rows.
        assert!(got + 10 >= best, "{left:?} with {other:?}: {got}, the better part {best}");
        check_prediction_is_pure(&merged, test.features.to_array(0..40).view());
    }
}

/// Blobs that overlap.
fn hard_blobs(n_rows: usize, n_classes: usize) -> Dataset {
    use hedgerow_core::rng::{Purpose, Rng};
    let mut data = blobs(n_rows, 6, n_classes, 21);
    let mut rng = Rng::new(4, Purpose::Data, 1);
    let mut x = data.features.to_array(0..n_rows);
    x.mapv_inplace(|v| v + 3.0 * rng.normal() as f32);
    data.edit(|data| data.features = Features::from_view(x.view())).unwrap();
    data
}

#[test]
fn merging_translates_categories() {
    let ours = mixed(600, 40);
    let mut theirs = ours.clone();
    // The same data with the categories listed backwards.
    theirs
        .edit(|theirs| {
            if let ColumnKind::Categorical { categories } = &mut theirs.schema.columns[2].kind {
                categories.reverse();
            }
        })
        .unwrap();
    let mut x = theirs.features.to_array(0..600);
    x.column_mut(2).mapv_inplace(|c| 39.0 - c);
    theirs.edit(|theirs| theirs.features = Features::from_view(x.view())).unwrap();
    let (a, b) = (fit(&ours, &[]).forest, fit(&theirs, &[("seed", "9")]).forest);
    let (schema, merged) = merge(&[(&ours.schema, &a), (&theirs.schema, &b)]).unwrap();
    assert_eq!(schema.columns, ours.schema.columns);
    let their_trees = merged.trees()[a.trees().len()..].to_vec();
    let translated =
        Forest::from_parts(b.params().clone(), 3, their_trees, b.calibration().copied(), vec![0.0; 3]);
    let par = Par::sequential();
    let rows = ours.features.to_array(0..600);
    let expected = b.predict_proba(x.slice(s![.., ..]), &par).unwrap();
    let got = translated.predict_proba(rows.view(), &par).unwrap();
    assert_eq!(expected, got);
    let mut other = ours.schema.clone();
    other.columns[0].name = "x".into();
    assert!(merge(&[(&ours.schema, &a), (&other, &b)]).unwrap_err().to_string().contains("\"x\""));
}
