//! Forgetting a row that turned out to be wrong.

use hedgerow_core::{ClassId, Par};
use ndarray::ArrayView1;

use super::OnlineForest;

impl OnlineForest {
    /// Forgets a row: of the retained rows with these values and this class, the newest. Every tree then counts what it would count
    /// without it. Returns whether there was one: an old row may have been forgotten already.
    ///
    /// A label that is corrected is this and then [`learn`](Self::learn) with the right one. It compares all retained rows of the class.
    pub fn forget(&mut self, row: ArrayView1<'_, f32>, class: ClassId, par: &Par) -> bool {
        self.forget_recent(row, class, par);
        let Some(slot) = self.pool.newest_like(row, class) else { return false };
        if self.live.len() < self.forest.trees.len() {
            self.make_lists(par);
        }
        self.take_trees();
        let gone = self.pool.evict_where(|_, other, _| other == slot);
        self.forget_slots(&gone, par);
        self.give_trees();
        true
    }
}
