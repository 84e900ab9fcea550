//! Keeping pool and trees within a number of bytes.

use hedgerow_core::{Par, Update};

use super::OnlineForest;
use super::live::LiveTree;

impl OnlineForest {
    /// Forgets rows until pool and trees fit into so many bytes, and lets the pool grow no further than that.
    pub(super) fn keep_within(&mut self, bytes: Option<u64>, par: &Par, update: &mut Update) {
        let Some(limit) = bytes else { return };
        let needed = self.needed_bytes();
        if needed <= limit || self.pool.n_rows < 2 {
            return;
        }
        // Nearly everything is there once for each row, so bytes go down as rows do; a little more, so as not to come back soon.
        let share = limit as f64 / needed as f64;
        let most = ((self.pool.n_rows as f64 * share * 0.97) as usize).max(1);
        self.most_rows = Some(most);
        let mut gone = Vec::new();
        while self.pool.n_rows > most
            && let Some(slot) = self.pool.evict()
        {
            gone.push(slot);
        }
        update.n_forgotten += gone.len();
        self.forget_slots(&gone, par);
        par.for_chunks(&mut self.live, 1, |_, live| live.iter_mut().for_each(LiveTree::shrink));
        self.pool.shrink();
    }

    /// Bytes that pool and trees take, with the room that growing arrays keep. It depends on what has been learnt, not on how
    /// the memory came to be laid out.
    fn needed_bytes(&self) -> u64 {
        let rows = self.pool.n_rows + *super::BLOCK.end() as usize;
        let trees: usize = self.live.iter().map(|live| live.needed_bytes(rows)).sum();
        let recent = self.recent.as_ref().map_or(0, |recent| recent.most_bytes());
        (trees + rows * self.pool.bytes_a_row() * 9 / 8 + self.window.bytes()) as u64 + recent
    }
}
