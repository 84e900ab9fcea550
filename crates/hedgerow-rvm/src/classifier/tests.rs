use hedgerow_core::testing::{
    blobs, check_damaged_arrays, check_distributions, check_prediction_is_pure, check_shapes, saved_copy,
};
use hedgerow_core::{Budget, Dataset, LabelTable, OnlineModel as _, Params as _, Rows, Silent, StopReason};

use ndarray::{Array2, s};

use super::*;
use crate::params::{LengthCriterion, MultiClass};
use crate::rvm::FittedRvm;
use crate::{Solver, Trainer};

const WAYS: [MultiClass; 4] = [MultiClass::Shared, MultiClass::Rest, MultiClass::Pairs, MultiClass::Softmax];

fn fit(data: &Dataset, params: RvmParams, threads: usize) -> FittedRvm<ClassificationModel> {
    let par = Par::new(threads).unwrap();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    RvmClassifier::fit(data, &params.check().unwrap(), &training).unwrap()
}

fn n_right(model: &RvmClassifier, data: &Dataset) -> usize {
    let x = data.features.to_array(0..data.n_rows());
    let predicted = model.predict(x.view(), &Par::sequential()).unwrap();
    predicted.iter().zip(data.labels()).filter(|(a, b)| a == b).count()
}

#[test]
fn all_ways_with_several_classes_keep_the_contract() {
    let data = blobs(240, 3, 4, 1);
    for multi_class in WAYS {
        let params = RvmParams { multi_class, length_scale: 1.0, ..Default::default() };
        let model = fit(&data, params.clone(), 2).rvm;
        assert!(model == fit(&data, params, 1).rvm, "threads change nothing");
        let x = data.features.to_array(0..240);
        check_distributions(&model, x.view());
        check_prediction_is_pure(&model, x.view());
        check_shapes(&model);
        check_distributions(&model, Array2::from_elem((2, 3), 3e38_f32).view());
        check_distributions(&model, Array2::from_elem((2, 3), f32::NAN).view());
        assert!(n_right(&model, &data) > 220, "{multi_class:?}: {}", n_right(&model, &data));
        let n_binaries = match multi_class {
            MultiClass::Shared => 1,
            MultiClass::Pairs => 6,
            _ => 4,
        };
        assert_eq!(model.n_relevant_each().len(), n_binaries);
        assert!(model.n_relevant() < 60 && model.relevant_rows().ncols() == 3);
    }
}

/// What a regression shared by all classes is for.
#[test]
fn shared_scores_are_worth_more_than_those_of_binary_rvms() {
    let (data, fresh) = (blobs(400, 3, 5, 1), blobs(800, 3, 5, 1));
    let later: Vec<usize> = (400..800).collect();
    let fresh = fresh.select(&later);
    let log_loss = |multi_class: MultiClass| {
        let model = fit(&data, RvmParams { multi_class, ..Default::default() }, 2).rvm;
        assert_eq!(model.fit.as_ref().unwrap().model.shared.is_some(), multi_class == MultiClass::Shared);
        assert!(model == saved_copy(&model, &data.schema).unwrap(), "as it was saved");
        let proba = model.predict_proba(fresh.features.to_array(0..400).view(), &Par::sequential()).unwrap();
        let losses = fresh.labels().iter().zip(proba.rows()).map(|(label, p)| -libm::log(p[label.index()]));
        losses.sum::<f64>() / 400.0
    };
    let (shared, binaries) = (log_loss(MultiClass::Shared), log_loss(MultiClass::Rest));
    assert!(shared < binaries, "{shared} {binaries}");
    // Two classes have one binary RVM, and nothing to share; few rows leave none for validation.
    let two = fit(&blobs(200, 2, 2, 3), RvmParams::default(), 1).rvm;
    assert!(two.fit.unwrap().model.shared.is_none());
    let few = fit(&blobs(25, 2, 3, 3), RvmParams::default(), 1).rvm;
    assert_eq!(few.n_relevant_each().len(), 3);
}

