//! Leaves that hold more than one class, or weights.
//!
//! A leaf is a run of entries: the first holds the number of classes and their total weight, the others a class and its
//! weight each, classes rising.

use super::{Link, Target, Tree};
use crate::leaf_weight::LeafWeight;

/// A class and its weight in a leaf; in the first entry of a leaf, the number of classes and the total weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeafEntry {
    /// The class, or in the first entry the number of classes that follow.
    pub class: u32,
    /// The weight of the class, or in the first entry the total.
    pub weight: f32,
}

impl Tree {
    /// Makes a leaf of the classes and weights given (classes rising, weights above 0) and returns the link to it.
    pub(crate) fn add_leaf(&mut self, classes: &[(usize, f64)]) -> Link {
        if let [(class, weight)] = classes
            && weight.fract() == 0.0
            && *weight < f64::from(u32::MAX)
            && let Some(link) = Link::pure(*class, *weight as u32)
        {
            return link;
        }
        let mut total: f64 = classes.iter().map(|(_, w)| w).sum();
        // Weights beyond the range of 32-bit floats become shares: what matters is how they compare.
        let scale = if (1e-30..1e30).contains(&total) { 1.0 } else { 1.0 / total };
        total *= scale;
        let at = self.leaves.len();
        let Some(link) = Link::listed(at) else {
            // 2^30 entries are 8 GiB in one tree: out of reach of any real data, and still a valid leaf.
            let favorite = classes.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |c| c.0);
            return Link::pure(favorite, 1).unwrap_or_default();
        };
        self.leaves.push(LeafEntry { class: classes.len() as u32, weight: total as f32 });
        self.leaves.extend(
            classes
                .iter()
                .map(|&(class, weight)| LeafEntry { class: class as u32, weight: (weight * scale) as f32 }),
        );
        link
    }

    /// Where the entry of a class stands in the listed leaf at a place, if it has one.
    pub(crate) fn entry_of(&self, at: usize, class: usize) -> Option<usize> {
        listed(&self.leaves, at).iter().position(|e| e.class as usize == class).map(|i| at + 1 + i)
    }

    /// The classes and weights of the leaf behind a link, each handed to `visit`; nothing for a split.
    #[inline]
    pub(crate) fn visit_leaf(&self, leaf: Link, mut visit: impl FnMut(usize, f32)) {
        match leaf.target() {
            Target::Split(_) => {}
            Target::Pure { class, rows } => visit(class, rows as f32),
            Target::Listed(at) => {
                for entry in listed(&self.leaves, at) {
                    visit(entry.class as usize, entry.weight);
                }
            }
        }
    }

    /// The same as a list.
    pub(crate) fn leaf_weights(&self, leaf: Link) -> Vec<(usize, f64)> {
        let mut weights = Vec::new();
        self.visit_leaf(leaf, |class, weight| weights.push((class, f64::from(weight))));
        weights
    }

    /// Adds the class shares of a leaf to `out`, each times what the leaf counts.
    #[inline]
    pub(crate) fn add_shares(&self, leaf: Link, leaf_weight: &LeafWeight, out: &mut [f64]) {
        match leaf.target() {
            Target::Split(_) => {}
            Target::Pure { class, rows } => out[class] += leaf_weight.of(rows as f32),
            Target::Listed(at) => {
                let total = self.leaves[at].weight;
                let counts = leaf_weight.of(total);
                for entry in listed(&self.leaves, at) {
                    out[entry.class as usize] += counts * (f64::from(entry.weight) / f64::from(total));
                }
            }
        }
    }

    /// Adds a vote for the favorite class of a leaf (of equals, the first) to `out`, times what the leaf counts.
    #[inline]
    pub(crate) fn add_vote(&self, leaf: Link, leaf_weight: &LeafWeight, out: &mut [f64]) {
        let (mut favorite, mut most, mut size) = (0, f32::NEG_INFINITY, 0.0);
        self.visit_leaf(leaf, |class, weight| {
            size += weight;
            if weight > most {
                (favorite, most) = (class, weight);
            }
        });
        out[favorite] += leaf_weight.of(size);
    }
}

fn listed(leaves: &[LeafEntry], at: usize) -> &[LeafEntry] {
    &leaves[at + 1..at + 1 + leaves[at].class as usize]
}

/// Where leaves start in a list, if the list is nothing but whole leaves of classes below `n_classes`.
pub(super) fn starts(leaves: &[LeafEntry], n_classes: usize) -> Option<Vec<bool>> {
    let mut starts = vec![false; leaves.len()];
    let mut at = 0;
    while let Some(head) = leaves.get(at) {
        let entries = leaves.get(at + 1..)?.get(..head.class as usize)?;
        let total: f64 = entries.iter().map(|e| f64::from(e.weight)).sum();
        let weights_ok = entries.iter().all(|e| e.weight.is_finite() && e.weight >= 0.0)
            && head.weight > 0.0
            && (f64::from(head.weight) - total).abs() <= 1e-3 * total;
        let classes_ok = entries.is_sorted_by(|a, b| a.class < b.class)
            && entries.iter().all(|e| (e.class as usize) < n_classes);
        if !weights_ok || !classes_ok {
            return None;
        }
        starts[at] = true;
        at += 1 + entries.len();
    }
    Some(starts)
}
