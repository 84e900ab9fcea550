//! Confidence forests that learn row by row.
//!
//! A row counts in its leaves from the moment it was learnt. When half as many rows again have come, or half of the retained rows are others, all
//! trees are grown anew with background rows for as many.

use hedgerow_core::online::work_on;
use hedgerow_core::saved::{Saved, require, require_rules};
use hedgerow_core::{Learning, Pause, Result, RetainedRows, Rows, Schedule, Schema, Training};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::{BACKGROUND, ConfidenceForest, leaf};
use crate::tree::Tree;

/// Rows between two times that something is due.
const PAUSE: Pause = Pause { share: 8, least: 16, most: 1024 };
/// Rows that have come since, for each row that trees were grown from, at which they are grown anew.
const NEW_ROWS: f64 = 0.5;

/// A bounded number of rows, the newest ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Online {
    rows: RetainedRows,
    schedule: Schedule,
}

impl Online {
    /// After a fit to `n_seen` rows, of which these are retained.
    pub(super) fn new(rows: RetainedRows, n_seen: u64) -> Self {
        Self { rows, schedule: Schedule::new(n_seen, PAUSE) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes()
    }
}

impl ConfidenceForest {
    pub(crate) fn retained(&self) -> Option<(&Schedule, &RetainedRows)> {
        self.online.as_ref().map(|online| (&online.schedule, &online.rows))
    }

    pub(crate) fn know_classes(&mut self, n_classes: usize) {
        if n_classes > self.n_classes {
            (self.n_classes, self.forest.n_classes) = (n_classes, n_classes + 1);
            self.counts.resize(n_classes, 0.0);
            // One that does not know a class would hold it back.
            self.calibration = None;
        }
    }

    /// Predicts rows and learns them, in order: tree by tree, each row predicted and then counted.
    pub(crate) fn ingest(&mut self, rows: Rows<'_>, training: &Training<'_>) -> Array2<f64> {
        let (n, n_trees_classes) = (rows.targets.len(), self.forest.n_classes);
        let x = rows.x.as_standard_layout();
        let (Some(values), width) = (x.as_slice(), self.forest.n_features) else {
            return Array2::zeros((0, 0));
        };
        let weight = |row: usize| rows.weights.map_or(1.0, |weights| weights[row]);
        let mut work: Vec<(Tree, Vec<f64>)> =
            std::mem::take(&mut self.forest.trees).into_iter().map(|tree| (tree, Vec::new())).collect();
        training.par.for_chunks(&mut work, 1, |_, work| {
            let (tree, shares) = &mut work[0];
            shares.resize(n * n_trees_classes, 0.0);
            for (row, out) in shares.chunks_mut(n_trees_classes).enumerate() {
                let x = &values[row * width..(row + 1) * width];
                tree.add_shares(tree.leaf(x), &crate::horizons::plain(), out);
                leaf::learn(tree, x, rows.labels()[row], weight(row));
            }
        });
        let mut sums = vec![0.0; n * n_trees_classes];
        for (tree, shares) in work {
            sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
            self.forest.trees.push(tree);
        }
        let mut proba = Array2::zeros((n, self.n_classes));
        for (row, shares) in sums.chunks(n_trees_classes).enumerate() {
            let probabilities = self.probabilities(&self.evidence(shares), &self.prior());
            proba.row_mut(row).iter_mut().zip(probabilities).for_each(|(to, p)| *to = p);
            self.counts[rows.labels()[row].index()] += f64::from(weight(row));
        }
        if let Some(online) = &mut self.online {
            online.rows.add(rows);
            online.schedule.add(n);
        }
        proba
    }

    /// Forgets what is too much, and grows trees anew when that is due.
    pub(crate) fn maintain(&mut self, learning: &mut Learning<'_>) -> Result<()> {
        work_on(self, |forest| &mut forest.online, |forest, online| forest.update(online, learning))
    }

    fn update(&mut self, online: &mut Online, learning: &mut Learning<'_>) -> Result<()> {
        online.schedule.postpone(PAUSE);
        learning.update.n_forgotten += self.forget_oldest(online, learning.training.budget.bytes);
        let n_retained = online.rows.len();
        let is_due = self.forest.trees.is_empty()
            || online.schedule.since_search() as f64 >= NEW_ROWS * (n_retained as f64 / (1.0 + NEW_ROWS));
        if is_due && n_retained > 0 && !learning.training.budget.stop.is_stopped() {
            let data = online.rows.dataset(learning.schema)?;
            if data.weights.as_ref().is_none_or(|weights| weights.iter().any(|w| *w > 0.0)) {
                let n_trees = self.grow(&data, learning.training)?.n_trees;
                online.schedule.note_search();
                learning.update.n_tried += n_trees;
                learning.update.n_replaced += n_trees;
            }
        }
        Ok(())
    }

    /// Forgets the oldest rows while there are more than may be retained, or than there is room for.
    fn forget_oldest(&self, online: &mut Online, limit: Option<u64>) -> usize {
        let most = self.params().most_pool_rows();
        let excess = online.rows.n_excess(most, self.bytes() + online.bytes(), limit);
        if excess > 0 {
            let kept: Vec<usize> = (excess..online.rows.len()).collect();
            online.rows.keep(&kept);
        }
        excess
    }

    pub(crate) fn frozen(self) -> Self {
        Self { online: None, ..self }
    }
}

impl Saved for ConfidenceForest {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        hedgerow_core::saved::require_sizes(self, schema)?;
        let forest = &self.forest;
        require_rules(&forest.params)?;
        let n_classes = self.n_classes;
        let fits = forest.params.confidence
            && forest.n_classes == n_classes + 1
            && forest.calibration.is_none()
            && forest.parts.is_empty()
            && forest.horizons.is_none()
            && forest.gains.len() == forest.n_features
            && forest.gains.iter().all(|gain| gain.is_finite());
        require(fits, || "a confidence forest with parts of another forest")?;
        forest.trees.iter().try_for_each(|tree| tree.check(forest.n_features, n_classes + 1))?;
        let is_choice = self.choice.as_ref().map_or(forest.trees.is_empty(), super::choice::Choice::is_valid);
        require(is_choice, || "rows of a leaf or background rows that cannot be")?;
        let are_counts =
            self.counts.len() == n_classes && self.counts.iter().all(|count| (0.0..1e300).contains(count));
        require(are_counts, || "expected the weight of each class")?;
        let is_valid = self.calibration.as_ref().is_none_or(|c| c.is_valid() && c.curves.len() == n_classes);
        require(is_valid, || "a calibration by impossible numbers")?;
        if let Some(online) = &self.online {
            online.rows.check(schema)?;
            require(online.schedule.is_valid(online.rows.len()), || "a schedule that cannot be")?;
        }
        debug_assert_eq!(BACKGROUND, 0, "classes in trees come after it");
        Ok(())
    }
}
