//! What an IVM classifier needs to go on learning.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::{array, require};
use hedgerow_core::{Pause, Result, RetainedRows, Schedule, Schema};
use serde::{Deserialize, Serialize};

use super::{Forget, IvmParams};

/// Rows between two trainings: the more active rows, the longer a training takes, and the longer the pause.
pub(super) fn pause(params: &IvmParams) -> Pause {
    let times = libm::pow(params.n_active as f64 / 100.0, 1.5).clamp(1.0, 64.0);
    Pause { share: 8, least: 16, most: (128.0 * times) as u64 }
}

/// How many times as long pauses are while what is learnt is hardly used.
const IDLE_TIMES: u64 = 4;

/// A bounded number of rows, those in the active sets and a sample of all rows learnt, and when they are learnt from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OnlineState {
    pub(super) rows: RetainedRows,
    /// The largest information gain of each row in the one-vs-rest classifiers; 0 if it is not active.
    #[serde(with = "array")]
    pub(super) gains: Vec<f64>,
    pub(super) schedule: Schedule,
    /// Rows of each class at the last training.
    #[serde(with = "array")]
    pub(super) counts: Vec<u64>,
    /// Whether what is learnt is hardly used, so that learning can wait.
    #[serde(default)]
    pub(super) is_idle: bool,
}

impl OnlineState {
    /// After a fit to rows with such gains.
    pub(super) fn new(rows: RetainedRows, gains: Vec<f64>, params: &IvmParams) -> Self {
        let schedule = Schedule::new(rows.len() as u64, pause(params));
        Self { rows, gains, schedule, counts: Vec::new(), is_idle: false }
    }

    /// Rows were learnt from: the next time is after a pause.
    pub(super) fn postpone(&mut self, params: &IvmParams) {
        let (Pause { share, least, most }, times) =
            (pause(params), if self.is_idle { IDLE_TIMES } else { 1 });
        self.schedule.postpone(Pause { share: (share / times).max(1), least, most: times * most });
    }

    /// Forgets rows until there are no more than the parameters allow, in the order that they prescribe, but the last two of a class only when
    /// nothing else is left. Rows of equal rating go at random. Returns how many went.
    pub(super) fn forget(&mut self, params: &IvmParams, ratings: &[f64]) -> usize {
        let (n, labels) = (self.rows.len(), self.rows.labels());
        let excess = n.saturating_sub(params.pool_rows());
        if excess == 0 {
            return 0;
        }
        self.counts = self.rows.targets().class_counts();
        let worth = |row: &usize| match params.forget {
            Forget::Inactive if self.gains[*row] == 0.0 => f64::NEG_INFINITY,
            _ => ratings[*row],
        };
        let mut order: Vec<usize> = (0..n).collect();
        Rng::new(params.seed, Purpose::Sample, 4 + (self.schedule.n_seen() << 3)).shuffle(&mut order);
        order.sort_by(|a, b| worth(a).total_cmp(&worth(b)));
        let mut is_gone = vec![false; n];
        let mut n_gone = 0;
        for keeps_two in [true, false] {
            for &row in &order {
                let count = &mut self.counts[labels[row].index()];
                if n_gone < excess && !is_gone[row] && (*count > 2 || !keeps_two) {
                    *count -= 1;
                    is_gone[row] = true;
                    n_gone += 1;
                }
            }
        }
        let kept: Vec<usize> = (0..n).filter(|row| !is_gone[*row]).collect();
        self.rows.keep(&kept);
        self.gains = kept.iter().map(|&row| self.gains[row]).collect();
        n_gone
    }

    /// Fails unless rows, gains and counts fit together and the schema.
    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        self.rows.check(schema)?;
        let fits = self.gains.len() == self.rows.len()
            && self.gains.iter().all(|gain| *gain >= 0.0 && gain.is_finite())
            && self.schedule.is_valid(self.rows.len())
            && self.counts.len() <= schema.n_classes()
            && self.counts.iter().all(|count| *count <= self.schedule.n_seen());
        require(fits, || "retained rows, gains and counts do not fit together")
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes() + size_of::<f64>() * self.gains.len()
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::ClassId;
    use hedgerow_core::testing::blobs;

    use super::*;

    fn forget(retained: &mut OnlineState, max_rows: usize, forget: Forget, ratings: &[f64]) -> usize {
        retained.forget(&IvmParams { max_rows, forget, seed: 7, ..IvmParams::default() }, ratings)
    }

    #[test]
    fn rows_with_low_ratings_go_first_and_no_class_is_forgotten() {
        let mut data = blobs(300, 2, 3, 1);
        data.edit(|data| {
            data.labels_mut()
                .iter_mut()
                .enumerate()
                .for_each(|(i, label)| *label = ClassId(u32::from(i % 50 == 0)));
        })
        .unwrap();
        // What a row counts is kept as its gain, to be found again.
        let ratings: Vec<f64> = (0..300).map(|i| f64::from(i * 7 % 300)).collect();
        let mut retained =
            OnlineState::new(RetainedRows::unweighted(&data), ratings.clone(), &IvmParams::default());
        assert_eq!(forget(&mut retained, 100, Forget::Rating, &ratings), 200);
        let rare = |m: &OnlineState| m.rows.labels().iter().filter(|l| l.0 == 1).count();
        let lowest = retained.gains.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!((retained.rows.len(), lowest), (100, 200.0));
        let ratings = retained.gains.clone();
        assert_eq!(forget(&mut retained, 5, Forget::Rating, &ratings), 95);
        assert_eq!((retained.rows.len(), rare(&retained)), (5, 2));
        let best: f64 = retained.gains.iter().copied().fold(0.0, f64::max);
        assert_eq!(best, 299.0);
        let ratings = retained.gains.clone();
        assert_eq!(forget(&mut retained, 1, Forget::Rating, &ratings), 4);
    }

    #[test]
    fn active_rows_stay_while_there_are_others() {
        let data = blobs(300, 2, 3, 1);
        let gains: Vec<f64> = (0..300).map(|i| f64::from(if i % 3 == 0 { i + 1 } else { 0 })).collect();
        let ratings: Vec<f64> = (0..300).map(|i| f64::from(1 + (i * 7) % 300)).collect();
        let mut retained =
            OnlineState::new(RetainedRows::unweighted(&data), gains.clone(), &IvmParams::default());
        assert_eq!(forget(&mut retained, 180, Forget::Inactive, &ratings), 120);
        let is_active = |gain: &&f64| **gain > 0.0;
        assert_eq!(retained.gains.iter().filter(is_active).count(), 100);
        // Of the others none is preferred.
        let first = data.features.to_array(0..150);
        let kept = retained.rows.features().to_array(0..180);
        let is_early =
            |row: &ndarray::ArrayView1<'_, f32>| first.rows().into_iter().any(|other| other == *row);
        let n_early = kept.rows().into_iter().filter(is_early).count() - 50;
        assert!((25..=55).contains(&n_early), "{n_early} of 80");
        // Then active ones go by their ratings; classes have two rows at least.
        let mut few = OnlineState::new(RetainedRows::unweighted(&data), gains.clone(), &IvmParams::default());
        forget(&mut few, 30, Forget::Inactive, &ratings);
        let mut best: Vec<usize> = (0..300).filter(|row| gains[*row] > 0.0).collect();
        best.sort_by(|a, b| ratings[*b].total_cmp(&ratings[*a]));
        let n_kept = best[..24].iter().filter(|row| few.gains.contains(&gains[**row])).count();
        assert_eq!(n_kept, 24);
    }
}
