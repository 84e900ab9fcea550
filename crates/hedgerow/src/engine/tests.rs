//! Engines with all kinds of model: same rounds, same model; rows at any time; predictions all the time.

use std::time::{Duration, Instant};

use hedgerow_core::testing::{blobs, check_distributions};
use hedgerow_core::{Budget, JobState, LabelTable, ModelKind as _, Silent, Training};

use hedgerow_forest::ForestParams;
use hedgerow_gp::IvmParams;
use hedgerow_hybrid::{Combine, ForestIvmParams, ForestKernelParams, LeafGpParams};
use hedgerow_neighbors::{KdeParams, KnnParams};
use hedgerow_rvm::RvmParams;
use hedgerow_trainer::Policy;

use super::*;
use hedgerow_hybrid::ForestIvm;

use crate::kinds::{Kind, Learner};

fn params() -> Vec<ModelParams> {
    let forest = ForestParams { n_trees: 10, ..Default::default() };
    let ivm = IvmParams { n_active: 30, signal_variance: 8.0, ..Default::default() };
    let posterior = IvmParams { refit: false, length_scale: 1.0, ..ivm.clone() };
    let both = ForestIvmParams { forest: forest.clone(), ivm: ivm.clone(), ..Default::default() };
    let leaves = LeafGpParams { n_trees: 5, leaf_rows: 40, ..Default::default() };
    let kernel = ForestKernelParams { forest: forest.clone(), ..Default::default() };
    let rvm = RvmParams { length_scale: 1.0, partition_size: 20, ..Default::default() };
    vec![
        forest.into(),
        ivm.into(),
        posterior.into(),
        both.into(),
        leaves.into(),
        kernel.into(),
        rvm.into(),
        confused().1.into(),
        KdeParams { max_rows: 400, ..Default::default() }.into(),
        KnnParams { max_rows: 400, ..Default::default() }.into(),
    ]
}

/// Rows of three classes of which the forest gets a good part wrong, so that each of its predictions needs an IVM.
fn confused() -> (Dataset, ForestIvmParams) {
    let mut data = blobs(1200, 3, 3, 5);
    data.edit(|data| data.labels_mut().iter_mut().step_by(7).for_each(|class| class.0 = (class.0 + 1) % 3))
        .unwrap();
    let ivm = IvmParams { n_active: 20, signal_variance: 8.0, length_scale: 1.0, ..Default::default() };
    let forest = ForestParams { n_trees: 12, ..Default::default() };
    (data, ForestIvmParams { combine: Combine::Route, min_rows: 50, forest, ivm, ..Default::default() })
}

fn accuracy(model: &Model, data: &Dataset) -> f64 {
    let x = data.features.to_array(0..data.n_rows());
    let predicted = model.predict_classes(x.view(), &Par::sequential()).unwrap();
    predicted.iter().zip(data.labels()).filter(|(a, b)| a == b).count() as f64 / data.n_rows() as f64
}

fn part(data: &Dataset, rows: std::ops::Range<usize>) -> Dataset {
    data.select(&rows.collect::<Vec<_>>())
}

fn fitted(data: &Dataset, params: &ModelParams) -> Model {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    Model::fit(data, params, &training).unwrap().model
}

fn in_rounds(rounds: usize, threads: usize, policy: Policy) -> EngineOptions {
    let budget = Budget { rounds: Some(rounds), ..Budget::open() };
    EngineOptions { threads, policy, budget, lanes: 3, ..EngineOptions::default() }
}

fn two_threads() -> EngineOptions {
    EngineOptions { threads: 2, ..EngineOptions::default() }
}

/// The first rows under a schema that does not know the third class yet.
fn early(data: &Dataset, n: usize) -> Dataset {
    let rows: Vec<usize> = (0..n).filter(|row| data.labels()[*row].0 < 2).collect();
    let mut schema = data.schema.clone();
    schema.labels = LabelTable::from(data.schema.labels.names()[..2].to_vec());
    data.select(&rows).under(&schema).unwrap()
}

