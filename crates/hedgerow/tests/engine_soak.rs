//! An engine under stress for a while: rows, pauses, cancelled jobs and questions from several threads, in random order. Nothing may hang, no answer may be half a model, and
//! answers may never wait long.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::testing::blobs;
use hedgerow::core::{Dataset, StopReason};
use hedgerow::engine::EngineOptions;
use hedgerow::forest::ForestParams;
use hedgerow::gp::IvmParams;
use hedgerow::hybrid::{ForestIvmParams, LeafGpParams};
use hedgerow::{Engine, ModelParams};

/// How long each kind of model is put under stress.
const SECONDS: f64 = 7.0;
const N_ROWS: usize = 4000;

fn part(data: &Dataset, rows: std::ops::Range<usize>) -> Dataset {
    data.select(&rows.collect::<Vec<_>>())
}

fn stress(params: &ModelParams, seed: u64) {
    let data = blobs(N_ROWS, 4, 3, seed);
    let options = EngineOptions {
        threads: 3,
        min_slice: Duration::from_millis(2),
        gives_way: false,
        ..EngineOptions::default()
    };
    let engine = Engine::start(data.schema.clone(), params, &options).unwrap();
    let (is_over, n_asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let start = Instant::now();
    let n_given = std::thread::scope(|scope| {
        for asker in 0..3_u64 {
            let (engine, data, is_over, n_asked) = (&engine, &data, &is_over, &n_asked);
            scope.spawn(move || {
                let mut rng = Rng::new(seed, Purpose::Data, 100 + asker);
                while !is_over.load(Ordering::Relaxed) {
                    let row = rng.index(N_ROWS);
                    let answers = engine.predict_proba(data.features.to_array(row..row + 1).view()).unwrap();
                    assert!(
                        (answers.sum() - 1.0).abs() < 1e-6 && answers.iter().all(|p| (0.0..=1.0).contains(p))
                    );
                    if asker == 0 {
                        let loss = engine.snapshot().evidence.as_ref().map(|evidence| evidence.loss);
                        assert!(loss.is_none_or(f64::is_finite));
                        assert!(engine.jobs().iter().all(|job| job.attraction.is_finite()));
                    }
                    n_asked.fetch_add(1, Ordering::Relaxed);
                    if rng.index(50) == 0 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        }
        let mut rng = Rng::new(seed, Purpose::Data, 99);
        let mut given = 200;
        engine.append_data(part(&data, 0..given)).unwrap();
        let mut n_cancelled = 0;
        while start.elapsed().as_secs_f64() < SECONDS {
            match rng.index(8) {
                0 => engine.pause(),
                1..=3 => engine.resume(),
                4 => {
                    let job = rng.index(engine.jobs().len());
                    engine.set_job_paused(job, rng.index(2) == 0);
                }
                5 if n_cancelled < 2 && start.elapsed().as_secs_f64() > SECONDS / 2.0 => {
                    // One of the jobs that share a kind of work: the model can do without.
                    let jobs = engine.jobs();
                    let shared = jobs.iter().rposition(|job| ["trees", "search"].contains(&job.look.kind));
                    n_cancelled += usize::from(shared.is_some_and(|job| engine.cancel_job(job)));
                }
                _ if given < N_ROWS => {
                    let more = (1 + rng.index(150)).min(N_ROWS - given);
                    engine.append_data(part(&data, given..given + more)).unwrap();
                    given += more;
                }
                _ => {}
            }
            std::thread::sleep(Duration::from_millis(rng.index(30) as u64));
        }
        for job in 0..engine.jobs().len() {
            engine.set_job_paused(job, false);
        }
        engine.resume();
        is_over.store(true, Ordering::Relaxed);
        given
    });
    assert!(n_asked.load(Ordering::Relaxed) > 100);
    // It comes to rest by itself, well within the time that all the work could take.
    let rest = Instant::now();
    while engine.rest().is_none() && rest.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(engine.rest(), Some(StopReason::Done), "{:#?}", engine.jobs());
    assert_eq!(engine.jobs()[0].look.points, n_given, "all rows were taken up");
    let evidence = engine.snapshot().evidence.clone().unwrap();
    assert!(evidence.macro_accuracy > 0.9, "{evidence:?}");
    engine.finish().unwrap();
}

#[test]
fn a_forest_under_stress() {
    stress(&ForestParams { n_trees: 30, ..Default::default() }.into(), 1);
}

#[test]
fn machines_under_stress() {
    let params = IvmParams { n_active: 40, signal_variance: 8.0, ..Default::default() };
    stress(&params.into(), 2);
}

#[test]
fn a_forest_with_machines_under_stress() {
    let forest = ForestParams { n_trees: 20, ..Default::default() };
    let ivm = IvmParams { n_active: 30, signal_variance: 8.0, length_scale: 1.0, ..Default::default() };
    stress(&ForestIvmParams { forest, ivm, ..Default::default() }.into(), 3);
}

#[test]
fn leaves_under_stress() {
    stress(&LeafGpParams { n_trees: 6, leaf_rows: 60, ..Default::default() }.into(), 4);
}
