//! `demo`: handwritten digits that come with the program are learnt online, and what came of it is shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{Budget, Dataset};
use hedgerow::io::{ReadOptions, read_dataset};
use hedgerow::report::UncertainRow;
use hedgerow::{Model, ModelParams};
use serde::Serialize;

use super::learning::{Cut, Feed, LearnResult, Plan, StreamRun, TestData};
use super::{Outcome, interrupt};
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
    pub(crate) least_sure: Vec<UncertainDigit>,
    pub(crate) data: PathBuf,
    pub(crate) report: PathBuf,
    #[serde(skip)]
    pub(crate) seconds_in_all: f64,
}

/// A test row with an uncertain prediction.
#[derive(Debug, Serialize)]
pub(crate) struct UncertainDigit {
    /// Its number in the file, from 1.
    pub(crate) row: u64,
    pub(crate) truth: String,
    /// The most probable classes.
    pub(crate) prediction: Vec<(String, f64)>,
    #[serde(skip)]
    pub(crate) shown: UncertainRow,
}

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let file = |name: &str| args.dir.join(name);
    let (data_file, out, report) = (file("digits.csv.gz"), file("digits.hedgerow"), file("report.html"));
    fs::create_dir_all(&args.dir).with_context(|| args.dir.display().to_string())?;
    fs::write(&data_file, DIGITS).with_context(|| data_file.display().to_string())?;
    let [(learnt, numbers), (test, test_numbers)] = digits(&data_file)?;

    let par = args.run.par()?;
    let budget = Budget::open();
    interrupt::listen(&budget)?;
    let model = Model::new(learnt.schema.clone(), &ModelParams::default())?;
    let plan = Plan {
        keeper: None,
        cut: Cut::Equal { batches: BATCHES, rows: learnt.n_rows() as u64 },
        test: Some(TestData::of_dataset(test, test_numbers)),
        par: &par,
        budget,
        max_memory: None,
        wants_report: true,
    };
    let mut stream = StreamRun::new(model, plan)?;
    stream.seconds.read = start.elapsed().as_secs_f64();
    stream.run(&mut Feed::of_dataset(learnt, numbers), &mut |_| Ok(()))?;
    let least_sure = uncertain(&mut stream)?;
    let mut learnt = LearnResult::finish(
        &mut stream,
        Path::new("Handwritten digits"),
        [Some(&out), Some(&report)],
        start,
    )?;
    learnt.batches = std::mem::take(&mut stream.windows.all);
    let seconds_in_all = start.elapsed().as_secs_f64();
    let result = DemoResult { learnt, least_sure, data: data_file, report, seconds_in_all };
    output::show(&result, args.run.json)?;
    Ok(Outcome::Done)
}

/// The rows to learn, in a random order that is always the same, and those to evaluate on, with their numbers in the file.
fn digits(path: &Path) -> anyhow::Result<[(Dataset, Vec<u64>); 2]> {
    let options =
        ReadOptions { target: Some("digit".parse()?), image: Some([8, 8]), ..ReadOptions::default() };
    let data = read_dataset(path, &options, None)?;
    let mut order: Vec<usize> = (0..data.n_rows()).collect();
    Rng::new(0, Purpose::Data, 1).shuffle(&mut order);
    let (learnt, test) = order.split_at_mut(data.n_rows() * 2 / 3);
    test.sort_unstable();
    let part = |rows: &[usize]| (data.select(rows), rows.iter().map(|&row| row as u64 + 1).collect());
    Ok([part(learnt), part(test)])
}

fn uncertain(stream: &mut StreamRun<'_>) -> anyhow::Result<Vec<UncertainDigit>> {
    let evaluation = stream.evaluate()?;
    let (Some(test), Some((proba, _))) = (stream.test(), evaluation) else { return Ok(Vec::new()) };
    let rows = test.least_sure(&proba).finish(stream.model.schema());
    let digit = |shown: UncertainRow| UncertainDigit {
        row: shown.row,
        truth: shown.truth.clone().unwrap_or_default(),
        prediction: shown.prediction.clone(),
        shown,
    };
    Ok(rows.into_iter().take(SHOWN).map(digit).collect())
}