#[test]
fn searches_and_solvers_agree_on_easy_data() {
    let data = blobs(200, 2, 2, 3);
    for params in [
        RvmParams::default(),
        RvmParams { search: LengthCriterion::Evidence, ..Default::default() },
        RvmParams { solver: Solver::Basic, length_scale: 1.0, ..Default::default() },
        RvmParams {
            trainer: Trainer::WorkingSet,
            partition_size: 20,
            length_scale: 1.0,
            reinsert: true,
            ..Default::default()
        },
    ] {
        let fitted = fit(&data, params.clone(), 2);
        let right = n_right(&fitted.rvm, &data);
        assert!(
            right > 175 && fitted.log_evidence.is_finite(),
            "{right} {params:?} {:?} {:?}",
            fitted.log.notes,
            fitted.log.trace
        );
        assert!(fitted.rvm.n_relevant() < 20, "{}", fitted.rvm.n_relevant());
    }
}

#[test]
fn learning_does_not_depend_on_batches_or_files_and_gets_better() {
    let data = blobs(360, 3, 3, 2);
    let x = data.features.to_array(0..360);
    let par = Par::new(2).unwrap();
    let budget = Budget::open();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    for multi_class in WAYS {
        let params = RvmParams { multi_class, max_rows: 100, length_scale: 1.0, ..Default::default() };
        let params = params.check().unwrap();
        let mut whole = RvmClassifier::new(&data.schema, &params).unwrap();
        check_distributions(&whole, x.view());
        let rows = Rows::new(x.view(), data.labels(), None);
        let update = whole.learn(&data.schema, rows, &training).unwrap();
        assert!(update.n_learnt == 360 && update.n_forgotten > 0 && update.n_replaced > 0);
        let mut parts = RvmClassifier::new(&data.schema, &params).unwrap();
        for start in (0..360).step_by(41) {
            let range = start..(start + 41).min(360);
            let rows = Rows::new(x.slice(s![range.clone(), ..]), &data.labels()[range.clone()], None);
            let predictions = parts.learn(&data.schema, rows, &training).unwrap().predictions;
            assert_eq!(predictions, update.predictions.slice(s![range, ..]));
            parts = saved_copy(&parts, &data.schema).unwrap();
        }
        assert!(parts == whole, "{multi_class:?}");
        assert!(n_right(&whole, &data) > 310, "{}", n_right(&whole, &data));
        let mut frozen = whole.frozen();
        assert!(saved_copy(&frozen, &data.schema).unwrap() == frozen);
        assert!(matches!(frozen.learn(&data.schema, rows, &training), Err(hedgerow_core::Error::Frozen)));
    }
}

#[test]
fn classes_may_come_late_and_one_alone_is_no_trouble() {
    let data = blobs(200, 2, 3, 5);
    let x = data.features.to_array(0..200);
    let par = Par::sequential();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let params = RvmParams { length_scale: 1.0, ..Default::default() }.check().unwrap();
    let mut schema = data.schema.clone();
    schema.labels = LabelTable::from(vec!["0".to_string()]);
    let mut model = RvmClassifier::new(&schema, &params).unwrap();
    let first: Vec<usize> = (0..200).filter(|r| data.labels()[*r].0 == 0).collect();
    let alone = data.select(&first);
    let only = alone.features.to_array(0..first.len());
    let rows = Rows::new(only.view(), alone.labels(), None);
    model.learn(&schema, rows, &training).unwrap();
    let rows = Rows::new(x.view(), data.labels(), None);
    model.learn(&data.schema, rows, &training).unwrap();
    assert!(n_right(&model, &data) > 170, "{}", n_right(&model, &data));
    // A class of the schema that has no rows.
    let mut wide = data.clone();
    wide.edit(|wide| wide.schema.labels = LabelTable::from(["0", "1", "2", "3"].map(String::from).to_vec()))
        .unwrap();
    for multi_class in WAYS {
        let model = fit(&wide, RvmParams { multi_class, length_scale: 1.0, ..Default::default() }, 1).rvm;
        let proba = model.predict_proba(x.view(), &par).unwrap();
        assert!(proba.column(3).iter().all(|p| *p > 0.0 && *p < 0.02));
        assert_eq!(saved_copy(&model, &wide.schema).unwrap(), model);
    }
}

