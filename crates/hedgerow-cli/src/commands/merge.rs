//! `merge`: several models in, one out.

use std::path::PathBuf;

use hedgerow::core::Summary;
use hedgerow::{Kind, Model};
use serde::Serialize;

use super::{Outcome, check_writable};
use crate::args::MergeArgs;
use crate::output;
use crate::process;

/// What `merge` tells.
#[derive(Debug, Serialize)]
pub(crate) struct MergeResult {
    pub(crate) model: Kind,
    pub(crate) parts: usize,
    /// What is told of this kind of model only.
    #[serde(flatten)]
    pub(crate) inside: Summary,
    pub(crate) features: usize,
    pub(crate) classes: Vec<String>,
    pub(crate) bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) out: PathBuf,
}

pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<Outcome> {
    check_writable(&args.out)?;
    let models = args.models.iter().map(Model::load).collect::<Result<Vec<_>, _>>()?;
    let merged = hedgerow::merge(&models.iter().collect::<Vec<_>>())?;
    let bytes = merged.save(&args.out)?;
    let result = MergeResult {
        model: merged.kind(),
        parts: models.len(),
        inside: merged.summary(),
        features: merged.schema().n_features(),
        classes: merged.schema().labels.names().to_vec(),
        bytes,
        peak_memory_bytes: process::peak_memory(),
        out: args.out.clone(),
    };
    output::show(&result, args.run.json)?;
    Ok(Outcome::Done)
}
