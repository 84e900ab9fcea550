//! Which texts and arrays a process with the kernel of a forest is: those of the forest, and what its leaves say.

use hedgerow_core::{Result, Schema};
use hedgerow_forest::tree::Tree;
use hedgerow_hybrid::ForestKernelClassifier;
use hedgerow_hybrid::forest_kernel::LeafTables;
use safetensors::Dtype;

use super::layout::{Parts, Plan};
use super::{forest, forest_ivm, json, kernel, malformed};

const FACTS: &str = "facts";
const ENDS: &str = "process.leaf_ends";
const LEAVES: &str = "process.leaves";
const VALUES: &str = "process.values";

pub(super) fn plan<'a>(
    model: &'a ForestKernelClassifier,
    trees: &'a [Tree],
    plan: &mut Plan<'a>,
) -> Result<()> {
    plan.json(FACTS, &model.facts())?;
    for (name, table) in model.tables() {
        kernel::plan_table(&name, table, plan);
    }
    if let Some((leaves, values)) = model.leaf_tables() {
        plan.array(ENDS, Dtype::U64, vec![leaves.len()], move |out| {
            let mut end = 0_u64;
            leaves.iter().try_for_each(|leaves| {
                end += leaves.len() as u64;
                out.write_all(&end.to_le_bytes())
            })
        });
        let n_leaves = leaves.iter().map(Vec::len).sum();
        plan.array(LEAVES, Dtype::U32, vec![n_leaves], move |out| {
            leaves.iter().try_for_each(|leaves| forest::each(leaves, out, |leaf| leaf.to_le_bytes()))
        });
        let n_values = values.iter().map(Vec::len).sum();
        plan.array(VALUES, Dtype::F32, vec![n_values], move |out| {
            values.iter().try_for_each(|values| forest::each(values, out, |value| value.to_le_bytes()))
        });
    }
    forest::plan(model.forest(), trees, plan)
}

pub(super) fn read(parts: &Parts<'_>, schema: &Schema) -> Result<ForestKernelClassifier> {
    let part = forest_ivm::part(parts, schema)?;
    let leaves = |n_classes: usize| leaf_tables(parts, n_classes);
    ForestKernelClassifier::restore(json(parts, FACTS)?, part, leaves, &mut |name| kernel::table(parts, name))
}

/// What the leaves say about so many classes, tree by tree.
fn leaf_tables(parts: &Parts<'_>, n_classes: usize) -> Result<LeafTables> {
    let (ends, leaves, values) = (parts.u64s(ENDS)?, parts.u32s(LEAVES)?, parts.f32s(VALUES)?);
    if Some(values.len()) != leaves.len().checked_mul(n_classes) {
        return Err(malformed(
            VALUES,
            format!("expected {n_classes} numbers for each of {} leaves", leaves.len()),
        ));
    }
    let mut found = LeafTables::default();
    let mut first = 0;
    for end in ends {
        let end = usize::try_from(end).unwrap_or(usize::MAX);
        let Some(of_tree) = leaves.get(first..end) else {
            return Err(malformed(ENDS, format!("expected rising numbers up to {}", leaves.len())));
        };
        found.keys.push(of_tree.to_vec());
        found.values.push(values[first * n_classes..end * n_classes].to_vec());
        first = end;
    }
    if first != leaves.len() {
        return Err(malformed(ENDS, format!("expected the last to be {}", leaves.len())));
    }
    Ok(found)
}
