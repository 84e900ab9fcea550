//! Drawing columns without repetition, and not asking again for those known to be constant.
//!
//! One array holds all columns. Columns known to be constant in a node stand at its front; they are constant in all nodes
//! below too. Nodes below only move columns behind that front, so a sibling visited later finds its own front as it was.

use hedgerow_core::rng::Rng;

pub(super) struct ColumnOrder {
    columns: Vec<u32>,
}

/// The state of the draw in one node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Columns at the front that are constant.
    pub(super) n_constant: usize,
    /// Columns drawn in this node stand between the front and here.
    drawn_to: usize,
}

impl Known {
    /// Begins the draw in a node whose first columns are known to be constant.
    pub(super) fn new(n_constant: usize) -> Self {
        Self { n_constant, drawn_to: n_constant }
    }
}

impl ColumnOrder {
    /// All columns, those of `constant` at the front.
    pub(super) fn new(n_columns: usize, constant: &[u32]) -> Self {
        let mut columns = constant.to_vec();
        columns.extend((0..n_columns as u32).filter(|c| constant.binary_search(c).is_err()));
        Self { columns }
    }

    /// Back to the order of the beginning.
    pub(super) fn reset(&mut self, constant: &[u32]) {
        if constant.is_empty() {
            for (to, from) in self.columns.iter_mut().zip(0..) {
                *to = from;
            }
        } else {
            *self = Self::new(self.columns.len(), constant);
        }
    }

    /// A column not drawn before in this node; none when there are no more.
    pub(super) fn draw(&mut self, known: &mut Known, rng: &mut Rng) -> Option<usize> {
        let left = self.columns.len() - known.drawn_to;
        if left == 0 {
            return None;
        }
        let at = known.drawn_to + rng.below(left as u32) as usize;
        self.columns.swap(known.drawn_to, at);
        known.drawn_to += 1;
        Some(self.columns[known.drawn_to - 1] as usize)
    }

    /// Moves all columns in which nothing varies to the front of constant ones; before any column is drawn.
    pub(super) fn mark_all_constant(&mut self, known: &mut Known, varies: &[bool]) {
        for at in known.n_constant..self.columns.len() {
            if !varies[self.columns[at] as usize] {
                self.columns.swap(known.n_constant, at);
                known.n_constant += 1;
            }
        }
        known.drawn_to = known.n_constant;
    }

    /// Moves the column drawn last to the front of constant ones.
    pub(super) fn mark_constant(&mut self, known: &mut Known) {
        self.columns.swap(known.n_constant, known.drawn_to - 1);
        known.n_constant += 1;
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::Purpose;

    use super::*;

    #[test]
    fn each_column_once_and_constant_ones_stay_in_front() {
        let mut order = ColumnOrder::new(20, &[]);
        let mut rng = Rng::new(3, Purpose::Tree, 0);
        let mut known = Known::new(0);
        let mut seen = Vec::new();
        while let Some(column) = order.draw(&mut known, &mut rng) {
            seen.push(column);
            if column % 3 == 0 {
                order.mark_constant(&mut known);
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..20).collect::<Vec<_>>());
        assert_eq!(known.n_constant, 7);
        let mut below = Known::new(known.n_constant);
        for _ in 0..13 {
            assert!(order.draw(&mut below, &mut rng).is_some_and(|c| c % 3 != 0));
        }
        assert_eq!(order.draw(&mut below, &mut rng), None);
    }
}
