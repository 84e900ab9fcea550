//! `update` for a regression model: rows are predicted, evaluated and learnt.

use std::path::PathBuf;
use std::time::Instant;

use hedgerow::core::metrics::ValueReport;
use hedgerow::core::{Normals, Regressor as _, Rows, Silent, Training};
use hedgerow::io::RowReader;
use hedgerow::{Kind, ModelParams, ValueModel};
use serde::Serialize;

use super::{Inside, evaluate_file};
use crate::args::UpdateArgs;
use crate::commands::{Outcome, batch_rows, interrupt};
use crate::output;
use crate::process;

/// What `update` tells of a model of values.
#[derive(Debug, Serialize)]
pub(crate) struct UpdateValuesResult {
    pub(crate) model: Kind,
    pub(crate) task: &'static str,
    pub(crate) params: ModelParams,
    pub(crate) rows: u64,
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    #[serde(flatten)]
    pub(crate) inside: Inside,
    pub(crate) rows_retained: usize,
    /// Predictions given before each row was learnt.
    pub(crate) prequential: Option<ValueReport>,
    pub(crate) metrics: Option<ValueReport>,
    pub(crate) out: PathBuf,
}

pub(crate) fn run(args: &UpdateArgs, mut model: ValueModel) -> anyhow::Result<Outcome> {
    if args.report.is_some() {
        anyhow::bail!(
            "--report of update needs a classifier (this is a regression model): use evaluate --report"
        );
    }
    let start = Instant::now();
    let par = args.run.par()?;
    let budget = args.limits.budget(start);
    interrupt::listen(&budget)?;
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut reader = RowReader::open_with(&args.data, &args.data_args.options(), &model.schema)?;
    let (mut predictions, mut truth) = (Normals::default(), Vec::new());
    while let Some(batch) = reader.next_batch(batch_rows(model.n_features()).min(1024))? {
        let values = batch.values.unwrap_or_default();
        let known: Vec<usize> = (0..values.len()).filter(|&i| !values[i].is_nan()).collect();
        let x = batch.x.select(ndarray::Axis(0), &known);
        let targets: Vec<f64> = known.iter().map(|&i| values[i]).collect();
        let update = model.learn(Rows::new(x.view(), targets.as_slice(), None), &training)?;
        truth.extend_from_slice(&targets[..update.n_learnt]);
        predictions.mean.extend_from_slice(&update.values.mean[..update.n_learnt]);
        predictions.variance.extend_from_slice(&update.values.variance[..update.n_learnt]);
        if budget.spent().is_some() {
            break;
        }
    }
    let out = args.out.clone().unwrap_or_else(|| args.model.clone());
    let bytes = model.save(&out)?;
    let seconds = start.elapsed().as_secs_f64();
    let tested = args
        .test
        .as_ref()
        .map(|test| evaluate_file(&model, test, &args.data_args.options(), &par))
        .transpose()?;
    let result = UpdateValuesResult {
        model: model.kind(),
        task: "regression",
        params: model.params(),
        rows: truth.len() as u64,
        seconds,
        bytes,
        peak_memory_bytes: process::peak_memory(),
        inside: Inside::new(&model),
        rows_retained: model.regressor.n_remembered(),
        prequential: if truth.is_empty() { None } else { Some(ValueReport::new(&predictions, &truth)?) },
        metrics: tested.map(|evaluation| evaluation.report),
        out,
    };
    output::show(&result, args.run.json)?;
    Ok(Outcome::Done)
}
