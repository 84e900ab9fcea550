//! `predict` for a model of values: a value a row, how far it may be off, and an interval where one is asked for.

use std::fs::File;
use std::io::{self, Write};
use std::time::Instant;

use anyhow::{Context as _, bail};
use hedgerow::ValueModel;
use hedgerow::core::Regressor as _;
use hedgerow::gp::special::normal_quantile;
use hedgerow::io::RowReader;

use crate::args::PredictArgs;
use crate::commands::fit::Seconds;
use crate::commands::predict::PredictResult;
use crate::commands::{Outcome, batch_rows};
use crate::output;
use crate::process;

pub(crate) fn run(args: &PredictArgs, model: &ValueModel) -> anyhow::Result<Outcome> {
    if args.proba || args.latency {
        bail!(
            "--proba and --latency need a classifier (this is a regression model); --interval writes intervals"
        );
    }
    let par = args.run.par()?;
    let mut reader = RowReader::open_with(&args.data, &args.data_args.options(), model.schema())?;
    let out: Box<dyn Write> = match &args.out {
        Some(path) => Box::new(File::create(path).with_context(|| path.display().to_string())?),
        None => Box::new(io::stdout().lock()),
    };
    let mut out = csv::Writer::from_writer(out);
    let width = args.interval.map(|share| normal_quantile(0.5 + 0.5 * share));
    out.write_record(
        ["prediction", "deviation"].into_iter().chain(width.iter().flat_map(|_| ["low", "high"])),
    )?;
    let mut seconds = Seconds::default();
    let mut rows = 0;
    let mut before = Instant::now();
    while let Some(batch) = reader.next_batch(batch_rows(model.n_features()))? {
        seconds.read += before.elapsed().as_secs_f64();
        before = Instant::now();
        let predictions = model.predict_values(batch.x.view(), &par)?;
        seconds.predict += before.elapsed().as_secs_f64();
        for (mean, variance) in predictions.mean.iter().zip(&predictions.variance) {
            let deviation = variance.max(0.0).sqrt();
            let ends = width.iter().flat_map(|w| [mean - w * deviation, mean + w * deviation]);
            let numbers = [*mean, deviation].into_iter().chain(ends);
            out.write_record(numbers.map(|v| format!("{v:.6}")))?;
        }
        rows += batch.x.nrows() as u64;
        before = Instant::now();
    }
    out.flush()?;
    if args.out.is_some() {
        let peak_memory_bytes = process::peak_memory();
        let result =
            PredictResult { model: model.kind(), rows, seconds, one_row_seconds: None, peak_memory_bytes };
        output::show(&result, args.run.json)?;
    }
    Ok(Outcome::Done)
}