/// Labels have no noise, so the evidence alone would keep whatever is offered.
#[test]
fn a_shared_regression_stays_as_small_as_it_must() {
    let data = blobs(900, 3, 3, 4);
    let x = data.features.to_array(0..900);
    let par = Par::new(2).unwrap();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let params = RvmParams { max_relevant: 12, max_rows: 300, length_scale: 1.0, ..Default::default() }
        .check()
        .unwrap();
    let mut model = RvmClassifier::new(&data.schema, &params).unwrap();
    for start in (0..900).step_by(100) {
        let rows = start..start + 100;
        let x = x.slice(s![rows.clone(), ..]);
        model.learn(&data.schema, Rows::new(x, &data.labels()[rows], None), &training).unwrap();
        let is_shared = model.fit.as_ref().is_some_and(|fit| fit.model.shared.is_some());
        assert!(is_shared && model.n_relevant() <= 12, "{}", model.n_relevant());
    }
    assert!(n_right(&model, &data) > 780, "{}", n_right(&model, &data));
}

#[test]
fn what_does_not_fit_together_is_an_error() {
    let of = |multi_class| RvmParams { multi_class, length_scale: 1.0, ..Default::default() };
    for multi_class in WAYS {
        let data = blobs(90, 2, 3, 1);
        let model = fit(&data, of(multi_class), 1).rvm;
        // Any evidence may be that of a fit: it is only shown. Classes may not have been counted.
        check_damaged_arrays(&model, &data.schema, |_, damage, model| {
            let has_evidence = model.fit.as_ref().is_some_and(|fit| fit.log_evidence.is_finite());
            let has_counts = model.online.as_ref().is_some_and(|rows| !rows.counts.is_empty());
            (damage == "largest" && !has_evidence) || (damage == "empty" && !has_counts)
        });
    }
}

#[test]
fn a_spent_budget_gives_a_classifier_all_the_same() {
    let data = blobs(1500, 3, 3, 8);
    let par = Par::sequential();
    let budget = Budget::open();
    budget.stop.stop();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let fitted = RvmClassifier::fit(&data, &RvmParams::default().check().unwrap(), &training).unwrap();
    assert_eq!(fitted.stop, StopReason::Interrupted);
    assert!(n_right(&fitted.rvm, &data) > 1200, "{}", n_right(&fitted.rvm, &data));
}

#[test]
fn held_out_rows_tell_how_fresh_rows_are_predicted() {
    let rows = blobs(2_400, 3, 5, 1);
    let (first, later): (Vec<usize>, Vec<usize>) = (0..2_400).partition(|row| *row < 800);
    let (data, fresh) = (rows.select(&first), rows.select(&later));
    let FittedRvm { rvm, validation, .. } =
        fit(&data, RvmParams { multi_class: MultiClass::Shared, ..Default::default() }, 2);
    let validation = validation.unwrap();
    assert!(
        validation.rows.iter().zip(validation.labels()).all(|(&row, class)| data.labels()[row] == *class)
    );
    let x = fresh.features.to_array(0..1_600);
    let proba = rvm.predict_proba(x.view(), &Par::sequential()).unwrap();
    let own = validation.quality().log_loss();
    let of_fresh = hedgerow_core::ClassQuality::new(&proba, fresh.labels()).log_loss;
    assert!((own - of_fresh).abs() < 0.1, "{own:.3} held out, {of_fresh:.3} on fresh rows");
}
