//! `info` for a model of values.

use hedgerow::core::Schema;
use hedgerow::{FORMAT_VERSION, Kind, ModelParams, ValueModel};
use serde::Serialize;

use super::Inside;

/// What `info` tells about a model of values.
#[derive(Debug, Serialize)]
pub(crate) struct ValueModelInfo {
    pub(crate) model: Kind,
    pub(crate) task: &'static str,
    pub(crate) format_version: u32,
    pub(crate) params: ModelParams,
    pub(crate) schema: Schema,
    pub(crate) bytes: u64,
    pub(crate) model_memory_bytes: u64,
    #[serde(flatten)]
    pub(crate) inside: Inside,
    /// Rows learnt and retained; none for a model that was saved without its rows.
    pub(crate) rows_learnt: Option<u64>,
    pub(crate) rows_retained: Option<usize>,
}

impl ValueModelInfo {
    pub(crate) fn new(model: &ValueModel, bytes: u64) -> Self {
        let learns = model.regressor.can_learn();
        Self {
            model: model.kind(),
            task: "regression",
            format_version: FORMAT_VERSION,
            params: model.params(),
            schema: model.schema().clone(),
            bytes,
            model_memory_bytes: model.bytes() as u64,
            inside: Inside::new(model),
            rows_learnt: learns.then(|| model.regressor.n_seen()),
            rows_retained: learns.then(|| model.regressor.n_retained()),
        }
    }
}
