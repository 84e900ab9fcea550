//! Tests of a forest blended with IVMs.

use hedgerow_core::testing::{
    blobs, check_distributions, check_prediction_is_pure, check_shapes, learn_in_calls,
};
use hedgerow_core::{Budget, Dataset, LabelTable, OnlineModel as _, Rows, Silent, Training};
use hedgerow_forest::ForestParams;
use ndarray::s;

use hedgerow_gp::IvmParams;

use super::*;
use crate::testing::{fit, right, stripes};

fn small() -> ForestIvmParams {
    ForestIvmParams {
        min_rows: 50,
        forest: ForestParams { n_trees: 15, max_height: 4, ..ForestParams::default() },
        ivm: IvmParams { n_active: 20, max_rows: 300, ..IvmParams::default() },
        ..ForestIvmParams::default()
    }
}

#[test]
fn blending_with_ivms_beats_the_forest_alone() {
    let (train, test) = (stripes(600, 1.6, 1), stripes(500, 1.6, 2));
    let par = Par::sequential();
    let x = test.features.to_array(0..500);
    for combine in [Combine::Pool, Combine::Gate, Combine::Route] {
        let model = fit(&train, ForestIvmParams { combine, ..small() }, 1);
        assert!(model.n_ivms()[1] >= 1, "{combine:?}");
        let (alone, both) = (
            model.forest().predict_proba(x.view(), &par).unwrap(),
            model.predict_proba(x.view(), &par).unwrap(),
        );
        let (alone, both) = (right(&alone, test.labels()), right(&both, test.labels()));
        assert!(both > alone + 10, "{combine:?}: {alone} alone, {both} with IVMs");
        let report = model.blend_report();
        assert!(report.n_rows() > 100 && report.n_right()[1] > report.n_right()[0], "{report:?}");
        let asked = x.slice(s![..40, ..]);
        check_distributions(&model, asked);
        check_prediction_is_pure(&model, asked);
        check_shapes(&model);
    }
}

#[test]
fn threads_change_nothing_and_easy_data_need_no_ivm() {
    let train = stripes(400, 1.6, 3);
    assert!(fit(&train, small(), 1) == fit(&train, small(), 3));
    let deep = ForestParams { n_trees: 50, ..ForestParams::default() };
    let easy = fit(&blobs(300, 8, 3, 1), ForestIvmParams { forest: deep, ..small() }, 1);
    assert_eq!(easy.n_ivms(), [0, 0]);
    check_distributions(&easy, blobs(30, 8, 3, 2).features.to_array(0..30).view());
    let wrong = |params: ForestIvmParams| params.check().unwrap_err().to_string();
    assert!(wrong(ForestIvmParams { margin: 2.0, ..small() }).contains("margin"));
    let all = ForestParams { bagging: hedgerow_forest::Bagging::All, ..ForestParams::default() };
    assert!(wrong(ForestIvmParams { forest: all, ..small() }).contains("bagging"));
}

fn new(data: &Dataset, params: ForestIvmParams) -> ForestIvm {
    ForestIvmParams::new_model(&data.schema, &params.check().unwrap()).unwrap()
}

#[test]
fn batches_and_threads_change_nothing_while_it_learns() {
    let data = stripes(500, 1.6, 4);
    for combine in [Combine::Pool, Combine::Route] {
        let params = ForestIvmParams { combine, ..small() };
        let mut models: Vec<ForestIvm> = (0..3).map(|_| new(&data, params.clone())).collect();
        let whole = learn_in_calls(&mut models[0], &data, 500, 1);
        assert_eq!(whole, learn_in_calls(&mut models[1], &data, 11, 1));
        assert_eq!(whole, learn_in_calls(&mut models[2], &data, 100, 3));
        assert!(models[0] == models[1] && models[0] == models[2]);
        let right = right(&whole.slice(s![300.., ..]).to_owned(), &data.labels()[300..]);
        assert!(right > 140, "{combine:?}: {right} of 200");
        assert_eq!(models[0].n_seen(), 500);
        assert!(models[0].blend_report().n_rows() == 500);
    }
}

#[test]
fn an_ivm_begins_when_the_forest_has_predicted_its_class_often_enough() {
    let data = stripes(500, 1.6, 4);
    let route = |min_rows| ForestIvmParams { min_rows, combine: Combine::Route, ..small() };
    let (min_rows, mut n_begun) = (80, 0);
    let mut model = new(&data, route(min_rows));
    for first in (0..500).step_by(20) {
        learn_in_calls(&mut model, &data.select(&(first..first + 20).collect::<Vec<_>>()), 20, 1);
        for assigned in &model.ivms[n_begun..] {
            let validation = model.online.as_ref().unwrap().prequential.newest(3, 0.0);
            let is_own = |row: &&Pair| largest(&row.forest) == assigned.class;
            let n = validation.iter().filter(is_own).count();
            assert!(n >= min_rows, "an IVM after {n} rows");
        }
        n_begun = model.ivms.len();
    }
    assert!(n_begun > 0);
    let mut never = new(&data, route(501));
    learn_in_calls(&mut never, &data, 500, 1);
    assert_eq!(never.n_ivms(), [0, 0]);
}

#[test]
fn a_fitted_model_goes_on_late_classes_come_and_frozen_ones_learn_no_more() {
    let all = stripes(700, 1.6, 5);
    let mut schema = all.schema.clone();
    schema.labels = LabelTable::from(vec!["0".to_string(), "1".to_string()]);
    let early: Vec<usize> = (0..400).filter(|row| all.labels()[*row].0 < 2).collect();
    let first = all.select(&early).under(&schema).unwrap();
    let mut model = fit(&first, small(), 1);
    let late = all.select(&(400..700).collect::<Vec<_>>());
    let predictions = learn_in_calls(&mut model, &late, 60, 1);
    let found = right(&predictions.slice(s![200.., ..]).to_owned(), &late.labels()[200..]);
    assert!(found > 65, "{found} of 100");
    let (par, x) = (Par::sequential(), late.features.to_array(0..50));
    check_distributions(&model, x.view());
    let before = model.predict_proba(x.view(), &par).unwrap();
    let mut frozen = model.clone().frozen();
    assert_eq!(frozen.predict_proba(x.view(), &par).unwrap(), before);
    assert!(!frozen.can_learn() && frozen.bytes() < model.bytes());
    let rows = Rows::new(x.view(), &late.labels()[..50], None);
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    assert!(matches!(frozen.learn(&late.schema, rows, &training), Err(hedgerow_core::Error::Frozen)));
    check_distributions(&new(&all, small()), x.view());
}
