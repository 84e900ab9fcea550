//! `store info`.

use std::path::PathBuf;

use hedgerow::store::{Counts, Input, Store};
use serde::Serialize;

use crate::args::StoreInfoArgs;
use crate::commands::Outcome;
use crate::output;

/// What `store info` tells.
#[derive(Debug, Serialize)]
pub(crate) struct StoreInfo {
    pub(crate) dir: PathBuf,
    #[serde(flatten)]
    pub(crate) counts: Counts,
    pub(crate) features: usize,
    pub(crate) classes: Vec<String>,
    pub(crate) learners: Vec<LearnerFacts>,
    pub(crate) inputs: Vec<Input>,
}

#[derive(Debug, Serialize)]
pub(crate) struct LearnerFacts {
    pub(crate) name: String,
    pub(crate) model: Option<String>,
    /// Events that its newest checkpoint has learnt.
    pub(crate) cursor: Option<u64>,
    pub(crate) model_bytes: u64,
}

pub(super) fn run(args: &StoreInfoArgs) -> anyhow::Result<Outcome> {
    let store = Store::open_to_read(&args.dir)?;
    if args.check {
        store.check()?;
    }
    let schema = store.schema();
    let learners = store.learners()?.into_iter().map(|learner| LearnerFacts {
        model: serde_json::from_str::<serde_json::Value>(&learner.config)
            .ok()
            .and_then(|config| config["model"].as_str().map(String::from)),
        name: learner.name,
        cursor: learner.cursor,
        model_bytes: learner.model_bytes,
    });
    let info = StoreInfo {
        dir: args.dir.clone(),
        counts: store.counts()?,
        features: schema.n_features(),
        classes: schema.labels.names().to_vec(),
        learners: learners.collect(),
        inputs: store.inputs()?,
    };
    output::show(&info, args.json)
}
