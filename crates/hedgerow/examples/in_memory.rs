//! Fits a forest to arrays in memory and times it: what the Python package is compared with.
//!
//! ```text
//! cargo run --release --example in_memory -- FOLDER THREADS
//! ```
//!
//! `FOLDER` has `train_x.npy` and `test_x.npy` (float32, rows in C order), `train_y.npy` and `test_y.npy` (int32). The times are
//! of what a Rust program would call: the arrays are views, the predictions are new.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use hedgerow::Model;
use hedgerow::core::{Budget, ClassId, Dataset, Features, LabelTable, Par, Schema, Silent, Training};
use hedgerow::forest::ForestParams;
use ndarray::{Array2, s};
use serde_json::json;

const N_SINGLE_ROWS: usize = 1000;
const N_TIMES: usize = 5;

#[expect(clippy::print_stdout, reason = "this is a program")]
fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, threads] = &args[..] else { return Err("expected FOLDER THREADS".into()) };
    let folder = Path::new(folder);
    let (train, test) = (rows(&folder.join("train_x.npy"))?, rows(&folder.join("test_x.npy"))?);
    let (train_labels, test_labels) =
        (labels(&folder.join("train_y.npy"))?, labels(&folder.join("test_y.npy"))?);
    let n_classes = train_labels.iter().map(|c| c.index() + 1).max().unwrap_or(0);
    let par = Par::new(threads.parse()?)?;

    let mut fit_seconds = Vec::new();
    let mut model = None;
    for _ in 0..3 {
        drop(model.take());
        let start = Instant::now();
        let mut schema = Schema::unnamed(train.ncols());
        schema.labels = LabelTable::from((0..n_classes).map(|c| c.to_string()).collect::<Vec<_>>());
        let data = Dataset::new(schema, Features::from_view(train.view()), train_labels.clone(), None)?;
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let fitted = Model::fit(&data, &ForestParams::default().into(), &training)?;
        model = Some(fitted.model);
        fit_seconds.push(start.elapsed().as_secs_f64());
    }
    let Some(model) = model else { return Ok(()) };
    let mut predict_seconds = Vec::new();
    for _ in 0..N_TIMES {
        let start = Instant::now();
        let _predictions = model.predict_proba_par(test.view(), &par)?;
        predict_seconds.push(start.elapsed().as_secs_f64());
    }
    let one = Par::sequential();
    let mut row_seconds = Vec::new();
    for i in 0..N_SINGLE_ROWS.min(test.nrows()) {
        let start = Instant::now();
        let _answer = model.predict_proba_par(test.slice(s![i..=i, ..]), &one)?;
        row_seconds.push(start.elapsed().as_secs_f64());
    }
    row_seconds.sort_by(f64::total_cmp);
    let predictions = model.predict_classes(test.view(), &par)?;
    let right = predictions.iter().zip(&test_labels).filter(|(a, b)| a == b).count();
    let result = json!({
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
        "row_seconds": row_seconds[row_seconds.len() / 2],
        "accuracy": right as f64 / test_labels.len() as f64,
    });
    println!("{result}");
    Ok(())
}

/// A matrix of float32 from the simplest kind of npy file.
fn rows(path: &Path) -> Result<Array2<f32>, Box<dyn Error>> {
    let (shape, bytes) = npy(path, "<f4")?;
    let values = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    Ok(Array2::from_shape_vec((shape[0], shape[1]), values)?)
}

fn labels(path: &Path) -> Result<Vec<ClassId>, Box<dyn Error>> {
    let (_, bytes) = npy(path, "<i4")?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|b| ClassId(u32::from_le_bytes(*b))).collect())
}

/// The shape and the bytes of an array.
fn npy(path: &Path, kind: &str) -> Result<(Vec<usize>, Vec<u8>), Box<dyn Error>> {
    let mut bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let length = bytes.get(8..10).map_or(0, |b| usize::from(b[0]) + 256 * usize::from(b[1]));
    let header = String::from_utf8_lossy(bytes.get(10..10 + length).ok_or("no npy file")?).into_owned();
    if !header.contains(kind) || header.contains("'fortran_order': True") {
        return Err(format!("{}: expected {kind} in C order, got {header}", path.display()).into());
    }
    let shape = header.split('(').nth(1).and_then(|rest| rest.split(')').next()).unwrap_or("");
    let shape = shape.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    Ok((shape, bytes.split_off(10 + length)))
}
