//! Texts and arrays of a forest blended with IVMs: those of the forest, and the tables of the IVMs.

use hedgerow_core::{Result, Schema};
use hedgerow_forest::ForestModel;
use hedgerow_forest::tree::Tree;
use hedgerow_hybrid::ForestIvm;

use super::layout::{Parts, Plan};
use super::{forest, json, kernel, online};

const FACTS: &str = "facts";

pub(super) fn plan<'a>(model: &'a ForestIvm, trees: &'a [Tree], plan: &mut Plan<'a>) -> Result<()> {
    plan.json(FACTS, &model.facts())?;
    for (name, table) in model.tables() {
        kernel::plan_table(&name, table, plan);
    }
    forest::plan(model.forest(), trees, plan)
}

pub(super) fn read(parts: &Parts<'_>, schema: &Schema) -> Result<ForestIvm> {
    ForestIvm::restore(json(parts, FACTS)?, part(parts, schema)?, &mut |name| kernel::table(parts, name))
}

/// The forest, with what it needs to go on learning if that is there.
pub(super) fn part(parts: &Parts<'_>, schema: &Schema) -> Result<ForestModel> {
    let forest = forest::read(parts, schema)?;
    Ok(if online::is_there(parts) {
        ForestModel::Learning(Box::new(online::read(parts, schema, forest)?))
    } else {
        ForestModel::Frozen(forest)
    })
}
