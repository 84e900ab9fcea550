//! `evaluate`: a model and data with targets in, figures out.

use anyhow::bail;
use hedgerow::Model;
use hedgerow::core::conformal::SetReport;
use hedgerow::core::rejection::RejectionCurve;
use hedgerow::core::{DataProblem, Dataset, Features, Par, Result, Task};
use hedgerow::io::{ReadOptions, RowReader};
use hedgerow::report::{Importances, Page, Sets};
use serde::Serialize;

use super::{Described, Evaluation, Feed, LeftOut, Metrics, Outcome, Seconds, check_writable, page};
use crate::args::EvaluateArgs;
use crate::output;

/// What `evaluate` tells.
#[derive(Debug, Serialize)]
pub(crate) struct EvaluateResult {
    #[serde(flatten)]
    pub(crate) about: Described,
    pub(crate) rows: usize,
    pub(crate) seconds: Seconds,
    pub(crate) metrics: Metrics,
    /// Accuracy lost when a column is shuffled, by column.
    pub(crate) importances: Option<Vec<(String, f64)>>,
    /// The accuracy on the rows that are left when the most uncertain predictions are rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rejection: Option<RejectionCurve>,
    /// Prediction sets, where the model has something to make them from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sets: Option<SetReport>,
    pub(crate) left_out: LeftOut,
    /// The accuracy that was asked for and not reached.
    #[serde(skip)]
    pub(crate) missed: Option<f64>,
}

pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<Outcome> {
    check_writable(&args.report)?;
    let mut model = Model::load(&args.model)?;
    if model.task() == Task::Regression && (args.importances || args.at_least.is_some()) {
        bail!("--importances and --at-least need a classifier (this is a regression model)");
    }
    let par = args.run.par()?;
    let options = args.data_args.options();
    let evaluation = Evaluation::of_file(&model, &args.data, &options, &par, args.report.is_some())?;
    let losses = args.importances.then(|| importances(args, &model, &options, &par)).transpose()?;
    let bytes = model.file_len()?;
    if let Some(path) = &args.report {
        // Reading has checked that it fits.
        model = model.with_image(args.data_args.image);
        let mut page = Page::default();
        let rows = output::count(evaluation.n_rows() as u64);
        let subtitle = format!("{rows} rows predicted by {}", args.model.display());
        page::describe(&mut page, &model, &args.data, &subtitle, bytes);
        page::fact(&mut page, "Predicted in", output::seconds(evaluation.seconds.predict));
        page::evaluation(&mut page, &model, &evaluation, format!("{rows} rows"))?;
        let classes = model.classes().to_vec();
        page.sets = evaluation.sets(&model)?.map(|report| Sets { report, classes });
        page::draw_evaluated(&mut page, &model, &evaluation, "The dots are the evaluated rows.", &par)?;
        if let Some(losses) = &losses {
            let meaning = "Accuracy lost when a column is shuffled.";
            page.importances = Some(Importances::new(meaning, model.schema(), losses));
        }
        page::write(&page, path)?;
    }
    let metrics = evaluation.metrics()?;
    let missed = args.at_least.filter(|&wanted| metrics.accuracy().is_some_and(|share| share < wanted));
    let result = EvaluateResult {
        about: Described::new(&model, bytes),
        rows: evaluation.n_rows(),
        seconds: evaluation.seconds,
        metrics,
        importances: losses.map(|losses| super::by_column(model.schema(), losses)),
        rejection: evaluation.rejection()?,
        sets: evaluation.sets(&model)?,
        left_out: evaluation.left_out,
        missed,
    };
    output::show(&result, args.run.json)
}

/// The accuracy lost when a column is shuffled, on at most 2,000 of the rows.
fn importances(args: &EvaluateArgs, model: &Model, options: &ReadOptions, par: &Par) -> Result<Vec<f64>> {
    const MOST_ROWS: usize = 2_000;
    let mut feed = Feed::new(RowReader::open_with(&args.data, options, model.schema())?);
    let Some(rows) = feed.next(MOST_ROWS)? else { return Err(DataProblem::MissingLabel.into()) };
    let features = Features::from_view(rows.x.view());
    let data = Dataset::new(model.schema().clone(), features, rows.targets, None)?;
    hedgerow::core::importance::permutation(model.classifier()?, &data, 3, 0, par)
}
