//! What trees with GPs in their leaves promise.

use hedgerow_core::testing::{
    blobs, check_distributions, check_prediction_is_pure, check_shapes, learn_in_calls,
};
use hedgerow_core::traits::most_probable;
use hedgerow_core::{
    Budget, ClassId, Classifier as _, Dataset, Error, Features, Fitted, LabelTable, OnlineModel as _, Par,
    Params as _, Rows, Silent, StopReason, Training,
};
use ndarray::{Array2, s};

use super::*;
use crate::testing::stripes;

fn small() -> LeafGpParams {
    LeafGpParams { n_trees: 3, leaf_rows: 40, ..LeafGpParams::default() }
}

fn fit_with(data: &Dataset, params: LeafGpParams, threads: usize, budget: &Budget) -> Fitted<LeafGp> {
    let par = Par::new(threads).unwrap();
    let training = Training { par: &par, budget, observer: &Silent };
    hedgerow_core::fit(data, &params.check().unwrap(), &training).unwrap()
}

fn fit(data: &Dataset, params: LeafGpParams) -> LeafGp {
    fit_with(data, params, 1, &Budget::open()).model
}

fn right(model: &LeafGp, data: &Dataset) -> usize {
    let predicted =
        model.predict(data.features.to_array(0..data.n_rows()).view(), &Par::sequential()).unwrap();
    predicted.iter().zip(data.labels()).filter(|(a, b)| a == b).count()
}

#[test]
fn leaf_gps_predict_better_than_class_frequencies() {
    let (train, test) = (stripes(900, 1.1, 1), stripes(600, 1.1, 2));
    for learner in [LeafLearner::Labels, LeafLearner::Laplace, LeafLearner::Ivm, LeafLearner::Rvm] {
        let params = LeafGpParams { learner, ..small() };
        let model = fit(&train, params.clone());
        let size = model.size();
        assert!(size.n_trees == 3 && size.n_gps > 10 && size.largest <= 40, "{size:?}");
        let with = right(&model, &test);
        let mut without = model.clone();
        without.leaves.iter_mut().for_each(|leaf| leaf.gp = None);
        let without = right(&without, &test);
        assert!(with > 540 && with > without + 30, "{learner:?}: {with} with, {without} without");
        check_distributions(&model, test.features.to_array(0..50).view());
        check_prediction_is_pure(&model, test.features.to_array(0..50).view());
        check_shapes(&model);
    }
}

#[test]
fn larger_leaves_are_better_and_one_leaf_is_the_exact_gp() {
    let (train, test) = (stripes(400, 1.1, 3), stripes(600, 1.1, 4));
    let with_leaves =
        |leaf_rows| right(&fit(&train, LeafGpParams { leaf_rows, n_trees: 2, ..small() }), &test);
    let found: Vec<usize> = [5, 40, 400].map(with_leaves).to_vec();
    assert!(found[0] < found[1] && found[1] <= found[2] + 6, "{found:?}");
    let params =
        LeafGpParams { leaf_rows: 400, n_trees: 1, length_scale: 0.5, noise_variance: 0.01, ..small() };
    let model = fit(&train, params);
    assert_eq!(model.size().n_leaves, 1);
    let x = model.x.mapv(f64::from);
    let y = leaf::signs(&(0..400).collect::<Vec<_>>(), &[0, 1, 2], train.labels());
    let kernel = hedgerow_gp::Kernel::rbf(0.5);
    let exact =
        hedgerow_gp::LabelRegression::fit(kernel, 0.01, x.view(), y.view(), &Par::sequential()).unwrap();
    let test_rows = test.features.to_array(0..50);
    let prepared = model.preparation.map(test_rows.view());
    let expected = exact.scores(prepared.view(), &Par::sequential()).unwrap();
    let got = model.predictions(test_rows.view(), &Par::sequential()).scores;
    for (a, b) in expected.iter().zip(&got) {
        assert!((a - b).abs() < 2e-3, "{a} {b}");
    }
}

