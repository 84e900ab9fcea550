//! `predict`: rows in, predictions out, batch by batch.

use std::fs::File;
use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context as _, bail};
use hedgerow::core::traits::most_probable;
use hedgerow::core::{Classifier as _, Par};
use hedgerow::io::RowReader;
use hedgerow::{Kind, Model};
use ndarray::{Array2, ArrayView2, s};
use serde::Serialize;

use super::fit::Seconds;
use super::{Outcome, check_writable, values};
use crate::args::PredictArgs;
use crate::output;
use crate::process;

/// What `predict` tells beside the predictions.
#[derive(Debug, Serialize)]
pub(crate) struct PredictResult {
    pub(crate) model: Kind,
    pub(crate) rows: u64,
    pub(crate) seconds: Seconds,
    /// How long one row takes on one thread.
    pub(crate) one_row_seconds: Option<Latency>,
    pub(crate) peak_memory_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Latency {
    pub(crate) median: f64,
    pub(crate) p99: f64,
}

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<Outcome> {
    if args.run.json && args.out.is_none() {
        bail!("--json needs --out: predictions and metrics cannot both go to standard output");
    }
    if let Some(out) = &args.out {
        check_writable(out)?;
        for input in [&args.model, &args.data] {
            if let (Ok(a), Ok(b)) = (out.canonicalize(), input.canonicalize())
                && a == b
            {
                bail!("{}: the predictions would overwrite what they are made from", out.display());
            }
        }
    }
    if let Some(model) = values::load(&args.model)? {
        return values::predict::run(args, &model);
    }
    if args.interval.is_some() {
        bail!("--interval needs a regression model (this is a classifier); --proba writes the probabilities");
    }
    let model = Model::load(&args.model)?;
    let par = args.run.par()?;
    let mut reader = RowReader::open_with(&args.data, &args.data_args.options(), model.schema())?;
    let out: Box<dyn Write> = match &args.out {
        Some(path) => Box::new(File::create(path).with_context(|| path.display().to_string())?),
        None => Box::new(io::stdout().lock()),
    };
    let mut out = csv::Writer::from_writer(out);
    write_header(&mut out, &model, args.proba)?;

    let mut clock = Instant::now();
    let mut lap = || {
        let seconds = clock.elapsed().as_secs_f64();
        clock = Instant::now();
        seconds
    };
    let mut seconds = Seconds::default();
    let mut rows = 0;
    let mut latency = None;
    let mut line = csv::StringRecord::new();
    while let Some(batch) = reader.next_batch(super::batch_rows(model.n_features()))? {
        seconds.read += lap();
        let proba = model.predict_proba_par(batch.x.view(), &par)?;
        seconds.predict += lap();
        if args.latency && latency.is_none() {
            latency = Some(one_row_latency(&model, batch.x.view())?);
        }
        for (prediction, row) in most_probable(proba.view()).into_iter().zip(proba.rows()) {
            line.clear();
            line.push_field(model.schema().labels.name(prediction));
            line.push_field(&format!("{:.6}", row[prediction.index()]));
            if args.proba {
                row.iter().for_each(|p| line.push_field(&format!("{p:.6}")));
            }
            out.write_record(&line)?;
        }
        rows += batch.x.nrows() as u64;
        lap();
    }
    out.flush()?;
    if args.out.is_some() {
        let result = PredictResult {
            model: model.kind(),
            rows,
            seconds,
            one_row_seconds: latency,
            peak_memory_bytes: process::peak_memory(),
        };
        output::show(&result, args.run.json)?;
    }
    Ok(Outcome::Done)
}

fn write_header(out: &mut csv::Writer<Box<dyn Write>>, model: &Model, proba: bool) -> csv::Result<()> {
    let mut names = vec!["prediction".to_string(), "probability".into()];
    if proba {
        names.extend(model.schema().labels.names().iter().map(|label| format!("p_{label}")));
    }
    out.write_record(&names)
}

/// Asks for one row at a time, on one thread, into a table that is already there.
fn one_row_latency(model: &Model, x: ArrayView2<'_, f32>) -> anyhow::Result<Latency> {
    let par = Par::sequential();
    let mut prediction = Array2::zeros((1, model.n_classes()));
    let mut times = Vec::new();
    for i in 0..x.nrows().min(1_000) {
        let row = x.slice(s![i..=i, ..]);
        let start = Instant::now();
        model.predict_proba_into(row, &par, prediction.view_mut())?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    Ok(Latency { median: at(0.5), p99: at(0.99) })
}
