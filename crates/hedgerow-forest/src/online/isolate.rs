//! The most frequent event in the life of a leaf: all its rows have one class, and a row of another comes.
//!
//! The general search would look at many columns of all rows. Here it is enough to find what sets the new row apart: columns in
//! which it differs from one of the others, a random cut between the two, and of those the one that leaves the fewest
//! others on its side; of equals, the one where the two rows are furthest apart, as a share of all values of the column. Few
//! values are read, which counts, because the rows of a leaf are scattered over the whole pool.

use hedgerow_core::rng::Rng;

use super::live::OnlineRows;
use crate::codes::{Code, Meaning};
use crate::grow::{LeafRows, Scorer, on_grid};
use crate::params::SplitRule;
use crate::tree::{Above, CategorySet, Link, Split, Tree};

/// A split to come.
struct Cut<C> {
    column: usize,
    /// What is up to this goes left; for categories, what is this.
    last: C,
    is_category: bool,
    /// Whether the column has missing values; otherwise their code is a value like others.
    has_missing: bool,
    new_goes_left: bool,
    /// Others that stay with the new row.
    n_near: usize,
    /// How far apart the two rows are.
    gap: f64,
}

impl<C: Code> Cut<C> {
    /// Whether a value stays on the side of the new row. Missing values never do.
    #[inline]
    fn is_near(&self, value: C) -> bool {
        if self.is_category {
            value == self.last
        } else {
            (value <= self.last) == self.new_goes_left && !(self.has_missing && value == C::MISSING)
        }
    }
}

/// What sets a row apart from others.
#[derive(Default)]
pub(super) struct Isolation {
    /// The splits, each the child of the one before, on the side of the new row.
    pub(super) tree: Tree,
    /// The rows of their leaves: those that leave the new row with the first split first, the new row last.
    pub(super) leaves: LeafRows,
    /// The new row, and the number of rows of the tree, for the sake of the gains.
    slot: u32,
    total: f64,
    /// The last split, and whether the new row goes right there.
    near: Above,
    scorer: Scorer,
    /// What the splits removed of impurity, for each column.
    pub(super) gains: Vec<f64>,
}

/// Whether rows can be set apart this way: plain random splits.
pub(super) fn applies<C>(rows: &OnlineRows<'_, C>) -> bool {
    let params = rows.input.params;
    rows.is_plain
        && params.splits == SplitRule::Random
        && params.min_leaf_rows == 1
        && params.min_split_rows <= 2
}

impl Isolation {
    pub(super) fn new<C>(rows: &OnlineRows<'_, C>) -> Self {
        let scorer = Scorer::new(rows.input.params.criterion, 0);
        Self { scorer, gains: vec![0.0; rows.width], ..Self::default() }
    }

    /// Sets the row of a slot apart from those of `leaves`, all of one other class, at a depth. Nothing grows if they are alike. `total` is
    /// the number of rows of the tree, for the sake of the gains.
    pub(super) fn run<C: Code>(
        &mut self,
        rows: &OnlineRows<'_, C>,
        slot: u32,
        depth: usize,
        total: f64,
        mut rng: Rng,
    ) {
        self.tree.clear();
        self.leaves.leaves.clear();
        (self.slot, self.total, self.near) = (slot, total, None);
        let max_height = rows.input.params.max_height;
        let mut first = 0;
        while first < self.leaves.rows.len()
            && (max_height == 0 || depth + self.tree.splits.len() < max_height)
            && let Some(cut) = self.find(rows, first, &mut rng)
        {
            first = self.split(rows, &cut, first);
        }
        self.leaves.rows.push(slot);
        self.leaves.leaves.push((self.near, first..self.leaves.rows.len()));
    }