#[test]
fn threads_change_nothing_and_fusion_rules_agree_nearly() {
    let (train, test) = (stripes(500, 1.1, 5), stripes(300, 1.1, 6));
    let one = fit(&train, small());
    assert!(one == fit_with(&train, small(), 3, &Budget::open()).model);
    for fusion in [Fusion::Vote, Fusion::Clipped, Fusion::Normalized] {
        let other = fit(&train, LeafGpParams { fusion, ..small() });
        let (a, b) = (right(&one, &test), right(&other, &test));
        assert!(a.abs_diff(b) < 20, "{fusion:?}: {a} {b}");
    }
    let own = fit(&train, LeafGpParams { sharing: Sharing::Leaf, ..small() });
    assert!(right(&own, &test) + 15 > right(&one, &test));
    let lengths = |model: &LeafGp| {
        let each = model.leaves.iter().filter_map(|leaf| leaf.gp.as_ref().map(|gp| gp.length_scale));
        each.fold([f64::INFINITY, 0.0_f64], |[low, high], l| [low.min(l), high.max(l)])
    };
    assert!(lengths(&one)[0] == lengths(&one)[1] && lengths(&own)[0] < lengths(&own)[1]);
}

#[test]
fn limits_are_kept() {
    let train = stripes(600, 1.1, 7);
    let budget = Budget::open();
    budget.stop.stop();
    let cut = fit_with(&train, small(), 1, &budget);
    assert_eq!(cut.stop, StopReason::Interrupted);
    assert!(right(&cut.model, &train) > 300, "leaves without a GP predict with class frequencies");
    let few = Budget::open().with_bytes(90_000);
    let fitted = fit_with(&train, small(), 2, &few).model;
    assert!(fitted.size().largest < 40 && fitted.size().n_gps > 0, "{:?}", fitted.size());
    let par = Par::sequential();
    let none = Budget::open().with_bytes(1_000);
    let training = Training { par: &par, budget: &none, observer: &Silent };
    let error = hedgerow_core::fit(&train, &small().check().unwrap(), &training).unwrap_err();
    assert!(matches!(error, Error::BudgetTooSmall { .. }), "{error}");
    let wrong = |params: LeafGpParams| params.check().unwrap_err().to_string();
    assert!(wrong(LeafGpParams { leaf_rows: 1, ..small() }).contains("leaf_rows"));
    assert!(wrong(LeafGpParams { n_trees: 0, ..small() }).contains("n_trees"));
    assert!(wrong(LeafGpParams { length_scale: -1.0, ..small() }).contains("length_scale"));
}

fn new(data: &Dataset, params: LeafGpParams) -> LeafGp {
    LeafGpParams::new_model(&data.schema, &params.check().unwrap()).unwrap()
}

#[test]
fn batches_and_threads_change_nothing_while_it_learns() {
    let data = stripes(700, 1.1, 8);
    let mut models: Vec<LeafGp> = (0..3).map(|_| new(&data, small())).collect();
    let whole = learn_in_calls(&mut models[0], &data, 700, 1);
    assert_eq!(whole, learn_in_calls(&mut models[1], &data, 7, 1));
    assert_eq!(whole, learn_in_calls(&mut models[2], &data, 100, 3));
    assert!(models[0] == models[1] && models[0] == models[2]);
    let predicted = most_probable(whole.slice(s![400.., ..]));
    let right = predicted.iter().zip(&data.labels()[400..]).filter(|(a, b)| a == b).count();
    assert!(right > 250, "{right} of 300");
    assert_eq!((models[0].n_seen(), models[0].n_retained()), (700, 700));
    check_distributions(&models[0], data.features.to_array(0..40).view());
    check_prediction_is_pure(&models[0], data.features.to_array(0..40).view());
}

