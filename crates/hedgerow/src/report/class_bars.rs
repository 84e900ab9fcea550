//! A count for each class, with examples: for example the predictions for a class it has never seen.

use super::bars::{self, Bar};
use super::block::Block;
use super::html::esc;
use super::number::{clip, count, whole_percent};
use super::picture::Picture;

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
    pub(super) fn block(&self, number: usize) -> Block {
        let mut block = Block::new(&format!("bars-{number}"), &self.title);
        block.wide = !self.examples.is_empty() && !self.bars.is_empty();
        block.body.paragraph("lead", &self.text);
        block.body.add(format_args!("<div class=\"{}\">\n", if block.wide { "pair" } else { "whole" }));
        self.write_bars(&mut block);
        self.write_examples(&mut block);
        block.body.add(format_args!("</div>\n"));
        block
    }

    fn write_bars(&self, block: &mut Block) {
        if self.bars.is_empty() {
            if self.examples.is_empty() {
                block.body.paragraph("none", "Nothing was counted.");
            }
            return;
        }
        let all: u128 = self.bars.iter().map(|(_, n)| u128::from(*n)).sum();
        let bar = |(name, n): &(String, u64)| {
            let share = *n as f64 / all.max(1) as f64;
            Bar { name: name.clone(), value: *n as f64, text: count(*n), note: Some(whole_percent(share)) }
        };
        let bars: Vec<Bar> = self.bars.iter().take(MOST_BARS).map(bar).collect();
        block.body.add(format_args!("<div>\n"));
        bars::write(&bars, &mut block.body);
        if self.bars.len() > MOST_BARS {
            let more = format!("and {} more", count((self.bars.len() - MOST_BARS) as u64));
            block.body.paragraph("none", &more);
        }
        block.body.add(format_args!("</div>\n"));
    }

    fn write_examples(&self, block: &mut Block) {
        if self.examples.is_empty() {
            return;
        }
        block.body.add(format_args!("<div class=\"examples\">\n"));
        for example in self.examples.iter().take(MOST_EXAMPLES) {
            block.body.add(format_args!("<figure>"));
            example.picture.write(&clip(&example.caption, 80), &mut block.body);
            block.body.add(format_args!(
                "<figcaption>{}</figcaption></figure>\n",
                esc(&clip(&example.caption, 40))
            ));
        }
        block.body.add(format_args!("</div>\n"));
    }
}
