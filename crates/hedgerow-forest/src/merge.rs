//! One forest out of several that were grown apart.

use std::collections::HashMap;

use hedgerow_core::{ColumnKind, Error, LabelTable, Result, Schema};

use crate::calibration::Calibration;
use crate::forest::Forest;
use crate::leaf_weight::LeafWeight;
use crate::parts::{Part, simplify};
use crate::tree::{CategorySet, Link, Target, Tree};

/// Puts forests together, trees in the order given. Their columns must be the same; classes and categories may differ, and
/// the result knows the union of them (those of the first forest keep their place).
///
/// Where the forests know different classes, each tree speaks only for the classes it has seen; see [`Part`].
pub fn merge(forests: &[(&Schema, &Forest)]) -> Result<(Schema, Forest)> {
    let Some(((schema, first), rest)) = forests.split_first() else {
        return Err(Error::Merge {
            what: "numbers of models",
            left: "at least one is needed".into(),
            right: "none".into(),
        });
    };
    let mut union = (*schema).clone();
    let mut merged = (*first).clone();
    let mut calibrations = vec![(first.calibration, first.trees.len())];
    let own_classes: Vec<usize> = (0..first.n_classes).collect();
    let mut shifts = vec![(own_classes.clone(), &first.prior_shift, first.trees.len())];
    let mut parts = parts_in_union(first, &own_classes);
    for (schema, forest) in rest {
        check_columns(&union, schema)?;
        let classes = add_labels(&mut union.labels, &schema.labels)?;
        let categories = add_categories(&mut union, schema);
        merged.trees.extend(forest.trees.iter().map(|tree| translate(tree, &classes, &categories)));
        for (sum, gain) in merged.gains.iter_mut().zip(&forest.gains) {
            *sum += gain;
        }
        calibrations.push((forest.calibration, forest.trees.len()));
        parts.extend(parts_in_union(forest, &classes));
        shifts.push((classes, &forest.prior_shift, forest.trees.len()));
    }
    union.check_sizes()?;
    merged.n_classes = union.n_classes();
    merged.params.n_trees = merged.trees.len();
    merged.leaf_weight = LeafWeight::new(mean_power(forests));
    merged.calibration = mean_calibration(&calibrations);
    merged.prior_shift = mean_prior_shift(&shifts, merged.n_classes);
    merged.parts = simplify(parts, merged.n_classes);
    Ok((union, merged))
}

/// Which trees of a forest know which classes, in the union's classes.
fn parts_in_union(forest: &Forest, classes: &[usize]) -> Vec<Part> {
    let all = Part { n_trees: forest.trees.len(), classes: (0..forest.n_classes as u32).collect() };
    let parts = if forest.parts.is_empty() { vec![all] } else { forest.parts.clone() };
    let translate = |mut part: Part| {
        part.classes.iter_mut().for_each(|class| *class = classes[*class as usize] as u32);
        part.classes.sort_unstable();
        part
    };
    parts.into_iter().filter(|part| part.n_trees > 0).map(translate).collect()
}

fn check_columns(ours: &Schema, theirs: &Schema) -> Result<()> {
    let differ = |what, left: String, right: String| Err(Error::Merge { what, left, right });
    if ours.n_features() != theirs.n_features() {
        return differ("numbers of columns", ours.n_features().to_string(), theirs.n_features().to_string());
    }
    for (a, b) in ours.columns.iter().zip(&theirs.columns) {
        if a.name != b.name {
            return differ("columns", format!("{:?}", a.name), format!("{:?}", b.name));
        }
        if a.kind.word() != b.kind.word() {
            let with_name = |word| format!("{word} {:?}", a.name);
            return differ("kinds of columns", with_name(a.kind.word()), with_name(b.kind.word()));
        }
    }
    Ok(())
}

/// Adds labels that are new and returns for each of `theirs` its class in the union.
fn add_labels(union: &mut LabelTable, theirs: &LabelTable) -> Result<Vec<usize>> {
    theirs.names().iter().map(|name| union.get_or_add(name).map(hedgerow_core::ClassId::index)).collect()
}

