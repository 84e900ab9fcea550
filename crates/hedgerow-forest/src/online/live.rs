//! A tree that learns: rows enter its leaves and leave them, leaves split when it is due and vanish when they are empty.
//!
//! What a leaf counts is exactly the rows of the pool that stand in it. So learning a row and forgetting it again leaves no
//! trace in the predictions, and a tree can never have more splits than the pool has rows.

mod leaf;
mod order;

use hedgerow_core::rng::{Purpose, Rng};

use super::Birth;
use super::isolate::{self, Isolation};
use super::lists::{RowLists, Spot, split_above, spot_below};
use crate::codes::Code;
use crate::grow::{Grower, GrowthInput, LeafRows, Matrix, NEARBY_BYTES, add_gains};
use crate::tree::walk::{LANES, walk_together};
use crate::tree::{Link, Target, Tree, Value};

/// A tree, the rows in its leaves, and its number.
#[derive(Debug, Clone, Default)]
pub(super) struct LiveTree {
    pub(super) tree: Tree,
    pub(super) lists: RowLists,
    pub(super) birth: Birth,
    /// Splits that no walk reaches any more.
    n_dead: usize,
    /// Entries of the list of leaves that no leaf uses any more.
    n_dead_entries: usize,
    /// Splits when the tree was last put in order.
    n_ordered: usize,
    /// How often the tree has lost or moved splits: walks from before a change cannot be gone on with.
    pub(super) n_changes: u64,
    /// Whether the tree is in order: nothing dead, the larger child next.
    pub(super) is_ordered: bool,
    /// The way to the leaf of a row that is forgotten; kept for its room alone.
    path: Vec<Spot>,
}

/// What a tree needs to learn rows, and keeps from one to the next.
pub(super) struct Workspace<'a, C> {
    online_rows: &'a OnlineRows<'a, C>,
    /// Made when it is needed for the first time.
    grower: Option<Grower<'a, C>>,
    /// Whether a row can be set apart without the general search.
    may_isolate: bool,
    /// Rows of a leaf, while it is split.
    rows: Vec<u32>,
    isolation: Isolation,
}

impl<'a, C: Code> Workspace<'a, C> {
    pub(super) fn new(online_rows: &'a OnlineRows<'a, C>) -> Self {
        Self {
            online_rows,
            grower: None,
            may_isolate: isolate::applies(online_rows),
            rows: Vec::new(),
            isolation: Isolation::new(online_rows),
        }
    }

    /// What the splits made removed, for each column.
    pub(super) fn into_gains(self) -> Vec<f64> {
        let mut gains = self.isolation.gains;
        add_gains(&mut gains, self.grower.as_ref().map_or(&[], |grower| &grower.gains));
        gains
    }
}

/// Where a walk ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) leaf: Link,
    spot: Spot,
    depth: usize,
}

/// What all trees of a forest share while they learn.
pub(super) struct OnlineRows<'a, C> {
    pub(super) input: &'a GrowthInput<'a>,
    pub(super) values: &'a [C],
    pub(super) width: usize,
    /// Of each slot, the number of its row in the stream.
    pub(super) ages: &'a [u64],
    /// For each column, one over the distance between its smallest and largest value; 0 where there are not two.
    pub(super) scales: &'a [f64],
    /// Most rows in the pool.
    pub(super) most_rows: usize,
    /// Whether every row counts 1.
    pub(super) is_plain: bool,
}

impl<C> OnlineRows<'_, C> {
    pub(super) fn row(&self, slot: u32) -> &[C] {
        &self.values[slot as usize * self.width..][..self.width]
    }

    pub(super) fn class(&self, slot: u32) -> usize {
        usize::from(self.input.classes[slot as usize])
    }

    /// About as many rows as the pool has when a row of this number comes to a leaf of so many rows.
    fn total(&self, age: u64, n_rows: usize) -> f64 {
        (age as f64 + 1.0).min(self.most_rows as f64).max(n_rows as f64)
    }

    /// Puts rows in the one order that does not depend on where they are kept: by class, then by age.
    fn sort(&self, rows: &mut [u32]) {
        rows.sort_unstable_by_key(|&slot| (self.input.classes[slot as usize], self.ages[slot as usize]));
    }
}

/// Leaves of up to this many rows are looked at whenever a row comes.
const OFTEN: usize = 256;

impl LiveTree {
    /// A tree without lists of its rows.
    pub(super) fn new(tree: Tree, birth: Birth) -> Self {
        Self { n_ordered: tree.splits.len(), tree, birth, ..Self::default() }
    }

