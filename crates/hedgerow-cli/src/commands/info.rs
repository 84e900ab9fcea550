//! `info`: what a file holds.

use std::fs;

use anyhow::Context as _;
use hedgerow::core::drift::StreamSummary;
use hedgerow::core::{Schema, Task};
use hedgerow::io::{Summary, summarize};
use hedgerow::{FORMAT_VERSION, Kind, Model, ModelParams, is_model_file};
use serde::Serialize;
use serde_json::{Map, Value};

use super::Outcome;
use crate::args::InfoArgs;
use crate::output;

/// What `info` tells about a model.
#[derive(Debug, Serialize)]
pub(crate) struct ModelInfo {
    pub(crate) model: Kind,
    pub(crate) task: Task,
    pub(crate) format_version: u32,
    pub(crate) params: ModelParams,
    pub(crate) schema: Schema,
    pub(crate) bytes: u64,
    pub(crate) model_memory_bytes: u64,
    /// What is told of this kind of model only.
    #[serde(flatten)]
    pub(crate) inside: hedgerow::core::Summary,
    #[serde(flatten)]
    pub(crate) closely: Map<String, Value>,
    /// Share of the impurity removed by each column, the largest first, where splits of trees remove some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) importances: Option<Vec<(String, f64)>>,
    /// What it can go on learning from; none for a model that was saved without its rows or does not learn row by row.
    pub(crate) learning: Option<LearningInfo>,
    #[serde(skip)]
    pub(crate) show_all: bool,
}

/// What `info` tells about a model that keeps learning.
#[derive(Debug, Serialize)]
pub(crate) struct LearningInfo {
    /// Rows learnt since the beginning.
    pub(crate) rows_learnt: u64,
    pub(crate) rows_retained: usize,
    /// Rows of each class that it retains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retained_by_class: Option<Vec<(String, usize)>>,
    /// Bytes of the file without retained rows: the trees or the active rows.
    pub(crate) predictor_bytes: u64,
    /// Bytes in the file of the rows with all else that learning needs.
    pub(crate) row_bytes: u64,
    /// What the rows learnt online were like: changes of the concept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<Stream>,
}

/// How the concept of a stream changed.
#[derive(Debug, Serialize)]
pub(crate) struct Stream {
    /// In a word: stationary, abrupt, gradual, recurring or continual.
    pub(crate) drift: &'static str,
    /// In a sentence.
    pub(crate) text: String,
    #[serde(flatten)]
    pub(crate) summary: StreamSummary,
}

impl Stream {
    /// Of the rows that a model has learnt online, if there were any.
    pub(crate) fn of(model: &Model) -> Option<Self> {
        let summary = model.stream_summary()?;
        Some(Self { drift: summary.drift(), text: summary.text(), summary })
    }
}

/// What `info` tells about data.
#[derive(Debug, Serialize)]
pub(crate) struct DataInfo {
    #[serde(flatten)]
    pub(crate) summary: Summary,
    #[serde(skip)]
    pub(crate) show_all: bool,
}

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<Outcome> {
    if args.live {
        return super::live::tell(&args.file, args.run.json);
    }
    let named_like_a_model = args.file.extension().is_some_and(|e| e == "hedgerow");
    if named_like_a_model || is_model_file(&args.file) {
        return output::show(&model_info(args)?, args.run.json);
    }
    let options = args.data_args.options();
    let summary = summarize(&args.file, &options)?;
    super::note_dates(&summary.schema, &options);
    output::show(&DataInfo { summary, show_all: args.all }, args.run.json)
}

fn model_info(args: &InfoArgs) -> anyhow::Result<ModelInfo> {
    let model = Model::load(&args.file)?;
    let bytes = fs::metadata(&args.file).with_context(|| args.file.display().to_string())?.len();
    let mut inside = model.summary();
    let importances = inside.importances.take().map(|shares| super::by_column(model.schema(), shares));
    Ok(ModelInfo {
        model: model.kind(),
        task: model.task(),
        format_version: FORMAT_VERSION,
        params: model.params(),
        schema: model.schema().clone(),
        bytes,
        model_memory_bytes: model.bytes() as u64,
        closely: std::mem::take(&mut inside.closely.values),
        inside,
        importances,
        learning: learning_info(&model)?,
        show_all: args.all,
    })
}

fn learning_info(model: &Model) -> anyhow::Result<Option<LearningInfo>> {
    let (Some(rows_learnt), Some(rows_retained)) = (model.n_seen(), model.n_retained()) else {
        return Ok(None);
    };
    let names = model.schema().labels.names().iter().cloned();
    let retained = model.retained_rows()?.filter(|rows| rows.task() == Task::Classification);
    let retained_by_class = retained.map(|rows| names.zip(rows.class_counts()).collect());
    let predictor_bytes = model.clone().without_rows().file_len()?;
    let row_bytes = model.file_len()?.saturating_sub(predictor_bytes);
    let stream = Stream::of(model);
    Ok(Some(LearningInfo {
        rows_learnt,
        rows_retained,
        retained_by_class,
        predictor_bytes,
        row_bytes,
        stream,
    }))
}