#[test]
fn a_row_changes_only_the_leaves_it_falls_into_and_large_ones_are_split() {
    let data = stripes(500, 1.1, 9);
    let first = data.select(&(0..400).collect::<Vec<_>>());
    let mut model = fit(&first, small());
    let before = model.clone();
    // Fewer than it takes to double, more than it waits for.
    let more = data.select(&(400..440).collect::<Vec<_>>());
    learn_in_calls(&mut model, &more, 40, 1);
    let changed = before.leaves.iter().zip(&model.leaves).filter(|(a, b)| a != b).count();
    let n_placed = model.online.as_ref().unwrap().n_placed;
    assert!(n_placed > 400, "some have been learnt");
    assert!(changed > 0 && changed <= 3 * (n_placed - 400), "{changed} of {}", before.leaves.len());
    assert!(model.leaves.len() > before.leaves.len(), "some have been split");
    let sizes = model.leaves.iter().filter(|leaf| !leaf.is_pure()).map(|leaf| leaf.rows.len());
    assert!(sizes.max().unwrap() <= 40);
    for tree in 0..3 {
        let mut rows: Vec<u32> = Vec::new();
        let x = model.features.to_array(0..n_placed);
        for (row, values) in x.rows().into_iter().enumerate() {
            let leaf = model.trees.leaf(tree, &values.to_vec()).unwrap();
            assert!(model.leaves[leaf as usize].rows.contains(&(row as u32)));
            rows.push(row as u32);
        }
        assert_eq!(rows.len(), n_placed);
    }
}

#[test]
fn late_classes_forgetting_and_hard_rows() {
    let all = stripes(600, 1.1, 10);
    let params = LeafGpParams { max_rows: 250, ..small() };
    let mut schema = all.schema.clone();
    schema.labels = LabelTable::from(vec!["0".to_string(), "1".to_string()]);
    let early: Vec<usize> = (0..300).filter(|row| all.labels()[*row].0 < 2).collect();
    let first = all.select(&early).under(&schema).unwrap();
    let mut model = new(&first, params);
    learn_in_calls(&mut model, &first, 50, 1);
    let late = all.select(&(300..600).collect::<Vec<_>>());
    let predictions = learn_in_calls(&mut model, &late, 50, 1);
    assert!(predictions.row(0)[2] > 0.0 && predictions.row(0)[2] < 0.05);
    let last = most_probable(predictions.slice(s![200.., ..]));
    let right = last.iter().zip(&late.labels()[200..]).filter(|(a, b)| a == b).count();
    assert!(right > 70, "{right} of 100");
    assert!(model.n_retained() <= 250 + 50 && model.n_seen() == early.len() as u64 + 300);
    let mut hard = blobs(120, 2, 3, 4);
    let x = Array2::from_shape_fn((120, 2), |(row, _)| match row % 4 {
        0 => f32::NAN,
        1 => 1e30,
        2 => -1e-30,
        _ => 1.0,
    });
    hard.edit(|hard| hard.features = Features::from_view(x.view())).unwrap();
    learn_in_calls(&mut model, &hard, 50, 1);
    check_distributions(&model, x.view());
    check_distributions(&fit(&hard, small()), x.view());
    let frozen = &mut model.clone().frozen();
    let test_rows = late.features.to_array(0..100);
    let par = Par::sequential();
    assert_eq!(
        frozen.predict_proba(test_rows.view(), &par).unwrap(),
        model.predict_proba(test_rows.view(), &par).unwrap(),
        "the same predictions"
    );
    assert!(frozen.bytes() < model.bytes() && !frozen.can_learn());
    let rows = Rows::new(x.view(), hard.labels(), None);
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    assert!(matches!(frozen.learn(&hard.schema, rows, &training), Err(hedgerow_core::Error::Frozen)));
    let mut single = new(&hard, small());
    check_distributions(&single, x.view());
    hard.edit(|hard| hard.labels_mut().fill(ClassId(1))).unwrap();
    learn_in_calls(&mut single, &hard, 50, 1);
    assert!(single.predict_proba(x.view(), &par).unwrap()[(0, 1)] > 0.9, "one class only");
}
