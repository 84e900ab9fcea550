//! The rows of a small subtree, copied side by side.
//!
//! Rows of a node are scattered over the whole matrix. Once a subtree is small enough for the second-level cache, its rows are
//! read once, each from front to back, and all work below happens on the copy: fewer misses, and few memory pages.

use crate::codes::Code;

/// Bytes of a copy, about half of a usual second-level cache.
pub(crate) const MOST_BYTES: usize = 512 << 10;

/// A copy of some rows. Within it a row goes by its place in the copy.
#[derive(Default)]
pub(super) struct Nearby<C> {
    pub(super) codes: Vec<C>,
    /// For each row of the copy, its number in the data.
    rows: Vec<u32>,
    /// For each column, whether the rows looked at last differ in it.
    varies: Vec<bool>,
}

impl<C: Code> Nearby<C> {
    /// Rows that a copy may have; 0 where the whole matrix is small and copies would not pay.
    pub(super) fn most_rows(matrix: &[C], width: usize) -> usize {
        if size_of_val(matrix) <= 4 * MOST_BYTES { 0 } else { MOST_BYTES / (width * size_of::<C>()).max(1) }
    }

    /// Copies rows and replaces their numbers by their places in the copy.
    pub(super) fn take(&mut self, rows: &mut [u32], matrix: &[C], width: usize) {
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        self.codes.clear();
        for (place, row) in rows.iter_mut().enumerate() {
            let start = *row as usize * width;
            self.codes.extend_from_slice(&matrix[start..start + width]);
            *row = place as u32;
        }
    }

    /// Finds out in which columns some rows of the copy differ. One pass over whole rows, many columns at a time, costs far
    /// less than drawing columns that turn out to be constant.
    pub(super) fn look_for_differences(&mut self, rows: &[u32], width: usize) -> &[bool] {
        self.varies.clear();
        self.varies.resize(width, false);
        let row = |place: u32| &self.codes[place as usize * width..][..width];
        if let Some((&first, others)) = rows.split_first() {
            for &other in others {
                for ((varies, a), b) in self.varies.iter_mut().zip(row(first)).zip(row(other)) {
                    *varies |= a != b;
                }
            }
        }
        &self.varies
    }
}

/// Translates the row numbers of a node into those of the data.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a>(Option<&'a [u32]>);

impl<'a> Numbers<'a> {
    /// For a node whose rows are in the copy, or not.
    pub(super) fn new<C>(nearby: &'a Nearby<C>, is_nearby: bool) -> Self {
        Self(is_nearby.then_some(&nearby.rows))
    }

    /// The number in the data.
    #[inline]
    pub(super) fn of(self, row: u32) -> usize {
        self.0.map_or(row, |rows| rows[row as usize]) as usize
    }
}
