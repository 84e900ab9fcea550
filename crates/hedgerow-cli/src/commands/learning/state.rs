//! A stream as it is kept beside its model, so that another program can go on with it.

use hedgerow::core::metrics::Running;
use hedgerow::core::{ClassId, Drift};
use serde::{Deserialize, Serialize};

use super::windows::SavedWindows;
use super::{PredictedRow, StreamRun};
use crate::commands::fit::Seconds;

/// Everything about a stream but the model.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StreamState {
    running: Running,
    windows: SavedWindows,
    seconds: Seconds,
    n_tried: usize,
    n_replaced: usize,
    n_forgotten: usize,
    drifts: Vec<Drift>,
    n_drifts: usize,
    new_classes: Vec<String>,
    has_met: Vec<bool>,
    seen_before: u64,
    n_corrected: u64,
    newest: Vec<SavedRow>,
}

/// A row and its prediction. A missing value is none: JSON has no word for it.
#[derive(Debug, Serialize, Deserialize)]
struct SavedRow {
    number: u64,
    #[serde(alias = "answer")]
    prediction: Vec<f64>,
    truth: ClassId,
    values: Vec<Option<f32>>,
}

impl StreamState {
    pub(super) fn of(stream: &StreamRun<'_>) -> Self {
        let save = |row: &PredictedRow| SavedRow {
            number: row.number,
            prediction: row.prediction.clone(),
            truth: row.truth,
            values: row.values.iter().map(|&value| Some(value).filter(|v| !v.is_nan())).collect(),
        };
        Self {
            running: stream.running.clone(),
            windows: stream.windows.saved(),
            seconds: stream.seconds,
            n_tried: stream.n_tried,
            n_replaced: stream.n_replaced,
            n_forgotten: stream.n_forgotten,
            drifts: stream.drifts.clone(),
            n_drifts: stream.n_drifts,
            new_classes: stream.new_classes.clone(),
            has_met: stream.has_met.clone(),
            seen_before: stream.seen_before,
            n_corrected: stream.n_corrected,
            newest: stream.newest.iter().map(save).collect(),
        }
    }

    /// Puts a stream where this one was, at a place in the store's log.
    pub(crate) fn restore(self, cursor: u64, stream: &mut StreamRun<'_>) {
        stream.running = self.running;
        stream.windows = self.windows.into();
        stream.seconds = self.seconds;
        stream.n_tried = self.n_tried;
        stream.n_replaced = self.n_replaced;
        stream.n_forgotten = self.n_forgotten;
        stream.drifts = self.drifts;
        stream.n_drifts = self.n_drifts;
        stream.new_classes = self.new_classes;
        stream.has_met = self.has_met;
        stream.seen_before = self.seen_before;
        stream.n_corrected = self.n_corrected;
        let newest = self.newest.into_iter().map(|row| PredictedRow {
            number: row.number,
            prediction: row.prediction,
            truth: row.truth,
            values: row.values.into_iter().map(|value| value.unwrap_or(f32::NAN)).collect(),
        });
        stream.newest = newest.collect();
        stream.cursor = cursor;
        stream.rows_before = stream.windows.rows_seen();
    }
}
