//! The most frequent event in the life of a leaf: all its rows have one class, and a row of another comes.
//!
//! The general search would look at many columns of all rows. Here it is enough to find what sets the new row apart: columns in
//! which it differs from one of the others, a random cut between the two, and of those the one that leaves the fewest
//! others on its side; of equals, the one where the two rows are furthest apart, as a share of all values of the column. Few
//! values are read, which counts, because the rows of a leaf are scattered over the whole pool.

use hedgerow_core::rng::Rng;

use super::live::OnlineRows;
use crate::codes::{Code, Meaning};
use crate::params::SplitRule;
use crate::tree::{CategorySet, Link, Split, Tree, Value};

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
#[derive(Debug, Default)]
pub(super) struct Isolation {
    /// The splits, each the child of the one before, on the side of the new row.
    pub(super) tree: Tree,
    /// The others, those that leave the new row with the first split first.
    pub(super) others: Vec<u32>,
    /// For each split, whether the new row goes right, and where the others that leave it end.
    pub(super) steps: Vec<(bool, usize)>,
    /// What the splits removed of impurity: column, and others above and on the side of the new row.
    pub(super) removed: Vec<(usize, usize, usize)>,
}

/// Whether rows can be set apart this way: plain random splits.
pub(super) fn applies<C>(online_rows: &OnlineRows<'_, C>) -> bool {
    let params = online_rows.input.params;
    online_rows.is_plain
        && params.splits == SplitRule::Random
        && params.min_leaf_rows == 1
        && params.min_split_rows <= 2
}

impl Isolation {
    /// Sets the row of a slot apart from `others`, all of one other class, at a depth. Nothing grows if they are alike.
    pub(super) fn run<C: Code + Value>(
        &mut self,
        online_rows: &OnlineRows<'_, C>,
        slot: u32,
        depth: usize,
        mut rng: Rng,
    ) {
        self.tree.clear();
        self.steps.clear();
        self.removed.clear();
        let max_height = online_rows.input.params.max_height;
        let mut first = 0;
        while first < self.others.len()
            && (max_height == 0 || depth + self.steps.len() < max_height)
            && let Some(cut) = self.find(online_rows, slot, first, &mut rng)
        {
            first = self.split(online_rows, &cut, slot, first);
        }
    }

    /// The best cut that could be found among the others from `first` on.
    fn find<C: Code + Value>(
        &self,
        online_rows: &OnlineRows<'_, C>,
        slot: u32,
        first: usize,
        rng: &mut Rng,
    ) -> Option<Cut<C>> {
        /// Columns looked at before all of them are.
        const DRAWS: usize = 96;
        /// Cuts that leave no other with the new row: of so many the best is taken.
        const PERFECT: usize = 5;
        let others = &self.others[first..];
        let new = online_rows.row(slot);
        let partner = online_rows.row(others[rng.index(others.len())]);
        touch(partner);
        let width = online_rows.width;
        let mut wanted =
            online_rows.input.params.max_features.of(width) * online_rows.input.params.n_thresholds;
        let mut best: Option<Cut<C>> = None;
        let mut n_perfect = 0;
        for _ in 0..DRAWS {
            let column = rng.index(width);
            if !differ(new[column], partner[column], online_rows.input.columns[column].has_missing) {
                continue;
            }
            let cut = self.cut(online_rows, column, [new[column], partner[column]], first, rng);
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
        let has_missing = |column: usize| online_rows.input.columns[column].has_missing;
        let differing: Vec<usize> =
            (0..width).filter(|&column| differ(new[column], partner[column], has_missing(column))).collect();
        if differing.is_empty() {
            return None;
        }
        let column = differing[rng.index(differing.len())];
        Some(self.cut(online_rows, column, [new[column], partner[column]], first, rng))
    }

    /// A random cut of a column between the new row's value and that of another.
    fn cut<C: Code + Value>(
        &self,
        online_rows: &OnlineRows<'_, C>,
        column: usize,
        [new, other]: [C; 2],
        first: usize,
        rng: &mut Rng,
    ) -> Cut<C> {
        let is_category = matches!(online_rows.input.columns[column].meaning, Meaning::Category(_));
        let new_goes_left = is_category || new < other;
        let last = match (is_category, new_goes_left) {
            (true, _) => new,
            (_, true) => C::between(new, other, rng),
            (_, false) => C::between(other, new, rng),
        };
        let has_missing = online_rows.input.columns[column].has_missing;
        let apart = (f64::from(new.into()) - f64::from(other.into())).abs();
        let gap = if is_category { 1.0 } else { apart * online_rows.scales[column] };
        let mut cut = Cut { column, last, is_category, has_missing, new_goes_left, n_near: 0, gap };
        cut.n_near =
            self.others[first..].iter().filter(|&&slot| cut.is_near(online_rows.row(slot)[column])).count();
        cut
    }

    /// Makes the split, with a leaf on the far side and another on the near side for now. Returns where the others that are
    /// still with the new row begin.
    fn split<C: Code>(
        &mut self,
        online_rows: &OnlineRows<'_, C>,
        cut: &Cut<C>,
        slot: u32,
        first: usize,
    ) -> usize {
        let class = |slot: u32| usize::from(online_rows.input.classes[slot as usize]);
        let others = &mut self.others[first..];
        let (n, other_class) = (others.len(), class(others[0]));
        // Those that leave to the front; nothing depends on the order of the rest.
        let mut n_far = 0;
        for i in 0..n {
            if !cut.is_near(online_rows.row(others[i])[cut.column]) {
                others.swap(i, n_far);
                n_far += 1;
            }
        }
        let at = self.tree.splits.len();
        let far = Link::pure(other_class, n_far as u32).unwrap_or_default();
        self.tree.leaves.clear();
        let near = if n_far == n {
            Link::pure(class(slot), 1).unwrap_or_default()
        } else {
            let mut weights = [(other_class, (n - n_far) as f64), (class(slot), 1.0)];
            weights.sort_by_key(|w| w.0);
            self.tree.add_leaf(&weights)
        };
        let (links, n_left) =
            if cut.new_goes_left { ([near, far], n - n_far + 1) } else { ([far, near], n_far) };
        let column = &online_rows.input.columns[cut.column];
        // Missing values stay away from the new row; where there are none yet, they follow the crowd.
        let missing_left = if column.has_missing { !cut.new_goes_left } else { 2 * n_left > n + 1 };
        let threshold = if cut.is_category { 0.0 } else { cut.last.threshold(column) };
        let mut split = Split::from_parts(threshold, cut.column as u16, u16::from(missing_left), links);
        if cut.is_category {
            split.set_categories(&CategorySet::new([cut.last.wide()]), &mut self.tree.sets);
        }
        self.tree.splits.push(split);
        if let Some(&(right, _)) = self.steps.last() {
            self.tree.splits[at - 1].links[usize::from(right)] = Link::to_split(at);
        }
        self.tree.root = Link::to_split(0);
        self.steps.push((!cut.new_goes_left, first + n_far));
        self.removed.push((cut.column, n, n - n_far));
        first + n_far
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

/// Whether two values can be told apart by a cut: both are there and they are not the same.
#[inline]
fn differ<C: Code>(a: C, b: C, has_missing: bool) -> bool {
    a != b && !(has_missing && (a == C::MISSING || b == C::MISSING))
}
