//! Which rows of the pool stand in which leaf of a tree.
//!
//! The rows of a leaf are a list through the slots of the pool, linked both ways, so that a row enters and leaves in one step.
//! A leaf is known by its spot: 0 is the root, 1 + 2 i the left side of split i, 2 + 2 i its right side.

use crate::tree::Above;

const NONE: u32 = u32::MAX;

/// A place in a tree where a leaf can stand.
pub(super) type Spot = usize;

/// The spot of one side of a split.
pub(super) fn spot_below(split: usize, right: bool) -> Spot {
    1 + 2 * split + usize::from(right)
}

/// The split above a spot, and whether the spot is on its right side; none for the root.
pub(super) fn split_above(spot: Spot) -> Above {
    spot.checked_sub(1).map(|below| (below / 2, below % 2 == 1))
}

/// The lists of one tree.
#[derive(Debug, Clone, Default)]
pub(super) struct RowLists {
    /// For each slot the next and the previous row of its leaf.
    links: Vec<[u32; 2]>,
    /// For each spot the first row.
    heads: Vec<u32>,
}

impl RowLists {
    /// Makes room for so many splits and slots.
    pub(super) fn fit(&mut self, n_splits: usize, n_slots: usize) {
        self.heads.resize(1 + 2 * n_splits, NONE);
        if n_slots > self.links.len() {
            let more = n_slots - self.links.len();
            if self.links.capacity() - self.links.len() < more {
                self.links.reserve_exact(more.max(self.links.len() / 8));
            }
            self.links.resize(n_slots, [NONE; 2]);
        }
    }

    /// Reads what adding rows to these leaves will read: one after the other they would each wait for memory, together they share the wait.
    #[inline]
    pub(super) fn warm<const LANES: usize>(&self, spots: [Spot; LANES]) {
        let heads = spots.map(|spot| self.heads.get(spot).copied().unwrap_or(NONE));
        std::hint::black_box(heads.map(|head| self.links.get(head as usize).map_or(NONE, |links| links[1])));
    }

    /// Adds a row to a leaf.
    #[inline]
    pub(super) fn push(&mut self, spot: Spot, slot: u32) {
        let head = self.heads[spot];
        self.links[slot as usize] = [head, NONE];
        if head != NONE {
            self.links[head as usize][1] = slot;
        }
        self.heads[spot] = slot;
    }

    /// Takes a row out of its leaf.
    pub(super) fn remove(&mut self, spot: Spot, slot: u32) {
        let [next, previous] = self.links[slot as usize];
        if previous == NONE {
            self.heads[spot] = next;
        } else {
            self.links[previous as usize][0] = next;
        }
        if next != NONE {
            self.links[next as usize][1] = previous;
        }
    }

    /// The rows of a leaf, newest first.
    pub(super) fn rows(&self, spot: Spot) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.heads[spot];
        std::iter::from_fn(move || {
            let slot = at;
            (slot != NONE).then(|| {
                at = self.links[slot as usize][0];
                slot
            })
        })
    }

    /// Empties a leaf; its rows are on no list then.
    pub(super) fn clear(&mut self, spot: Spot) {
        self.heads[spot] = NONE;
    }

    /// Moves the rows of a leaf to another spot, which has none.
    pub(super) fn move_all(&mut self, from: Spot, to: Spot) {
        self.heads[to] = self.heads[from];
        self.heads[from] = NONE;
    }

    /// Adds the rows of the shorter leaf `from` to another.
    pub(super) fn join(&mut self, from: Spot, to: Spot) {
        let Some(last) = self.rows(from).last() else { return };
        let head = self.heads[to];
        self.links[last as usize][0] = head;
        if head != NONE {
            self.links[head as usize][1] = last;
        }
        self.move_all(from, to);
    }

    /// The first row of each spot, for a tree that has been put into another order.
    pub(super) fn reorder(&mut self, old_of_new: &[Spot]) {
        self.heads = old_of_new.iter().map(|&old| self.heads[old]).collect();
    }

    /// Follows rows that have moved to other slots.
    pub(super) fn renumber(&mut self, new_of_old: &[u32], n_slots: usize) {
        let new = |slot: u32| if slot == NONE { NONE } else { new_of_old[slot as usize] };
        for (old, &to) in new_of_old.iter().enumerate() {
            if to != NONE && old < self.links.len() {
                self.links[to as usize] = self.links[old].map(new);
            }
        }
        self.links.truncate(n_slots);
        for head in &mut self.heads {
            *head = new(*head);
        }
    }

    /// Gives back memory that is not in use.
    pub(super) fn shrink(&mut self) {
        self.links.shrink_to_fit();
        self.heads.shrink_to_fit();
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.links.capacity() * size_of::<[u32; 2]>() + self.heads.capacity() * size_of::<u32>()
    }
}
