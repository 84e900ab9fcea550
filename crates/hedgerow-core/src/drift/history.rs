//! What a stream was like: where its concept changed, at once or slowly, and which concepts came back.
//!
//! A stream is kept as at most 128 segments of equal length: of each the frequencies of the classes, and for each class the mean and the scatter of some
//! columns (`segment`). Segments that do not differ are joined to stretches, the most alike first (`stretches`); how fast one gives way to the
//! next is fitted (`pace`). Alarms of a drift detector place changes more exactly, and tell of those that no mean shows. `docs/math/drift.md`
//! has the formulae.

mod pace;
mod segment;
mod stretches;
mod summary;
#[cfg(test)]
mod tests;

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use crate::data::ClassId;
use crate::learn::{Drift, Rows};
use crate::saved::{array, columns};
use segment::Segment;

pub use summary::{ConceptChange, Pace, StreamSummary};

/// Rows of a segment at first, and most segments: more are joined two by two.
const FIRST_LEN: u64 = 64;
const MOST_SEGMENTS: usize = 128;
/// Most figures of a class, and of all classes. Columns that have none of their own are added up.
const MOST_FIGURES: usize = 16;
const MOST_SUMS: usize = 128;
/// Most alarms that are kept.
const MOST_ALARMS: usize = 256;

/// Figures of a stream of rows, whatever its length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamHistory {
    #[serde(with = "columns")]
    segments: Vec<Segment>,
    /// Rows of each segment that has ended, and of the last one.
    len: u64,
    n_current: u64,
    /// Rows that were learnt before the first of these.
    n_before: u64,
    /// Figures of each class.
    n_figures: usize,
    /// The class of the newest row, and rows whose class was that of the row before.
    newest: u32,
    n_repeats: u64,
    /// The rows since which a detector has seen more errors, the newest last.
    #[serde(with = "array")]
    alarms: Vec<u64>,
    /// Rows that a few of the newest rows predicted better than all did.
    n_recent: u64,
}

impl StreamHistory {
    /// Of the rows that come after so many.
    pub fn after(n_before: u64) -> Self {
        Self { n_before, ..Self::default() }
    }

    /// Adds rows in the order in which they came, with the alarms they raised. `n_recent` counts the rows so far that a few of the newest rows
    /// predicted better than all did.
    pub fn add(&mut self, rows: Rows<'_>, drifts: &[Drift], n_recent: u64) {
        for (row, class) in rows.x.rows().into_iter().zip(rows.labels()) {
            self.add_row(row, *class);
        }
        self.alarms.extend(drifts.iter().map(|drift| drift.since));
        let n_old = self.alarms.len().saturating_sub(MOST_ALARMS);
        self.alarms.drain(..n_old);
        self.n_recent = n_recent;
    }

    /// Rows so far.
    pub fn n_rows(&self) -> u64 {
        (self.segments.len() as u64).saturating_sub(1) * self.len + self.n_current
    }

    fn add_row(&mut self, row: ArrayView1<'_, f32>, class: ClassId) {
        if self.segments.is_empty() {
            self.len = FIRST_LEN;
            self.n_figures = row.len().clamp(1, MOST_FIGURES);
        } else {
            self.n_repeats += u64::from(class.0 == self.newest);
        }
        if self.segments.is_empty() || self.n_current == self.len {
            self.begin_segment();
        }
        self.newest = class.0;
        self.n_current += 1;
        // Of many classes the first ones must do.
        if class.index() >= most_classes(self.n_figures) {
            return;
        }
        let mut figures = [0.0; MOST_FIGURES];
        let mut figure = 0;
        for value in row {
            figures[figure] += if value.is_finite() { f64::from(*value) } else { 0.0 };
            figure = if figure + 1 == self.n_figures { 0 } else { figure + 1 };
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.add(class.index(), &figures[..self.n_figures]);
        }
    }

    fn begin_segment(&mut self) {
        if self.segments.len() == MOST_SEGMENTS {
            self.segments = segment::two_by_two(&self.segments);
            self.len *= 2;
        }
        self.segments.push(Segment::default());
        self.n_current = 0;
    }

    /// Whether what was read is possible.
    pub fn is_valid(&self) -> bool {
        (0..=MOST_FIGURES).contains(&self.n_figures)
            && self.segments.is_empty() == (self.n_figures == 0)
            && self.segments.len() <= MOST_SEGMENTS
            && self.len < 1 << 54
            && self.n_before < 1 << 62
            && self.n_current <= self.len
            && self.n_repeats < 1 << 62
            && self.alarms.len() <= MOST_ALARMS
            && self.alarms.iter().all(|row| *row < 1 << 62)
            && self.segments.iter().all(|segment| segment.is_valid(self.n_figures))
    }
}

/// Classes of which there are figures.
fn most_classes(n_figures: usize) -> usize {
    (MOST_SUMS / n_figures.max(1)).max(2)
}
