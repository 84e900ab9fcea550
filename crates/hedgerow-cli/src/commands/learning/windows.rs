//! How it went, stretch by stretch.

use hedgerow::core::Drift;
use hedgerow::core::metrics::{Reliability, Report};
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
    pub(crate) prequential_ece: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_accuracy: Option<f64>,
    /// All figures about the test data at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metrics: Option<Report>,
    /// Classes that came up for the first time.
    pub(crate) new_classes: Vec<String>,
    /// How much the memories of a forest counted at its end: of all rows, then of the newest 20, 100, 300 and 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) memory_weights: Vec<f64>,
    /// Changes that were noticed.
    pub(crate) drifts: Vec<Drift>,
}

/// A stretch with what its figures come from.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Stretch {
    window: Window,
    /// Rows predicted right, and the sum of the log-losses.
    n_right: u64,
    loss: f64,
    reliability: Reliability,
}

/// How the prediction for a row came out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scored {
    pub(crate) is_right: bool,
    pub(crate) log_loss: f64,
    /// The top probability.
    pub(crate) top: f64,
    /// Time that predicting and learning took.
    pub(crate) seconds: f64,
}

impl Stretch {
    /// Adds the prediction for one row.
    fn add(&mut self, row: Scored) {
        self.window.rows += 1;
        self.window.seconds += row.seconds;
        self.n_right += u64::from(row.is_right);
        self.loss += row.log_loss;
        self.reliability.add(row.top, row.is_right);
    }

    /// Puts in the figures that follow from the sums.
    fn finish(mut self) -> Self {
        let (n, window) = (self.window.rows.max(1) as f64, &mut self.window);
        window.rows_per_second = window.rows as f64 / window.seconds.max(1e-9);
        window.prequential_accuracy = self.n_right as f64 / n;
        window.prequential_log_loss = self.loss / n;
        window.prequential_ece = self.reliability.ece();
        self
    }

    fn join(mut self, next: Self) -> Self {
        self.reliability.merge(&next.reliability);
        let (window, more) = (self.window, next.window);
        let window = Window {
            rows: window.rows + more.rows,
            rows_seen: more.rows_seen,
            seconds: window.seconds + more.seconds,
            test_accuracy: more.test_accuracy.or(window.test_accuracy),
            metrics: more.metrics.or(window.metrics),
            memory_weights: more.memory_weights,
            new_classes: [window.new_classes, more.new_classes].concat(),
            drifts: [window.drifts, more.drifts].concat(),
            ..Window::default()
        };
        Self { window, n_right: self.n_right + next.n_right, loss: self.loss + next.loss, ..self }.finish()
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
        self.all.iter().map(|stretch| &stretch.window)
    }

    /// Adds the prediction for one row; whether it was the last one of a window.
    pub(crate) fn add(&mut self, row: Scored) -> bool {
        self.current.add(row);
        self.rows_seen += 1;
        self.size.is_some_and(|size| self.current.window.rows >= size)
    }

    /// Rows until the window ends.
    pub(crate) fn room(&self) -> u64 {
        self.size.map_or(u64::MAX, |size| size.saturating_sub(self.current.window.rows).max(1))
    }

    /// Rows so far.
    pub(crate) fn rows_seen(&self) -> u64 {
        self.rows_seen
    }

    /// Whether there are rows in no stretch yet.
    pub(crate) fn is_open(&self) -> bool {
        self.current.window.rows > 0
    }

    pub(crate) fn note_class(&mut self, name: &str) {
        self.current.window.new_classes.push(name.to_string());
    }

    pub(crate) fn note_drift(&mut self, drift: Drift) {
        self.current.window.drifts.push(drift);
    }

    /// Ends the stretch, with figures about the test data if there are any and the weights of memories, and returns it.
    pub(crate) fn close(&mut self, metrics: Option<Report>, memory_weights: Vec<f64>) -> Window {
        let mut ended = std::mem::take(&mut self.current).finish();
        ended.window.memory_weights = memory_weights;
        ended.window.rows_seen = self.rows_seen;
        ended.window.test_accuracy = metrics.as_ref().map(|report| report.accuracy);
        ended.window.metrics = metrics;
        let window = ended.window.clone();
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
            if windows.add(Scored { is_right: row % 4 == 0, log_loss: 0.5, top: 0.75, seconds: 1e-3 }) {
                windows.close(None, Vec::new());
            }
        }
        windows.close(None, Vec::new());
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
        assert!(windows.ended().all(|w| (w.prequential_ece - (0.75 - w.prequential_accuracy)).abs() < 1e-9));
    }

    #[test]
    fn batches_end_when_they_are_told_to() {
        let mut windows = Windows::new(None);
        for _ in 0..1_000 {
            assert!(!windows.add(Scored { is_right: true, log_loss: 0.0, top: 1.0, seconds: 0.0 }));
            windows.close(None, Vec::new());
        }
        assert_eq!(windows.ended().count(), 1_000);
        assert!(!windows.is_open());
    }
}
