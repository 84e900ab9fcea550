//! When a model that learns online does what is due.

use serde::{Deserialize, Serialize};

/// Rows between two times that something is due: a share of the rows learnt, at least and at most so many.
#[derive(Debug, Clone, Copy)]
pub struct Pause {
    /// Rows learnt for each row of the pause.
    pub share: u64,
    /// The shortest pause.
    pub least: u64,
    /// The longest pause.
    pub most: u64,
}

/// How many rows were learnt, and when something is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    n_seen: u64,
    /// Rows learnt when hyper-parameters were last searched for.
    tuned_at: u64,
    /// The number of rows learnt at which something is due next.
    next_at: u64,
}

impl Schedule {
    /// After a fit to so many rows.
    pub fn new(n_seen: u64, pause: Pause) -> Self {
        let mut schedule = Self { n_seen, tuned_at: n_seen, next_at: 0 };
        schedule.postpone(pause);
        schedule
    }

    /// Rows learnt so far.
    pub fn n_seen(&self) -> u64 {
        self.n_seen
    }

    /// More rows were learnt.
    pub fn add(&mut self, n_rows: usize) {
        self.n_seen += n_rows as u64;
    }

    /// Hyper-parameters were searched for.
    pub fn note_search(&mut self) {
        self.tuned_at = self.n_seen;
    }

    /// Rows learnt since hyper-parameters were last searched for.
    pub fn since_search(&self) -> u64 {
        self.n_seen - self.tuned_at
    }

    /// What was due is done: the next time is after a pause.
    pub fn postpone(&mut self, pause: Pause) {
        self.next_at = self.n_seen + (self.n_seen / pause.share).clamp(pause.least, pause.most);
    }

    /// Rows that can be learnt before something is due.
    pub fn room(&self) -> usize {
        usize::try_from(self.next_at.saturating_sub(self.n_seen)).unwrap_or(usize::MAX)
    }

    /// Whether twice as many rows have been learnt as when hyper-parameters were last searched for.
    pub fn has_doubled(&self) -> bool {
        self.n_seen >= 2 * self.tuned_at
    }

    /// Whether hyper-parameters are to be searched for again: when [twice as many](Self::has_doubled) rows have been learnt, until as many are retained as
    /// may be.
    pub fn is_search_due(&self, n_retained: usize, most: usize) -> bool {
        self.has_doubled() && n_retained < most
    }

    /// Whether what was read is possible for a model that retains so many rows.
    pub fn is_valid(&self, n_retained: usize) -> bool {
        self.n_seen >= n_retained as u64
            && self.n_seen < 1 << 60
            && self.tuned_at <= self.n_seen
            && self.next_at > self.n_seen
            && self.next_at - self.n_seen <= 1 << 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_the_rows_learnt() {
        let pause = Pause { share: 8, least: 16, most: 128 };
        let mut schedule = Schedule::new(0, pause);
        assert_eq!((schedule.room(), schedule.has_doubled(), schedule.is_valid(0)), (16, true, true));
        schedule.add(400);
        assert_eq!((schedule.room(), schedule.is_valid(400)), (0, false));
        schedule.postpone(pause);
        schedule.note_search();
        schedule.add(20);
        assert_eq!((schedule.room(), schedule.has_doubled(), schedule.since_search()), (30, false, 20));
        assert!(!schedule.is_search_due(10, 20));
        schedule.add(400);
        assert!(schedule.is_search_due(19, 20) && !schedule.is_search_due(20, 20));
        let schedule = Schedule { n_seen: 420, ..schedule };
        assert!(schedule.is_valid(420) && !schedule.is_valid(421));
        assert_eq!(Schedule::new(1 << 30, pause).room(), 128);
    }
}
