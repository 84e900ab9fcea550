//! How long one row takes to be answered while nothing else is done and while the engine trains on all cores.
//!
//! ```text
//! HEDGEROW_DATA=... cargo run --release --example latency -- [KIND] [SECONDS] [gives-way|eager] [rows=N] [json] [NAME=VALUE ...]
//! ```
//!
//! KIND is one that is trained in slices (forest-ivm, unless another is named); the rows are the first of MNIST's; NAME=VALUE sets a parameter of the model.
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::path::PathBuf;
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

/// What was asked for.
struct Asked {
    kind: Kind,
    settings: Vec<(String, String)>,
    seconds: f64,
    gives_way: bool,
    most_rows: usize,
    is_json: bool,
}

impl Asked {
    fn read(words: impl Iterator<Item = String>) -> Result<Self, Box<dyn std::error::Error>> {
        let mut asked = Self {
            kind: Kind::ForestIvm,
            settings: Vec::new(),
            seconds: 20.0,
            gives_way: true,
            most_rows: usize::MAX,
            is_json: false,
        };
        for word in words {
            match (word.as_str(), word.split_once('=')) {
                ("eager" | "gives-way", _) => asked.gives_way = word == "gives-way",
                ("json", _) => asked.is_json = true,
                (_, Some(("rows", n))) => asked.most_rows = n.parse()?,
                (_, Some((name, value))) => asked.settings.push((name.into(), value.into())),
                (word, None) => match word.parse::<f64>() {
                    Ok(seconds) => asked.seconds = seconds,
                    Err(_) => asked.kind = word.parse()?,
                },
            }
        }
        Ok(asked)
    }

    fn params(&self) -> Result<ModelParams, Box<dyn std::error::Error>> {
        let params = match ModelParams::new(self.kind) {
            // Trees without end, so that there is always something to do.
            ModelParams::Forest(params) => hedgerow::forest::ForestParams { n_trees: 0, ..params }.into(),
            params => params,
        };
        let settings = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Ok(params.with_settings(settings)?)
    }
}

/// Whether a model has all of its parts: answers of a forest alone would say little of those with machines.
fn is_whole(model: &Model) -> bool {
    let has_machine = |both: &hedgerow::hybrid::ForestIvm| both.n_machines()[0] > 0;
    model.as_forest_ivm().is_none_or(has_machine)
        && model.as_forest_kernel().is_none_or(|model| model.n_active() > 0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked = Asked::read(std::env::args().skip(1))?;
    let Some(folder) = std::env::var_os("HEDGEROW_DATA").map(PathBuf::from) else {
        println!("skipped: HEDGEROW_DATA is not set");
        return Ok(());
    };
    let mut data: Dataset =
        read_dataset(&folder.join("mnist/train-images-idx3-ubyte.gz"), &ReadOptions::default(), None)?;
    if data.n_rows() > asked.most_rows {
        data = data.select(&(0..asked.most_rows).collect::<Vec<_>>());
    }
    let (n_rows, x) = (data.n_rows(), data.features.to_array(0..data.n_rows().min(2000)));
    let options = EngineOptions { gives_way: asked.gives_way, ..EngineOptions::default() };
    let engine = Engine::start(data.schema.clone(), &asked.params()?, &options)?;
    engine.append_data(data)?;
    std::thread::sleep(Duration::from_secs_f64(0.5 * asked.seconds));
    // The same model in both runs: what differs is the training beside it.
    let mut snapshot = engine.snapshot();
    while (snapshot.evidence.is_none() || !is_whole(&snapshot.model)) && engine.rest().is_none() {
        std::thread::sleep(Duration::from_millis(100));
        snapshot = engine.snapshot();
    }
    let time = Duration::from_secs_f64(0.5 * asked.seconds);
    let (busy, mut taking) = (ask(&snapshot.model, &x, time), Vec::new());
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
    let idle = ask(&snapshot.model, &x, time);
    let (n_asked, snapshot_seconds) = (busy.len(), snapshot.elapsed.as_secs_f64());
    let [idle, busy, taking] = [idle, busy, taking].map(summary);
    let (kind, ratio, is_whole) = (asked.kind, busy[1] / idle[1], is_whole(&snapshot.model));
    if asked.is_json {
        let found = serde_json::json!({
            "model": kind.name(), "rows": n_rows, "gives_way": asked.gives_way, "snapshot_seconds": snapshot_seconds,
            "is_whole": is_whole, "still_training": was_busy, "asked": n_asked, "idle": idle, "training": busy, "snapshot": taking,
            "ratio": ratio,
        });
        println!("{found}");
        return Ok(());
    }
    println!(
        "{kind}, {n_rows} rows, snapshot after {snapshot_seconds:.1} s (with all parts: {is_whole}), {n_asked} rows asked while training (still training at \
         the end: {was_busy})"
    );
    println!("{:<24} {:>10} {:>10} {:>10}", "microseconds", "p50", "p99", "p99.9");
    for (name, [half, most, nearly_all]) in
        [("idle", idle), ("during training", busy), ("taking the snapshot", taking)]
    {
        println!("{name:<24} {half:>10.1} {most:>10.1} {nearly_all:>10.1}");
    }
    println!("p99 during training / idle: {ratio:.2}");
    Ok(())
}
