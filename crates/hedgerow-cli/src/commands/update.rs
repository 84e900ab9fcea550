//! `update`: a model learns more.

use std::time::Instant;

use anyhow::Context as _;
use hedgerow::Model;
use hedgerow::io::RowReader;

use super::evaluation::evaluate_file;
use super::learning::{self, Cut, Feed, LearnResult, Plan, StreamRun};
use super::{Outcome, check_writable, interrupt, page as pages};
use crate::args::UpdateArgs;
use crate::output::{self, text};

/// Rows of a window, for the report.
const WINDOW: u64 = 100;

pub(crate) fn run(args: &UpdateArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let out = args.out.as_ref().unwrap_or(&args.model);
    for path in args.report.iter().chain([out]) {
        check_writable(path)?;
    }
    super::check_room(&args.limits)?;
    if let Some(model) = super::values::load(&args.model)? {
        return super::values::update::run(args, model);
    }
    let model = Model::load(&args.model)?;
    let par = args.run.par()?;
    let budget = args.limits.budget(start);
    interrupt::listen(&budget)?;

    let reader = RowReader::open_growing(&args.data, &args.data_args.options(), model.schema())?;
    let plan = Plan {
        keeper: None,
        cut: Cut::Windows(WINDOW),
        test: None,
        par: &par,
        budget,
        max_memory: args.limits.max_memory,
        wants_report: args.report.is_some(),
    };
    let mut stream = StreamRun::new(model, plan).with_context(|| args.model.display().to_string())?;
    stream.seconds.read = start.elapsed().as_secs_f64();
    stream.run(&mut Feed::new(reader, &args.data), &mut |_| Ok(()))?;
    let mut result = LearnResult::finish(&mut stream, &args.data, [Some(out), None], start)?;
    if let Some(problem) = stream.problem {
        super::after_bad_row(result.rows, result.out.as_deref());
        return Err(problem.into());
    }
    let mut page =
        args.report.as_ref().map(|_| learning::page(&stream, &args.data, None, result.bytes)).transpose()?;
    if let Some(test) = &args.test {
        let options = args.data_args.test_options(args.test_labels.as_ref());
        let evaluation = evaluate_file(&stream.model, test, &options, &par, page.is_some())?;
        if let Some(page) = &mut page {
            let measured_on =
                format!("{} test rows, after all rows were learnt", output::count(evaluation.rows as u64));
            pages::evaluation(page, &stream.model, &evaluation, measured_on)?;
            page.notes.clear();
        }
        result.seconds.predict = evaluation.predict_seconds;
        (result.metrics_from, result.metrics_rows) = ("test", evaluation.rows as u64);
        result.metrics = evaluation.report;
        result.left_out.unknown_labels = evaluation.left_out.unknown_labels;
    }
    if let (Some(path), Some(page)) = (&args.report, &page) {
        pages::write(page, path)?;
    }
    result.batches = std::mem::take(&mut stream.windows.all);
    output::show(&text::Updated(result), args.run.json)?;
    Ok(Outcome::Done)
}
