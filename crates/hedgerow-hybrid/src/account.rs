//! What machines or processes changed about a forest's answers, on rows that nobody had seen when they were answered.

use serde::{Deserialize, Serialize};

/// Rows, answers and how many of them were right, before machines had a say and after.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Rows by true class and the forest's answer.
    pub before: Vec<Vec<u64>>,
    /// Rows by true class and the answer of all together.
    pub after: Vec<Vec<u64>>,
    /// For each answer of the forest, in how many rows a machine had a say.
    pub heard: Vec<u64>,
    /// For each answer of the forest, how many of its rows all together got right.
    pub right: Vec<u64>,
    /// For each answer of the forest, the log-loss of its rows, summed: of the forest, and of all together.
    pub losses: Vec<[f64; 2]>,
}

/// What came of one answer of the forest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassAccount {
    /// Rows that the forest answered with the class.
    pub rows: u64,
    /// How many of them a machine had a say about.
    pub heard: u64,
    /// How many of them the forest got right.
    pub right_before: u64,
    /// How many of them all together got right.
    pub right_after: u64,
    /// The mean log-loss of the forest.
    pub loss_before: f64,
    /// The mean log-loss of all together.
    pub loss_after: f64,
}

impl Account {
    /// Room for classes that have come since.
    pub(crate) fn grow(&mut self, n_classes: usize) {
        for table in [&mut self.before, &mut self.after] {
            table.iter_mut().for_each(|row| row.resize(n_classes, 0));
            table.resize(n_classes, vec![0; n_classes]);
        }
        self.heard.resize(n_classes, 0);
        self.right.resize(n_classes, 0);
        self.losses.resize(n_classes, [0.0; 2]);
    }

    /// Notes a row.
    pub(crate) fn add(&mut self, class: usize, forest: &[f64], all: &[f64], is_heard: bool) {
        let best = |answer: &[f64]| hedgerow_core::traits::largest(answer).unwrap_or(0);
        let said = best(forest);
        let loss = |answer: &[f64]| -libm::log(answer.get(class).copied().unwrap_or(0.0).max(1e-15));
        let (Some(before), Some(after)) = (self.before.get_mut(class), self.after.get_mut(class)) else {
            return;
        };
        if said >= before.len() {
            return;
        }
        before[said] += 1;
        after[best(all)] += 1;
        self.heard[said] += u64::from(is_heard);
        let [of_forest, of_all] = &mut self.losses[said];
        *of_forest += loss(forest);
        *of_all += loss(all);
        self.right[said] += u64::from(best(all) == class);
    }

    /// Whether all its lists are of so many classes.
    pub(crate) fn fits(&self, n_classes: usize) -> bool {
        let is_square = |table: &Vec<Vec<u64>>| {
            table.len() == n_classes && table.iter().all(|row| row.len() == n_classes)
        };
        let small = |n: &u64| *n < 1 << 48;
        is_square(&self.before)
            && is_square(&self.after)
            && [&self.heard, &self.right].iter().all(|list| list.len() == n_classes && list.iter().all(small))
            && self.before.iter().chain(&self.after).flatten().all(small)
            && self.losses.len() == n_classes
            && self.losses.iter().flatten().all(|loss| loss.is_finite())
    }

    /// What came of each answer of the forest.
    pub fn by_answer(&self) -> Vec<ClassAccount> {
        let of = |class: usize| {
            let rows: u64 = self.before.iter().map(|row| row[class]).sum();
            let mean = |sum: f64| sum / rows.max(1) as f64;
            ClassAccount {
                rows,
                heard: self.heard[class],
                right_before: self.before[class][class],
                right_after: self.right[class],
                loss_before: mean(self.losses[class][0]),
                loss_after: mean(self.losses[class][1]),
            }
        };
        (0..self.before.len()).map(of).collect()
    }

    /// Rows.
    pub fn n_rows(&self) -> u64 {
        self.before.iter().flatten().sum()
    }

    /// Right answers of the forest, and of all together.
    pub fn n_right(&self) -> [u64; 2] {
        let right = |table: &[Vec<u64>]| table.iter().enumerate().map(|(c, row)| row[c]).sum();
        [right(&self.before), right(&self.after)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_truth_and_answer() {
        let mut account = Account::default();
        account.grow(2);
        account.add(0, &[0.4, 0.6], &[0.8, 0.2], true);
        account.add(1, &[0.3, 0.7], &[0.3, 0.7], false);
        account.grow(3);
        account.add(2, &[0.1, 0.8, 0.1], &[0.2, 0.5, 0.3], true);
        assert_eq!((account.n_rows(), account.n_right()), (3, [1, 2]));
        assert_eq!(account.before[0][1] + account.before[2][1] + account.after[0][0], 3);
        let second = account.by_answer()[1];
        assert_eq!((second.rows, second.heard, second.right_before, second.right_after), (3, 2, 1, 2));
        assert!(second.loss_after < second.loss_before && account.fits(3) && !account.fits(2));
    }
}
