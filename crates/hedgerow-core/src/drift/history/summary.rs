//! What a stream was like, in words.

use serde::Serialize;

use super::StreamHistory;
use super::pace::{self, Fit};
use super::stretches::{Segments, Stretch};
use crate::text::{count, list};

/// Changes that are told one by one.
const MOST_TOLD: usize = 8;
/// Drift never stops where a few of the newest rows predicted more than this share of the rows best.
const LEAST_SHARE_OF_RECENT: f64 = 2.0 / 3.0;

/// How fast a concept changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// At once.
    Abrupt,
    /// Over many rows.
    Gradual,
}

/// A change of the concept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ConceptChange {
    /// At once, or slowly.
    pub pace: Pace,
    /// The row at which it is placed, counted from the first row learnt; a slow one from here.
    pub row: u64,
    /// Where a slow change ends; the same row if it came at once.
    pub end: u64,
    /// The first row of an earlier stretch whose concept came back, if one did.
    pub returns_to: Option<u64>,
}

impl ConceptChange {
    fn at(row: u64) -> Self {
        Self { pace: Pace::Abrupt, row, end: row, returns_to: None }
    }
}

/// What a stream was like.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StreamSummary {
    /// Rows.
    pub rows: u64,
    /// Whether a few of the newest rows predicted most rows better than all did: drift that does not stop.
    pub never_stops: bool,
    /// The changes that were found, in order.
    pub changes: Vec<ConceptChange>,
}

impl StreamSummary {
    /// The stream in one word: `stationary`, `abrupt`, `gradual`, `recurring`, or `continual` if drift never stops.
    pub fn drift(&self) -> &'static str {
        let n_of = |pace| self.changes.iter().filter(|change| change.pace == pace).count();
        match () {
            () if self.never_stops => "continual",
            () if self.changes.iter().any(|change| change.returns_to.is_some()) => "recurring",
            () if self.changes.is_empty() => "stationary",
            () if n_of(Pace::Gradual) >= n_of(Pace::Abrupt) => "gradual",
            () => "abrupt",
        }
    }

    /// The stream in a sentence.
    pub fn text(&self) -> String {
        let continual = "drift that never stops: a few of the newest rows predict best";
        let parts = [
            self.never_stops.then(|| continual.to_string()),
            self.drifts("abrupt", Pace::Abrupt),
            self.drifts("gradual", Pace::Gradual),
            self.returns(),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "stationary: no concept drift was found".into() } else { parts.join("; ") }
    }

    fn drifts(&self, what: &str, pace: Pace) -> Option<String> {
        let of_pace = self.changes.iter().filter(|change| change.pace == pace);
        let rows: Vec<String> = of_pace.map(rows_of).collect();
        let drifts = if rows.len() == 1 { "drift at row" } else { "drifts at rows" };
        (!rows.is_empty()).then(|| format!("{what} {drifts} {}", list(&rows, MOST_TOLD)))
    }

    fn returns(&self) -> Option<String> {
        let back = |change: &ConceptChange| {
            Some(format!("at row {} that of row {}", count(change.row), count(change.returns_to?)))
        };
        let back: Vec<String> = self.changes.iter().filter_map(back).collect();
        (!back.is_empty()).then(|| format!("recurring concepts: {}", list(&back, MOST_TOLD)))
    }
}

fn rows_of(change: &ConceptChange) -> String {
    match change.pace {
        Pace::Abrupt => count(change.row),
        Pace::Gradual => format!("{} to {}", count(change.row), count(change.end)),
    }
}

impl StreamHistory {
    /// What the stream was like so far.
    pub fn summary(&self) -> StreamSummary {
        let rows = self.n_rows();
        let segments = Segments::of(self);
        let stretches = segments.stretches();
        let fits = pace::changes(&segments, &stretches);
        let changes =
            fits.iter().enumerate().map(|(i, fit)| self.change(&segments, &stretches[..i + 2], fit));
        let mut changes: Vec<ConceptChange> = changes.collect();
        let never_stops = self.n_recent as f64 > LEAST_SHARE_OF_RECENT * rows as f64;
        self.place_at_alarms(&mut changes, segments.len);
        // Where drift never stops, the alarms of a detector come without end too.
        if !never_stops {
            self.add_alarms(&mut changes, segments.len);
        }
        changes.sort_by_key(|change| change.row);
        StreamSummary { rows, never_stops, changes }
    }

    /// The change to the last one of some stretches.
    fn change(&self, segments: &Segments, stretches: &[Stretch], fit: &Fit) -> ConceptChange {
        let [earlier @ .., before, after] = stretches else { return ConceptChange::at(self.n_before) };
        let row_at = |segment: f64| {
            let row = (segment.max(0.0) * segments.len as f64) as u64;
            self.n_before + row.min(self.n_rows())
        };
        let change = segments.difference(&before.figures, &after.figures);
        let same =
            earlier.iter().rev().filter(|earlier| segments.is_same(&earlier.figures, &after.figures, change));
        ConceptChange {
            pace: if fit.width > 0.0 { Pace::Gradual } else { Pace::Abrupt },
            row: row_at(fit.middle - fit.width / 2.0),
            end: row_at(fit.middle + fit.width / 2.0),
            returns_to: same.map(|stretch| row_at(stretch.segments.start as f64)).next(),
        }
    }

    /// Places changes at once where an alarm of a detector is near.
    fn place_at_alarms(&self, changes: &mut [ConceptChange], len: u64) {
        for change in changes.iter_mut().filter(|change| change.pace == Pace::Abrupt) {
            let near = self.alarms.iter().filter(|alarm| alarm.abs_diff(change.row) <= 2 * len);
            change.row = near.min_by_key(|alarm| alarm.abs_diff(change.row)).copied().unwrap_or(change.row);
            change.end = change.row;
        }
    }

    /// Adds alarms far from any change: they are of changes that the figures do not show.
    fn add_alarms(&self, changes: &mut Vec<ConceptChange>, len: u64) {
        let gap = (2 * len).max(self.n_rows() / 25);
        for &row in &self.alarms {
            let is_near =
                |change: &ConceptChange| (change.row.saturating_sub(gap)..=change.end + gap).contains(&row);
            if !changes.iter().any(is_near) {
                changes.push(ConceptChange::at(row));
            }
        }
    }
}
