//! `update`: a model learns more.

use std::time::Instant;

use anyhow::Context as _;
use hedgerow::Model;
use hedgerow::io::RowReader;

use super::learning::{Cut, LearnResult, Plan, StreamRun, TestRows};
use super::{Feed, Outcome, check_room, check_writable, interrupt};
use crate::args::UpdateArgs;
use crate::output;

/// Rows of a window, for the report.
const WINDOW: u64 = 100;

pub(crate) fn run(args: &UpdateArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let out = args.out.as_ref().unwrap_or(&args.model);
    check_writable(args.report.iter().chain([out]))?;
    check_room(&args.common.limits)?;
    let model = Model::load(&args.model)?;
    let par = args.common.run.par()?;
    let budget = interrupt::listen(args.common.limits.budget(start))?;
    let reader = RowReader::open_growing(&args.data, &args.common.data.options(), model.schema())?;
    let options = args.common.test_options();
    let plan = Plan {
        test: args.common.test.clone().map(|test| TestRows::File(test, options)),
        max_memory: args.common.limits.max_memory,
        wants_report: args.report.is_some(),
        ..Plan::new(Cut::Windows(WINDOW), &par, budget)
    };
    let mut stream = StreamRun::new(model, plan, None).with_context(|| args.model.display().to_string())?;
    stream.state.seconds.read = start.elapsed().as_secs_f64();
    stream.run(&mut Feed::new(reader), &mut |_| Ok(()))?;
    let result = LearnResult::finish(&mut stream, &args.data, [Some(out), args.report.as_ref()], start)?;
    output::show(&LearnResult { is_update: true, ..result }, args.common.run.json)
}
