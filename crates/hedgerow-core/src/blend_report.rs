//! What blending with GPs changed about the predictions of a forest, counted on out-of-sample predictions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Counts of out-of-sample predictions before and after the blend. Its lists are of as many classes, all of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BlendReport {
    /// Rows by true class and the class the forest predicts.
    before: Vec<Vec<u64>>,
    /// Rows by true class and the class the blend predicts.
    after: Vec<Vec<u64>>,
    /// For each class the forest predicts, the rows whose prediction was blended.
    blended: Vec<u64>,
    /// For each class the forest predicts, the rows that the blend predicts right.
    right: Vec<u64>,
    /// For each class the forest predicts, the summed log-loss of its rows: of the forest, and of the blend.
    losses: Vec<[f64; 2]>,
}

/// The counts of the rows for which the forest predicts one class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassBlendReport {
    /// Rows for which the forest predicts the class.
    pub rows: u64,
    /// How many of them were blended.
    pub blended: u64,
    /// How many of them the forest predicts right.
    pub right_before: u64,
    /// How many of them the blend predicts right.
    pub right_after: u64,
    /// The mean log-loss of the forest.
    pub loss_before: f64,
    /// The mean log-loss of the blend.
    pub loss_after: f64,
}

impl BlendReport {
    /// Room for classes that have come since.
    pub fn grow(&mut self, n_classes: usize) {
        for table in [&mut self.before, &mut self.after] {
            table.iter_mut().for_each(|row| row.resize(n_classes, 0));
            table.resize(n_classes, vec![0; n_classes]);
        }
        self.blended.resize(n_classes, 0);
        self.right.resize(n_classes, 0);
        self.losses.resize(n_classes, [0.0; 2]);
    }

    /// How many classes there is room for.
    pub fn n_classes(&self) -> usize {
        self.before.len()
    }

    /// Rows of a class that were predicted as another, by the forest and by the blend.
    pub fn counts(&self, truth: usize, prediction: usize) -> [u64; 2] {
        [&self.before, &self.after].map(|table| table[truth][prediction])
    }

    /// Rows whose prediction was blended.
    pub fn n_blended(&self) -> u64 {
        self.blended.iter().sum()
    }

    /// The summed log-loss of all rows: of the forest, and of the blend.
    pub fn summed_losses(&self) -> [f64; 2] {
        [0, 1].map(|of| self.losses.iter().map(|loss| loss[of]).sum())
    }

    /// Counts a row.
    pub fn add(&mut self, class: usize, forest: &[f64], all: &[f64], is_blended: bool) {
        let best = |proba: &[f64]| crate::traits::largest(proba).unwrap_or(0);
        let predicted = best(forest);
        let loss = |proba: &[f64]| -libm::log(proba.get(class).copied().unwrap_or(0.0).max(1e-15));
        let (Some(before), Some(after)) = (self.before.get_mut(class), self.after.get_mut(class)) else {
            return;
        };
        if predicted >= before.len() {
            return;
        }
        before[predicted] += 1;
        after[best(all)] += 1;
        self.blended[predicted] += u64::from(is_blended);
        let [of_forest, of_all] = &mut self.losses[predicted];
        *of_forest += loss(forest);
        *of_all += loss(all);
        self.right[predicted] += u64::from(best(all) == class);
    }

    /// Whether all its lists are of so many classes.
    pub fn fits(&self, n_classes: usize) -> bool {
        let is_square = |table: &Vec<Vec<u64>>| {
            table.len() == n_classes && table.iter().all(|row| row.len() == n_classes)
        };
        let small = |n: &u64| *n < 1 << 48;
        is_square(&self.before)
            && is_square(&self.after)
            && [&self.blended, &self.right]
                .iter()
                .all(|list| list.len() == n_classes && list.iter().all(small))
            && self.before.iter().chain(&self.after).flatten().all(small)
            && self.losses.len() == n_classes
            && self.losses.iter().flatten().all(|loss| loss.is_finite())
    }

    /// The counts for each class the forest predicts.
    pub fn by_prediction(&self) -> Vec<ClassBlendReport> {
        let of = |class: usize| {
            let rows: u64 = self.before.iter().map(|row| row[class]).sum();
            let mean = |sum: f64| sum / rows.max(1) as f64;
            ClassBlendReport {
                rows,
                blended: self.blended[class],
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

    /// Right predictions of the forest, and of the blend.
    pub fn n_right(&self) -> [u64; 2] {
        let right = |table: &[Vec<u64>]| table.iter().enumerate().map(|(c, row)| row[c]).sum();
        [right(&self.before), right(&self.after)]
    }

    /// The accuracies of the forest, and of the blend.
    pub fn accuracies(&self) -> [f64; 2] {
        let n = self.n_rows().max(1) as f64;
        self.n_right().map(|right| right as f64 / n)
    }

    /// Both accuracies in words: of `alone`, and blended with `with`.
    pub fn words(&self, [alone, with]: [&str; 2]) -> String {
        let [before, after] = self.accuracies().map(|share| format!("{:.2} %", 100.0 * share));
        format!("out-of-sample accuracy: {alone} {before}, with {with} {after}")
    }

    /// The counts as JSON, by the names of the classes.
    pub fn to_json(&self, classes: &[String]) -> Value {
        let [before, after] = self.accuracies();
        let of_class = |class: ClassBlendReport| {
            json!({
                "rows": class.rows, "used": class.blended,
                "forest_right": class.right_before, "blend_right": class.right_after,
                "forest_log_loss": class.loss_before, "blend_log_loss": class.loss_after,
            })
        };
        let by_prediction: Map<String, Value> =
            classes.iter().cloned().zip(self.by_prediction().into_iter().map(of_class)).collect();
        json!({
            "rows": self.n_rows(), "forest_accuracy": before, "blend_accuracy": after,
            "forest_confusion": self.before, "blend_confusion": self.after, "by_prediction": by_prediction,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_by_true_and_predicted_class() {
        let mut report = BlendReport::default();
        report.grow(2);
        report.add(0, &[0.4, 0.6], &[0.8, 0.2], true);
        report.add(1, &[0.3, 0.7], &[0.3, 0.7], false);
        report.grow(3);
        report.add(2, &[0.1, 0.8, 0.1], &[0.2, 0.5, 0.3], true);
        assert_eq!((report.n_rows(), report.n_right()), (3, [1, 2]));
        assert_eq!(report.before[0][1] + report.before[2][1] + report.after[0][0], 3);
        let second = report.by_prediction()[1];
        assert_eq!((second.rows, second.blended, second.right_before, second.right_after), (3, 2, 1, 2));
        assert!(second.loss_after < second.loss_before && report.fits(3) && !report.fits(2));
    }
}
