//! `merge`: several models in, one out.

use std::path::PathBuf;

use hedgerow::Model;
use hedgerow::core::Summary;
use serde::Serialize;

use super::{Described, Outcome, check_writable};
use crate::args::MergeArgs;
use crate::output;

/// What `merge` tells.
#[derive(Debug, Serialize)]
pub(crate) struct MergeResult {
    #[serde(flatten)]
    pub(crate) about: Described,
    pub(crate) parts: usize,
    /// What is told of this kind of model only.
    #[serde(flatten)]
    pub(crate) inside: Summary,
    pub(crate) out: PathBuf,
}

pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<Outcome> {
    check_writable([&args.out])?;
    let models = args.models.iter().map(Model::load).collect::<Result<Vec<_>, _>>()?;
    let merged = hedgerow::merge(&models.iter().collect::<Vec<_>>())?;
    let about = Described::new(&merged, merged.save(&args.out)?);
    let (parts, inside, out) = (models.len(), merged.summary(), args.out.clone());
    output::show(&MergeResult { about, parts, inside, out }, args.run.json)
}
