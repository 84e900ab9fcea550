//! A course as it is kept beside its model, so that another program can go on with it.

use hedgerow::core::metrics::Running;
use hedgerow::core::{ClassId, Drift};
use serde::{Deserialize, Serialize};

use super::windows::SavedWindows;
use super::{Answered, Course};
use crate::commands::fit::Seconds;

/// Everything about a course but the model.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CourseState {
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
    newest: Vec<SavedAnswer>,
}

/// A row and the answer to it. A missing value is none: JSON has no word for it.
#[derive(Debug, Serialize, Deserialize)]
struct SavedAnswer {
    number: u64,
    answer: Vec<f64>,
    truth: ClassId,
    values: Vec<Option<f32>>,
}

impl CourseState {
    pub(super) fn of(course: &Course<'_>) -> Self {
        let save = |row: &Answered| SavedAnswer {
            number: row.number,
            answer: row.answer.clone(),
            truth: row.truth,
            values: row.values.iter().map(|&value| Some(value).filter(|v| !v.is_nan())).collect(),
        };
        Self {
            running: course.running.clone(),
            windows: course.windows.saved(),
            seconds: course.seconds,
            n_tried: course.n_tried,
            n_replaced: course.n_replaced,
            n_forgotten: course.n_forgotten,
            drifts: course.drifts.clone(),
            n_drifts: course.n_drifts,
            new_classes: course.new_classes.clone(),
            has_met: course.has_met.clone(),
            seen_before: course.seen_before,
            n_corrected: course.n_corrected,
            newest: course.newest.iter().map(save).collect(),
        }
    }

    /// Puts a course where this one was, at a place in the store's log.
    pub(crate) fn restore(self, cursor: u64, course: &mut Course<'_>) {
        course.running = self.running;
        course.windows = self.windows.into();
        course.seconds = self.seconds;
        course.n_tried = self.n_tried;
        course.n_replaced = self.n_replaced;
        course.n_forgotten = self.n_forgotten;
        course.drifts = self.drifts;
        course.n_drifts = self.n_drifts;
        course.new_classes = self.new_classes;
        course.has_met = self.has_met;
        course.seen_before = self.seen_before;
        course.n_corrected = self.n_corrected;
        let newest = self.newest.into_iter().map(|row| Answered {
            number: row.number,
            answer: row.answer,
            truth: row.truth,
            values: row.values.into_iter().map(|value| value.unwrap_or(f32::NAN)).collect(),
        });
        course.newest = newest.collect();
        course.cursor = cursor;
        course.rows_before = course.windows.rows_seen();
    }
}