    /// Puts each of the rows given on the list of its leaf. Nothing else changes.
    pub(super) fn attach<C: Code>(&mut self, rows: &[u32], online_rows: &OnlineRows<'_, C>) {
        self.fit(online_rows);
        for &slot in rows {
            let end = self.walk(online_rows.row(slot));
            self.lists.push(end.spot, slot);
        }
    }

    /// Whether every leaf counts exactly the rows on its list.
    pub(super) fn is_consistent<C>(&self, online_rows: &OnlineRows<'_, C>) -> bool {
        let mut copy = Self { lists: self.lists.clone(), ..Self::default() };
        (0..=2 * self.tree.splits.len()).all(|spot| {
            let leaf = self.link(spot);
            if leaf.as_split().is_some() {
                return true;
            }
            copy.tree.leaves.clear();
            let counted = copy.count(spot, online_rows);
            self.tree.leaf_weights(leaf) == copy.tree.leaf_weights(counted)
        })
    }

    /// A grown tree, with the rows of its leaves.
    pub(super) fn grown<C>(
        tree: Tree,
        leaves: &LeafRows,
        birth: Birth,
        online_rows: &OnlineRows<'_, C>,
    ) -> Self {
        let mut live = Self::new(tree, birth);
        live.fit(online_rows);
        live.list(leaves, 0, 0);
        live
    }

    /// Puts the rows of leaves on their lists. The splits above them begin with `first`; a leaf without one stands at `root`.
    fn list(&mut self, leaves: &LeafRows, first: usize, root: Spot) {
        leaves.visit(|above, rows| {
            let spot = above.map_or(root, |(split, right)| spot_below(first + split, right));
            rows.iter().for_each(|&slot| self.lists.push(spot, slot));
        });
    }

    /// Grows the tree anew from the rows on its lists. `age` marks the random numbers.
    pub(super) fn grow_anew<C: Code>(&mut self, age: u64, workspace: &mut Workspace<'_, C>) {
        let online_rows = workspace.online_rows;
        let mut rows = std::mem::take(&mut workspace.rows);
        rows.clear();
        let n_spots = 1 + 2 * self.tree.splits.len();
        (0..n_spots)
            .filter(|&spot| self.link(spot).as_split().is_none())
            .for_each(|spot| rows.extend(self.lists.rows(spot)));
        self.tree.clear();
        (self.n_dead, self.n_dead_entries) = (0, 0);
        (self.is_ordered, self.n_changes) = (false, self.n_changes + 1);
        self.lists.fit(0, 0);
        self.lists.clear(0);
        rows.iter().for_each(|&slot| self.lists.push(0, slot));
        workspace.rows = rows;
        let leaf = self.count(0, online_rows);
        self.set_link(0, leaf);
        if self.is_due(leaf, online_rows) {
            self.split(End { leaf, spot: 0, depth: 0 }, age, workspace);
        }
        self.n_ordered = self.tree.splits.len();
    }

    /// Makes leaves count the rows on their lists, whatever they counted before, and splits those that are due.
    pub(super) fn settle<C: Code>(&mut self, workspace: &mut Workspace<'_, C>) {
        let online_rows = workspace.online_rows;
        self.is_ordered = true;
        self.recount(online_rows);
        self.put_in_order();
        for (spot, depth) in self.depths().into_iter().enumerate() {
            let leaf = self.link(spot);
            if leaf.as_split().is_none() && self.is_due(leaf, online_rows) {
                self.split(End { leaf, spot, depth }, spot as u64, workspace);
            }
        }
    }

    /// The leaf of a row.
    #[inline]
    pub(super) fn walk<V: Value>(&self, row: &[V]) -> End {
        self.walk_on(row, End { leaf: self.tree.root, spot: 0, depth: 0 })
    }

    /// The leaves of several rows, their walks side by side.
    #[inline]
    pub(super) fn walk_together<V: Value>(&self, rows: [&[V]; LANES]) -> [End; LANES] {
        let start = End { leaf: self.tree.root, spot: 0, depth: 0 };
        let ends = walk_together([start; LANES], rows, |end: &mut End, row| {
            let Some(index) = end.leaf.as_split() else { return false };
            *end = self.step(row, index, end.depth);
            true
        });
        self.lists.warm(ends.map(|end| end.spot));
        ends
    }

    /// Goes on with a walk that ended in a leaf which may have been split since. Nothing else may have changed.
    #[inline]
    pub(super) fn walk_on<V: Value>(&self, row: &[V], end: End) -> End {
        let mut end = End { leaf: self.link(end.spot), ..end };
        while let Some(index) = end.leaf.as_split() {
            end = self.step(row, index, end.depth);
        }
        end
    }

    /// Where a row goes at a split.
    #[inline]
    fn step<V: Value>(&self, row: &[V], index: usize, depth: usize) -> End {
        let split = &self.tree.splits[index];
        let right = !split.goes_left(row, &self.tree.sets);
        End { leaf: split.links[usize::from(right)], spot: spot_below(index, right), depth: depth + 1 }
    }

