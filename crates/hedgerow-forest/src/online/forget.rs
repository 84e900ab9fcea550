//! Forgetting a row that turned out to be wrong.

use hedgerow_core::{ClassId, Par};
use ndarray::ArrayView1;

use super::OnlineForest;
use super::table::with_table;

impl OnlineForest {
    /// Forgets a row: of the retained rows with these values and this class, the newest. Every tree then counts what it would count
    /// without it. Returns whether there was one: an old row may have been forgotten already.
    ///
    /// A label that is corrected is this and then [`learn`](Self::learn) with the right one. It compares all retained rows of the class.
    pub fn forget(&mut self, row: ArrayView1<'_, f32>, class: ClassId, par: &Par) -> bool {
        let slots: Vec<u32> = self.pool.queue(class.index()).collect();
        let Some(&slot) = slots.iter().rev().find(|&&slot| self.has_values(slot, row)) else { return false };
        if self.live.len() < self.forest.trees.len() {
            self.make_lists(par);
        }
        self.take_trees();
        let gone = self.pool.evict_where(|_, other, _| other == slot);
        self.forget_slots(&gone, par);
        self.give_trees();
        true
    }

    fn has_values(&self, slot: u32, row: ArrayView1<'_, f32>) -> bool {
        let width = self.pool.width;
        let span = slot as usize * width..(slot as usize + 1) * width;
        let is_same = |(ours, theirs): (f32, &f32)| ours == *theirs || (ours.is_nan() && theirs.is_nan());
        row.len() == width
            && with_table!(&self.pool.values, |table| {
                table.by_row[span].iter().map(|&value| value.into()).zip(row).all(is_same)
            })
    }
}