    /// The best cut that could be found among the others from `first` on.
    fn find<C: Code>(&self, rows: &OnlineRows<'_, C>, first: usize, rng: &mut Rng) -> Option<Cut<C>> {
        /// Columns looked at before all of them are.
        const DRAWS: usize = 96;
        /// Cuts that leave no other with the new row: of so many the best is taken.
        const PERFECT: usize = 5;
        let others = &self.leaves.rows[first..];
        let new = rows.row(self.slot);
        let partner = rows.row(others[rng.index(others.len())]);
        touch(partner);
        // Whether a cut can tell the two apart: both values are there and they are not the same.
        let differ = |column: usize| {
            let (a, b) = (new[column], partner[column]);
            let is_gap = |value: C| rows.input.columns[column].has_missing && value == C::MISSING;
            a != b && !is_gap(a) && !is_gap(b)
        };
        let cut =
            |column: usize, rng: &mut Rng| rows.cut(column, [new[column], partner[column]], others, rng);
        let mut wanted = rows.input.params.max_features.of(rows.width) * rows.input.params.n_thresholds;
        let mut best: Option<Cut<C>> = None;
        let mut n_perfect = 0;
        for _ in 0..DRAWS {
            let column = rng.index(rows.width);
            if !differ(column) {
                continue;
            }
            let cut = cut(column, rng);
            n_perfect += usize::from(cut.n_near == 0);
            let is_better =
                |best: &Cut<C>| cut.n_near < best.n_near || cut.n_near == best.n_near && cut.gap > best.gap;
            if best.as_ref().is_none_or(is_better) {
                best = Some(cut);
            }
            wanted -= 1;
            if wanted == 0 || n_perfect == PERFECT {
                break;
            }
        }
        if best.is_some() {
            return best;
        }
        let differing: Vec<usize> = (0..rows.width).filter(|&column| differ(column)).collect();
        (!differing.is_empty()).then(|| cut(differing[rng.index(differing.len())], rng))
    }

    /// Makes the split, with a leaf on the far side and another on the near side for now. Returns where the others that are
    /// still with the new row begin.
    fn split<C: Code>(&mut self, rows: &OnlineRows<'_, C>, cut: &Cut<C>, first: usize) -> usize {
        let others = &mut self.leaves.rows[first..];
        let (n, other_class, own_class) = (others.len(), rows.class(others[0]), rows.class(self.slot));
        // Those that leave to the front; nothing depends on the order of the rest.
        let mut n_far = 0;
        for i in 0..n {
            if !cut.is_near(rows.row(others[i])[cut.column]) {
                others.swap(i, n_far);
                n_far += 1;
            }
        }
        let at = self.tree.splits.len();
        let far = Link::pure(other_class, n_far as u32).unwrap_or_default();
        self.tree.leaves.clear();
        let near = if n_far == n {
            Link::pure(own_class, 1).unwrap_or_default()
        } else {
            let mut weights = [(other_class, (n - n_far) as f64), (own_class, 1.0)];
            weights.sort_by_key(|w| w.0);
            self.tree.add_leaf(&weights)
        };
        let (links, n_left) =
            if cut.new_goes_left { ([near, far], n - n_far + 1) } else { ([far, near], n_far) };
        let column = &rows.input.columns[cut.column];
        // Missing values stay away from the new row; where there are none yet, they follow the crowd.
        let missing_left = if column.has_missing { !cut.new_goes_left } else { 2 * n_left > n + 1 };
        let threshold = if cut.is_category { 0.0 } else { cut.last.threshold(column) };
        let mut split = Split::from_parts(threshold, cut.column as u16, u16::from(missing_left), links);
        if cut.is_category {
            split.set_categories(&CategorySet::new([cut.last.wide()]), &mut self.tree.sets);
        }
        self.tree.splits.push(split);
        self.tree.set_link(self.near, Link::to_split(at));
        self.near = Some((at, !cut.new_goes_left));
        self.leaves.leaves.push((Some((at, cut.new_goes_left)), first..first + n_far));
        let cost = |others: usize| self.scorer.cost([others as f64, 1.0].into_iter());
        self.gains[cut.column] += on_grid((cost(n) - cost(n - n_far)) / self.total);
        first + n_far
    }
}

impl<C: Code> OnlineRows<'_, C> {
    /// A random cut of a column between the new row's value and that of another.
    fn cut(&self, column: usize, [new, other]: [C; 2], others: &[u32], rng: &mut Rng) -> Cut<C> {
        let info = &self.input.columns[column];
        let is_category = matches!(info.meaning, Meaning::Category(_));
        let new_goes_left = is_category || new < other;
        let last = match (is_category, new_goes_left) {
            (true, _) => new,
            (_, true) => C::between(new, other, rng),
            (_, false) => C::between(other, new, rng),
        };
        let has_missing = info.has_missing;
        let apart = (f64::from(new.into()) - f64::from(other.into())).abs();
        let gap = if is_category { 1.0 } else { apart * self.scales[column] };
        let mut cut = Cut { column, last, is_category, has_missing, new_goes_left, n_near: 0, gap };
        cut.n_near = others.iter().filter(|&&slot| cut.is_near(self.row(slot)[column])).count();
        cut
    }
}

/// Reads a row all at once: columns drawn one after the other would each wait for memory, together they share the wait.
#[inline]
fn touch<C: Code>(row: &[C]) {
    let a_line = 64 / size_of::<C>();
    row.iter().step_by(a_line).for_each(|value| {
        std::hint::black_box(value.wide());
    });
}
