//! Which arrays a forest is.

use std::io::{self, Write};

use hedgerow_core::{Params as _, Result, Schema};
use hedgerow_forest::tree::{LeafEntry, Limits, Link, Split, Tree};
use hedgerow_forest::{Calibration, Forest, ForestParams, Part};
use safetensors::Dtype;

use super::layout::{Parts, Plan};
use super::{json, malformed};

/// The arrays of a forest whose trees stand in `trees`.
pub(super) fn plan<'a>(forest: &'a Forest, trees: &'a [Tree], plan: &mut Plan<'a>) -> Result<()> {
    plan.json("params", forest.params())?;
    plan.json("calibration", &forest.calibration())?;
    if !forest.prior_shift().is_empty() {
        plan.json("tilt", &forest.prior_shift())?;
    }
    plan.json("parts", &forest.parts())?;
    plan.json("leaf_power", &forest.leaf_power())?;
    let total = |len: fn(&Tree) -> usize| trees.iter().map(len).sum::<usize>();
    let (n_splits, n_leaves) = (total(|t| t.splits().len()), total(|t| t.leaf_entries().len()));
    let n_sets = total(|t| t.category_sets().len());

    let gains = forest.gains();
    plan.array("gains", Dtype::F64, vec![gains.len()], |out| each(gains, out, |g| g.to_le_bytes()));
    let mut ends = |name, len: fn(&Tree) -> usize| {
        plan.array(name, Dtype::U64, vec![trees.len()], move |out| {
            let mut end = 0_u64;
            for tree in trees {
                end += len(tree) as u64;
                out.write_all(&end.to_le_bytes())?;
            }
            Ok(())
        });
    };
    ends("trees.split_ends", |tree| tree.splits().len());
    ends("trees.leaf_ends", |tree| tree.leaf_entries().len());
    ends("trees.set_ends", |tree| tree.category_sets().len());
    plan.array("trees.roots", Dtype::U32, vec![trees.len()], |out| {
        each(trees, out, |tree| tree.root().bits().to_le_bytes())
    });
    plan.array("splits.links", Dtype::U32, vec![n_splits, 2], |out| {
        trees.iter().try_for_each(|t| each(t.splits(), out, |s| pair(s.links().map(Link::bits))))
    });
    plan.array("splits.threshold", Dtype::F32, vec![n_splits], |out| {
        trees.iter().try_for_each(|t| each(t.splits(), out, |s| s.threshold().to_le_bytes()))
    });
    plan.array("leaves.class", Dtype::U32, vec![n_leaves], |out| {
        trees.iter().try_for_each(|t| each(t.leaf_entries(), out, |e| e.class.to_le_bytes()))
    });
    plan.array("leaves.weight", Dtype::F32, vec![n_leaves], |out| {
        trees.iter().try_for_each(|t| each(t.leaf_entries(), out, |e| e.weight.to_le_bytes()))
    });
    plan.array("sets", Dtype::U32, vec![n_sets], |out| {
        trees.iter().try_for_each(|t| each(t.category_sets(), out, |word| word.to_le_bytes()))
    });
    plan.array("splits.feature", Dtype::U16, vec![n_splits], |out| {
        trees.iter().try_for_each(|t| each(t.splits(), out, |s| s.feature().to_le_bytes()))
    });
    plan.array("splits.flags", Dtype::U8, vec![n_splits], |out| {
        trees.iter().try_for_each(|t| each(t.splits(), out, |s| [s.flags() as u8]))
    });
    Ok(())
}

pub(super) fn each<T, const N: usize>(
    items: &[T],
    out: &mut dyn Write,
    bytes: impl Fn(&T) -> [u8; N],
) -> io::Result<()> {
    const ITEMS: usize = 1024;
    let mut buffer = Vec::with_capacity(ITEMS * N);
    for chunk in items.chunks(ITEMS) {
        buffer.clear();
        chunk.iter().for_each(|item| buffer.extend_from_slice(&bytes(item)));
        out.write_all(&buffer)?;
    }
    Ok(())
}

fn pair(words: [u32; 2]) -> [u8; 8] {
    (u64::from(words[0]) | u64::from(words[1]) << 32).to_le_bytes()
}

