//! How it went, stretch by stretch.

use hedgerow::core::Drift;
use hedgerow::core::metrics::Report;
use serde::{Deserialize, Serialize};

/// Stretches that are kept where no batches were asked for: more are put together two by two.
const MOST: usize = 200;

/// What came of a stretch of rows: a batch, or a window where there are no batches.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Window {
    pub(crate) rows: u64,
    /// Rows learnt until its end.
    pub(crate) rows_seen: u64,
    /// Time that predicting and learning took.
    pub(crate) seconds: f64,
    pub(crate) rows_per_second: f64,
    /// Share of its rows predicted right before they were learnt.
    pub(crate) prequential_accuracy: f64,
    pub(crate) prequential_log_loss: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_accuracy: Option<f64>,
    /// All figures about the test data at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metrics: Option<Report>,
    /// Classes that came up for the first time.
    pub(crate) new_classes: Vec<String>,
    /// Changes that were noticed.
    pub(crate) drifts: Vec<Drift>,
}

/// A stretch with the sums that its figures come from: rows predicted right, and their log-loss.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Stretch(Window, u64, f64);

impl Stretch {
    /// Adds the prediction for one row.
    fn add(&mut self, is_right: bool, log_loss: f64, seconds: f64) {
        let Self(window, n_right, loss) = self;
        window.rows += 1;
        window.seconds += seconds;
        *n_right += u64::from(is_right);
        *loss += log_loss;
    }

    /// Puts in the figures that follow from the sums.
    fn finish(mut self) -> Self {
        let Self(window, n_right, loss) = &mut self;
        let n = window.rows.max(1) as f64;
        window.rows_per_second = window.rows as f64 / window.seconds.max(1e-9);
        window.prequential_accuracy = *n_right as f64 / n;
        window.prequential_log_loss = *loss / n;
        self
    }

    fn join(self, Self(next, next_right, next_loss): Self) -> Self {
        let Self(window, n_right, loss) = self;
        let joined = Window {
            rows: window.rows + next.rows,
            rows_seen: next.rows_seen,
            seconds: window.seconds + next.seconds,
            test_accuracy: next.test_accuracy.or(window.test_accuracy),
            metrics: next.metrics.or(window.metrics),
            new_classes: [window.new_classes, next.new_classes].concat(),
            drifts: [window.drifts, next.drifts].concat(),
            ..Window::default()
        };
        Self(joined, n_right + next_right, loss + next_loss).finish()
    }
}

/// All stretches so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Windows {
    all: Vec<Stretch>,
    current: Stretch,
    rows_seen: u64,
    /// Rows of a window; none where batches end when they are told to.
    size: Option<u64>,
}

impl Windows {
    pub(crate) fn new(size: Option<u64>) -> Self {
        Self { size, ..Self::default() }
    }

    /// All that have ended.
    pub(crate) fn ended(&self) -> impl Iterator<Item = &Window> {
        self.all.iter().map(|stretch| &stretch.0)
    }

    /// Adds the prediction for one row; whether it was the last one of a window.
    pub(crate) fn add(&mut self, is_right: bool, loss: f64, seconds: f64) -> bool {
        self.current.add(is_right, loss, seconds);
        self.rows_seen += 1;
        self.size.is_some_and(|size| self.current.0.rows >= size)
    }

    /// Rows so far.
    pub(crate) fn rows_seen(&self) -> u64 {
        self.rows_seen
    }

    /// Whether there are rows in no stretch yet.
    pub(crate) fn is_open(&self) -> bool {
        self.current.0.rows > 0
    }

    pub(crate) fn note_class(&mut self, name: &str) {
        self.current.0.new_classes.push(name.to_string());
    }

    pub(crate) fn note_drift(&mut self, drift: Drift) {
        self.current.0.drifts.push(drift);
    }

    /// Ends the stretch, with figures about the test data if there are any, and returns it.
    pub(crate) fn close(&mut self, metrics: Option<Report>) -> Window {
        let mut ended = std::mem::take(&mut self.current).finish();
        ended.0.rows_seen = self.rows_seen;
        ended.0.test_accuracy = metrics.as_ref().map(|report| report.accuracy);
        ended.0.metrics = metrics;
        let window = ended.0.clone();
        self.all.push(ended);
        if let Some(size) = self.size.filter(|_| self.all.len() >= MOST) {
            let mut old = std::mem::take(&mut self.all).into_iter();
            while let Some(first) = old.next() {
                self.all.push(match old.next() {
                    Some(second) => first.join(second),
                    None => first,
                });
            }
            self.size = Some(2 * size);
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_streams_keep_few_windows_and_lose_no_row() {
        let mut windows = Windows::new(Some(10));
        for row in 0..12_345_u64 {
            if row == 5_000 {
                windows.note_class("late");
            }
            if windows.add(row % 4 == 0, 0.5, 1e-3) {
                windows.close(None);
            }
        }
        windows.close(None);
        assert!((100..=MOST).contains(&windows.ended().count()), "{}", windows.ended().count());
        assert_eq!(windows.ended().map(|w| w.rows).sum::<u64>(), 12_345);
        assert_eq!(windows.ended().last().map(|w| w.rows_seen), Some(12_345));
        let late = windows.ended().find(|w| !w.new_classes.is_empty()).unwrap();
        assert!(late.rows_seen - late.rows <= 5_000 && 5_000 < late.rows_seen);
        assert!(
            windows.ended().all(|w| (w.rows_per_second - 1e3).abs() < 1.0 && w.prequential_log_loss == 0.5)
        );
        let right: f64 = windows.ended().map(|w| w.prequential_accuracy * w.rows as f64).sum();
        assert!((right - 3_087.0).abs() < 1e-6, "{right}");
    }

    #[test]
    fn batches_end_when_they_are_told_to() {
        let mut windows = Windows::new(None);
        for _ in 0..1_000 {
            assert!(!windows.add(true, 0.0, 0.0));
            windows.close(None);
        }
        assert_eq!(windows.ended().count(), 1_000);
        assert!(!windows.is_open());
    }
}
