//! Engines under stress for most of a minute, all kinds side by side: rows, late classes, wrong labels that are corrected, pauses, cancelled jobs and questions from several
//! threads, in random order. Nothing may hang, no prediction may be of half a model, snapshots only get newer, and what is held stays within its limits.
#![allow(clippy::unwrap_used, clippy::panic)]

mod soak;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use hedgerow::ModelParams;
use hedgerow::core::{Budget, StopReason};
use hedgerow::engine::EngineOptions;
use hedgerow::forest::ForestParams;
use hedgerow::gp::IvmParams;
use hedgerow::hybrid::{Combine, ForestIvmParams, ForestKernelParams, LeafGpParams};
use soak::{Scene, SoakRun, most_memory};

/// How long engines are put under stress, and how long they may take to come to rest.
const STRESS: Duration = Duration::from_secs(40);
const REST: Duration = Duration::from_secs(90);
/// What a forest without end may hold.
const MOST_BYTES: u64 = 6_000_000;
/// What the process may take in memory, all engines together.
const MOST_MEMORY: u64 = 1_500_000_000;

fn ivm() -> IvmParams {
    IvmParams { n_active: 30, signal_variance: 8.0, ..Default::default() }
}

fn scenes() -> Vec<Scene> {
    let forest = |n_trees| ForestParams { n_trees, ..Default::default() };
    let fixed = IvmParams { length_scale: 1.0, ..ivm() };
    let pool = ForestIvmParams { forest: forest(20), ivm: fixed.clone(), ..Default::default() };
    let route = ForestIvmParams { combine: Combine::Route, min_rows: 30, ..pool.clone() };
    let leaves = LeafGpParams { n_trees: 6, leaf_rows: 60, max_rows: 1500, ..Default::default() };
    let open = |name, params: ModelParams| Scene { name, params, bytes: None, has_end: true };
    vec![
        open("forest", forest(30).into()),
        open("ivm", ivm().into()),
        open("forest and ivm", pool.into()),
        open("forest and routes", route.into()),
        open("leaves", leaves.into()),
        open("process", ForestKernelParams { forest: forest(20), ..Default::default() }.into()),
        // Trees as long as there is room for them.
        Scene { name: "without end", params: forest(0).into(), bytes: Some(MOST_BYTES), has_end: false },
    ]
}

fn options(scene: &Scene) -> EngineOptions {
    EngineOptions {
        threads: 2,
        min_slice: Duration::from_millis(2),
        budget: Budget { bytes: scene.bytes, ..Budget::open() },
        gives_way: false,
        ..EngineOptions::default()
    }
}

/// One engine from its start to its end.
fn live(scene: &Scene, seed: u64) {
    let course = SoakRun::start(scene, &options(scene), seed);
    let end = Instant::now() + STRESS;
    let n_asked = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for asker in 0..2 {
            let (course, n_asked) = (&course, &n_asked);
            scope.spawn(move || n_asked.fetch_add(course.ask_until(end, asker), Ordering::Relaxed));
        }
        course.disturb_until(end);
    });
    assert!(n_asked.load(Ordering::Relaxed) > 100, "{}: predictions must not wait", scene.name);
    course.set_right();
    let rest = Instant::now();
    while course.engine.rest().is_none() {
        assert!(rest.elapsed() < REST, "{}: no rest\n{:#?}", scene.name, course.engine.jobs());
        std::thread::sleep(Duration::from_millis(5));
    }
    let wanted = if scene.has_end { StopReason::Done } else { StopReason::Memory };
    assert_eq!(course.engine.rest(), Some(wanted), "{}: {:#?}", scene.name, course.engine.jobs());
    course.check_end();
}

#[test]
fn engines_under_stress() {
    let start = Instant::now();
    let scenes = scenes();
    // Whoever hangs is not waited for: the process ends and says where it hung.
    let (over, watched) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if watched.recv_timeout(STRESS + REST + Duration::from_secs(60))
            == Err(mpsc::RecvTimeoutError::Timeout)
        {
            eprintln!("an engine hangs: {:?} have passed", start.elapsed());
            std::process::abort();
        }
    });
    std::thread::scope(|scope| {
        for (seed, scene) in (1..).zip(&scenes) {
            std::thread::Builder::new()
                .name(scene.name.into())
                .spawn_scoped(scope, move || live(scene, seed))
                .unwrap();
        }
    });
    drop(over);
    watchdog.join().unwrap();
    if let Some(most) = most_memory() {
        assert!(most < MOST_MEMORY, "{most} bytes in memory");
    }
}
