//! What the leaves of a tree that learns count, and when they are due to be split.

use super::{LiveTree, OnlineRows};
use crate::online::lists::Spot;
use crate::tree::{Link, Target};

/// What a leaf must have to be split: one row in so many outside its most frequent class.
const DUE: f32 = 12.0;

impl LiveTree {
    /// A leaf of the rows on a spot's list.
    pub(super) fn count<C>(&mut self, spot: Spot, online_rows: &OnlineRows<'_, C>) -> Link {
        let mut rows: Vec<u32> = self.lists.rows(spot).collect();
        // Sums of weights must not depend on how the rows came here.
        online_rows.sort(&mut rows);
        let mut weights: Vec<(usize, f64)> = Vec::new();
        for slot in rows {
            let class = online_rows.class(slot);
            let weight = online_rows.input.row_weights.map_or(1.0, |w| f64::from(w[slot as usize]))
                * online_rows.input.class_weights[class];
            match weights.last_mut() {
                Some(last) if last.0 == class => last.1 += weight,
                _ => weights.push((class, weight)),
            }
        }
        weights.retain(|w| w.1 > 0.0);
        if weights.is_empty() { Link::default() } else { self.tree.add_leaf(&weights) }
    }

    /// The leaf with one row more.
    #[inline]
    pub(super) fn with_one_more(&mut self, leaf: Link, class: usize) -> Link {
        if let Target::Pure { class: own, rows } = leaf.target()
            && (own == class || rows == 0)
            && let Some(more) = Link::pure(class, rows + 1)
        {
            return more;
        }
        if let Target::Listed(at) = leaf.target()
            && let Some(place) = self.tree.entry_of(at, class)
        {
            self.tree.leaves[place].weight += 1.0;
            self.tree.leaves[at].weight += 1.0;
            return leaf;
        }
        let mut weights = self.tree.leaf_weights(leaf);
        match weights.iter_mut().find(|w| w.0 == class) {
            Some(own) => own.1 += 1.0,
            None => weights.push((class, 1.0)),
        }
        weights.retain(|w| w.1 > 0.0);
        weights.sort_by_key(|w| w.0);
        self.drop_leaf(leaf);
        self.tree.add_leaf(&weights)
    }

    /// The leaf with one row less.
    pub(super) fn with_one_less(&mut self, leaf: Link, class: usize) -> Link {
        if let Target::Pure { class: own, rows } = leaf.target() {
            return if rows > 1 { Link::pure(own, rows - 1).unwrap_or_default() } else { Link::default() };
        }
        let mut weights = self.tree.leaf_weights(leaf);
        self.drop_leaf(leaf);
        if let Some(own) = weights.iter_mut().find(|w| w.0 == class) {
            own.1 -= 1.0;
        }
        weights.retain(|w| w.1 > 0.5);
        if weights.is_empty() { Link::default() } else { self.tree.add_leaf(&weights) }
    }

    /// Notes that the entries of a leaf are no longer used.
    pub(super) fn drop_leaf(&mut self, leaf: Link) {
        if let Target::Listed(at) = leaf.target() {
            let n = 1 + self.tree.leaves[at].class as usize;
            if at + n == self.tree.leaves.len() {
                self.tree.leaves.truncate(at);
            } else {
                self.n_dead_entries += n;
            }
        }
    }

    /// Whether a leaf has enough rows of other classes to be split.
    #[inline]
    pub(super) fn is_due<C>(&self, leaf: Link, online_rows: &OnlineRows<'_, C>) -> bool {
        let Target::Listed(at) = leaf.target() else { return false };
        let head = self.tree.leaves[at];
        if head.class < 2 {
            return false;
        }
        let most = self.tree.leaves[at + 1..=at + head.class as usize]
            .iter()
            .fold(0.0, |most, e| e.weight.max(most));
        let others = head.weight - most;
        others * DUE >= head.weight
            && (online_rows.input.noise == 0.0
                || online_rows.input.is_worth_splitting(f64::from(others), f64::from(head.weight)))
    }
}
