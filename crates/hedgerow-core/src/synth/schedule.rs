//! How concepts follow each other.

use super::Changes;

/// When concepts change, how fast, and which comes next. Every generator counts its concepts from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The rows at which one concept gives way to the next.
    pub changes: Changes,
    /// Rows over which the old and the new concept are mixed, the change in their middle; 0 changes at once.
    pub width: u64,
    /// After this many concepts the first returns; 0 never goes back.
    pub period: u64,
}

impl Schedule {
    /// One concept for ever.
    pub fn none() -> Self {
        Self::default()
    }

    /// Each change brings a new concept at once.
    pub fn abrupt(changes: Changes) -> Self {
        Self { changes, ..Self::default() }
    }

    /// Around each change, rows of the new concept become more frequent over about `width` rows.
    pub fn gradual(changes: Changes, width: u64) -> Self {
        Self { changes, width, ..Self::default() }
    }

    /// Two concepts in turn, changing at once.
    pub fn recurring(changes: Changes) -> Self {
        Self { changes, period: 2, ..Self::default() }
    }

    /// The two concepts that `row` may follow, old and new, and the probability of the new one.
    pub(super) fn mixture(&self, row: u64) -> Mixture {
        let after = self.changes.count(row);
        if self.width == 0 {
            let concept = self.concept(after);
            return Mixture { old: concept, new: concept, share: 1.0 };
        }
        let passed = after.checked_sub(1).and_then(|number| self.changes.place(number));
        let coming = self.changes.place(after);
        // Of the changes on both sides, the nearer one counts; of equals, the one that has passed.
        let (change, new) = match (passed, coming) {
            (Some(passed), Some(coming)) if coming - row < row - passed => (coming, after + 1),
            (Some(passed), _) => (passed, after),
            (None, Some(coming)) => (coming, after + 1),
            (None, None) => return Mixture { old: 0, new: 0, share: 1.0 },
        };
        let distance = row as f64 - change as f64;
        let share = 1.0 / (1.0 + libm::exp(-4.0 * distance / self.width as f64));
        Mixture { old: self.concept(new - 1), new: self.concept(new), share }
    }

    /// The concept after this many changes.
    fn concept(&self, n_changes: u64) -> u64 {
        n_changes.checked_rem(self.period).unwrap_or(n_changes)
    }
}

/// The concepts a row may follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mixture {
    pub(super) old: u64,
    pub(super) new: u64,
    /// The probability of the new concept.
    pub(super) share: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concepts_come_in_order_or_return() {
        let concepts = |schedule: &Schedule| [0, 9, 10, 20, 30, 49].map(|row| schedule.mixture(row).new);
        let changes = Changes::every(10).unwrap();
        assert_eq!(concepts(&Schedule::none()), [0; 6]);
        assert_eq!(concepts(&Schedule::abrupt(changes.clone())), [0, 0, 1, 2, 3, 4]);
        assert_eq!(concepts(&Schedule::recurring(changes)), [0, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn a_gradual_change_is_a_sigmoid_about_its_middle() {
        let schedule = Schedule::gradual(Changes::at(vec![1_000, 3_000]).unwrap(), 400);
        let at = |row| schedule.mixture(row);
        assert_eq!(at(1_000), Mixture { old: 0, new: 1, share: 0.5 });
        assert_eq!(at(3_000), Mixture { old: 1, new: 2, share: 0.5 });
        // One width is four units of the sigmoid: half a width before the middle, 1 of 1 + e² rows is new.
        assert!((at(800).share - 1.0 / (1.0 + libm::exp(2.0))).abs() < 1e-12);
        assert!((at(800).share + at(1_200).share - 1.0).abs() < 1e-12);
        assert!(at(0).share < 1e-4 && at(2_000).share > 0.9999);
        // Half way between two changes, the share of the concept between them does not jump.
        let (left, right) = (at(2_000), at(2_001));
        assert_eq!((left.new, right.old), (1, 1));
        assert!((left.share - (1.0 - right.share)).abs() < 1e-5);
    }
}
