//! A stream as it is kept beside its model, so that another program can go on with it.

use std::collections::VecDeque;

use hedgerow::Delay;
use hedgerow::core::conformal::SetTally;
use hedgerow::core::{ClassId, Drift, Target, Update};
use hedgerow::delay::with_missing;
use serde::{Deserialize, Serialize};

use super::Windows;
use crate::commands::{RunningMetrics, Seconds};

/// Newest rows that are kept for a report.
const NEWEST: usize = 1_000;

/// Everything about a stream but the model.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct StreamState {
    /// Prequential metrics.
    pub(crate) running: RunningMetrics,
    pub(crate) windows: Windows,
    /// Prediction sets, made before the rows were learnt.
    #[serde(default)]
    pub(crate) sets: SetTally,
    pub(crate) seconds: Seconds,
    pub(crate) n_tried: usize,
    pub(crate) n_replaced: usize,
    pub(crate) n_forgotten: usize,
    pub(crate) drifts: Vec<Drift>,
    pub(crate) n_drifts: usize,
    /// Classes that came up for the first time.
    pub(crate) new_classes: Vec<String>,
    pub(super) has_met: Vec<bool>,
    /// Rows that the model had learnt before.
    pub(super) seen_before: u64,
    /// Rows learnt again with another label.
    pub(crate) n_corrected: u64,
    pub(super) newest: VecDeque<PredictedRow>,
    /// Rows whose labels are yet to come.
    #[serde(default)]
    pub(super) delay: Delay,
}

/// A row and its prediction.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PredictedRow {
    pub(super) number: u64,
    pub(super) prediction: Vec<f64>,
    pub(super) truth: Target,
    #[serde(deserialize_with = "with_missing")]
    pub(super) values: Vec<f32>,
}

impl StreamState {
    /// Notes what learning has changed in the model.
    pub(super) fn count(&mut self, update: &Update) {
        self.n_tried += update.n_tried;
        self.n_replaced += update.n_replaced;
        self.n_forgotten += update.n_forgotten;
    }

    /// Keeps a row for the report.
    pub(super) fn keep(&mut self, row: PredictedRow) {
        if self.newest.len() >= NEWEST {
            self.newest.pop_front();
        }
        self.newest.push_back(row);
    }

    /// Notes a class, whether it comes up for the first time or not.
    pub(super) fn meet(&mut self, class: ClassId, name: &str) {
        if self.has_met.len() <= class.index() {
            self.has_met.resize(class.index() + 1, false);
        }
        if !std::mem::replace(&mut self.has_met[class.index()], true) {
            self.windows.note_class(name);
            self.new_classes.push(name.to_string());
        }
    }

    /// The drift with its rows counted from the start of this stream.
    pub(super) fn counted_here(&self, drift: Drift) -> Drift {
        let here = |row: u64| row.saturating_sub(self.seen_before);
        Drift { noticed_at: here(drift.noticed_at), since: here(drift.since), ..drift }
    }
}
