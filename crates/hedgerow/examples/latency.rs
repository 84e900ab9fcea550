//! How long one row takes to be answered while nothing else is done and while the engine trains on all cores.
//!
//! ```text
//! HEDGEROW_DATA=... cargo run --release --example latency -- [forest|ivm|forest-ivm] [seconds] [gives-way|eager]
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hedgerow::core::{Classifier as _, Dataset, Par};
use hedgerow::engine::EngineOptions;
use hedgerow::io::{ReadOptions, read_dataset};
use hedgerow::{Engine, Kind, Model, ModelParams};
use ndarray::Array2;

/// Microseconds that half, 99 and 999 of 1,000 answers take at most.
fn summary(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_by(f64::total_cmp);
    [0.5, 0.99, 0.999].map(|share| times.get((share * times.len() as f64) as usize).copied().unwrap_or(0.0))
}

/// Asks one row after the other for a while, with a short pause in between as a service would have.
fn ask(model: &Model, x: &Array2<f32>, time: Duration) -> Vec<f64> {
    let (par, start, mut times) = (Par::sequential(), Instant::now(), Vec::new());
    let mut row = 0;
    while start.elapsed() < time {
        let one = x.slice(ndarray::s![row..=row, ..]);
        let before = Instant::now();
        let answer = model.predict_proba(one, &par);
        times.push(before.elapsed().as_secs_f64() * 1e6);
        assert!(answer.is_ok());
        row = (row + 1) % x.nrows();
        std::thread::sleep(Duration::from_micros(500));
    }
    times
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let kind: Kind = args.next().as_deref().unwrap_or("forest-ivm").parse()?;
    let seconds: f64 = args.next().as_deref().unwrap_or("20").parse()?;
    let gives_way = args.next().as_deref() != Some("eager");
    let Some(folder) = std::env::var_os("HEDGEROW_DATA").map(PathBuf::from) else {
        println!("skipped: HEDGEROW_DATA is not set");
        return Ok(());
    };
    let data: Dataset =
        read_dataset(&folder.join("mnist/train-images-idx3-ubyte.gz"), &ReadOptions::default(), None)?;
    let x = data.features.to_array(0..2000);
    let options = EngineOptions { gives_way, ..EngineOptions::default() };
    let params = match ModelParams::new(kind) {
        // Trees without end, so that there is always something to do.
        ModelParams::Forest(params) => hedgerow::forest::ForestParams { n_trees: 0, ..params }.into(),
        params => params,
    };
    let engine = Engine::start(data.schema.clone(), &params, &options)?;
    engine.append_data(data)?;
    std::thread::sleep(Duration::from_secs_f64(0.5 * seconds));
    while engine.snapshot().evidence.is_none() {
        std::thread::sleep(Duration::from_millis(100));
    }
    // The same model in both runs: what differs is the training beside it.
    let snapshot = Arc::clone(&engine.snapshot());
    let (busy, mut taking) = (ask(&snapshot.model, &x, Duration::from_secs_f64(0.5 * seconds)), Vec::new());
    for _ in 0..10_000 {
        let before = Instant::now();
        drop(engine.snapshot());
        taking.push(before.elapsed().as_secs_f64() * 1e6);
        std::thread::sleep(Duration::from_micros(20));
    }
    let was_busy = engine.rest().is_none();
    engine.pause();
    while engine.jobs().iter().any(|job| job.is_running) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let idle = ask(&snapshot.model, &x, Duration::from_secs_f64(0.5 * seconds));
    println!(
        "{kind}, snapshot after {:.1} s, {} rows asked while training (still training at the end: {was_busy})",
        snapshot.elapsed.as_secs_f64(),
        busy.len()
    );
    println!("{:<24} {:>10} {:>10} {:>10}", "microseconds", "p50", "p99", "p99.9");
    let [idle, busy, taking] = [idle, busy, taking].map(summary);
    for (name, [half, most, nearly_all]) in
        [("idle", idle), ("during training", busy), ("taking the snapshot", taking)]
    {
        println!("{name:<24} {half:>10.1} {most:>10.1} {nearly_all:>10.1}");
    }
    println!("p99 during training / idle: {:.2}", busy[1] / idle[1]);
    Ok(())
}
