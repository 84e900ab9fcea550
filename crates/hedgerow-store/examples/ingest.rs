//! How fast the durable store takes rows, and how much memory that needs.
//!
//! `cargo run --release --package hedgerow-store --example ingest -- [ROWS] [FOLDER]` appends rows of 20 features with labels in batches
//! of 1,000, each acknowledged only when it is on the disk, then reads all of them as a learner would.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Instant;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Error, Result, Schema};
use hedgerow_store::{NewRows, Options, Store};
use ndarray::Array2;

const FEATURES: usize = 20;
const BATCH: usize = 1_000;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let rows: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(2_000_000);
    let folder = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = folder.join(format!("hedgerow-ingest-{}", std::process::id()));
    let result = run(&dir, rows);
    std::fs::remove_dir_all(&dir).map_err(|source| Error::io(&dir, source))?;
    result
}

fn run(dir: &std::path::Path, rows: u64) -> Result<()> {
    let mut schema = Schema::unnamed(FEATURES);
    for class in ["a", "b", "c"] {
        schema.labels.get_or_add(class)?;
    }
    let store = Store::create(dir, &schema, &Options::default())?;
    let mut rng = Rng::new(1, Purpose::Data, 0);
    println!("{:>12} {:>12} {:>12}", "rows", "rows/s", "memory MB");
    let (mut in_append, mut slowest) = (0.0, 0.0_f64);
    for batch in 1..=rows.div_ceil(BATCH as u64) {
        let x = Array2::from_shape_fn((BATCH, FEATURES), |_| rng.unit() as f32);
        let labels: Vec<Option<ClassId>> = (0..BATCH).map(|_| Some(ClassId(rng.below(3)))).collect();
        let clock = Instant::now();
        store.append(&schema, &NewRows { x: x.view(), labels: Some(&labels), weights: None })?;
        let seconds = clock.elapsed().as_secs_f64();
        in_append += seconds;
        slowest = slowest.max(seconds);
        if batch % 200 == 0 {
            let done = batch * BATCH as u64;
            println!("{done:>12} {:>12.0} {:>12}", done as f64 / in_append, memory("VmRSS:"));
        }
    }
    let done = store.n_rows();
    println!("appended {done} rows: {:.0} rows/s, every batch on the disk", done as f64 / in_append);
    println!("slowest batch {:.1} ms, mean {:.1} ms", 1e3 * slowest, 1e6 * in_append / done as f64);
    let clock = Instant::now();
    let mut reader = store.subscribe(0);
    let mut read = 0;
    while let Some(block) = reader.next(4_096)? {
        read += block.len();
    }
    println!("read {read} rows: {:.0} rows/s", read as f64 / clock.elapsed().as_secs_f64());
    println!(
        "{:.1} bytes a row on the disk; most memory {} MB",
        store.counts()?.bytes as f64 / done as f64,
        memory("VmHWM:")
    );
    Ok(())
}

/// A figure about this process in megabytes, where the system tells.
fn memory(name: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes =
        line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|n| n.trim().parse::<f64>().ok());
    kilobytes.map_or_else(|| "?".into(), |kb| format!("{:.1}", kb / 1e3))
}
