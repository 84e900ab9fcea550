//! `stream`: test, then train, row after row.

use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use hedgerow::core::Schema;
use hedgerow::io::{ReadOptions, RowReader};
use hedgerow::{Kind, Model};

use super::learning::{Cut, Feed, LearnResult, Plan, StreamRun, TestData, count_rows};
use super::{Outcome, check_writable, interrupt, params};
use crate::args::StreamArgs;
use crate::output::{self, text};

pub(crate) fn run(args: &StreamArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    if let Some(dir) = &args.store {
        return super::store::stream::run(args, dir);
    }
    let Some(data) = &args.data else { bail!("expected data to learn, or a store to go on with") };
    let params = params(check_learns(args)?, &args.settings, args.seed)?;
    for path in args.out.iter().chain(&args.report) {
        check_writable(path)?;
    }
    super::check_room(&args.limits)?;
    let known = args.from.as_ref().map(Model::load).transpose()?;
    let par = args.run.par()?;
    let budget = args.limits.budget(start);
    interrupt::listen(&budget)?;

    let options = args.data_args.options();
    let cut = cut(args, data, &options, known.as_ref().map(Model::schema))?;
    let mut reader = match &known {
        Some(model) => RowReader::open_growing(data, &options, model.schema())?,
        None => RowReader::open(data, &options)?.for_learning(),
    };
    let mut test = None;
    if let Some(path) = &args.test {
        let (data, schema) = TestData::read(path, &test_options(args), reader.schema())?;
        reader = reader.with_schema(&schema)?;
        test = Some(data);
    }
    let model = match known {
        Some(model) => model,
        None => Model::new(reader.schema().clone(), &params)?,
    };
    let wants_report = args.report.is_some();
    let max_memory = args.limits.max_memory;
    let plan = Plan { cut, test, par: &par, budget, max_memory, wants_report, keeper: None };
    let mut stream = StreamRun::new(model, plan)?;
    stream.seconds.read = start.elapsed().as_secs_f64();
    let mut feed = Feed::new(reader, data);
    let mut lines = text::Lines::new(args.run.json, args.test.is_some() && !matches!(cut, Cut::Windows(_)));
    let mut tell = |window: &_| lines.tell(window);
    stream.run(&mut feed, &mut tell)?;
    let mut result =
        LearnResult::finish(&mut stream, data, [args.out.as_ref(), args.report.as_ref()], start)?;
    if let Some(problem) = stream.problem {
        super::after_bad_row(result.rows, result.out.as_deref());
        return Err(problem.into());
    }
    result.batches = std::mem::take(&mut stream.windows.all);
    super::note_dates(stream.model.schema(), &options);
    output::show(&text::Streamed(result), args.run.json)?;
    Ok(Outcome::Done)
}

/// Where batches end. Equal ones need the number of rows, which takes a look at all of them.
fn cut(args: &StreamArgs, data: &Path, options: &ReadOptions, model: Option<&Schema>) -> anyhow::Result<Cut> {
    if let Some(rows) = args.batch_rows {
        return Ok(Cut::Every(rows));
    }
    let Some(batches) = args.batches else { return Ok(Cut::Windows(args.window)) };
    if data == Path::new("-") {
        bail!("--batches: standard input cannot be counted before it is read; use --batch-rows");
    }
    let rows = count_rows(data, options, model)?;
    if rows < batches {
        bail!("--batches: {batches} batches of {rows} rows; there must be a row for each");
    }
    Ok(Cut::Equal { batches, rows })
}

/// The kind of model that is asked for; fails if it does not learn row by row.
pub(super) fn check_learns(args: &StreamArgs) -> anyhow::Result<Kind> {
    let kind = args.model.unwrap_or_default();
    if args.from.is_none() && !kind.learns() {
        return Err(kind.unable("learn row by row", Kind::learns).into());
    }
    Ok(kind)
}

pub(super) fn test_options(args: &StreamArgs) -> ReadOptions {
    args.data_args.test_options(args.test_labels.as_ref())
}
