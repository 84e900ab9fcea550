//! Things that happened along a stream.

use super::axis::Axis;
use super::html::{clip, element, paragraph};
use super::number::{count, rows};
use super::plot::{Plot, number};

/// The most marks that are listed in words.
const MOST_LISTED: usize = 24;
/// Rows of numbers above a plot, so that close marks do not cover each other.
const LEVELS: usize = 4;
/// The least distance between two numbers of one row, as a share of the width.
const LEAST_GAP: f64 = 0.06;

/// Something that happened along a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    /// Rows seen when it happened.
    pub rows_seen: u64,
    /// What kind of thing.
    pub kind: MarkKind,
    /// What happened, in words.
    pub text: String,
}

/// What happened along a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MarkKind {
    /// The model noticed that the data had changed.
    #[default]
    DriftDetected,
    /// The data are known to have changed here.
    KnownChange,
    /// A class came up for the first time.
    NewClass,
}

impl MarkKind {
    /// Its class in the style sheet, and what it is in words.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::DriftDetected => ["drift", "drift detected"],
            Self::KnownChange => ["change", "known change"],
            Self::NewClass => ["new", "new class"],
        }
    }
}

/// The marks in the order of the stream.
pub(super) fn sorted(marks: &[Mark]) -> Vec<&Mark> {
    let mut marks: Vec<&Mark> = marks.iter().collect();
    marks.sort_by_key(|m| m.rows_seen);
    marks
}

/// Lines from top to bottom.
pub(super) fn draw_lines(marks: &[&Mark], plot: &mut Plot) {
    for mark in marks {
        let line = format!("M{} 0V1000", plot.across(mark.rows_seen as f64));
        plot.shape(&format!("mark {}", mark.kind.words()[0]), &line);
    }
}

/// For each mark the row of its number, counted upward.
pub(super) fn levels(marks: &[&Mark], x: &Axis) -> Vec<usize> {
    let mut last = [f64::NEG_INFINITY; LEVELS];
    let place = |mark: &&Mark| {
        let at = x.share(mark.rows_seen as f64);
        let level = last.iter().position(|&l| at - l >= LEAST_GAP).unwrap_or(LEVELS - 1);
        last[level] = at;
        level
    };
    marks.iter().map(place).collect()
}

/// The numbers above the lines.
pub(super) fn draw_numbers(marks: &[&Mark], plot: &mut Plot) {
    for (i, (mark, level)) in marks.iter().zip(levels(marks, &plot.x)).enumerate() {
        let left = number(100.0 * plot.x.share(mark.rows_seen as f64));
        let class = format!("badge {}", mark.kind.words()[0]);
        plot.text(&class, &format!("left:{left}%;--level:{level}"), &(i + 1).to_string());
    }
}

/// The marks in words.
pub(super) fn list(marks: &[&Mark]) -> String {
    if marks.is_empty() {
        return String::new();
    }
    let item = |(i, mark): (usize, &&Mark)| {
        let ([class, words], at) = (mark.kind.words(), rows(mark.rows_seen));
        let gap = if mark.text.is_empty() { "" } else { ": " };
        let (number, text) = (i + 1, clip(&mark.text, 160));
        format!(
            "<li><span class=\"badge {class}\">{number}</span><span><b>{words}</b> at {at}{gap}{text}</span></li>\n"
        )
    };
    let list = element("ol", "marks", marks.iter().take(MOST_LISTED).enumerate().map(item));
    let n_more = marks.len().saturating_sub(MOST_LISTED) as u64;
    let more = if n_more > 0 { format!("and {} more", count(n_more)) } else { String::new() };
    list + &paragraph("none", &more)
}
