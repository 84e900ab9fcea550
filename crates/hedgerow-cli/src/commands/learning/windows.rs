//! How it went, stretch by stretch.

use hedgerow::core::conformal::SetTally;
use hedgerow::core::metrics::{Reliability, RunningValues, ValueReport};
use hedgerow::core::{Drift, SetOutcome};
use serde::{Deserialize, Serialize};

use crate::commands::Metrics;

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
    /// Of its rows, predicted before they were learnt.
    #[serde(flatten)]
    pub(crate) prequential: Prequential,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_rmse: Option<f64>,
    /// All figures about the test data at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metrics: Option<Metrics>,
    /// Classes that came up for the first time.
    pub(crate) new_classes: Vec<String>,
    /// How much the memories of a forest counted at its end: of all rows, then of the newest 20, 100, 300 and 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) memory_weights: Vec<f64>,
    /// Changes that were noticed.
    pub(crate) drifts: Vec<Drift>,
}

/// Prequential figures of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Prequential {
    Classes {
        prequential_accuracy: f64,
        prequential_log_loss: f64,
        prequential_ece: f64,
        /// The share of rows whose class was in their prediction set of 90 %, and how many classes these sets had.
        #[serde(default)]
        prequential_set_coverage90: f64,
        #[serde(default)]
        prequential_set_size90: f64,
    },
    Values {
        prequential_rmse: f64,
        prequential_mae: f64,
        prequential_nlpd: f64,
        prequential_coverage90: f64,
    },
}

impl Default for Prequential {
    fn default() -> Self {
        Sums::default().figures(0)
    }
}

/// How the prediction for a row came out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Score {
    /// Whether the class was right, with the log-loss, the top probability and the prediction set.
    Class { is_right: bool, log_loss: f64, top: f64, set: SetOutcome },
    /// The prediction of a number and the number.
    Value { mean: f64, variance: f64, truth: f64 },
}

/// What the figures of a stretch come from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sums {
    Classes {
        n_right: u64,
        loss: f64,
        reliability: Box<Reliability>,
        #[serde(default)]
        sets: SetTally,
    },
    Values(RunningValues),
}

impl Default for Sums {
    fn default() -> Self {
        Self::Classes { n_right: 0, loss: 0.0, reliability: Box::default(), sets: SetTally::default() }
    }
}

impl Sums {
    /// Adds a row. The first one tells the task.
    fn add(&mut self, score: Score) {
        match (&mut *self, score) {
            (
                Self::Classes { n_right, loss, reliability, sets },
                Score::Class { is_right, log_loss, top, set },
            ) => {
                sets.add(set);
                *n_right += u64::from(is_right);
                *loss += log_loss;
                reliability.add(top, is_right);
            }
            (Self::Values(sums), Score::Value { mean, variance, truth }) => sums.add(mean, variance, truth),
            (_, Score::Class { .. }) => {
                *self = Self::default();
                self.add(score);
            }
            (_, Score::Value { .. }) => {
                *self = Self::Values(RunningValues::default());
                self.add(score);
            }
        }
    }

    fn merge(&mut self, next: Self) {
        match (&mut *self, next) {
            (
                Self::Classes { n_right, loss, reliability, sets },
                Self::Classes { n_right: more, loss: more_loss, reliability: other, sets: more_sets },
            ) => {
                sets.merge(&more_sets);
                *n_right += more;
                *loss += more_loss;
                reliability.merge(&other);
            }
            (Self::Values(sums), Self::Values(more)) => sums.merge(&more),
            (_, next) => *self = next,
        }
    }

    fn figures(&self, n_rows: u64) -> Prequential {
        match self {
            Self::Classes { n_right, loss, reliability, sets } => {
                let n = n_rows.max(1) as f64;
                Prequential::Classes {
                    prequential_accuracy: *n_right as f64 / n,
                    prequential_log_loss: loss / n,
                    prequential_ece: reliability.ece(),
                    prequential_set_coverage90: sets.coverage().unwrap_or(0.0),
                    prequential_set_size90: sets.mean_size().unwrap_or(0.0),
                }
            }
            Self::Values(sums) => {
                let ValueReport { rmse, mae, nlpd, coverage90, .. } = sums.report();
                Prequential::Values {
                    prequential_rmse: rmse,
                    prequential_mae: mae,
                    prequential_nlpd: nlpd,
                    prequential_coverage90: coverage90,
                }
            }
        }
    }
}

/// A stretch with what its figures come from.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Stretch {
    window: Window,
    sums: Sums,
}

impl Stretch {
    /// Adds the prediction for one row, with the time that predicting and learning took.
    fn add(&mut self, score: Score, seconds: f64) {
        self.window.rows += 1;
        self.window.seconds += seconds;
        self.sums.add(score);
    }