fn until(engine: &Engine, wanted: impl Fn(&Engine) -> bool) {
    let start = Instant::now();
    while !wanted(engine) {
        assert!(start.elapsed() < Duration::from_secs(60), "{:#?}", engine.jobs());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn run_to_the_end_it_is_the_model_of_a_fit() {
    let (data, _) = confused();
    let test = blobs(600, 3, 3, 5);
    let x = test.features.to_array(0..600);
    for params in params() {
        let engine = Engine::start(data.schema.clone(), &params, &two_threads()).unwrap();
        engine.append_data(data.clone()).unwrap();
        assert_eq!(engine.wait(), StopReason::Done);
        let trained = engine.finish().unwrap().model;
        let fitted = fitted(&data, &params);
        let [a, b] =
            [&trained, &fitted].map(|model| model.predict_proba_par(x.view(), &Par::sequential()).unwrap());
        let worst = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-6, "{}: {worst}", params.kind());
        if params.kind() == Kind::Forest {
            assert!(trained.to_bytes().unwrap() == fitted.to_bytes().unwrap(), "to the last bit");
        }
    }
}

#[test]
fn rounds_give_the_same_model_for_any_number_of_threads() {
    let data = blobs(500, 3, 3, 1);
    for params in params() {
        for (rounds, policy) in [(9, Policy::Weakest), (17, Policy::RoundRobin), (500, Policy::Gain)] {
            let run = |threads| {
                let options = in_rounds(rounds, threads, policy);
                let engine = Engine::start(data.schema.clone(), &params, &options).unwrap();
                engine.append_data(data.clone()).unwrap();
                assert_eq!(engine.wait(), StopReason::Done);
                engine.finish().unwrap().model.to_bytes().unwrap()
            };
            let alone = run(1);
            assert!(alone == run(2) && alone == run(3), "{} after {rounds} rounds", params.kind());
        }
    }
}

#[test]
fn an_engine_predicts_before_during_and_after() {
    let all = blobs(900, 3, 3, 1);
    let (data, test) = (part(&all, 0..600), part(&all, 600..900));
    for params in params() {
        let engine = Engine::start(data.schema.clone(), &params, &two_threads()).unwrap();
        let x = test.features.to_array(0..5);
        let before = engine.predict_proba(x.view()).unwrap();
        assert!(before.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-9), "nothing is known yet");
        engine.append_data(data.clone()).unwrap();
        let mut losses: Vec<f64> = Vec::new();
        while engine.rest().is_none() {
            let snapshot = engine.snapshot();
            losses
                .extend(snapshot.validation.iter().filter(|_| !snapshot.is_complete).map(Quality::log_loss));
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(losses.windows(2).all(|pair| pair[1] <= pair[0]), "no snapshot on the way is worse");
        let jobs = engine.jobs();
        assert!(jobs.iter().all(|job| job.status.problem.is_none()), "{jobs:?}");
        assert!(jobs.iter().all(|job| job.status.state == JobState::Done), "{jobs:?}");
        let snapshot = engine.snapshot();
        check_distributions(snapshot.model.classifier().unwrap(), x.view());
        assert!(snapshot.is_complete && snapshot.n_rows == 600);
        let quality = snapshot.validation.clone();
        let is_good =
            |q: Quality| matches!(q, Quality::Classes(q) if q.balanced_accuracy > 0.95 && q.rows > 100);
        assert!(quality.is_none_or(is_good), "{}", params.kind());
        let finished = engine.finish().unwrap();
        let share = accuracy(&finished.model, &test);
        assert!(share > 0.95, "{}: {share}", params.kind());
        // A model like any other: saved, loaded, trained further.
        let mut copy = Model::from_bytes(&finished.model.to_bytes().unwrap()).unwrap();
        assert!(copy == finished.model && copy.n_seen() == Some(600));
        let x = test.features.to_array(0..300);
        let rows = Rows::new(x.view(), test.labels(), None);
        let (par, budget) = (Par::sequential(), Budget::open());
        copy.learn_rows(&test.schema, rows, &Training { par: &par, budget: &budget, observer: &Silent })
            .unwrap();
        assert_eq!(copy.n_seen(), Some(900));
    }
}

#[test]
fn rows_that_come_during_training_are_taken_up() {
    let data = blobs(900, 3, 3, 4);
    for params in params() {
        // The third class comes late.
        let first = early(&data, 400);
        let n_first = first.n_rows();
        let engine = Engine::start(first.schema.clone(), &params, &two_threads()).unwrap();
        engine.append_data(first).unwrap();
        until(&engine, |engine| engine.snapshot().is_trained());
        for begin in (400..900).step_by(50) {
            engine.append_data(part(&data, begin..begin + 50)).unwrap();
        }
        assert_eq!(engine.wait(), StopReason::Done);
        assert_eq!(engine.jobs()[0].status.points, n_first + 500, "all rows were taken up");
        let finished = engine.finish().unwrap();
        assert_eq!(finished.model.schema.n_classes(), 3);
        let share = accuracy(&finished.model, &part(&data, 500..900));
        assert!(share > 0.95, "{}: {share} {:#?}", params.kind(), finished.jobs);
    }
}

#[test]
fn what_was_predicted_on_the_way_leaves_no_trace_in_the_model() {
    // Calibration is out of sample on all rows, whenever they came; see `docs/math/trainer.md`.
    let (data, _) = confused();
    for params in params().into_iter().take(2) {
        let engine = Engine::start(data.schema.clone(), &params, &two_threads()).unwrap();
        for begin in (0..1_200).step_by(300) {
            engine.append_data(part(&data, begin..begin + 300)).unwrap();
            engine.wait();
        }
        let model = engine.finish().unwrap().model;
        if params.kind() == Kind::Forest {
            assert!(model.to_bytes().unwrap() == fitted(&data, &params).to_bytes().unwrap());
        }
        assert!(model.prequential.is_none() && model.stream_summary().is_none(), "{}", params.kind());
    }
}

#[test]
fn a_model_that_goes_on_learning_goes_on_from_its_calibration() {
    let (data, _) = confused();
    // More rows of the same blobs.
    let more = part(&blobs(1_240, 3, 3, 5), 1_200..1_240);
    let x = more.features.to_array(0..40);
    for params in params() {
        let engine = Engine::start(data.schema.clone(), &params, &two_threads()).unwrap();
        engine.append_data(data.clone()).unwrap();
        engine.wait();
        let mut model = engine.finish().unwrap().model;
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let before = model.predict_proba_par(x.view(), &par).unwrap();
        let first = Rows::new(x.view(), more.labels(), None).slice(0..1);
        let update = model.learn_rows(&data.schema, first, &training).unwrap();
        let after = model.predict_proba_par(x.view(), &par).unwrap();
        let largest = |a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>| {
            a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        // No class has less than 1e-4 in what is calibrated.
        let jump = largest(update.predictions.view(), before.slice(ndarray::s![..1, ..]));
        assert!(jump < 1e-3, "{}: {jump}", params.kind());
        let by_one_row = largest(after.view(), before.view());
        assert!(by_one_row < 0.15, "{}: {by_one_row}", params.kind());
    }
}

#[test]
fn labels_that_are_corrected_are_learnt() {
    let data = blobs(600, 3, 3, 4);
    let mut wrong = data.clone();
    wrong.edit(|wrong| wrong.labels_mut().iter_mut().for_each(|label| label.0 = (label.0 + 1) % 3)).unwrap();
    let params = params().swap_remove(0);
    let engine = Engine::start(data.schema.clone(), &params, &two_threads()).unwrap();
    engine.append_data(wrong).unwrap();
    engine.wait();
    assert!(accuracy(&engine.snapshot().model, &data) < 0.1);
    let labels: Vec<(u64, ClassId)> = (0..).zip(data.labels().iter().copied()).collect();
    engine.relabel(&data.schema, &labels).unwrap();
    assert!(engine.relabel(&data.schema, &[(600, ClassId(0))]).is_err(), "there is no such row");
    assert!(engine.relabel(&data.schema, &[(0, ClassId(3))]).is_err(), "there is no such class");
    engine.wait();
    assert!(engine.finish().unwrap().model == fitted(&data, &params));
}

#[test]
fn jobs_can_be_paused_and_cancelled_and_bad_requests_are_errors() {
    let data = blobs(400, 3, 3, 1);
    let engine = Engine::start(data.schema.clone(), &params()[0], &two_threads()).unwrap();
    engine.pause();
    engine.append_data(data.clone()).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!engine.snapshot().is_trained() && engine.rest().is_none(), "paused");
    // The last of four lanes of trees, once there is a run.
    engine.set_job_paused(0, false);
    engine.resume();
    assert_eq!(engine.wait(), StopReason::Done);
    let last = engine.jobs().len() - 1;
    assert!(engine.cancel_job(last) && !engine.cancel_job(99) && engine.set_job_paused(last, true));
    engine.append_data(data.clone()).unwrap();
    assert_eq!(engine.wait(), StopReason::Done);
    let jobs = engine.jobs();
    assert!(jobs[last].is_cancelled && jobs[last - 1].status.points == 10, "{jobs:#?}");
    engine.stop();
    assert_eq!(engine.wait(), StopReason::Interrupted);
    assert!(engine.append_data(blobs(10, 5, 3, 1)).is_err(), "other columns");
    let gp = Engine::start(data.schema.clone(), &ModelParams::new(Kind::Gp), &two_threads()).err().unwrap();
    assert!(gp.to_string().contains("forest, ivm, leaf-gp, forest-ivm"), "{gp}");
}

#[test]
fn nothing_and_hardly_anything_to_learn_from() {
    let data = blobs(60, 3, 3, 1);
    for params in params() {
        let options = EngineOptions { threads: 1, ..Default::default() };
        let engine = Engine::start(data.schema.clone(), &params, &options).unwrap();
        assert_eq!(engine.wait(), StopReason::Done);
        engine.append_data(part(&data, 0..1)).unwrap();
        assert_eq!(engine.wait(), StopReason::Done);
        assert!(engine.jobs()[0].status.problem.is_some(), "one class only: {:?}", engine.jobs()[0]);
        engine.append_data(part(&data, 1..60)).unwrap();
        engine.wait();
        assert!(engine.jobs()[0].status.problem.is_none() && engine.snapshot().is_trained());
        let empty = Engine::start(data.schema.clone(), &params, &options).unwrap();
        assert!(empty.finish().unwrap().validation.is_none());
    }
}

#[test]
fn budgets_end_an_engine_with_the_best_model_so_far() {
    let data = blobs(3000, 3, 3, 1);
    for params in params() {
        let params = match params {
            ModelParams::Forest(params) => ForestParams { n_trees: 0, ..*params }.into(),
            params => params,
        };
        let budget = Budget::open().with_time(Duration::from_millis(300));
        let options = EngineOptions { threads: 2, budget, ..Default::default() };
        let engine = Engine::start(data.schema.clone(), &params, &options).unwrap();
        engine.append_data(data.clone()).unwrap();
        engine.wait();
        let finished = engine.finish().unwrap();
        assert_eq!(finished.model.kind(), params.kind());
        if let Some(quality) = finished.validation {
            let share = accuracy(&finished.model, &data);
            // The rows are those it was trained on.
            assert!(
                Some(share + 0.02) > quality.accuracy() && share > 0.9,
                "{}: {share} {quality:?}",
                params.kind()
            );
        }
    }
    let budget = Budget::open().with_bytes(6_000_000);
    let forest: ModelParams = ForestParams { n_trees: 0, ..Default::default() }.into();
    let options = EngineOptions { threads: 2, budget, ..Default::default() };
    let engine = Engine::start(data.schema.clone(), &forest, &options).unwrap();
    engine.append_data(early(&data, 1500)).unwrap_err();
    engine.append_data(part(&data, 0..1500)).unwrap();
    assert_eq!(engine.wait(), StopReason::Memory);
    let held = |engine: &Engine| engine.jobs().iter().map(|job| job.status.bytes).sum::<u64>();
    assert!(held(&engine) < 6_000_000 && held(&engine) > 100_000, "{}", held(&engine));
    // Trees that have filled the memory do not keep rows out.
    engine.append_data(part(&data, 1500..3000)).unwrap();
    assert_eq!(engine.wait(), StopReason::Memory);
    assert_eq!(engine.jobs()[0].status.points, 3000);
    assert!(accuracy(&engine.finish().unwrap().model, &data) > 0.95);
}

#[test]
fn a_gate_is_kept_or_searched_for() {
    let (data, route) = confused();
    for margin in [0.3, 0.0] {
        let params = ForestIvmParams { combine: Combine::Gate, margin, ..route.clone() };
        let options = in_rounds(500, 2, Policy::Weakest);
        let engine = Engine::start(data.schema.clone(), &params.clone().into(), &options).unwrap();
        engine.append_data(data.clone()).unwrap();
        engine.wait();
        let model = engine.finish().unwrap().model;
        let Learner::ForestIvm(both) = &model.learner else { panic!("{}", model.kind()) };
        assert_eq!(ForestIvmParams::of_model(both).combine, Combine::Gate);
        assert!(margin == 0.0 || both.margin() == margin, "{}", both.margin());
        assert!((0.0..=1.0).contains(&both.margin()) && both.n_ivms()[0] == 1);
    }
}

#[test]
fn ivms_are_assigned_to_predictions_of_the_forest() {
    let (data, mut params) = confused();
    let engine = Engine::start(data.schema.clone(), &params.clone().into(), &two_threads()).unwrap();
    engine.append_data(data.clone()).unwrap();
    engine.wait();
    let jobs = engine.jobs();
    let sets = jobs.iter().filter(|job| job.status.kind == "active set" && job.status.points > 0);
    assert_eq!(sets.count(), 9, "three classes for each of three predictions: {jobs:#?}");
    let finished = engine.finish().unwrap();
    assert_eq!(finished.model.downcast::<ForestIvm>().map(|both| both.n_ivms()[0]), Some(3));
    // A forest without end must not keep IVMs waiting.
    params.forest.n_trees = 0;
    let budget = Budget::open().with_time(Duration::from_secs(50));
    let options = EngineOptions { threads: 2, budget, ..Default::default() };
    let engine = Engine::start(data.schema.clone(), &params.into(), &options).unwrap();
    engine.append_data(data).unwrap();
    until(&engine, |engine| {
        engine.snapshot().model.downcast::<ForestIvm>().is_some_and(|both| both.n_ivms()[0] > 0)
    });
}

/// What a run leaves that was killed: any of the snapshots that it has published.
#[test]
fn rounds_done_again_end_with_the_same_model_whatever_was_kept() {
    let data = part(&confused().0, 0..400);
    for params in params() {
        let options = in_rounds(40, 2, Policy::Weakest);
        let first = Engine::start(data.schema.clone(), &params, &options).unwrap();
        first.append_data(data.clone()).unwrap();
        let (mut kept, mut newest) = (Vec::new(), first.snapshot());
        while first.rest().is_none() {
            let snapshot = first.snapshot();
            if !Arc::ptr_eq(&snapshot, &newest) {
                kept.push(Arc::clone(&snapshot));
                newest = snapshot;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        kept.push(first.snapshot());
        let last = first.finish().unwrap().model.to_bytes().unwrap();
        kept.retain(|snapshot| snapshot.is_trained());
        kept.drain(..kept.len().saturating_sub(3));
        for snapshot in kept {
            // It has been in a file meanwhile.
            let model = Model::from_bytes(&snapshot.model.clone().to_bytes().unwrap()).unwrap();
            let quality: String = serde_json::to_string(&snapshot.validation).unwrap();
            let earlier = Earlier { model, validation: serde_json::from_str(&quality).unwrap() };
            let again = Engine::start_from(data.schema.clone(), &params, &options, earlier).unwrap();
            again.append_data(data.clone()).unwrap();
            again.wait();
            assert!(again.finish().unwrap().model.to_bytes().unwrap() == last, "{}", params.kind());
        }
    }
}
