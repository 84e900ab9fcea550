//! `evaluate`: a model and data with targets in, figures out.

use hedgerow::core::{Dataset, Par, Result, Task};
use hedgerow::forest::importance;
use hedgerow::io::{ReadOptions, RowReader};
use hedgerow::report::{Importances, Page};
use hedgerow::{Kind, Model, ModelParams};
use serde::Serialize;

use super::evaluation::{Evaluation, LeftOut, Metrics, evaluate_file};
use super::fit::Seconds;
use super::{Outcome, check_writable, page};
use crate::args::EvaluateArgs;
use crate::output;
use crate::process;

/// What `evaluate` tells.
#[derive(Debug, Serialize)]
pub(crate) struct EvaluateResult {
    pub(crate) model: Kind,
    pub(crate) task: Task,
    pub(crate) target: Option<String>,
    pub(crate) params: ModelParams,
    pub(crate) rows: usize,
    pub(crate) features: usize,
    pub(crate) classes: Vec<String>,
    pub(crate) seconds: Seconds,
    pub(crate) bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) metrics: Metrics,
    /// Accuracy lost when a column is shuffled, by column.
    pub(crate) importances: Option<Vec<(String, f64)>>,
    pub(crate) left_out: LeftOut,
}

pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<Outcome> {
    if let Some(path) = &args.report {
        check_writable(path)?;
    }
    let mut model = Model::load(&args.model)?;
    if model.task() == Task::Regression && (args.importances || args.at_least.is_some()) {
        anyhow::bail!("--importances and --at-least need a classifier (this is a regression model)");
    }
    let par = args.run.par()?;
    let options = args.data_args.options();
    let evaluation = evaluate_file(&model, &args.data, &options, &par, args.report.is_some())?;
    let importances = if args.importances { Some(importances(args, &model, &options, &par)?) } else { None };
    let bytes = model.file_len()?;
    if let Some(path) = &args.report {
        // Reading has checked that it fits.
        model = model.with_image(args.data_args.image);
        let mut page = report(args, &model, &evaluation, bytes)?;
        if let Some(rows) = &evaluation.drawn {
            let x = rows.to_array(0..rows.n_rows());
            let text = "The dots are the evaluated rows.";
            page::draw(&mut page, &model, (x.view(), evaluation.truth.view()), text, &par)?;
        }
        if let Some(importances) = &importances {
            let worth = |name: &String| importances.iter().find(|i| i.0 == *name).map_or(f64::NAN, |i| i.1);
            let values: Vec<f64> = model.schema().columns.iter().map(|c| worth(&c.name)).collect();
            let meaning = "Accuracy lost when a column is shuffled.";
            page.importances = Some(Importances::new(meaning, model.schema(), &values));
        }
        page::write(&page, path)?;
    }
    let result = EvaluateResult {
        model: model.kind(),
        task: model.task(),
        target: model.schema().target.clone(),
        params: model.params(),
        rows: evaluation.rows,
        features: model.n_features(),
        classes: model.schema().labels.names().to_vec(),
        seconds: Seconds { read: evaluation.read_seconds, fit: 0.0, predict: evaluation.predict_seconds },
        bytes,
        peak_memory_bytes: process::peak_memory(),
        metrics: evaluation.report,
        importances,
        left_out: evaluation.left_out,
    };
    output::show(&result, args.run.json)?;
    output::left_out(&result.left_out);
    match (args.at_least, &result.metrics) {
        (Some(wanted), Metrics::Classes(report)) if report.accuracy < wanted => {
            output::note(&format!("accuracy {:.4} is below the {wanted} asked for", report.accuracy));
            Ok(Outcome::Negative)
        }
        _ => Ok(Outcome::Done),
    }
}

/// The page about the predictions.
fn report(args: &EvaluateArgs, model: &Model, evaluation: &Evaluation, bytes: u64) -> anyhow::Result<Page> {
    let mut page = Page::default();
    let rows = output::count(evaluation.rows as u64);
    let subtitle = format!("{rows} rows predicted by {}", args.model.display());
    page::describe(&mut page, model, &args.data, &subtitle, bytes);
    page::fact(&mut page, "Predicted in", output::seconds(evaluation.predict_seconds));
    page::evaluation(&mut page, model, evaluation, format!("{rows} rows"))?;
    Ok(page)
}

/// What each column is worth, the most valuable first, on at most 2,000 of the rows.
fn importances(
    args: &EvaluateArgs,
    model: &Model,
    options: &ReadOptions,
    par: &Par,
) -> Result<Vec<(String, f64)>> {
    const MOST_ROWS: usize = 2_000;
    let mut reader = RowReader::open_with(&args.data, options, model.schema())?;
    let mut features = hedgerow::core::Features::new(model.n_features());
    let mut labels = Vec::new();
    if let Some(batch) = reader.next_batch(MOST_ROWS)? {
        for (row, label) in batch.x.rows().into_iter().zip(batch.labels.unwrap_or_default()) {
            if let Some(label) = label {
                features.push(&row.to_vec());
                labels.push(label);
            }
        }
    }
    let data = Dataset::new(model.schema().clone(), features, labels, None)?;
    let losses = importance::permutation(model.classifier()?, &data, 3, 0, par)?;
    let mut named: Vec<(String, f64)> =
        model.schema().columns.iter().map(|c| c.name.clone()).zip(losses).collect();
    named.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(named)
}
