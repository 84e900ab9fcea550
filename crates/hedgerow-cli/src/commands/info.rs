//! `info`: what a file holds.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use hedgerow::core::Schema;
use hedgerow::forest::{Calibration, ForestParams};
use hedgerow::io::{Summary, summarize};
use hedgerow::{FORMAT_VERSION, Learner, Model, is_model_file};
use serde::Serialize;

use super::Verdict;
use crate::args::InfoArgs;
use crate::output;

/// What `info` tells about a model.
#[derive(Debug, Serialize)]
pub(crate) struct ModelInfo {
    pub(crate) model: &'static str,
    pub(crate) format_version: u32,
    pub(crate) params: ForestParams,
    pub(crate) schema: Schema,
    pub(crate) bytes: u64,
    pub(crate) model_memory_bytes: u64,
    pub(crate) trees: usize,
    pub(crate) nodes: usize,
    /// How many trees have each height.
    pub(crate) heights: BTreeMap<usize, usize>,
    pub(crate) leaf_power: f64,
    pub(crate) calibration: Option<Calibration>,
    /// What it can go on learning from; none for a model that was saved without its rows.
    pub(crate) learning: Option<LearningInfo>,
    /// Share of the impurity removed by each column, the largest first.
    pub(crate) importances: Vec<(String, f64)>,
    #[serde(skip)]
    pub(crate) show_all: bool,
}

/// What `info` tells about a model that keeps learning.
#[derive(Debug, Serialize)]
pub(crate) struct LearningInfo {
    /// Rows learnt since the beginning.
    pub(crate) rows_learnt: u64,
    pub(crate) rows_remembered: usize,
    /// Rows remembered of each class.
    pub(crate) remembered_by_class: Vec<(String, usize)>,
    /// Bytes in the file of the trees, and of the rows with all else that learning needs.
    pub(crate) tree_bytes: u64,
    pub(crate) row_bytes: u64,
}

/// What `info` tells about data.
#[derive(Debug, Serialize)]
pub(crate) struct DataInfo {
    #[serde(flatten)]
    pub(crate) summary: Summary,
    #[serde(skip)]
    pub(crate) show_all: bool,
}

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<Verdict> {
    let named_like_a_model = args.file.extension().is_some_and(|e| e == "hedgerow");
    if named_like_a_model || is_model_file(&args.file) {
        output::show(&model_info(args)?, args.run.json)?;
    } else {
        let summary = summarize(&args.file, &args.data_args.options())?;
        output::show(&DataInfo { summary, show_all: args.all }, args.run.json)?;
    }
    Ok(Verdict::Done)
}

fn model_info(args: &InfoArgs) -> anyhow::Result<ModelInfo> {
    let model = Model::load(&args.file)?;
    let Some(forest) = model.as_forest() else {
        anyhow::bail!("{}: a kind of model this command does not know", args.file.display());
    };
    let mut heights = BTreeMap::new();
    for tree in forest.trees() {
        *heights.entry(tree.height()).or_insert(0) += 1;
    }
    let names = model.schema.columns.iter().map(|c| c.name.clone());
    let mut importances: Vec<(String, f64)> = names.zip(forest.impurity_importances()).collect();
    importances.sort_by(|a, b| b.1.total_cmp(&a.1));
    let bytes = fs::metadata(&args.file).with_context(|| args.file.display().to_string())?.len();
    Ok(ModelInfo {
        model: model.kind(),
        format_version: format_version(&args.file).unwrap_or(FORMAT_VERSION),
        params: forest.params().clone(),
        schema: model.schema.clone(),
        bytes,
        model_memory_bytes: model.bytes() as u64,
        trees: forest.trees().len(),
        nodes: forest.n_nodes(),
        heights,
        leaf_power: forest.leaf_power(),
        calibration: forest.calibration().copied(),
        learning: learning_info(&model)?,
        importances,
        show_all: args.all,
    })
}

fn learning_info(model: &Model) -> anyhow::Result<Option<LearningInfo>> {
    let Some(online) = model.as_online() else { return Ok(None) };
    let names = model.schema.labels.names().iter().cloned();
    let counts = online.remembered_by_class().into_iter().chain(std::iter::repeat(0));
    let trees = Learner::Forest(online.forest().clone());
    let tree_bytes = Model { schema: model.schema.clone(), learner: trees }.file_len()?;
    Ok(Some(LearningInfo {
        rows_learnt: online.n_seen(),
        rows_remembered: online.n_remembered(),
        remembered_by_class: names.zip(counts).collect(),
        tree_bytes,
        row_bytes: model.file_len()?.saturating_sub(tree_bytes),
    }))
}

/// The version that a model file says it has: it stands in the header of the container, whose length comes first.
fn format_version(path: &Path) -> Option<u32> {
    let mut file = fs::File::open(path).ok()?;
    let mut length = [0; 8];
    file.read_exact(&mut length).ok()?;
    let mut header = Vec::new();
    file.take(u64::from_le_bytes(length)).read_to_end(&mut header).ok()?;
    let header: serde_json::Value = serde_json::from_slice(&header).ok()?;
    header["__metadata__"]["format_version"].as_str()?.parse().ok()
}