pub(super) fn read(parts: &Parts<'_>, schema: &Schema) -> Result<Forest> {
    let params: ForestParams = json(parts, "params")?;
    params.rules().map_err(|wrong| malformed("params", wrong.to_string()))?;
    let calibration: Option<Calibration> = json(parts, "calibration")?;
    if calibration.is_some_and(|c| !(is_positive(c.pseudo_votes) && is_positive(c.sharpness))) {
        return Err(malformed("calibration", "expected two numbers above 0"));
    }
    let gains = parts.f64s("gains")?;
    if gains.len() != schema.n_features() || gains.iter().any(|g| !g.is_finite()) {
        return Err(malformed("gains", format!("expected {} finite numbers", schema.n_features())));
    }
    let trees = read_trees(parts, Limits { n_features: schema.n_features(), n_classes: schema.n_classes() })?;
    let known: Vec<Part> = json(parts, "parts")?;
    // Version 1 had trees that all count the same.
    let leaf_power: f64 = if parts.has_text("leaf_power") { json(parts, "leaf_power")? } else { 0.0 };
    if !(-1.0..=1.0).contains(&leaf_power) {
        return Err(malformed("leaf_power", "expected a number from -1 to 1"));
    }
    let prior_shift: Vec<f64> = if parts.has_text("tilt") { json(parts, "tilt")? } else { Vec::new() };
    if prior_shift.len() > schema.n_classes() || !prior_shift.iter().all(|&factor| is_positive(factor)) {
        return Err(malformed("tilt", "expected a number above 0 for each class"));
    }
    let forest = Forest::from_parts(params, schema.n_classes(), trees, calibration, gains)
        .with_prior_shift(prior_shift);
    forest.with_leaf_power(leaf_power).with_parts(known)
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn read_trees(parts: &Parts<'_>, limits: Limits) -> Result<Vec<Tree>> {
    let roots = parts.u32s("trees.roots")?;
    let splits = read_splits(parts)?;
    let (classes, weights) = (parts.u32s("leaves.class")?, parts.f32s("leaves.weight")?);
    if classes.len() != weights.len() {
        return Err(malformed("leaves.weight", format!("expected {} entries", classes.len())));
    }
    let leaves: Vec<LeafEntry> =
        classes.into_iter().zip(weights).map(|(class, weight)| LeafEntry { class, weight }).collect();
    let sets = parts.u32s("sets")?;
    let split_ends = ends(parts, "trees.split_ends", roots.len(), splits.len())?;
    let leaf_ends = ends(parts, "trees.leaf_ends", roots.len(), leaves.len())?;
    let set_ends = ends(parts, "trees.set_ends", roots.len(), sets.len())?;
    let slice = |ends: &[usize], t: usize| if t == 0 { 0..ends[0] } else { ends[t - 1]..ends[t] };
    (0..roots.len())
        .map(|t| {
            Tree::from_parts(
                Link::from_bits(roots[t]),
                splits[slice(&split_ends, t)].to_vec(),
                leaves[slice(&leaf_ends, t)].to_vec(),
                sets[slice(&set_ends, t)].to_vec(),
                limits,
            )
        })
        .collect()
}

fn read_splits(parts: &Parts<'_>) -> Result<Vec<Split>> {
    let links = parts.u32s("splits.links")?;
    let thresholds = parts.f32s("splits.threshold")?;
    let features = parts.u16s("splits.feature")?;
    let flags = parts.u8s("splits.flags")?;
    let n = thresholds.len();
    for (name, expected, got) in [
        ("splits.links", 2 * n, links.len()),
        ("splits.feature", n, features.len()),
        ("splits.flags", n, flags.len()),
    ] {
        if expected != got {
            return Err(malformed(name, format!("expected {expected} numbers, got {got}")));
        }
    }
    let split = |i: usize| {
        let links = [links[2 * i], links[2 * i + 1]].map(Link::from_bits);
        Split::from_parts(thresholds[i], features[i], u16::from(flags[i]), links)
    };
    Ok((0..n).map(split).collect())
}

/// Where the stretch of each tree ends in an array shared by all: rising, and the last at the end.
fn ends(parts: &Parts<'_>, name: &str, n_trees: usize, len: usize) -> Result<Vec<usize>> {
    let ends: Vec<usize> =
        parts.u64s(name)?.iter().map(|&e| usize::try_from(e).unwrap_or(usize::MAX)).collect();
    let rising = ends.windows(2).all(|w| w[0] <= w[1]);
    if ends.len() != n_trees || !rising || ends.last().copied().unwrap_or(0) != len {
        return Err(malformed(name, format!("expected {n_trees} rising numbers that end at {len}")));
    }
    Ok(ends)
}
