//! Things that happened along a stream.

use super::axis::Axis;
use super::html::{Html, esc};
use super::number::{clip, count, rows};
use super::plot::number;

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
    fn words(self) -> &'static str {
        match self {
            Self::DriftDetected => "drift detected",
            Self::KnownChange => "known change",
            Self::NewClass => "new class",
        }
    }

    /// Its class in the style sheet.
    fn class(self) -> &'static str {
        match self {
            Self::DriftDetected => "drift",
            Self::KnownChange => "change",
            Self::NewClass => "new",
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
pub(super) fn write_lines(marks: &[&Mark], x: &Axis, html: &mut Html) {
    for mark in marks {
        let at = number(1000.0 * x.share(mark.rows_seen as f64));
        html.add(format_args!("<path class=\"mark {}\" d=\"M{at} 0V1000\"/>\n", mark.kind.class()));
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
pub(super) fn write_numbers(marks: &[&Mark], x: &Axis, html: &mut Html) {
    for (i, (mark, level)) in marks.iter().zip(levels(marks, x)).enumerate() {
        html.add(format_args!(
            "<span class=\"badge {}\" style=\"left:{}%;--level:{level}\">{}</span>\n",
            mark.kind.class(),
            number(100.0 * x.share(mark.rows_seen as f64)),
            i + 1
        ));
    }
}

/// The marks in words.
pub(super) fn write_list(marks: &[&Mark], html: &mut Html) {
    if marks.is_empty() {
        return;
    }
    html.add(format_args!("<ol class=\"marks\">\n"));
    for (i, mark) in marks.iter().take(MOST_LISTED).enumerate() {
        let (class, words) = (mark.kind.class(), mark.kind.words());
        html.add(format_args!(
            "<li><span class=\"badge {class}\">{}</span><span><b>{words}</b> at {}",
            i + 1,
            rows(mark.rows_seen)
        ));
        if !mark.text.is_empty() {
            html.add(format_args!(": {}", esc(&clip(&mark.text, 160))));
        }
        html.add(format_args!("</span></li>\n"));
    }
    html.add(format_args!("</ol>\n"));
    if marks.len() > MOST_LISTED {
        html.paragraph("none", &format!("and {} more", count((marks.len() - MOST_LISTED) as u64)));
    }
}
