//! Which arrays a forest keeps in order to go on learning.

use hedgerow_core::{Result, Schema};
use hedgerow_forest::{Forest, OnlineForest, Saved};
use safetensors::Dtype;

use super::forest::each;
use super::layout::{Parts, Plan};
use super::{json, malformed, rows};

const STATE: &str = "learning";

/// Whether a file has what a forest needs to go on learning.
pub(super) fn is_there(parts: &Parts<'_>) -> bool {
    parts.has_text(STATE)
}

pub(super) fn plan<'a>(saved: &'a Saved, plan: &mut Plan<'a>) -> Result<()> {
    plan.json(STATE, &saved.state)?;
    let n_rows = saved.classes.len();
    let u64s = |plan: &mut Plan<'a>, name, values: &'a [u64]| {
        plan.array(name, Dtype::U64, vec![values.len()], |out| each(values, out, |v| v.to_le_bytes()));
    };
    u64s(plan, "rows.ages", &saved.ages);
    u64s(plan, "trees.births", &saved.births);
    u64s(plan, "trees.records", &saved.records);
    let f32s = |plan: &mut Plan<'a>, name, shape, values: &'a [f32]| {
        plan.array(name, Dtype::F32, shape, |out| each(values, out, |v| v.to_le_bytes()));
    };
    rows::plan_features(&saved.features, plan);
    if let Some(weights) = &saved.weights {
        f32s(plan, "rows.weights", vec![n_rows], weights);
    }
    f32s(plan, "newest.shares", vec![saved.window_shares.len()], &saved.window_shares);
    plan.array("newest.trees", Dtype::U32, vec![saved.window_trees.len()], |out| {
        each(&saved.window_trees, out, |v| v.to_le_bytes())
    });
    let u16s = |plan: &mut Plan<'a>, name, values: &'a [u16]| {
        plan.array(name, Dtype::U16, vec![values.len()], |out| each(values, out, |v| v.to_le_bytes()));
    };
    u16s(plan, "rows.classes", &saved.classes);
    u16s(plan, "newest.classes", &saved.window_labels);
    Ok(())
}

pub(super) fn read(parts: &Parts<'_>, schema: &Schema, forest: Forest) -> Result<OnlineForest> {
    let n_features = schema.n_features();
    let features = rows::read_features(parts, n_features)?;
    let classes = parts.u16s("rows.classes")?;
    if features.n_rows() != classes.len() {
        return Err(malformed("rows", format!("expected {} rows of {n_features} values", classes.len())));
    }
    let weights = if parts.has("rows.weights") { Some(parts.f32s("rows.weights")?) } else { None };
    let saved = Saved {
        state: json(parts, STATE)?,
        features,
        classes,
        ages: parts.u64s("rows.ages")?,
        weights,
        births: parts.u64s("trees.births")?,
        records: parts.u64s("trees.records")?,
        window_shares: parts.f32s("newest.shares")?,
        window_labels: parts.u16s("newest.classes")?,
        window_trees: parts.u32s("newest.trees")?,
    };
    OnlineForest::restore(forest, schema, saved)
}
