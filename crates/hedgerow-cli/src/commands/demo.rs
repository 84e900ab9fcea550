//! `demo`: handwritten digits that come with the program are learnt online, and what came of it is shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use hedgerow::core::Budget;
use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::io::{ReadOptions, read_dataset};
use hedgerow::report::UncertainRow;
use hedgerow::{Model, ModelParams};
use serde::Serialize;

use super::learning::{Cut, LearnResult, Plan, StreamRun, TestRows};
use super::{Feed, NumberedRows, Outcome, interrupt};
use crate::args::DemoArgs;
use crate::output;

/// The data, compressed. The file is a link to the one that ships with the project.
const DIGITS: &[u8] = include_bytes!("../../data/digits.csv.gz");
const BATCHES: u64 = 10;
/// Rows that are shown: those with the most uncertain predictions.
const SHOWN: usize = 4;

/// What `demo` tells.
#[derive(Debug, Serialize)]
pub(crate) struct DemoResult {
    #[serde(flatten)]
    pub(crate) learnt: LearnResult,
    /// The test rows with the most uncertain predictions.
    pub(crate) least_sure: Vec<UncertainRow>,
    pub(crate) data: PathBuf,
    pub(crate) report: PathBuf,
    #[serde(skip)]
    pub(crate) seconds_in_all: f64,
}

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let file = |name: &str| args.dir.join(name);
    let (data_file, out, report) = (file("digits.csv.gz"), file("digits.hedgerow"), file("report.html"));
    fs::create_dir_all(&args.dir).with_context(|| args.dir.display().to_string())?;
    fs::write(&data_file, DIGITS).with_context(|| data_file.display().to_string())?;
    let [learnt, test] = digits(&data_file)?;

    let par = args.run.par()?;
    let budget = interrupt::listen(Budget::open())?;
    let model = Model::new(learnt.data.schema.clone(), &ModelParams::default())?;
    let cut = Cut::Equal { batches: BATCHES, rows: learnt.data.n_rows() as u64 };
    let plan = Plan::new(cut, &par, budget);
    let plan = Plan { test: Some(TestRows::Memory(test)), wants_report: true, ..plan };
    let mut stream = StreamRun::new(model, plan, None)?;
    stream.state.seconds.read = start.elapsed().as_secs_f64();
    stream.run(&mut Feed::Memory(&learnt, 0), &mut |_| Ok(()))?;
    let evaluation = stream.evaluate(true)?.map(|evaluation| evaluation.least_sure);
    let mut least_sure = evaluation.unwrap_or_default().finish(stream.model.schema());
    least_sure.truncate(SHOWN);
    let title = Path::new("Handwritten digits");
    let learnt = LearnResult::finish(&mut stream, title, [Some(&out), Some(&report)], start)?;
    let seconds_in_all = start.elapsed().as_secs_f64();
    let result = DemoResult { learnt, least_sure, data: data_file, report, seconds_in_all };
    output::show(&result, args.run.json)
}

/// The rows to learn, in a random order that is always the same, and those to evaluate on, with their numbers in the file.
fn digits(path: &Path) -> anyhow::Result<[NumberedRows; 2]> {
    let options =
        ReadOptions { target: Some("digit".parse()?), image: Some([8, 8]), ..ReadOptions::default() };
    let data = read_dataset(path, &options, None)?;
    let mut order: Vec<usize> = (0..data.n_rows()).collect();
    Rng::new(0, Purpose::Data, 1).shuffle(&mut order);
    let (learnt, test) = order.split_at_mut(data.n_rows() * 2 / 3);
    test.sort_unstable();
    Ok([NumberedRows::select(&data, learnt), NumberedRows::select(&data, test)])
}
