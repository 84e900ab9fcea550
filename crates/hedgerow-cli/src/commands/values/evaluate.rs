//! `evaluate` for a model of values.

use hedgerow::core::metrics::ValueReport;
use hedgerow::report::Page;
use hedgerow::{Kind, ModelParams, ValueModel};
use serde::Serialize;

use super::{evaluate_file, page};
use crate::args::EvaluateArgs;
use crate::commands::Outcome;
use crate::commands::fit::Seconds;
use crate::output;
use crate::process;

/// What `evaluate` tells of a model of values.
#[derive(Debug, Serialize)]
pub(crate) struct EvaluateValuesResult {
    pub(crate) model: Kind,
    pub(crate) task: &'static str,
    pub(crate) params: ModelParams,
    pub(crate) target: Option<String>,
    pub(crate) rows: usize,
    pub(crate) features: usize,
    pub(crate) seconds: Seconds,
    pub(crate) bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) metrics: ValueReport,
    pub(crate) rows_without_value: u64,
}

pub(crate) fn run(args: &EvaluateArgs, model: &ValueModel) -> anyhow::Result<Outcome> {
    if args.importances || args.at_least.is_some() {
        anyhow::bail!("--importances and --at-least need a classifier (this is a regression model)");
    }
    let par = args.run.par()?;
    let evaluation = evaluate_file(model, &args.data, &args.data_args.options(), &par)?;
    let bytes = model.file_len()?;
    if let Some(path) = &args.report {
        let mut about = Page::default();
        let rows = output::count(evaluation.rows as u64);
        page::describe(&mut about, model, &args.data, &format!("{rows} rows predicted"), bytes);
        page::evaluation(&mut about, &evaluation.report);
        if let Some(data) = &evaluation.drawn {
            page::fit(&mut about, model, data, "The dots are the evaluated rows", &par)?;
        }
        crate::commands::page::write(&about, path)?;
    }
    let result = EvaluateValuesResult {
        model: model.kind(),
        task: "regression",
        params: model.params(),
        target: model.schema().target.clone(),
        rows: evaluation.rows,
        features: model.schema().n_features(),
        seconds: Seconds { read: evaluation.read_seconds, fit: 0.0, predict: evaluation.predict_seconds },
        bytes,
        peak_memory_bytes: process::peak_memory(),
        metrics: evaluation.report,
        rows_without_value: evaluation.without_value,
    };
    output::show(&result, args.run.json)?;
    if result.rows_without_value > 0 {
        output::note(&format!("{} rows without a value were left out", result.rows_without_value));
    }
    Ok(Outcome::Done)
}
