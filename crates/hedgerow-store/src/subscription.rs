//! A learner's place in the log.

use std::time::Duration;

use hedgerow_core::Result;

use crate::block::Block;
use crate::store::Store;

/// Reads events in order from a cursor of its own, and waits for more. Any number of them, on any threads, may read one store.
#[derive(Debug, Clone)]
pub struct Subscription {
    store: Store,
    cursor: u64,
}

impl Subscription {
    pub(crate) fn new(store: Store, cursor: u64) -> Self {
        Self { store, cursor }
    }

    /// The place after the last event that was handed out.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// The next events, at most `most` of them (at least 1); none if there are no more yet.
    ///
    /// Fewer come where a stretch of rows or labels ends or a class or category comes up for the first time.
    pub fn next(&mut self, most: usize) -> Result<Option<Block>> {
        let block = self.store.read(self.cursor, most)?;
        if let Some(block) = &block {
            self.cursor = block.end();
        }
        Ok(block)
    }

    /// Waits until there are events that were not handed out yet, or the time is up; whether there are.
    pub fn wait(&self, limit: Duration) -> bool {
        self.store.wait_past(self.cursor, limit)
    }
}