    /// Puts in the figures that follow from the sums.
    fn finish(mut self) -> Self {
        let window = &mut self.window;
        window.rows_per_second = window.rows as f64 / window.seconds.max(1e-9);
        window.prequential = self.sums.figures(window.rows);
        self
    }

    fn join(mut self, next: Self) -> Self {
        self.sums.merge(next.sums);
        let (window, more) = (self.window, next.window);
        let window = Window {
            rows: window.rows + more.rows,
            rows_seen: more.rows_seen,
            seconds: window.seconds + more.seconds,
            test_accuracy: more.test_accuracy.or(window.test_accuracy),
            test_rmse: more.test_rmse.or(window.test_rmse),
            metrics: more.metrics.or(window.metrics),
            memory_weights: more.memory_weights,
            new_classes: [window.new_classes, more.new_classes].concat(),
            drifts: [window.drifts, more.drifts].concat(),
            ..Window::default()
        };
        Self { window, ..self }.finish()
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
    pub(crate) fn add(&mut self, score: Score, seconds: f64) -> bool {
        self.current.add(score, seconds);
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
    pub(crate) fn close(&mut self, metrics: Option<Metrics>, memory_weights: Vec<f64>) -> Window {
        let mut ended = std::mem::take(&mut self.current).finish();
        ended.window.memory_weights = memory_weights;
        ended.window.rows_seen = self.rows_seen;
        ended.window.test_accuracy = metrics.as_ref().and_then(Metrics::accuracy);
        ended.window.test_rmse = metrics.as_ref().and_then(Metrics::rmse);
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
            let set = SetOutcome { is_covered: row % 5 == 0, size: 2 };
            if windows.add(Score::Class { is_right: row % 4 == 0, log_loss: 0.5, top: 0.75, set }, 1e-3) {
                windows.close(None, Vec::new());
            }
        }
        windows.close(None, Vec::new());
        assert!((100..=MOST).contains(&windows.ended().count()), "{}", windows.ended().count());
        assert_eq!(windows.ended().map(|w| w.rows).sum::<u64>(), 12_345);
        assert_eq!(windows.ended().last().map(|w| w.rows_seen), Some(12_345));
        let late = windows.ended().find(|w| !w.new_classes.is_empty()).unwrap();
        assert!(late.rows_seen - late.rows <= 5_000 && 5_000 < late.rows_seen);
        assert!(windows.ended().all(|w| (w.rows_per_second - 1e3).abs() < 1.0));
        let (mut right, mut covered) = (0.0, 0.0);
        for window in windows.ended() {
            let Prequential::Classes {
                prequential_accuracy: accuracy,
                prequential_log_loss,
                prequential_ece,
                prequential_set_coverage90,
                prequential_set_size90,
            } = window.prequential
            else {
                panic!("{window:?}")
            };
            assert!(prequential_log_loss == 0.5 && (prequential_ece - (0.75 - accuracy)).abs() < 1e-9);
            right += accuracy * window.rows as f64;
            covered += prequential_set_coverage90 * window.rows as f64;
            assert_eq!(prequential_set_size90, 2.0);
        }
        assert!((right - 3_087.0).abs() < 1e-6 && (covered - 2_469.0).abs() < 1e-6, "{right} {covered}");
    }

    #[test]
    fn windows_of_numbers_are_put_together() {
        let mut windows = Windows::new(Some(1));
        for row in 0..500_u64 {
            let error = if row < 300 { 1.0 } else { 3.0 };
            windows.add(Score::Value { mean: row as f64, variance: 1.0, truth: row as f64 + error }, 1e-3);
            windows.close(None, Vec::new());
        }
        // It can be saved in between.
        let windows: Windows = serde_json::from_str(&serde_json::to_string(&windows).unwrap()).unwrap();
        let (mut squares, mut inside) = (0.0, 0.0);
        for window in windows.ended() {
            let Prequential::Values { prequential_rmse: rmse, prequential_coverage90: share, .. } =
                window.prequential
            else {
                panic!("{window:?}")
            };
            squares += rmse * rmse * window.rows as f64;
            inside += share * window.rows as f64;
        }
        assert!((squares - 2_100.0).abs() < 1e-6 && (inside - 300.0).abs() < 1e-6, "{squares} {inside}");
    }

    #[test]
    fn batches_end_when_they_are_told_to() {
        let mut windows = Windows::new(None);
        for _ in 0..1_000 {
            let set = SetOutcome::default();
            assert!(!windows.add(Score::Class { is_right: true, log_loss: 0.0, top: 1.0, set }, 0.0));
            windows.close(None, Vec::new());
        }
        assert_eq!(windows.ended().count(), 1_000);
        assert!(!windows.is_open());
    }
}
