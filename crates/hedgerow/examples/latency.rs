//! How long a prediction for one row takes while nothing else is done and while the engine trains on all cores.
//!
//! ```text
//! HEDGEROW_DATA=... cargo run --release --example latency -- [KIND] [SECONDS] [gives-way|eager] [rows=N] [json] [NAME=VALUE ...]
//! ```
//!
//! KIND is one that has a training run (forest-ivm, unless another is named); the rows are the first of MNIST's; NAME=VALUE sets a parameter of
//! the model. A sample counts as taken during training only if training still ran after it. Where training ended before the time was up, the
//! output tells so, with the number of samples that there were.
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hedgerow::core::{Dataset, Par};
use hedgerow::engine::EngineOptions;
use hedgerow::io::{ReadOptions, read_dataset};
use hedgerow::{Engine, Kind, Model, ModelParams};
use ndarray::Array2;

/// How often a snapshot is taken.
const N_SNAPSHOTS: usize = 10_000;
/// A 99th percentile of fewer samples is not worth reporting.
const LEAST_SAMPLES: usize = 1_000;

/// Microseconds at the 50th, 99th and 99.9th percentile; none without samples.
fn summary(mut times: Vec<f64>) -> Option<[f64; 3]> {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((share * times.len() as f64) as usize).copied();
    Some([at(0.5)?, at(0.99)?, at(0.999)?])
}

/// Predicts one row after the other for a while, with a short pause in between as a service would have, and returns the microseconds each took.
/// Ends early, without the sample at hand, once `goes_on` is false: it is asked after every prediction, with the clock stopped.
fn sample(
    model: &Model,
    x: &Array2<f32>,
    time: Duration,
    goes_on: impl Fn() -> bool,
) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let (par, start, mut times) = (Par::sequential(), Instant::now(), Vec::new());
    for row in (0..x.nrows()).cycle() {
        if start.elapsed() >= time {
            break;
        }
        let one = x.slice(ndarray::s![row..=row, ..]);
        let before = Instant::now();
        model.predict_proba_par(one, &par)?;
        let took = before.elapsed().as_secs_f64() * 1e6;
        if !goes_on() {
            break;
        }
        times.push(took);
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(times)
}

/// Takes the snapshot many times and returns the microseconds each took, for as long as training runs.
fn sample_snapshots(engine: &Engine) -> Vec<f64> {
    let mut times = Vec::new();
    for _ in 0..N_SNAPSHOTS {
        let before = Instant::now();
        drop(engine.snapshot());
        let took = before.elapsed().as_secs_f64() * 1e6;
        if engine.rest().is_some() {
            break;
        }
        times.push(took);
        std::thread::sleep(Duration::from_micros(20));
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
            ModelParams::Forest(params) => hedgerow::forest::ForestParams { n_trees: 0, ..*params }.into(),
            params => params,
        };
        let settings = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Ok(params.with_settings(settings)?)
    }
}

/// Whether a model has all of its parts: predictions of a forest alone would tell little of those with IVMs.
fn is_whole(model: &Model) -> bool {
    let has_ivm = |both: &hedgerow::hybrid::ForestIvm| both.n_ivms()[0] > 0;
    model.downcast::<hedgerow::hybrid::ForestIvm>().is_none_or(has_ivm)
        && model
            .downcast::<hedgerow::hybrid::ForestKernelClassifier>()
            .is_none_or(|model| model.n_active() > 0)
}

/// What was measured.
struct Found {
    n_rows: usize,
    snapshot_seconds: f64,
    is_whole: bool,
    /// Whether training ran until all samples were taken.
    is_complete: bool,
    idle: Vec<f64>,
    training: Vec<f64>,
    snapshot: Vec<f64>,
}