    /// Learns the row of a slot, which belongs where a walk with it ended. `age` is the row's number in the stream.
    pub(super) fn learn<C: Code>(&mut self, slot: u32, end: End, age: u64, workspace: &mut Workspace<'_, C>) {
        let online_rows = workspace.online_rows;
        self.is_ordered = false;
        let was_pure = matches!(end.leaf.target(), Target::Pure { .. });
        self.lists.push(end.spot, slot);
        let leaf = if online_rows.is_plain {
            self.with_one_more(end.leaf, online_rows.class(slot))
        } else {
            self.drop_leaf(end.leaf);
            self.count(end.spot, online_rows)
        };
        if leaf != end.leaf {
            self.set_link(end.spot, leaf);
        }
        if self.is_due(leaf, online_rows) {
            let end = End { leaf, ..end };
            if was_pure && workspace.may_isolate {
                self.isolate(slot, end, age, workspace);
            } else if self.may_split(slot, end, online_rows) {
                self.split(end, age, workspace);
            }
        }
        self.order_if_due();
    }

    /// Sets the row of a slot apart from the others of its leaf, which all have one other class.
    fn isolate<C: Code>(&mut self, slot: u32, end: End, age: u64, workspace: &mut Workspace<'_, C>) {
        let Workspace { online_rows, isolation, .. } = workspace;
        let others = &mut isolation.leaves.rows;
        others.clear();
        others.extend(self.lists.rows(end.spot).skip(1));
        // In an order that does not depend on how they came here.
        online_rows.sort(others);
        let total = online_rows.total(age, others.len() + 1);
        isolation.run(online_rows, slot, end.depth, total, self.rng(age, online_rows));
        if !isolation.tree.splits.is_empty() {
            self.graft(end, &isolation.tree, &isolation.leaves);
        }
    }

    /// The random numbers of the split that comes with a row of this number.
    fn rng<C>(&self, age: u64, online_rows: &OnlineRows<'_, C>) -> Rng {
        Rng::new(online_rows.input.params.seed, Purpose::Leaf, self.birth.serial << 40 ^ age)
    }

    /// Forgets the row of a slot.
    pub(super) fn forget<C: Code>(&mut self, slot: u32, online_rows: &OnlineRows<'_, C>) {
        self.is_ordered = false;
        let row = online_rows.row(slot);
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.push(0);
        let mut leaf = self.tree.root;
        while let Some(index) = leaf.as_split() {
            let right = !self.tree.splits[index].goes_left(row, &self.tree.sets);
            path.push(spot_below(index, right));
            leaf = self.tree.splits[index].links[usize::from(right)];
        }
        let spot = path.last().copied().unwrap_or(0);
        self.lists.remove(spot, slot);
        let leaf = if online_rows.is_plain {
            self.with_one_less(leaf, online_rows.class(slot))
        } else {
            self.drop_leaf(leaf);
            self.count(spot, online_rows)
        };
        self.set_link(spot, leaf);
        if matches!(leaf.target(), Target::Pure { rows: 0, .. }) {
            self.bypass(&mut path);
        }
        self.join_siblings(&mut path);
        self.path = path;
        self.order_if_due();
    }

    /// Makes room in the lists for all slots of the pool.
    pub(super) fn fit<C>(&mut self, online_rows: &OnlineRows<'_, C>) {
        self.lists.fit(self.tree.splits.len(), online_rows.values.len() / online_rows.width.max(1));
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.tree.bytes() + self.lists.bytes()
    }

    /// Bytes that the tree takes with so many rows in the pool, with the room that growing arrays keep.
    pub(super) fn needed_bytes(&self, n_rows: usize) -> usize {
        let splits = self.tree.splits.len() - self.n_dead;
        let entries = self.tree.leaves.len() - self.n_dead_entries;
        let a_split = size_of::<crate::tree::Split>() + 2 * size_of::<u32>();
        3 * (splits * a_split + entries * size_of::<crate::tree::LeafEntry>()) / 2
            + n_rows * size_of::<[u32; 2]>() * 9 / 8
    }

    /// Counts the rows of every leaf anew, for weights that have changed.
    pub(super) fn recount<C>(&mut self, online_rows: &OnlineRows<'_, C>) {
        self.put_in_order();
        self.tree.leaves.clear();
        for spot in 0..=2 * self.tree.splits.len() {
            if self.link(spot).as_split().is_none() {
                let leaf = self.count(spot, online_rows);
                self.set_link(spot, leaf);
            }
        }
        self.is_ordered = false;
    }

