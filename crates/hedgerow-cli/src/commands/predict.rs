//! `predict`: rows in, predictions out, batch by batch.

use std::io::Write;
use std::time::Instant;

use anyhow::bail;
use hedgerow::core::special::normal;
use hedgerow::core::traits::largest;
use hedgerow::core::{ClassId, Par, Task};
use hedgerow::io::RowReader;
use hedgerow::{Kind, Model};
use ndarray::{Array2, ArrayView2, s};
use serde::Serialize;

use super::{Outcome, Seconds, batch_rows, check_apart, check_writable, open_out, timed};
use crate::args::PredictArgs;
use crate::{output, process};

/// What `predict` tells beside the predictions.
#[derive(Debug, Serialize)]
pub(crate) struct PredictResult {
    pub(crate) model: Kind,
    pub(crate) rows: usize,
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
        check_writable([out])?;
        for input in [&args.model, &args.data] {
            check_apart("predictions", out, input)?;
        }
    }
    let model = Model::load(&args.model)?;
    match model.task() {
        Task::Classification if args.interval.is_some() => bail!(
            "--interval needs a regression model (this is a classifier); --proba writes the probabilities"
        ),
        Task::Regression if args.proba => {
            bail!("--proba needs a classifier (this is a regression model); --interval writes intervals")
        }
        _ => {}
    }
    let par = args.run.par()?;
    let mut reader = RowReader::open_with(&args.data, &args.data_args.options(), model.schema())?;
    let mut out = csv::Writer::from_writer(open_out(args.out.as_ref())?);
    out.write_record(names(args, &model))?;

    let (mut seconds, mut rows, mut latency) = (Seconds::default(), 0, None);
    let most = batch_rows(model.n_features());
    while let Some(batch) = timed(&mut seconds.read, || reader.next_batch(most))? {
        let predictions = timed(&mut seconds.predict, || model.predict_table(batch.x.view(), &par))?;
        if args.latency && latency.is_none() {
            latency = Some(one_row_latency(&model, batch.x.view())?);
        }
        write(args, &model, &predictions, &mut out)?;
        rows += batch.x.nrows();
    }
    out.flush()?;
    if args.out.is_none() {
        return Ok(Outcome::Done);
    }
    let result = PredictResult {
        model: model.kind(),
        rows,
        seconds,
        one_row_seconds: latency,
        peak_memory_bytes: process::peak_memory(),
    };
    output::show(&result, args.run.json)
}

/// The names of the columns. Classes: the class and its probability, and those of all classes where they are asked for. Numbers: the
/// number and its deviation, and the ends of an interval.
fn names(args: &PredictArgs, model: &Model) -> Vec<String> {
    let (deviation, more): (_, Vec<String>) = match model.task() {
        Task::Classification => {
            let labels = model.schema().labels.names().iter().filter(|_| args.proba);
            ("probability", labels.map(|label| format!("p_{label}")).collect())
        }
        Task::Regression => {
            ("deviation", args.interval.iter().flat_map(|_| ["low".into(), "high".into()]).collect())
        }
    };
    ["prediction", deviation].map(String::from).into_iter().chain(more).collect()
}

/// Writes predictions under these names.
fn write(
    args: &PredictArgs,
    model: &Model,
    predictions: &Array2<f64>,
    out: &mut csv::Writer<Box<dyn Write>>,
) -> csv::Result<()> {
    // An interval reaches so many deviations to either side.
    let width = args.interval.map(|share| normal::quantile(0.5 + 0.5 * share));
    let mut line = csv::StringRecord::new();
    for row in predictions.rows() {
        line.clear();
        match model.task() {
            Task::Classification => {
                let class = largest(row).unwrap_or(0);
                line.push_field(model.schema().labels.name(ClassId(class as u32)));
                let all = row.iter().filter(|_| args.proba);
                [row[class]].iter().chain(all).for_each(|p| line.push_field(&format!("{p:.6}")));
            }
            Task::Regression => {
                let (mean, deviation) = (row[0], row[1].max(0.0).sqrt());
                let ends = width.iter().flat_map(|w| [mean - w * deviation, mean + w * deviation]);
                [mean, deviation].into_iter().chain(ends).for_each(|v| line.push_field(&format!("{v:.6}")));
            }
        }
        out.write_record(&line)?;
    }
    Ok(())
}

/// Asks for one row at a time, on one thread.
fn one_row_latency(model: &Model, x: ArrayView2<'_, f32>) -> anyhow::Result<Latency> {
    let par = Par::sequential();
    let mut prediction = Array2::zeros((1, model.n_classes()));
    let mut times = Vec::new();
    for i in 0..x.nrows().min(1_000) {
        let row = x.slice(s![i..=i, ..]);
        let start = Instant::now();
        match model.task() {
            // Into a table that is already there.
            Task::Classification => {
                model.classifier()?.predict_proba_into(row, &par, prediction.view_mut())?;
            }
            Task::Regression => drop(model.predict_values_par(row, &par)?),
        }
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    Ok(Latency { median: at(0.5), p99: at(0.99) })
}