fn measure(asked: &Asked, mut data: Dataset) -> Result<Found, Box<dyn std::error::Error>> {
    if data.n_rows() > asked.most_rows {
        data = data.select(&(0..asked.most_rows).collect::<Vec<_>>());
    }
    let (n_rows, x) = (data.n_rows(), data.features.to_array(0..data.n_rows().min(2000)));
    let options = EngineOptions { gives_way: asked.gives_way, ..EngineOptions::default() };
    let engine = Engine::start(data.schema.clone(), &asked.params()?, &options)?;
    engine.append_data(data)?;
    // Long enough for a model that is worth something, and not much longer: training may end soon after.
    std::thread::sleep(Duration::from_secs_f64(0.1 * asked.seconds));
    let mut published = engine.snapshot();
    while (!published.is_trained() || !is_whole(&published.model)) && engine.rest().is_none() {
        std::thread::sleep(Duration::from_millis(100));
        published = engine.snapshot();
    }
    // The same model in both runs: what differs is the training beside it.
    let time = Duration::from_secs_f64(0.5 * asked.seconds);
    let training = sample(&published.model, &x, time, || engine.rest().is_none())?;
    let snapshot = sample_snapshots(&engine);
    let is_complete = engine.rest().is_none();
    engine.pause();
    while engine.jobs().iter().any(|job| job.is_running) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let idle = sample(&published.model, &x, time, || true)?;
    let snapshot_seconds = published.elapsed.as_secs_f64();
    let is_whole = is_whole(&published.model);
    Ok(Found { n_rows, snapshot_seconds, is_whole, is_complete, idle, training, snapshot })
}

impl Found {
    /// The 99th percentile during training over that of an idle engine; none with too few samples.
    fn ratio(&self) -> Option<f64> {
        let [idle, training] = [&self.idle, &self.training].map(|times| summary(times.clone()));
        let enough = self.training.len().min(self.idle.len()) >= LEAST_SAMPLES;
        Some(training?[1] / idle?[1]).filter(|_| enough)
    }

    fn json(&self, asked: &Asked) -> serde_json::Value {
        let counts = [&self.idle, &self.training, &self.snapshot].map(Vec::len);
        let [idle, training, snapshot] =
            [&self.idle, &self.training, &self.snapshot].map(|times| summary(times.clone()));
        serde_json::json!({
            "model": asked.kind.name(), "rows": self.n_rows, "gives_way": asked.gives_way,
            "snapshot_seconds": self.snapshot_seconds, "is_whole": self.is_whole, "is_complete": self.is_complete,
            "samples": { "idle": counts[0], "training": counts[1], "snapshot": counts[2] },
            "least_samples": LEAST_SAMPLES,
            "idle": idle, "training": training, "snapshot": snapshot, "ratio": self.ratio(),
        })
    }

    fn print(&self, asked: &Asked) {
        let (kind, n_rows, after, n) = (asked.kind, self.n_rows, self.snapshot_seconds, self.training.len());
        println!("{kind}, {n_rows} rows, snapshot after {after:.1} s, {n} samples during training");
        if !self.is_whole {
            println!("the snapshot did not have all parts of the model yet");
        }
        if !self.is_complete {
            println!("training ended before all samples were taken: only those until then count");
        }
        println!("{:<24} {:>10} {:>10} {:>10} {:>10}", "microseconds", "samples", "p50", "p99", "p99.9");
        for (name, times) in [
            ("idle", &self.idle),
            ("during training", &self.training),
            ("taking the snapshot", &self.snapshot),
        ] {
            match summary(times.clone()) {
                Some([p50, p99, p999]) => {
                    println!("{name:<24} {:>10} {p50:>10.1} {p99:>10.1} {p999:>10.1}", times.len());
                }
                None => println!("{name:<24} {:>10}", 0),
            }
        }
        match self.ratio() {
            Some(ratio) => println!("p99 during training / idle: {ratio:.2}"),
            None => println!("p99 during training / idle: not measured, fewer than {LEAST_SAMPLES} samples"),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked = Asked::read(std::env::args().skip(1))?;
    let Some(folder) = std::env::var_os("HEDGEROW_DATA").map(PathBuf::from) else {
        println!("skipped: HEDGEROW_DATA is not set");
        return Ok(());
    };
    let images = folder.join("mnist/train-images-idx3-ubyte.gz");
    let found = measure(&asked, read_dataset(&images, &ReadOptions::default(), None)?)?;
    if asked.is_json {
        println!("{}", found.json(&asked));
    } else {
        found.print(&asked);
    }
    Ok(())
}
