//! `predict`: rows in, predictions out, batch by batch.

mod classes;
mod columns;
mod decision;
mod latency;
mod sets;
mod values;

use anyhow::bail;
use hedgerow::core::Task;
use hedgerow::io::RowReader;
use hedgerow::{Kind, Model};
use serde::Serialize;

use self::classes::Classes;
use self::columns::{Batch, Columns};
use self::decision::DecisionRule;
use self::latency::Latency;
use self::sets::Sets;
use self::values::Values;
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
        Task::Regression if args.sets.sets.is_some() || args.decisions.is_given() => {
            bail!(
                "--sets, --abstain-above, --costs and --reject-cost need a classifier (this is a regression model); --interval writes intervals"
            )
        }
        _ => {}
    }
    let par = args.run.par()?;
    let mut reader = RowReader::open_with(&args.data, &args.data_args.options(), model.schema())?;
    let mut columns = columns(args, &model)?;
    let mut out = csv::Writer::from_writer(open_out(args.out.as_ref())?);
    out.write_record(columns.iter().flat_map(|group| group.names()))?;

    let (mut seconds, mut rows, mut latency) = (Seconds::default(), 0, None);
    let (most, mut line) = (batch_rows(model.n_features()), csv::StringRecord::new());
    while let Some(batch) = timed(&mut seconds.read, || reader.next_batch(most))? {
        let x = batch.x.view();
        timed(&mut seconds.predict, || {
            let predictions = model.predict_table(x, &par)?;
            let batch = Batch { x, predictions: &predictions, par: &par };
            columns.iter_mut().try_for_each(|group| group.compute(&batch))
        })?;
        if args.latency && latency.is_none() {
            latency = Some(Latency::measure(&model, x)?);
        }
        for row in 0..x.nrows() {
            line.clear();
            columns.iter().for_each(|group| group.write(row, &mut line));
            out.write_record(&line)?;
        }
        rows += x.nrows();
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

/// The groups of columns that are asked for, in their order.
fn columns<'a>(args: &PredictArgs, model: &'a Model) -> anyhow::Result<Vec<Box<dyn Columns + 'a>>> {
    let mut columns: Vec<Box<dyn Columns + 'a>> = Vec::new();
    match model.task() {
        Task::Classification => {
            columns.push(Box::new(Classes::new(
                model,
                args.proba,
                DecisionRule::new(&args.decisions, model)?,
            )));
        }
        Task::Regression => columns.push(Box::new(Values::new(args.interval))),
    }
    if let Some(options) = args.sets.options() {
        columns.push(Box::new(Sets::new(model, &options)?));
    }
    Ok(columns)
}
