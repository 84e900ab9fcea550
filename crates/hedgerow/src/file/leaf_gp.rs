//! Which texts and arrays trees with processes in their leaves are: those of a forest, of its rows, and the tables of the processes.

use hedgerow_core::{Classifier as _, Features, Result, Schema};
use hedgerow_forest::{Forest, ForestParams};
use hedgerow_hybrid::LeafGp;
use hedgerow_hybrid::leaf_gp::Stored;

use super::layout::{Parts, Plan};
use super::{forest, json, kernel, rows};

const FACTS: &str = "facts";

/// What has to be made for a file: pieces of trees as a forest, and rows.
pub(super) struct Whole {
    forest: Forest,
    features: Features,
    classes: Vec<u16>,
}

impl Whole {
    pub(super) fn new(model: &LeafGp) -> Self {
        let Stored { trees, features, labels } = model.stored();
        let gains = vec![0.0; model.n_features()];
        Self {
            forest: Forest::from_parts(ForestParams::default(), model.n_classes(), trees, None, gains),
            features,
            classes: labels.iter().map(|label| label.0 as u16).collect(),
        }
    }
}

pub(super) fn plan<'a>(model: &LeafGp, whole: &'a Whole, plan: &mut Plan<'a>) -> Result<()> {
    plan.json(FACTS, &model.facts())?;
    forest::plan(&whole.forest, whole.forest.trees(), plan)?;
    rows::plan(&whole.features, &whole.classes, plan);
    for (name, table) in model.tables() {
        kernel::plan_table(&name, table, plan);
    }
    Ok(())
}

pub(super) fn read(parts: &Parts<'_>, schema: &Schema) -> Result<LeafGp> {
    let forest = forest::read(parts, schema)?;
    let (features, labels) = rows::read(parts, schema, true)?;
    let stored = Stored { trees: forest.trees().to_vec(), features, labels };
    LeafGp::restore(json(parts, FACTS)?, stored, &mut |name| kernel::table(parts, name))
}
