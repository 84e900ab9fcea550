//! Prequential predictions of the newest rows, which calibrate and blend those that follow.

use std::ops::RangeInclusive;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::blend::Pair;
use crate::saved::columns;
use crate::scores::{OutOfSample, Source};

/// Rows that count, and how many of them calibrate at least.
const MOST: usize = 2000;
const LEAST: usize = 300;

/// What was predicted for the newest rows before they were learnt, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Prequential {
    #[serde(with = "columns")]
    rows: Vec<Pair>,
}

impl Prequential {
    /// Begins with other out-of-sample predictions, those of a fit; of too many, some that are spread over all.
    pub fn after(fitted: Vec<Pair>) -> Self {
        let step = fitted.len().div_ceil(MOST).max(1);
        Self { rows: fitted.into_iter().step_by(step).collect() }
    }

    /// Adds the predictions of a row.
    pub fn push(&mut self, row: Pair) {
        self.rows.push(row);
        // Dropping them one by one would cost a move of all each time.
        if self.rows.len() >= 2 * MOST {
            self.rows.drain(..MOST);
        }
    }

    /// The newest rows, as many as count. Classes that came after a row have probability 0 by the forest, and the value `late` by the GP.
    pub fn newest(&self, n_classes: usize, late: f64) -> Vec<Pair> {
        let mut newest = self.rows[self.rows.len().saturating_sub(MOST)..].to_vec();
        for row in &mut newest {
            for (prediction, late) in [(&mut row.forest, 0.0), (&mut row.gp, late)] {
                if !prediction.is_empty() {
                    prediction.resize(n_classes, late);
                }
            }
        }
        newest
    }

    /// The newest predictions of the GP, if they are enough to calibrate by.
    pub fn scores(&self, n_classes: usize, late: f64) -> Option<OutOfSample> {
        let newest = self.newest(n_classes, late);
        let value = |(row, class): (usize, usize)| newest[row].gp.get(class).copied().unwrap_or(late);
        let values = Array2::from_shape_fn((newest.len(), n_classes), value);
        let (rows, labels) = newest.iter().map(|row| row.class).enumerate().unzip();
        let scores = OutOfSample::new(Source::Prequential, rows, values, labels);
        (scores.len() >= LEAST && scores.has_two_classes()).then_some(scores)
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// Whether what was read fits so many classes, and such predictions of the GP.
    pub fn is_valid(&self, n_classes: usize, gp: RangeInclusive<f64>) -> bool {
        let is_row = |row: &Pair| {
            row.class.index() < n_classes
                && row.forest.len().max(row.gp.len()) <= n_classes
                && row.forest.iter().all(|p| (0.0..=1.0 + 1e-6).contains(p))
                && row.gp.iter().all(|score| gp.contains(score))
        };
        self.rows.len() < 2 * MOST && self.rows.iter().all(is_row)
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.rows.iter().map(|row| 8 * (row.forest.len() + row.gp.len()) + size_of::<Pair>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ClassId;

    #[test]
    fn the_newest_rows_count_and_late_classes_have_a_value() {
        let row = |i: u32| Pair { forest: vec![], gp: vec![f64::from(i)], class: ClassId(i % 2) };
        let mut kept = Prequential::default();
        (0..299).for_each(|i| kept.push(row(i)));
        assert!(kept.scores(2, -1.0).is_none(), "too few");
        (299..9_000).for_each(|i| kept.push(row(i)));
        let scores = kept.scores(2, -1.0).unwrap();
        assert_eq!((scores.source, scores.len(), scores.values.ncols()), (Source::Prequential, 2000, 2));
        assert_eq!((scores.values[(0, 0)], scores.values[(1999, 0)]), (7_000.0, 8_999.0));
        assert!(scores.values.column(1).iter().all(|v| *v == -1.0));
        assert!(
            kept.is_valid(2, 0.0..=9_000.0)
                && !kept.is_valid(2, 0.0..=1.0)
                && !kept.is_valid(1, 0.0..=9_000.0)
        );
        assert_eq!(Prequential::after((0..5_000).map(row).collect()).newest(2, 0.0).len(), 1_667);
    }
}