/// Adds categories that are new and returns for each column and each of their categories its place in the union.
fn add_categories(union: &mut Schema, theirs: &Schema) -> Vec<Vec<usize>> {
    let pairs = union.columns.iter_mut().zip(&theirs.columns);
    pairs
        .map(|(ours, theirs)| match (&mut ours.kind, &theirs.kind) {
            (
                ColumnKind::Categorical { categories: ours },
                ColumnKind::Categorical { categories: theirs },
            ) => {
                let mut places: HashMap<String, usize> = ours.iter().cloned().zip(0..).collect();
                let place_of = |name: &String| {
                    *places.entry(name.clone()).or_insert_with(|| {
                        ours.push(name.clone());
                        ours.len() - 1
                    })
                };
                theirs.iter().map(place_of).collect()
            }
            _ => Vec::new(),
        })
        .collect()
}

/// The same tree in the union's classes and categories.
fn translate(tree: &Tree, classes: &[usize], categories: &[Vec<usize>]) -> Tree {
    let mut out = Tree { splits: Vec::with_capacity(tree.splits.len()), ..Tree::default() };
    let move_link = |out: &mut Tree, link: Link| match link.target() {
        Target::Split(_) => link,
        Target::Pure { class, rows } => Link::pure(classes[class], rows).unwrap_or_default(),
        Target::Listed(_) => {
            let mut weights = Vec::new();
            tree.visit_leaf(link, |class, weight| weights.push((classes[class], f64::from(weight))));
            weights.sort_by_key(|w| w.0);
            out.add_leaf(&weights)
        }
    };
    out.root = move_link(&mut out, tree.root);
    for split in &tree.splits {
        let mut moved = *split;
        moved.links = split.links.map(|link| move_link(&mut out, link));
        if let Some(set) = split.categories(&tree.sets) {
            let places = categories[usize::from(split.feature)].iter().enumerate();
            let left = places.filter(|&(theirs, _)| set.contains(theirs)).map(|(_, &ours)| ours);
            moved.set_categories(&CategorySet::new(left), &mut out.sets);
        }
        out.splits.push(moved);
    }
    out
}

/// The mean of the powers of leaf sizes, each forest counting as much as it has trees.
fn mean_power(forests: &[(&Schema, &Forest)]) -> f64 {
    let sum = |of: &dyn Fn(&Forest) -> f64| forests.iter().map(|(_, forest)| of(forest)).sum::<f64>();
    let trees = |forest: &Forest| forest.trees.len() as f64;
    if forests.iter().all(|(_, forest)| forest.leaf_weight == forests[0].1.leaf_weight) {
        return forests[0].1.leaf_weight.power();
    }
    sum(&|forest| trees(forest) * forest.leaf_weight.power()) / sum(&trees).max(1.0)
}

/// The geometric mean of the parts' factors for each class, each part counting as much as it has trees; a part without factors
/// counts with 1.
fn mean_prior_shift(parts: &[(Vec<usize>, &Vec<f64>, usize)], n_classes: usize) -> Vec<f64> {
    if parts.iter().all(|(_, prior_shift, _)| prior_shift.is_empty()) {
        return Vec::new();
    }
    let (mut logs, mut trees) = (vec![0.0; n_classes], vec![0.0; n_classes]);
    for (classes, prior_shift, n) in parts {
        for (own, &class) in classes.iter().enumerate() {
            logs[class] += *n as f64 * libm::log(prior_shift.get(own).copied().unwrap_or(1.0));
            trees[class] += *n as f64;
        }
    }
    logs.iter().zip(trees).map(|(log, n)| if n > 0.0 { libm::exp(log / n) } else { 1.0 }).collect()
}

/// The geometric mean of the parts' numbers, each part counting as much as it has trees; none unless all have them.
fn mean_calibration(parts: &[(Option<Calibration>, usize)]) -> Option<Calibration> {
    let trees: f64 = parts.iter().map(|&(_, n)| n as f64).sum();
    let mean = |of: fn(Calibration) -> f64| -> Option<f64> {
        let logs: Option<f64> = parts.iter().map(|&(c, n)| c.map(|c| n as f64 * libm::log(of(c)))).sum();
        logs.filter(|_| trees > 0.0).map(|sum| libm::exp(sum / trees))
    };
    Some(Calibration { pseudo_votes: mean(|c| c.pseudo_votes)?, sharpness: mean(|c| c.sharpness)? })
}
