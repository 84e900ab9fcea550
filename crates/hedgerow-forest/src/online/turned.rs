//! The rows of the pool once more, column after column: new trees read single columns of many rows.
//!
//! The copy follows the pool slot by slot. It is made where it pays and memory is not limited; trees are the same with or
//! without it.

use hedgerow_core::Par;

use super::pool::{Pool, Values};
use crate::codes::{Code, SMALL_MATRIX, turn};

/// The copy. Each column has room for more slots than there are.
#[derive(Debug, Clone, Default)]
pub(super) struct Turned {
    values: Option<Values>,
    room: usize,
}

impl Turned {
    /// Makes the copy like the pool. `is_wanted`: otherwise there is to be none.
    pub(super) fn follow(&mut self, pool: &mut Pool, is_wanted: bool, par: &Par) {
        let changed = pool.take_changes();
        let (width, n_slots) = (pool.width(), pool.n_slots());
        let is_large = match &pool.values {
            Values::Bytes(values) => size_of_val(&values[..]),
            Values::Reals(values) => size_of_val(&values[..]),
        } > SMALL_MATRIX;
        if !is_wanted || !is_large {
            *self = Self::default();
            return;
        }
        match (&mut self.values, &pool.values, changed) {
            (Some(Values::Bytes(copy)), Values::Bytes(values), Some(slots)) if n_slots <= self.room => {
                copy_slots(copy, self.room, values, width, &slots, par);
            }
            (Some(Values::Reals(copy)), Values::Reals(values), Some(slots)) if n_slots <= self.room => {
                copy_slots(copy, self.room, values, width, &slots, par);
            }
            (copy, values, _) => {
                // The old copy goes before the new one comes.
                *copy = None;
                self.room = (2 * n_slots).min(n_slots + 65_536);
                *copy = Some(match values {
                    Values::Bytes(values) => Values::Bytes(turn(values, width, self.room, par)),
                    Values::Reals(values) => Values::Reals(turn(values, width, self.room, par)),
                });
            }
        }
    }

    /// The columns of bytes and the room of each; nothing if there is no such copy.
    pub(super) fn bytes_by_column(&self) -> (&[u8], usize) {
        match &self.values {
            Some(Values::Bytes(values)) => (values, self.room),
            _ => (&[], 0),
        }
    }

    /// The same for columns of reals.
    pub(super) fn reals_by_column(&self) -> (&[crate::real::Real], usize) {
        match &self.values {
            Some(Values::Reals(values)) => (values, self.room),
            _ => (&[], 0),
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        match &self.values {
            Some(Values::Bytes(values)) => size_of_val(&values[..]),
            Some(Values::Reals(values)) => size_of_val(&values[..]),
            None => 0,
        }
    }
}

/// Copies some slots, a few at a time, so that both sides stay in the cache.
fn copy_slots<C: Code>(copy: &mut [C], room: usize, values: &[C], width: usize, slots: &[u32], par: &Par) {
    const BLOCK: usize = 64;
    par.for_chunks(copy, BLOCK * room, |chunk, copy| {
        for slots in slots.chunks(BLOCK) {
            for (column, copy) in copy.chunks_mut(room).enumerate() {
                for &slot in slots {
                    copy[slot as usize] = values[slot as usize * width + chunk * BLOCK + column];
                }
            }
        }
    });
}
