//! From the root to a leaf.

use super::{Link, Tree, Value};

/// A place in a tree that a walk can end at: twice the number of the last split, plus one if it went right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place(pub u32);

impl Place {
    /// The root, where no split was asked.
    pub const ROOT: Self = Self(u32::MAX);
}

/// How many walks run side by side. Each step waits for memory; several at once share the wait.
pub(crate) const LANES: usize = 8;

impl Tree {
    /// The leaf of a row.
    #[inline]
    pub(crate) fn leaf<V: Value>(&self, row: &[V]) -> Link {
        let mut at = self.root;
        while let Some(split) = at.as_split() {
            at = self.splits[split].next(row, &self.sets);
        }
        at
    }

    /// The leaves of several rows, their walks side by side.
    #[inline]
    pub(crate) fn leaves_of<V: Value>(&self, rows: [&[V]; LANES]) -> [Link; LANES] {
        walk_together([self.root; LANES], rows, |at, row| {
            let Some(split) = at.as_split() else { return false };
            *at = self.splits[split].next(row, &self.sets);
            true
        })
    }

    /// The place a row reaches after at most `height` splits.
    pub fn place(&self, row: &[f32], height: usize) -> Place {
        let mut at = self.root;
        let mut place = Place::ROOT;
        for _ in 0..height {
            let Some(index) = at.as_split() else { break };
            let split = &self.splits[index];
            let left = split.goes_left(row, &self.sets);
            at = split.links[usize::from(!left)];
            place = Place(2 * index as u32 + u32::from(!left));
        }
        place
    }
}

/// The leaves of one row in several trees, their walks side by side.
#[inline]
pub(crate) fn leaves_in<V: Value>(trees: [&Tree; LANES], row: &[V]) -> [Link; LANES] {
    walk_together(trees.map(|tree| tree.root), trees, |at, tree| {
        let Some(split) = at.as_split() else { return false };
        *at = tree.splits[split].next(row, &tree.sets);
        true
    })
}

/// Several walks side by side. `step` leads the walk of a lane on, which has an input of its own, unless it is at its end, where it returns
/// `false`.
#[inline]
pub(crate) fn walk_together<T: Copy, I: Copy>(
    mut at: [T; LANES],
    inputs: [I; LANES],
    step: impl Fn(&mut T, I) -> bool,
) -> [T; LANES] {
    loop {
        let mut moved = false;
        for (at, input) in at.iter_mut().zip(inputs) {
            if step(at, input) {
                moved = true;
            }
        }
        if !moved {
            return at;
        }
    }
}
