//! Engines with all kinds of model: same rounds, same model; rows at any time; answers all the time.

use std::time::{Duration, Instant};

use hedgerow_core::testing::{blobs, check_distributions};
use hedgerow_core::{Budget, LabelTable, Silent, Training};

use hedgerow_forest::ForestParams;
use hedgerow_gp::IvmParams;
use hedgerow_hybrid::{Combine, ForestIvmParams, ForestKernelParams, LeafGpParams};
use hedgerow_trainer::{Policy, State};

use super::*;
use crate::model::Learner;

fn params() -> Vec<ModelParams> {
    let forest = ForestParams { n_trees: 10, ..Default::default() };
    let ivm = IvmParams { n_active: 30, signal_variance: 8.0, ..Default::default() };
    let plain = IvmParams { refit: false, length_scale: 1.0, ..ivm.clone() };
    let both = ForestIvmParams { forest: forest.clone(), ivm: ivm.clone(), ..Default::default() };
    let leaves = LeafGpParams { n_trees: 5, leaf_rows: 40, ..Default::default() };
    let kernel = ForestKernelParams { forest: forest.clone(), ..Default::default() };
    vec![forest.into(), ivm.into(), plain.into(), both.into(), leaves.into(), kernel.into()]
}

fn share_right(model: &Model, data: &Dataset) -> f64 {
    let x = data.features.to_array(0..data.n_rows());
    let answers = model.predict(x.view(), &Par::sequential()).unwrap();
    answers.iter().zip(&data.labels).filter(|(a, b)| a == b).count() as f64 / data.n_rows() as f64
}

fn part(data: &Dataset, rows: std::ops::Range<usize>) -> Dataset {
    data.select(&rows.collect::<Vec<_>>())
}

fn in_rounds(rounds: usize, threads: usize, policy: Policy) -> EngineOptions {
    let budget = Budget { rounds: Some(rounds), ..Budget::open() };
    EngineOptions { threads, policy, budget, lanes: 3, ..EngineOptions::default() }
}

