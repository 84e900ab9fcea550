//! Where concepts change.

use std::num::NonZeroU64;

use crate::error::{Error, Result};
use crate::params::require;

/// The rows, counted from 0, at which one concept gives way to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    every: Option<NonZeroU64>,
    /// Otherwise, in rising order, none of them 0.
    at: Vec<u64>,
}

impl Changes {
    /// A change after every `n_rows` rows, without end.
    pub fn every(n_rows: u64) -> Result<Self> {
        require("every", n_rows, n_rows > 0, "1 row or more")?;
        Ok(Self { every: NonZeroU64::new(n_rows), at: Vec::new() })
    }

    /// Changes at the given rows, which come in rising order.
    pub fn at(rows: Vec<u64>) -> Result<Self> {
        if let Some([first, second]) = rows.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Error::param("at", "rows in rising order", format!("{first} before {second}")));
        }
        require("at", 0, rows.first() != Some(&0), "rows above 0, where the stream starts")?;
        Ok(Self { every: None, at: rows })
    }

    /// `n_changes` changes that cut `n_rows` rows into stretches of equal length.
    pub fn spread(n_rows: u64, n_changes: u64) -> Self {
        let place = |i| u128::from(n_rows) * u128::from(i) / (u128::from(n_changes) + 1);
        let mut rows: Vec<u64> = (1..=n_changes).map(|i| place(i) as u64).filter(|&row| row > 0).collect();
        rows.dedup();
        Self { every: None, at: rows }
    }

    /// The changes below row `n_rows`.
    pub fn below(&self, n_rows: u64) -> Vec<u64> {
        (0..).map_while(|number| self.place(number)).take_while(|&row| row < n_rows).collect()
    }

    /// How many changes there are up to and including `row`.
    pub(super) fn count(&self, row: u64) -> u64 {
        match self.every {
            Some(n_rows) => row / n_rows.get(),
            None => self.at.partition_point(|&change| change <= row) as u64,
        }
    }

    /// The row of a change, by its number from 0.
    pub(super) fn place(&self, number: u64) -> Option<u64> {
        match self.every {
            Some(n_rows) => number.checked_add(1)?.checked_mul(n_rows.get()),
            None => self.at.get(usize::try_from(number).ok()?).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_where_they_were_asked_for() {
        assert_eq!(Changes::default().below(1_000_000), [0; 0]);
        assert_eq!(Changes::every(300).unwrap().below(900), [300, 600]);
        assert_eq!(Changes::every(300).unwrap().below(901), [300, 600, 900]);
        assert_eq!(Changes::at(vec![5, 7]).unwrap().below(7), [5]);
        assert_eq!(Changes::spread(100_000, 3).below(u64::MAX), [25_000, 50_000, 75_000]);
        assert_eq!(Changes::spread(2, 3).below(u64::MAX), [1]);
        assert_eq!(Changes::spread(0, 3).below(u64::MAX), [0; 0]);
        for changes in [Changes::every(4).unwrap(), Changes::at(vec![3, 4, 9]).unwrap(), Changes::default()] {
            for row in 0..20 {
                assert_eq!(changes.count(row), changes.below(row + 1).len() as u64, "{changes:?} at {row}");
            }
        }
    }

    #[test]
    fn changes_that_cannot_be_are_refused() {
        assert!(Changes::every(0).is_err());
        assert!(Changes::at(vec![0, 5]).is_err());
        assert!(Changes::at(vec![5, 5]).is_err());
        let message = Changes::at(vec![9, 4]).unwrap_err().to_string();
        assert_eq!(message, "parameter at: expected rows in rising order, got 9 before 4");
    }
}