    /// Gives back memory that is not in use.
    pub(super) fn shrink(&mut self) {
        self.put_in_order();
        self.lists.shrink();
        self.tree.shrink();
    }

    fn link(&self, spot: Spot) -> Link {
        self.tree.link(split_above(spot))
    }

    fn set_link(&mut self, spot: Spot, link: Link) {
        self.tree.set_link(split_above(spot), link);
    }

    /// For each spot, how many splits are above it. Parents come before their children, so one pass does.
    fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; 1 + 2 * self.tree.splits.len()];
        let mut of_split = vec![0; self.tree.splits.len()];
        for (spot, depth) in depths.iter_mut().enumerate() {
            *depth = split_above(spot).map_or(0, |(split, _)| of_split[split] + 1);
            if let Some(below) = self.link(spot).as_split() {
                of_split[below] = *depth;
            }
        }
        depths
    }

    /// Whether a split may be found now that the row of a slot has come. Rows that are all alike, as in tables of few categories,
    /// need no search; to find out that they are costs a look at all of them, so larger leaves are looked at less often.
    fn may_split<C: Code>(&self, slot: u32, end: End, online_rows: &OnlineRows<'_, C>) -> bool {
        let params = online_rows.input.params;
        if params.max_height > 0 && end.depth >= params.max_height {
            return false;
        }
        let n_rows = match end.leaf.target() {
            Target::Listed(at) if online_rows.is_plain => self.tree.leaves[at].weight as usize,
            _ => self.lists.rows(end.spot).count(),
        };
        let pause = (n_rows / OFTEN).max(1).next_power_of_two();
        let row = online_rows.row(slot);
        n_rows.is_multiple_of(pause)
            && self.lists.rows(end.spot).any(|other| other != slot && online_rows.row(other) != row)
    }

    /// Grows a subtree in the place of a leaf, if anything separates its rows.
    fn split<C: Code>(&mut self, end: End, age: u64, workspace: &mut Workspace<'_, C>) {
        let Workspace { online_rows, grower, rows, .. } = workspace;
        rows.clear();
        rows.extend(self.lists.rows(end.spot));
        online_rows.sort(rows);
        let grower = grower.get_or_insert_with(|| {
            // Copies of wide rows pay, whatever the size of the pool: columns that do not vary are found all at once.
            let bytes = online_rows.width * size_of::<C>();
            let most = if bytes >= 64 { NEARBY_BYTES / bytes } else { 0 };
            Grower::new(online_rows.input, Matrix::of_rows(online_rows.values), most)
        });
        let (rng, total) = (self.rng(age, online_rows), online_rows.total(age, rows.len()));
        if let Some((subtree, leaves)) = grower.grow_from_leaf(rows, end.depth, total, rng) {
            self.graft(end, subtree, leaves);
        }
    }

    /// Puts a subtree in the place of a leaf.
    fn graft(&mut self, end: End, subtree: &Tree, leaves: &LeafRows) {
        let first = self.tree.splits.len();
        let root = self.tree.graft(subtree);
        self.lists.clear(end.spot);
        self.lists.fit(self.tree.splits.len(), 0);
        self.list(leaves, first, end.spot);
        self.drop_leaf(end.leaf);
        self.set_link(end.spot, root);
    }

    /// Takes an empty leaf, the last of the path, and the split above it out of the tree.
    fn bypass(&mut self, path: &mut Vec<Spot>) {
        let &[.., above, spot] = &path[..] else { return };
        let Some((split, right)) = split_above(spot) else { return };
        let sibling = spot_below(split, !right);
        let link = self.link(sibling);
        self.set_link(above, link);
        if link.as_split().is_none() {
            self.lists.move_all(sibling, above);
        }
        self.kill(split);
        path.pop();
    }

    /// Notes that no walk comes to a split any more.
    fn kill(&mut self, split: usize) {
        self.tree.splits[split].links = [Link::default(); 2];
        self.n_dead += 1;
        self.n_changes += 1;
    }

    /// Joins pure leaves of one class that a forgotten row has left side by side.
    fn join_siblings(&mut self, path: &mut Vec<Spot>) {
        while let &[.., above, spot] = &path[..] {
            let Some((split, right)) = split_above(spot) else { return };
            let sibling = spot_below(split, !right);
            let (Target::Pure { class, rows }, Target::Pure { class: other, rows: more }) =
                (self.link(spot).target(), self.link(sibling).target())
            else {
                return;
            };
            let Some(joined) = Link::pure(class, rows + more).filter(|_| class == other) else { return };
            let (shorter, longer) = if rows < more { (spot, sibling) } else { (sibling, spot) };
            self.lists.join(shorter, longer);
            self.lists.move_all(longer, above);
            self.set_link(above, joined);
            self.kill(split);
            path.pop();
        }
    }
}