#[test]
fn rounds_give_the_same_model_for_any_number_of_threads() {
    let data = blobs(500, 3, 3, 1);
    for params in params() {
        for (rounds, policy) in [(9, Policy::Weakest), (17, Policy::RoundRobin), (500, Policy::Weakest)] {
            let run = |threads| {
                let engine =
                    Engine::start(data.schema.clone(), &params, &in_rounds(rounds, threads, policy)).unwrap();
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
fn an_engine_answers_before_during_and_after() {
    let all = blobs(900, 3, 3, 1);
    let (data, test) = (part(&all, 0..600), part(&all, 600..900));
    for params in params() {
        let engine =
            Engine::start(data.schema.clone(), &params, &EngineOptions { threads: 2, ..Default::default() })
                .unwrap();
        let x = test.features.to_array(0..5);
        let before = engine.predict_proba(x.view()).unwrap();
        assert!(before.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-9), "nothing is known yet");
        engine.append_data(data.clone()).unwrap();
        let mut losses: Vec<f64> = Vec::new();
        while engine.rest().is_none() {
            let snapshot = engine.snapshot();
            losses.extend(snapshot.evidence.as_ref().map(|evidence| evidence.loss));
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(losses.windows(2).all(|pair| pair[1] <= pair[0]), "no snapshot is worse than the one before");
        assert_eq!(engine.wait(), StopReason::Done);
        let jobs = engine.jobs();
        assert!(jobs.iter().all(|job| job.look.problem.is_none()), "{jobs:?}");
        assert!(jobs.iter().all(|job| job.look.state == State::Done));
        let snapshot = engine.snapshot();
        check_distributions(&snapshot.model, x.view());
        let evidence = snapshot.evidence.clone().unwrap();
        assert!(evidence.macro_accuracy > 0.9 && evidence.rows > 100, "{evidence:?}");
        let finished = engine.finish().unwrap();
        assert!(share_right(&finished.model, &test) > 0.93, "{}", params.kind());
        // A model like any other: saved, loaded, taught.
        let mut copy = Model::from_bytes(&finished.model.to_bytes().unwrap()).unwrap();
        assert!(copy == finished.model && copy.n_seen() == Some(600));
        let x = test.features.to_array(0..300);
        let rows = Rows { x: x.view(), labels: &test.labels, weights: None };
        let (par, budget) = (Par::sequential(), Budget::open());
        copy.learn(&test.schema, rows, &Training { par: &par, budget: &budget, observer: &Silent }).unwrap();
        assert_eq!(copy.n_seen(), Some(900));
    }
}

#[test]
fn rows_that_come_during_training_are_taken_up() {
    let data = blobs(900, 3, 3, 4);
    for params in params() {
        // The third class comes late.
        let early: Vec<usize> = (0..400).filter(|row| data.labels[*row].0 < 2).collect();
        let mut schema = data.schema.clone();
        schema.labels = LabelTable::from(data.schema.labels.names()[..2].to_vec());
        let first = Dataset { schema: schema.clone(), ..data.select(&early) };
        let engine =
            Engine::start(schema, &params, &EngineOptions { threads: 2, ..Default::default() }).unwrap();
        engine.append_data(first).unwrap();
        let start = Instant::now();
        while engine.snapshot().evidence.is_none() {
            assert!(start.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(1));
        }
        for begin in (400..900).step_by(50) {
            engine.append_data(part(&data, begin..begin + 50)).unwrap();
        }
        assert_eq!(engine.wait(), StopReason::Done);
        let jobs = engine.jobs();
        assert_eq!(jobs[0].look.points, early.len() + 500, "all rows were taken up");
        assert_eq!(
            jobs.iter().filter(|job| job.look.kind == "machine").count() % 3,
            0,
            "a machine for the late class"
        );
        let finished = engine.finish().unwrap();
        assert_eq!(finished.model.schema.n_classes(), 3);
        let share = share_right(&finished.model, &part(&data, 500..900));
        assert!(share > 0.93, "{}: {share}, {:?} {:#?}", params.kind(), finished.evidence, finished.jobs);
    }
}

#[test]
fn jobs_can_be_paused_and_cancelled_and_bad_requests_are_errors() {
    let data = blobs(400, 3, 3, 1);
    let options = EngineOptions { threads: 2, ..Default::default() };
    let engine = Engine::start(data.schema.clone(), &params()[1], &options).unwrap();
    engine.pause();
    engine.append_data(data.clone()).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(engine.snapshot().evidence.is_none() && engine.rest().is_none(), "paused");
    let last = engine.jobs().len() - 1;
    assert!(engine.cancel_job(last) && !engine.cancel_job(99) && engine.set_job_paused(last, true));
    engine.resume();
    assert_eq!(engine.wait(), StopReason::Done);
    let jobs = engine.jobs();
    assert!(jobs[last].is_cancelled && jobs[last].slices == 0 && jobs[last - 1].look.points == 30);
    engine.stop();
    assert_eq!(engine.wait(), StopReason::Interrupted);
    let other = blobs(10, 5, 3, 1);
    assert!(engine.append_data(other).is_err(), "other columns");
    let gp = Engine::start(data.schema.clone(), &ModelParams::new(Kind::Gp), &options).err().unwrap();
    assert!(gp.to_string().contains("forest, ivm, leaf-gp, forest-ivm"), "{gp}");
}

#[test]
fn nothing_and_hardly_anything_to_learn_from() {
    let data = blobs(60, 3, 3, 1);
    for params in params() {
        let options = EngineOptions { threads: 1, ..Default::default() };
        let engine = Engine::start(data.schema.clone(), &params, &options).unwrap();
        assert_eq!(engine.wait(), StopReason::Done);
        let one = part(&data, 0..1);
        engine.append_data(one.clone()).unwrap();
        assert_eq!(engine.wait(), StopReason::Done);
        assert!(engine.jobs()[0].look.problem.is_some(), "one class only: {:?}", engine.jobs()[0]);
        engine.append_data(part(&data, 1..60)).unwrap();
        engine.wait();
        assert!(engine.jobs()[0].look.problem.is_none() && engine.snapshot().evidence.is_some());
        let empty = Engine::start(data.schema.clone(), &params, &options).unwrap();
        assert!(empty.finish().unwrap().evidence.is_none());
    }
}

#[test]
fn budgets_end_an_engine_with_the_best_model_so_far() {
    let data = blobs(3000, 3, 3, 1);
    for params in params() {
        let params = match params {
            ModelParams::Forest(params) => ForestParams { n_trees: 0, ..params }.into(),
            params => params,
        };
        let budget = Budget::open().with_time(Duration::from_millis(300));
        let options = EngineOptions { threads: 2, budget, ..Default::default() };
        let engine = Engine::start(data.schema.clone(), &params, &options).unwrap();
        engine.append_data(data.clone()).unwrap();
        engine.wait();
        let finished = engine.finish().unwrap();
        assert_eq!(finished.model.kind(), params.kind());
        if finished.evidence.is_some() {
            assert!(share_right(&finished.model, &data) > 0.5);
        }
    }
    let budget = Budget::open().with_bytes(2_000_000);
    let forest: ModelParams = ForestParams { n_trees: 0, ..Default::default() }.into();
    let options = EngineOptions { threads: 2, budget, ..Default::default() };
    let engine = Engine::start(data.schema.clone(), &forest, &options).unwrap();
    engine.append_data(data).unwrap();
    assert_eq!(engine.wait(), StopReason::Memory);
    let held: u64 =
        engine.jobs().iter().filter(|job| job.look.kind == "trees").map(|job| job.look.bytes).sum();
    assert!(held < 2_000_000 && held > 100_000, "{held}");
}

/// Trees that have filled the memory must not keep rows out: with them they begin anew.
#[test]
fn rows_are_taken_up_although_memory_is_full() {
    let data = blobs(3000, 3, 3, 1);
    let early: Vec<usize> = (0..1500).filter(|row| data.labels[*row].0 < 2).collect();
    let mut schema = data.schema.clone();
    schema.labels = LabelTable::from(data.schema.labels.names()[..2].to_vec());
    let first = Dataset { schema: schema.clone(), ..data.select(&early) };
    let forest: ModelParams = ForestParams { n_trees: 0, ..Default::default() }.into();
    let budget = Budget::open().with_bytes(1_000_000);
    let options = EngineOptions { threads: 2, budget, ..Default::default() };
    let engine = Engine::start(schema, &forest, &options).unwrap();
    engine.append_data(first).unwrap();
    assert_eq!(engine.wait(), StopReason::Memory);
    engine.append_data(part(&data, 1500..3000)).unwrap();
    assert_eq!(engine.wait(), StopReason::Memory);
    assert_eq!(engine.jobs()[0].look.points, early.len() + 1500);
    assert_eq!(engine.snapshot().model.schema.n_classes(), 3, "answers know the new class");
    assert!(share_right(&engine.finish().unwrap().model, &data) > 0.9);
}

#[test]
fn leaves_are_jobs_and_forget_the_oldest_rows() {
    let data = blobs(700, 3, 3, 6);
    let params = LeafGpParams { n_trees: 4, leaf_rows: 30, max_rows: 400, ..Default::default() };
    let engine =
        Engine::start(data.schema.clone(), &params.clone().into(), &in_rounds(10_000, 2, Policy::Weakest))
            .unwrap();
    engine.append_data(part(&data, 0..300)).unwrap();
    engine.wait();
    let leaves = |engine: &Engine| {
        let jobs = engine.jobs().into_iter().filter(|job| job.look.kind == "leaves");
        jobs.collect::<Vec<_>>()
    };
    let jobs = leaves(&engine);
    assert_eq!(jobs.len(), 4, "one for each tree");
    assert!(
        jobs.iter().all(|job| job.look.points == job.look.goal && job.look.accuracy > Some(0.8)),
        "{jobs:?}"
    );
    assert!(jobs.iter().any(|job| job.slices > 0 && job.look.bytes > 0));
    // A few more rows: the same trees, of which some leaves learn anew.
    let before: u64 = engine.jobs().iter().filter(|job| job.look.kind == "trees").map(|job| job.slices).sum();
    engine.append_data(part(&data, 300..310)).unwrap();
    engine.wait();
    let after: u64 = engine.jobs().iter().filter(|job| job.look.kind == "trees").map(|job| job.slices).sum();
    assert_eq!((before, after), (4, 4));
    assert_eq!(engine.jobs()[0].look.points, 310);
    engine.append_data(part(&data, 310..700)).unwrap();
    engine.wait();
    assert_eq!(engine.jobs()[0].look.points, 400, "the oldest are forgotten");
    let finished = engine.finish().unwrap();
    let judges = &finished.judges;
    assert!(judges.n_rows == 700 && judges.places.len() > 80 && judges.places[0] >= 300, "{judges:?}");
    let model = finished.model;
    assert_eq!((model.n_seen(), model.n_remembered()), (Some(700), Some(400)));
    assert!(share_right(&model, &data) > 0.9);
    assert!(Model::from_bytes(&model.to_bytes().unwrap()).unwrap() == model);
}

#[test]
fn a_population_of_kernels_evolves_in_slices() {
    let data = blobs(500, 3, 3, 1);
    let ivm = IvmParams {
        n_active: 10,
        search: hedgerow_gp::ivm::SearchKind::Cma,
        n_trials: 9,
        ..Default::default()
    };
    let run = |threads| {
        let options = in_rounds(200, threads, Policy::Weakest);
        let engine = Engine::start(data.schema.clone(), &ivm.clone().into(), &options).unwrap();
        engine.append_data(data.clone()).unwrap();
        engine.wait();
        let tried: usize =
            engine.jobs().iter().filter(|job| job.look.kind == "search").map(|job| job.look.points).sum();
        assert_eq!(tried, 9, "as many as were asked for");
        engine.finish().unwrap().model.to_bytes().unwrap()
    };
    assert!(run(1) == run(3));
}

#[test]
fn a_gate_is_kept_or_searched_for() {
    let mut data = blobs(700, 3, 3, 5);
    // Some labels are wrong, so that the forest is unsure of something.
    (0..700).step_by(9).for_each(|row| data.labels[row] = ClassId((data.labels[row].0 + 1) % 3));
    for margin in [0.3, 0.0] {
        let ivm = IvmParams { n_active: 20, signal_variance: 8.0, ..Default::default() };
        let forest = ForestParams { n_trees: 10, ..Default::default() };
        let params = ForestIvmParams { combine: Combine::Gate, margin, forest, ivm, ..Default::default() };
        let options = in_rounds(500, 2, Policy::Weakest);
        let engine = Engine::start(data.schema.clone(), &params.clone().into(), &options).unwrap();
        engine.append_data(data.clone()).unwrap();
        engine.wait();
        let model = engine.finish().unwrap().model;
        let Learner::ForestIvm(both) = &model.learner else { panic!("{}", model.kind()) };
        assert_eq!(both.params().combine, Combine::Gate);
        assert!(margin == 0.0 || both.margin() == margin, "{}", both.margin());
        assert!((0.0..=1.0).contains(&both.margin()) && both.n_machines()[0] == 1);
    }
}

/// What a run leaves that was killed: any of the snapshots that it has published.
#[test]
fn rounds_done_again_end_with_the_same_model_whatever_was_kept() {
    let (data, mut route) = confused();
    let data = part(&data, 0..400);
    // Kernels are given: what a search takes its time for is not what is looked at here.
    (route.min_rows, route.ivm.length_scale) = (30, 1.0);
    let pool = ForestIvmParams { combine: Combine::Pool, ..route.clone() };
    let kernel = ForestKernelParams { forest: route.forest.clone(), ..Default::default() };
    let leaves = LeafGpParams {
        n_trees: 3,
        leaf_rows: 40,
        length_scale: 1.0,
        noise_variance: 0.05,
        ..Default::default()
    };
    let all = [
        route.forest.clone().into(),
        route.ivm.clone().into(),
        pool.into(),
        route.into(),
        leaves.into(),
        kernel.into(),
    ];
    for params in all {
        let options = in_rounds(40, 2, Policy::Weakest);
        let first = Engine::start(data.schema.clone(), &params, &options).unwrap();
        first.append_data(data.clone()).unwrap();
        let (mut kept, mut newest) = (Vec::new(), first.snapshot());
        while first.rest().is_none() {
            let snapshot = first.snapshot();
            if !Arc::ptr_eq(&snapshot, &newest) {
                kept.extend(first.earlier(&snapshot).unwrap());
                newest = snapshot;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        kept.extend(first.earlier(&first.snapshot()).unwrap());
        let last = first.finish().unwrap().model.to_bytes().unwrap();
        assert!(!kept.is_empty(), "{}", params.kind());
        kept.drain(..kept.len().saturating_sub(3));
        for earlier in kept {
            // It has been in a file meanwhile.
            let model = Model::from_bytes(&earlier.model.to_bytes().unwrap()).unwrap();
            let evidence: String = serde_json::to_string(&earlier.evidence).unwrap();
            let earlier = Earlier { model, evidence: serde_json::from_str(&evidence).unwrap(), ..earlier };
            let again = Engine::start_from(data.schema.clone(), &params, &options, earlier).unwrap();
            again.append_data(data.clone()).unwrap();
            again.wait();
            assert!(again.finish().unwrap().model.to_bytes().unwrap() == last, "{}", params.kind());
        }
    }
}

#[test]
fn a_process_learns_when_the_forest_has_changed_enough() {
    let (data, ForestIvmParams { forest, .. }) = confused();
    let params = ForestKernelParams { forest, ..Default::default() };
    let options = in_rounds(500, 2, Policy::Weakest);
    let engine = Engine::start(data.schema.clone(), &params.clone().into(), &options).unwrap();
    engine.append_data(data.clone()).unwrap();
    engine.wait();
    let jobs = engine.jobs();
    let process = jobs.iter().find(|job| job.look.kind == "process").unwrap();
    assert!(process.look.points == 3 && process.look.accuracy > Some(0.6), "{process:?}");
    let finished = engine.finish().unwrap();
    let model = finished.model.as_forest_kernel().unwrap();
    assert!(model.n_active() == 1200 - finished.judges.places.len() && model.blend().is_some());
    let judges: Vec<usize> = finished.judges.places.iter().map(|place| *place as usize).collect();
    let judges = data.select(&judges);
    let x = judges.features.to_array(0..judges.n_rows());
    let proba = finished.model.predict_proba(x.view(), &Par::sequential()).unwrap();
    let (now, then) = (Evidence::new(&proba, &judges.labels), finished.evidence.unwrap());
    assert!((now.loss - then.loss).abs() < 1e-6 && now.rows == then.rows, "{now:?} instead of {then:?}");
    // As good as one that was fitted, and better than its forest alone would be.
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let fitted = Model::fit(&data, &params.clone().into(), &training).unwrap().model;
    let clean = blobs(600, 3, 3, 5);
    let (own, other) = (share_right(&finished.model, &clean), share_right(&fitted, &clean));
    assert!(own > other - 0.03, "{own} instead of {other}");
    // Trees without end: a first process after some, others later.
    let endless =
        ForestKernelParams { forest: ForestParams { n_trees: 0, ..params.forest.clone() }, ..params };
    let budget = Budget::open().with_time(Duration::from_secs(30));
    let options = EngineOptions { threads: 2, budget, ..Default::default() };
    let engine = Engine::start(data.schema.clone(), &endless.clone().into(), &options).unwrap();
    engine.append_data(data.clone()).unwrap();
    let has_process = |engine: &Engine| {
        engine.jobs().iter().any(|job| job.look.kind == "process" && job.look.accuracy.is_some())
    };
    let start = Instant::now();
    while !has_process(&engine) {
        assert!(start.elapsed() < Duration::from_secs(29), "{:#?}", engine.jobs());
        std::thread::sleep(Duration::from_millis(5));
    }
    let sparse = ForestKernelParams { learner: hedgerow_hybrid::KernelLearner::Ivm, ..endless };
    let refused = Engine::start(data.schema.clone(), &sparse.into(), &options).err().unwrap().to_string();
    assert!(refused.contains("learner") && refused.contains("gp in slices"), "{refused}");
}

/// Rows of three classes of which the forest gets a good part wrong, so that each of its answers needs a machine.
fn confused() -> (Dataset, ForestIvmParams) {
    let mut data = blobs(1200, 3, 3, 5);
    (0..1200).step_by(7).for_each(|row| data.labels[row] = ClassId((data.labels[row].0 + 1) % 3));
    let ivm = IvmParams { n_active: 20, signal_variance: 8.0, ..Default::default() };
    let forest = ForestParams { n_trees: 12, ..Default::default() };
    (data, ForestIvmParams { combine: Combine::Route, min_rows: 50, forest, ivm, ..Default::default() })
}

#[test]
fn rows_go_to_the_machine_of_what_the_forest_says() {
    let (data, params) = confused();
    let run = |threads| {
        let options = in_rounds(500, threads, Policy::Weakest);
        let engine = Engine::start(data.schema.clone(), &params.clone().into(), &options).unwrap();
        engine.append_data(data.clone()).unwrap();
        engine.wait();
        let jobs = engine.jobs();
        let routes: Vec<_> = jobs.iter().filter(|job| job.look.kind == "route").collect();
        assert!(routes.len() == 3 && jobs.iter().all(|job| job.look.problem.is_none()), "{jobs:#?}");
        assert!(routes.iter().all(|job| job.look.state == State::Done && job.look.points > 0), "{routes:#?}");
        assert!(jobs.iter().all(|job| job.look.kind != "machine" && job.look.kind != "regression"));
        engine.finish().unwrap()
    };
    let finished = run(1);
    let bytes = finished.model.to_bytes().unwrap();
    assert!(bytes == run(3).model.to_bytes().unwrap(), "any number of threads");
    let Learner::ForestIvm(both) = &finished.model.learner else { panic!("{}", finished.model.kind()) };
    assert_eq!((both.params().combine, both.n_machines()[0]), (Combine::Route, 3));
    // What was said of its judges is what it says.
    let judges: Vec<usize> = finished.judges.places.iter().map(|place| *place as usize).collect();
    let judges = data.select(&judges);
    let x = judges.features.to_array(0..judges.n_rows());
    let proba = finished.model.predict_proba(x.view(), &Par::sequential()).unwrap();
    let (now, then) = (Evidence::new(&proba, &judges.labels), finished.evidence.unwrap());
    assert!((now.loss - then.loss).abs() < 1e-3 && now.rows == then.rows, "{now:?} instead of {then:?}");
    // As good as one that was fitted, which needs no judges.
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let fitted = Model::fit(&data, &params.into(), &training).unwrap().model;
    let clean = blobs(600, 3, 3, 5);
    let (own, other) = (share_right(&finished.model, &clean), share_right(&fitted, &clean));
    assert!(own > other - 0.03, "{own} instead of {other}");
    // It goes on learning: each machine with the rows that were sent to it.
    let mut copy = Model::from_bytes(&bytes).unwrap();
    assert!(copy == finished.model);
    let x = clean.features.to_array(0..600);
    let rows = Rows { x: x.view(), labels: &clean.labels, weights: None };
    copy.learn(&clean.schema, rows, &training).unwrap();
    assert_eq!(copy.n_seen(), Some(1800));
}

#[test]
fn routes_follow_new_rows_late_classes_and_forests_without_end() {
    let (data, mut params) = confused();
    let early: Vec<usize> = (0..500).filter(|row| data.labels[*row].0 < 2).collect();
    let mut schema = data.schema.clone();
    schema.labels = LabelTable::from(data.schema.labels.names()[..2].to_vec());
    let first = Dataset { schema: schema.clone(), ..data.select(&early) };
    let options = EngineOptions { threads: 2, ..Default::default() };
    let engine = Engine::start(schema, &params.clone().into(), &options).unwrap();
    engine.append_data(first).unwrap();
    while engine.snapshot().evidence.is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    for begin in (500..1200).step_by(100) {
        engine.append_data(part(&data, begin..begin + 100)).unwrap();
    }
    assert_eq!(engine.wait(), StopReason::Done);
    let jobs = engine.jobs();
    assert_eq!(jobs.iter().filter(|job| job.look.kind == "route").count(), 3, "{jobs:#?}");
    let finished = engine.finish().unwrap();
    assert!(finished.model.as_forest_ivm().is_some_and(|both| both.n_machines()[0] > 0));
    assert!(share_right(&finished.model, &data) > 0.8);
    // Trees without end must not keep rows from being sent.
    params.forest.n_trees = 0;
    let budget = Budget::open().with_time(Duration::from_secs(20));
    let options = EngineOptions { threads: 2, budget, ..Default::default() };
    let engine = Engine::start(data.schema.clone(), &params.into(), &options).unwrap();
    engine.append_data(data.clone()).unwrap();
    let start = Instant::now();
    let is_routed = |engine: &Engine| {
        engine.snapshot().model.as_forest_ivm().is_some_and(|both| both.n_machines()[0] > 0)
    };
    while !is_routed(&engine) {
        assert!(start.elapsed() < Duration::from_secs(19), "{:#?}", engine.jobs());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn leaves_learn_although_the_first_trees_are_cancelled() {
    let data = blobs(500, 3, 3, 6);
    let params = LeafGpParams { n_trees: 8, leaf_rows: 30, ..Default::default() };
    let engine =
        Engine::start(data.schema.clone(), &params.into(), &in_rounds(10_000, 2, Policy::Weakest)).unwrap();
    let first = engine.jobs().iter().position(|job| job.look.kind == "trees").unwrap();
    assert!(engine.cancel_job(first));
    engine.append_data(data.clone()).unwrap();
    engine.wait();
    let jobs = engine.jobs();
    let learnt: usize = jobs.iter().filter(|job| job.look.kind == "leaves").map(|job| job.look.points).sum();
    assert!(learnt > 0 && jobs[first].slices == 0, "{jobs:#?}");
    let model = engine.finish().unwrap().model;
    assert!(
        model.as_leaf_gp().is_some_and(|leaves| leaves.size().n_trees == 5 && leaves.size().n_processes > 0)
    );
}
