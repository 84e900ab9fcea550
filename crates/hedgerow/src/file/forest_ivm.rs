//! Texts and arrays of a forest blended with IVMs: those of the forest, and the tables of the IVMs.

use std::borrow::Cow;

use hedgerow_core::{Result, Schema};
use hedgerow_forest::Saved;
use hedgerow_forest::tree::Tree;
use hedgerow_hybrid::ForestIvm;
use hedgerow_hybrid::forest_ivm::Part;

use super::layout::{Parts, Plan};
use super::{forest, json, kernel, online};

const FACTS: &str = "facts";

/// The trees in the order in which they are written, and what the forest needs to go on learning.
pub(super) fn trees(part: &Part) -> (Cow<'_, [Tree]>, Option<Saved>) {
    match part {
        Part::Alone(forest) => (Cow::Borrowed(forest.trees()), None),
        Part::Learning(online) => (online.ordered_trees(), Some(online.saved())),
    }
}

pub(super) fn plan<'a>(model: &'a ForestIvm, trees: &'a [Tree], plan: &mut Plan<'a>) -> Result<()> {
    plan.json(FACTS, &model.facts())?;
    for (name, table) in model.tables() {
        kernel::plan_table(&name, table, plan);
    }
    forest::plan(model.part().forest(), trees, plan)
}

pub(super) fn read(parts: &Parts<'_>, schema: &Schema) -> Result<ForestIvm> {
    ForestIvm::restore(json(parts, FACTS)?, part(parts, schema)?, &mut |name| kernel::table(parts, name))
}

/// The forest, with what it needs to go on learning if that is there.
pub(super) fn part(parts: &Parts<'_>, schema: &Schema) -> Result<Part> {
    let forest = forest::read(parts, schema)?;
    Ok(if online::is_there(parts) {
        Part::Learning(Box::new(online::read(parts, schema, forest)?))
    } else {
        Part::Alone(Box::new(forest))
    })
}
