//! `info`: what a file holds.

use std::collections::BTreeMap;

use hedgerow::core::Schema;
use hedgerow::forest::{Calibration, ForestParams};
use hedgerow::io::{Summary, summarize};
use hedgerow::{FORMAT_VERSION, Model, is_model_file};
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
    pub(crate) calibration: Option<Calibration>,
    /// Share of the impurity removed by each column, the largest first.
    pub(crate) importances: Vec<(String, f64)>,
    #[serde(skip)]
    pub(crate) show_all: bool,
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
    let hedgerow::Learner::Forest(forest) = &model.learner else {
        anyhow::bail!("{}: a kind of model this command does not know", args.file.display());
    };
    let mut heights = BTreeMap::new();
    for tree in forest.trees() {
        *heights.entry(tree.height()).or_insert(0) += 1;
    }
    let names = model.schema.columns.iter().map(|c| c.name.clone());
    let mut importances: Vec<(String, f64)> = names.zip(forest.impurity_importances()).collect();
    importances.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(ModelInfo {
        model: model.kind(),
        format_version: FORMAT_VERSION,
        params: forest.params().clone(),
        schema: model.schema.clone(),
        bytes: model.file_len()?,
        model_memory_bytes: model.bytes() as u64,
        trees: forest.trees().len(),
        nodes: forest.n_nodes(),
        heights,
        calibration: forest.calibration().copied(),
        importances,
        show_all: args.all,
    })
}
