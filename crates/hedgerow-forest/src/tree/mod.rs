//! One tree: a flat array of splits, links between them, and leaves folded into the links.
//!
//! A split is 16 bytes: threshold, column, flags and two [`Link`]s. A link is the number of the next split or a leaf. Most
//! leaves of a deep tree are pure, and a pure leaf is written into the link itself (class and number of rows), so it
//! costs no memory of its own and no memory access at prediction. Other leaves are lists of class weights in a second
//! array. A tree of n leaves has n − 1 splits: about 8 bytes for each node in the usual sense (splits and leaves).
//!
//! The larger child of a split is stored right behind it. Following the crowd therefore walks forward through memory, and
//! a path leaves that line at most log2(n) times.

mod columns;
mod leaf;
mod link;
mod split;
pub(crate) mod walk;

pub use leaf::LeafEntry;
pub use link::{Link, Target};
pub(crate) use split::Value;
pub use split::{CategorySet, Split};
pub use walk::Place;

use hedgerow_core::Result;
use hedgerow_core::saved::require;

/// The split above a node, and whether the node is on its right side; none above the root.
pub(crate) type Above = Option<(usize, bool)>;

/// A decision tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tree {
    /// Where a walk starts.
    pub(crate) root: Link,
    /// The splits, each before its children, the larger child next.
    pub(crate) splits: Vec<Split>,
    /// Leaves that do not fit a link.
    pub(crate) leaves: Vec<LeafEntry>,
    /// Sets beyond the first 32 categories: for each, its number of words, the first word's number, then the words.
    pub(crate) sets: Vec<u32>,
}

impl Tree {
    /// Nothing but an empty leaf; the memory is kept for reuse.
    pub(crate) fn clear(&mut self) {
        self.root = Link::default();
        self.splits.clear();
        self.leaves.clear();
        self.sets.clear();
    }

    /// The link to the root.
    pub fn root(&self) -> Link {
        self.root
    }

    /// The splits.
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// Where a side of a split leads; without a split, the root.
    #[inline]
    pub(crate) fn link(&self, above: Above) -> Link {
        above.map_or(self.root, |(split, right)| self.splits[split].links[usize::from(right)])
    }

    /// Makes it lead elsewhere.
    #[inline]
    pub(crate) fn set_link(&mut self, above: Above, link: Link) {
        match above {
            None => self.root = link,
            Some((split, right)) => self.splits[split].links[usize::from(right)] = link,
        }
    }

    /// Gives back memory that is not in use.
    pub(crate) fn shrink(&mut self) {
        self.splits.shrink_to_fit();
        self.leaves.shrink_to_fit();
        self.sets.shrink_to_fit();
    }

    /// Adds the splits and leaves of another tree and returns the link to its root.
    pub(crate) fn graft(&mut self, other: &Self) -> Link {
        let (first_split, first_leaf, first_set) = (self.splits.len(), self.leaves.len(), self.sets.len());
        let moved = |link: Link| match link.target() {
            Target::Split(index) => Link::to_split(first_split + index),
            Target::Listed(at) => Link::listed(first_leaf + at).unwrap_or_default(),
            Target::Pure { .. } => link,
        };
        self.splits.extend(other.splits.iter().map(|split| {
            let mut split = *split;
            split.links = split.links.map(moved);
            split.move_set(first_set);
            split
        }));
        self.leaves.extend_from_slice(&other.leaves);
        self.sets.extend_from_slice(&other.sets);
        moved(other.root)
    }

    /// Splits and leaves.
    pub fn n_nodes(&self) -> usize {
        2 * self.splits.len() + 1
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.splits.capacity() * size_of::<Split>()
            + self.leaves.capacity() * size_of::<LeafEntry>()
            + self.sets.capacity() * size_of::<u32>()
    }

    /// The greatest number of splits on a way from the root to a leaf.
    pub fn height(&self) -> usize {
        let mut heights = vec![0_u32; self.splits.len()];
        let of = |heights: &[u32], link: Link| link.as_split().map_or(0, |i| heights[i]);
        for i in (0..self.splits.len()).rev() {
            let split = &self.splits[i];
            heights[i] = 1 + of(&heights, split.links[0]).max(of(&heights, split.links[1]));
        }
        of(&heights, self.root) as usize
    }

    /// Checks that every link leads to a later split or a real leaf, and every split asks for a column that exists.
    pub fn check(&self, n_features: usize, n_classes: usize) -> Result<()> {
        let leaf_starts = leaf::starts(&self.leaves, n_classes);
        require(leaf_starts.is_some(), || "a list of leaves has impossible classes or weights")?;
        let leaf_starts = leaf_starts.unwrap_or_default();
        let link_ok = |from: Option<usize>, link: Link| match link.target() {
            // Children come after their parents: no walk can go round in circles.
            Target::Split(to) => to < self.splits.len() && from.is_none_or(|from| to > from),
            Target::Pure { class, .. } => class < n_classes,
            Target::Listed(at) => leaf_starts.get(at) == Some(&true),
        };
        require(link_ok(None, self.root), || "the root of a tree leads nowhere")?;
        for (i, split) in self.splits.iter().enumerate() {
            let links_ok = split.links.iter().all(|&link| link_ok(Some(i), link));
            require(links_ok, || format!("a link of split {i} leads nowhere"))?;
            let feature = usize::from(split.feature);
            require(feature < n_features, || format!("split {i} asks for column {feature} of {n_features}"))?;
            require(split.set_ok(&self.sets), || format!("the category set of split {i} does not exist"))?;
        }
        Ok(())
    }
}
