//! `stream`: test, then train, row after row.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use hedgerow::active::stream::StreamQueryParams;
use hedgerow::core::{Params as _, Result, Schema, Task};
use hedgerow::io::{ReadOptions, RowReader};
use hedgerow::{Kind, Model, Selective};

use super::learning::{Cut, LearnResult, Plan, Predictions, StreamRun, TestRows};
use super::{
    Feed, NumberedRows, Outcome, check_apart, check_room, check_task, check_writable, count_rows, interrupt,
    note_dates, open_to_learn, params,
};
use crate::args::StreamArgs;
use crate::output::{self, text};

pub(crate) fn run(args: &StreamArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    check_writable(args.out.iter().chain(&args.report).chain(&args.predictions))?;
    if let (Some(predictions), Some(data)) = (&args.predictions, &args.data) {
        check_apart("predictions", predictions, data)?;
    }
    check_room(&args.common.limits)?;
    let kind = args.model.unwrap_or_default();
    if args.from.is_none() && !kind.learns() {
        return Err(kind.unable("learn row by row", Kind::learns).into());
    }
    check_task(kind, args.task, args.store.is_some())?;
    let par = args.common.run.par()?;
    let budget = interrupt::listen(args.common.limits.budget(start))?;
    let plan = Plan {
        max_memory: args.common.limits.max_memory,
        wants_report: args.report.is_some(),
        delay: args.delay,
        predictions: args.predictions.clone().map(Predictions::new),
        selective: selective(args, kind)?,
        ..Plan::new(args.batch_rows.map_or(Cut::Windows(args.window), Cut::Every), &par, budget)
    };
    let (mut stream, mut feed, title) = match (&args.store, &args.data) {
        (Some(dir), _) => super::store::stream::begin(args, dir, plan)?,
        (None, Some(data)) => begin(args, data, plan)?,
        (None, None) => bail!("expected data to learn, or a store to go on with"),
    };
    stream.state.seconds.read += start.elapsed().as_secs_f64();
    let mut lines =
        text::Lines::new(args.common.run.json, args.common.test.is_some() && stream.has_batches());
    stream.run(&mut feed, &mut |window| lines.tell(window))?;
    let result = LearnResult::finish(&mut stream, &title, [args.out.as_ref(), args.report.as_ref()], start)?;
    note_dates(stream.model.schema(), &args.common.data.options());
    output::show(&result, args.common.run.json)
}

/// What asks for labels, where only some are to be learnt.
fn selective(args: &StreamArgs, kind: Kind) -> anyhow::Result<Option<Selective>> {
    let Some(rate) = args.query_rate else { return Ok(None) };
    if args.task == Some(Task::Regression) {
        bail!("--query-rate asks for labels, not numbers (--task regression)");
    }
    let seed = params(kind, &args.settings, args.seed)?.seed();
    let usual = StreamQueryParams::default();
    let query = StreamQueryParams {
        rate,
        random_share: args.query_random.unwrap_or(usual.random_share),
        batch: args.query_batch.map_or(usual.batch, |rows| rows as usize),
        seed,
        ..usual
    };
    Ok(Some(Selective::new(query.check()?)))
}

/// A stream of rows that are learnt as they are read, with its rows and its title.
fn begin<'a>(
    args: &StreamArgs,
    data: &Path,
    mut plan: Plan<'a>,
) -> anyhow::Result<(StreamRun<'a>, Feed<'static>, PathBuf)> {
    let params = params(args.model.unwrap_or_default(), &args.settings, args.seed)?;
    let known = args.from.as_ref().map(Model::load).transpose()?;
    let options = ReadOptions { task: args.task.unwrap_or_default(), ..args.common.data.options() };
    let schema = known.as_ref().map(Model::schema);
    if let Some(batches) = args.batches {
        plan.cut = equal(batches, data, &options, schema)?;
    }
    let mut reader = open_to_learn(data, &options, schema)?;
    if let Some((rows, grown)) = read_test(args, reader.schema())? {
        reader = reader.with_schema(&grown)?;
        plan.test = Some(TestRows::Memory(rows));
    }
    let model = known.map_or_else(|| Model::new(reader.schema().clone(), &params), Ok)?;
    Ok((StreamRun::new(model, plan, None)?, Feed::new(reader), data.to_path_buf()))
}

/// Equal batches. They need the number of rows, which takes a look at all of them.
fn equal(batches: u64, data: &Path, options: &ReadOptions, model: Option<&Schema>) -> anyhow::Result<Cut> {
    if data == Path::new("-") {
        bail!("--batches: standard input cannot be counted before it is read; use --batch-rows");
    }
    let rows = count_rows(data, options, model)?;
    if rows < batches {
        bail!("--batches: {batches} batches of {rows} rows; there must be a row for each");
    }
    Ok(Cut::Equal { batches, rows })
}

/// Reads the test data, if there are any, and returns them with the schema grown by their classes and categories: so classes that
/// the model has not met yet have their place and count as wrong.
pub(crate) fn read_test(args: &StreamArgs, schema: &Schema) -> Result<Option<(NumberedRows, Schema)>> {
    let Some(path) = &args.common.test else { return Ok(None) };
    let options = args.common.test_options();
    let mut feed = Feed::new(RowReader::open_growing(path, &options, schema)?);
    let NumberedRows { mut data, numbers } = NumberedRows::read(&mut feed)?;
    if schema.n_classes() == 0 {
        data.edit(|data| {
            let new_of_old = data.schema.labels.sort();
            data.labels_mut().iter_mut().for_each(|class| *class = new_of_old[class.index()]);
        })?;
    }
    let grown = data.schema.clone();
    Ok(Some((NumberedRows { data, numbers }, grown)))
}
