//! A count for each class, with examples: for example the predictions for a class it has never seen.

use super::bars;
use super::html::{clip, element, paragraph};
use super::number::{count, whole_percent};
use super::picture::Picture;
use super::section::Section;

/// The most classes that get a bar.
const MOST_BARS: usize = 20;
/// The most examples that are shown.
const MOST_EXAMPLES: usize = 36;

/// A count for each class under a title of the caller's.
#[derive(Debug, Clone, Default)]
pub struct ClassBars {
    /// The heading.
    pub title: String,
    /// What was done and what it shows.
    pub text: String,
    /// How often each class came up, in the order in which they are shown; the first 20 get a bar.
    pub bars: Vec<(String, u64)>,
    /// Rows to look at; the first 36 are shown.
    pub examples: Vec<Example>,
}

/// A picture with a few words under it.
#[derive(Debug, Clone, Default)]
pub struct Example {
    /// The picture.
    pub picture: Picture,
    /// What to know about it.
    pub caption: String,
}

impl ClassBars {
    pub(super) fn section(&self, number: usize) -> Section {
        let mut parts = Vec::new();
        parts.extend((!self.bars.is_empty()).then(|| self.bars()));
        parts.extend((!self.examples.is_empty()).then(|| self.examples()));
        let has_both = parts.len() == 2;
        if parts.is_empty() {
            parts.push(paragraph("none", "Nothing was counted."));
        }
        let body = element("div", if has_both { "pair" } else { "whole" }, parts);
        let lead = paragraph("lead", &self.text);
        Section::new(&format!("bars-{number}"), &self.title, has_both, lead + &body)
    }

    fn bars(&self) -> String {
        let all: u128 = self.bars.iter().map(|(_, n)| u128::from(*n)).sum();
        let most = self.bars.iter().map(|(_, n)| *n).max().unwrap_or(0);
        let bar = |(name, n): &(String, u64)| {
            let numbers = [count(*n), whole_percent(*n as f64 / all.max(1) as f64)];
            bars::item("", name, *n as f64 / most as f64, &numbers)
        };
        let mut bars = element("ul", "bars noted", self.bars.iter().take(MOST_BARS).map(bar));
        if self.bars.len() > MOST_BARS {
            let more = format!("and {} more", count((self.bars.len() - MOST_BARS) as u64));
            bars += &paragraph("none", &more);
        }
        format!("<div>\n{bars}</div>\n")
    }

    fn examples(&self) -> String {
        let figure = |example: &Example| {
            let picture = example.picture.to_html(&example.caption);
            format!("<figure>{picture}<figcaption>{}</figcaption></figure>\n", clip(&example.caption, 40))
        };
        element("div", "examples", self.examples.iter().take(MOST_EXAMPLES).map(figure))
    }
}
