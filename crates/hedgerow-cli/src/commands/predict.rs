//! `predict`: rows in, predictions out, batch by batch.

use std::fs::File;
use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context as _, bail};
use hedgerow::core::traits::largest;
use hedgerow::core::{ClassId, Par, Task};
use hedgerow::gp::special::normal_quantile;
use hedgerow::io::RowReader;
use hedgerow::{Kind, Model};
use ndarray::{Array2, ArrayView2, s};
use serde::Serialize;

use super::fit::Seconds;
use super::{Outcome, check_writable};
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
    let model = Model::load(&args.model)?;
    let columns = Columns::new(args, &model)?;
    let par = args.run.par()?;
    let mut reader = RowReader::open_with(&args.data, &args.data_args.options(), model.schema())?;
    let out: Box<dyn Write> = match &args.out {
        Some(path) => Box::new(File::create(path).with_context(|| path.display().to_string())?),
        None => Box::new(io::stdout().lock()),
    };
    let mut out = csv::Writer::from_writer(out);
    out.write_record(columns.names(&model))?;

    let mut clock = Instant::now();
    let mut lap = || {
        let seconds = clock.elapsed().as_secs_f64();
        clock = Instant::now();
        seconds
    };
    let mut seconds = Seconds::default();
    let mut rows = 0;
    let mut latency = None;
    while let Some(batch) = reader.next_batch(super::batch_rows(model.n_features()))? {
        seconds.read += lap();
        let predictions = model.predict_table(batch.x.view(), &par)?;
        seconds.predict += lap();
        if args.latency && latency.is_none() {
            latency = Some(one_row_latency(&model, batch.x.view())?);
        }
        columns.write(&model, &predictions, &mut out)?;
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

/// What is written for a row.
enum Columns {
    /// The class and its probability, and those of all classes where they are asked for.
    Classes { has_all: bool },
    /// The number and its deviation, and the ends of an interval of so many deviations to either side.
    Values { width: Option<f64> },
}

impl Columns {
    fn new(args: &PredictArgs, model: &Model) -> anyhow::Result<Self> {
        match model.task() {
            Task::Classification if args.interval.is_some() => {
                bail!(
                    "--interval needs a regression model (this is a classifier); --proba writes the probabilities"
                )
            }
            Task::Regression if args.proba => {
                bail!("--proba needs a classifier (this is a regression model); --interval writes intervals")
            }
            Task::Classification => Ok(Self::Classes { has_all: args.proba }),
            Task::Regression => {
                Ok(Self::Values { width: args.interval.map(|share| normal_quantile(0.5 + 0.5 * share)) })
            }
        }
    }

    fn names(&self, model: &Model) -> Vec<String> {
        let (first, more): (_, Vec<String>) = match self {
            Self::Classes { has_all } => {
                let labels = model.schema().labels.names().iter().filter(|_| *has_all);
                (["prediction", "probability"], labels.map(|label| format!("p_{label}")).collect())
            }
            Self::Values { width } => {
                let ends = width.iter().flat_map(|_| ["low".to_string(), "high".into()]);
                (["prediction", "deviation"], ends.collect())
            }
        };
        first.map(String::from).into_iter().chain(more).collect()
    }

    fn write(
        &self,
        model: &Model,
        predictions: &Array2<f64>,
        out: &mut csv::Writer<Box<dyn Write>>,
    ) -> csv::Result<()> {
        let mut line = csv::StringRecord::new();
        for row in predictions.rows() {
            line.clear();
            let number = |value: f64, line: &mut csv::StringRecord| line.push_field(&format!("{value:.6}"));
            match self {
                Self::Classes { has_all } => {
                    let class = largest(row).unwrap_or(0);
                    line.push_field(model.schema().labels.name(ClassId(class as u32)));
                    number(row[class], &mut line);
                    row.iter().filter(|_| *has_all).for_each(|p| number(*p, &mut line));
                }
                Self::Values { width } => {
                    let (mean, deviation) = (row[0], row[1].max(0.0).sqrt());
                    let ends = width.iter().flat_map(|w| [mean - w * deviation, mean + w * deviation]);
                    [mean, deviation].into_iter().chain(ends).for_each(|v| number(v, &mut line));
                }
            }
            out.write_record(&line)?;
        }
        Ok(())
    }
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
