//! The values of the retained rows: slot after slot and, where that pays, once more column after column.
//!
//! New trees read single columns of many rows. The copy by column follows the rows slot by slot. It is made where memory is not limited;
//! trees are the same with or without it.

use hedgerow_core::Par;
use hedgerow_core::saved::{self, Number};
use serde::{Deserialize, Serialize};

use crate::codes::{Code, SMALL_MATRIX, turn};
use crate::grow::Matrix;
use crate::real::Real;

/// The values of all slots.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Values {
    /// While every value is a whole number up to 255.
    Bytes(Table<u8>),
    /// Any values.
    Reals(Table<Real>),
}

/// Does the same with the table, whatever the type of its values.
macro_rules! with_table {
    ($values:expr, |$table:ident| $work:expr) => {
        match $values {
            $crate::online::table::Values::Bytes($table) => $work,
            $crate::online::table::Values::Reals($table) => $work,
        }
    };
}

/// Does the same with every tree of an online forest and its retained rows, on any thread: `|tree, rows| work`.
macro_rules! with_live {
    ($forest:ident, $par:expr, |$live:ident, $rows:ident| $work:expr) => {{
        let mut all = std::mem::take(&mut $forest.live);
        $crate::online::table::with_table!(&$forest.pool.values, |table| {
            $forest.with_online_rows(table, |$rows| {
                $par.for_chunks(&mut all, 1, |_, live| live.iter_mut().for_each(|$live| $work));
            });
        });
        $forest.live = all;
    }};
}

pub(super) use {with_live, with_table};

/// The values of all slots, of one type.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent, bound = "C: Code + Number")]
pub(super) struct Table<C> {
    #[serde(with = "saved::array")]
    pub(super) by_row: Vec<C>,
    /// The copy; empty if there is none. Each column has room for more slots than there are.
    #[serde(skip)]
    by_column: Vec<C>,
    #[serde(skip)]
    room: usize,
}

impl<C: Code> Table<C> {
    pub(super) fn new(by_row: Vec<C>) -> Self {
        Self { by_row, by_column: Vec::new(), room: 0 }
    }

    pub(super) fn matrix(&self) -> Matrix<'_, C> {
        Matrix { by_row: &self.by_row, by_column: &self.by_column, room: self.room }
    }

    /// The values of some slots, in the order given.
    pub(super) fn select(&self, slots: &[u32], width: usize) -> Vec<C> {
        let row = |&slot: &u32| &self.by_row[slot as usize * width..][..width];
        slots.iter().map(row).collect::<Vec<_>>().concat()
    }

    /// Writes a row into its place or, right behind the last, adds it. Room is made in steps of an eighth, not by doubling.
    pub(super) fn write(&mut self, at: usize, row: impl ExactSizeIterator<Item = C>) {
        let values = &mut self.by_row;
        if at == values.len() {
            if values.capacity() - values.len() < row.len() {
                values.reserve_exact((values.len() / 8).max(64 * row.len()));
            }
            values.extend(row);
        } else {
            values[at..].iter_mut().zip(row).for_each(|(to, value)| *to = value);
        }
    }

    /// Makes the copy by column like the rows. `changed` are the slots written since it was last so; none if all may have been.
    pub(super) fn follow(&mut self, changed: Option<Vec<u32>>, width: usize, par: &Par) {
        let n_slots = self.by_row.len() / width.max(1);
        match changed {
            _ if size_of_val(&self.by_row[..]) <= SMALL_MATRIX => self.drop_copy(),
            Some(slots) if n_slots <= self.room => self.copy_slots(&slots, width, par),
            _ => {
                // The old copy goes before the new one comes.
                self.drop_copy();
                self.room = (2 * n_slots).min(n_slots + 65_536);
                self.by_column = turn(&self.by_row, width, self.room, par);
            }
        }
    }

    /// Does without the copy by column.
    pub(super) fn drop_copy(&mut self) {
        (self.by_column, self.room) = (Vec::new(), 0);
    }

    /// Copies some slots, a few at a time, so that both sides stay in the cache.
    fn copy_slots(&mut self, slots: &[u32], width: usize, par: &Par) {
        const BLOCK: usize = 64;
        let (values, room) = (&self.by_row, self.room);
        par.for_chunks(&mut self.by_column, BLOCK * room, |chunk, copy| {
            for slots in slots.chunks(BLOCK) {
                for (column, copy) in copy.chunks_mut(room).enumerate() {
                    for &slot in slots {
                        copy[slot as usize] = values[slot as usize * width + chunk * BLOCK + column];
                    }
                }
            }
        });
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.by_row.capacity() * size_of::<C>() + size_of_val(&self.by_column[..])
    }
}
