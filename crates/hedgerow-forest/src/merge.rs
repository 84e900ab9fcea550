//! One forest out of several that were grown apart.

use std::collections::HashMap;

use hedgerow_core::{ColumnKind, Error, LabelTable, Result, Schema};

use crate::calibration::Calibration;
use crate::forest::Forest;
use crate::grow::add_gains;
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
    forests.iter().try_for_each(|(_, forest)| forest.params.check_plain())?;
    let mut union = (*schema).clone();
    let mut merged = (*first).clone();
    let mut members = vec![(*first, (0..first.n_classes).collect())];
    for (schema, forest) in rest {
        check_columns(&union, schema)?;
        let classes = add_labels(&mut union.labels, &schema.labels)?;
        let categories = add_categories(&mut union, schema);
        merged.trees.extend(forest.trees.iter().map(|tree| translate(tree, &classes, &categories)));
        add_gains(&mut merged.gains, &forest.gains);
        members.push((*forest, classes));
    }
    union.check_sizes()?;
    // What was newest in one stream says nothing about another.
    merged.horizons = None;
    merged.n_classes = union.n_classes();
    merged.params.n_trees = merged.trees.len();
    let first_power = first.leaf_power();
    if members.iter().any(|(forest, _)| forest.leaf_power() != first_power) {
        let mean_power = mean(&members, |forest| Some(forest.leaf_power()));
        merged.leaf_weight = LeafWeight::new(mean_power.unwrap_or(0.0));
    }
    merged.calibration = mean_calibration(&members);
    merged.prior_shift = mean_prior_shift(&members, merged.n_classes);
    merged.parts = simplify(members.iter().flat_map(parts_in_union).collect(), merged.n_classes);
    Ok((union, merged))
}

/// A forest, and for each of its classes the class in the union.
type Member<'a> = (&'a Forest, Vec<usize>);

/// Which trees of a forest know which classes, in the union's classes.
fn parts_in_union((forest, classes): &Member<'_>) -> Vec<Part> {
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
            let mut weights = tree.leaf_weights(link);
            weights.iter_mut().for_each(|weight| weight.0 = classes[weight.0]);
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

/// The mean of a number, each forest counting as much as it has trees; none unless all have it.
fn mean(members: &[Member<'_>], number: impl Fn(&Forest) -> Option<f64>) -> Option<f64> {
    let n_trees: usize = members.iter().map(|(forest, _)| forest.trees.len()).sum();
    let terms = members.iter().map(|(forest, _)| Some(forest.trees.len() as f64 * number(forest)?));
    let sum: f64 = terms.sum::<Option<f64>>()?;
    (n_trees > 0).then(|| sum / n_trees as f64)
}

/// The geometric mean of the forests' factors for each class, each forest counting as much as it has trees; one without factors
/// counts with 1.
fn mean_prior_shift(members: &[Member<'_>], n_classes: usize) -> Vec<f64> {
    if members.iter().all(|(forest, _)| forest.prior_shift.is_empty()) {
        return Vec::new();
    }
    let (mut logs, mut trees) = (vec![0.0; n_classes], vec![0.0; n_classes]);
    for (forest, classes) in members {
        let n = forest.trees.len() as f64;
        for (own, &class) in classes.iter().enumerate() {
            logs[class] += n * libm::log(forest.prior_shift.get(own).copied().unwrap_or(1.0));
            trees[class] += n;
        }
    }
    logs.iter().zip(trees).map(|(log, n)| if n > 0.0 { libm::exp(log / n) } else { 1.0 }).collect()
}

/// The geometric mean of the forests' numbers; none unless all have them.
fn mean_calibration(members: &[Member<'_>]) -> Option<Calibration> {
    let mean = |of: fn(&Calibration) -> f64| -> Option<f64> {
        mean(members, |forest| forest.calibration.as_ref().map(|c| libm::log(of(c)))).map(libm::exp)
    };
    Some(Calibration { pseudo_votes: mean(|c| c.pseudo_votes)?, sharpness: mean(|c| c.sharpness)? })
}
