//! Rewriting a tree that learns into the one order in which it is walked fast and saved.

use super::LiveTree;
use crate::online::lists::{Spot, split_above, spot_below};
use crate::tree::{Link, Target, Tree};

impl LiveTree {
    /// Puts the tree in order once much of it is dead or has been added out of order.
    pub(super) fn order_if_due(&mut self) {
        let n = self.tree.splits.len();
        let is_due = 4 * self.n_dead > n + 256
            || n > 2 * self.n_ordered + 256
            || 2 * self.n_dead_entries > self.tree.leaves.len() + 512;
        if is_due {
            self.put_in_order();
        }
    }

    /// Rewrites the tree: nothing dead or empty, the larger child of each split next to it. Its predictions stay the same.
    pub(in crate::online) fn put_in_order(&mut self) {
        if self.is_ordered {
            return;
        }
        let sizes = self.sizes();
        let size = |link: Link| link.as_split().map_or_else(|| self.leaf_size(link), |i| sizes[i]);
        let mut new = Tree::default();
        let live = self.tree.splits.len() - self.n_dead.min(self.tree.splits.len());
        new.splits.reserve_exact(live);
        let mut old_of_new: Vec<Spot> = vec![0];
        // Links that wait, with their old and their new spot.
        let mut waiting = vec![(self.tree.root, 0, 0)];
        while let Some((mut link, mut old, to)) = waiting.pop() {
            // Where one side is empty the other takes the place of the split.
            while let Some(index) = link.as_split() {
                let split = &self.tree.splits[index];
                let empty = split.links.iter().position(|&side| size(side) == 0.0);
                let Some(empty) = empty else { break };
                link = split.links[1 - empty];
                old = spot_below(index, empty == 0);
            }
            let moved = if let Some(index) = link.as_split() {
                let mut split = self.tree.splits[index];
                if let Some(set) = split.categories(&self.tree.sets) {
                    split.set_categories(&set, &mut new.sets);
                }
                let at = new.splits.len();
                new.splits.push(split);
                old_of_new.resize(1 + 2 * new.splits.len(), 0);
                let larger = usize::from(size(split.links[0]) <= size(split.links[1]));
                for side in [1 - larger, larger] {
                    let right = side == 1;
                    waiting.push((split.links[side], spot_below(index, right), spot_below(at, right)));
                }
                Link::to_split(at)
            } else {
                old_of_new[to] = old;
                match link.target() {
                    Target::Listed(_) => new.add_leaf(&self.tree.leaf_weights(link)),
                    _ => link,
                }
            };
            new.set_link(split_above(to), moved);
        }
        self.lists.reorder(&old_of_new);
        // Spots above splits have no rows of their own.
        for spot in 0..old_of_new.len() {
            if new.link(split_above(spot)).as_split().is_some() {
                self.lists.clear(spot);
            }
        }
        self.tree = new;
        self.n_dead = 0;
        self.n_dead_entries = 0;
        self.n_changes += 1;
        self.n_ordered = self.tree.splits.len();
        self.is_ordered = true;
    }

    /// For each split the weight of the rows below it. Children come after their parents, so one pass from the end does.
    fn sizes(&self) -> Vec<f64> {
        let mut sizes = vec![0.0; self.tree.splits.len()];
        for index in (0..sizes.len()).rev() {
            let of = |link: Link| link.as_split().map_or_else(|| self.leaf_size(link), |i| sizes[i]);
            let links = self.tree.splits[index].links;
            sizes[index] = of(links[0]) + of(links[1]);
        }
        sizes
    }

    fn leaf_size(&self, leaf: Link) -> f64 {
        match leaf.target() {
            Target::Split(_) => 0.0,
            Target::Pure { rows, .. } => f64::from(rows),
            Target::Listed(at) => self.tree.leaves.get(at).map_or(0.0, |head| f64::from(head.weight)),
        }
    }
}
