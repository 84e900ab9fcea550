//! The page: what is on it, and how it becomes a file.

use std::io::{self, Write};

use super::block::{self, Block};
use super::class_bars::ClassBars;
use super::class_table::{self, ClassRow};
use super::comparison::{self, Comparison};
use super::confusion::Confusion;
use super::curve::LearningCurve;
use super::decision_map::DecisionMap;
use super::html::{Html, esc};
use super::importances::Importances;
use super::reliability::Reliability;
use super::scores::Scores;
use super::uncertain::{self, UncertainRow};
use super::value_curve::ValueCurve;

const STYLE: &str = include_str!("style.css");
/// The colors of the dark page, wanted in two places.
const DARK: &str = include_str!("dark.css");
const SCRIPT: &str = include_str!("script.js");

/// A page about a model. Whatever is left empty does not appear.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The title.
    pub title: String,
    /// A line under the title, such as the data file.
    pub subtitle: String,
    /// Facts about the model, name and value: trees, nodes, rows, seconds, bytes, seed.
    pub facts: Vec<(String, String)>,
    /// Figures about the predictions.
    pub scores: Option<Scores>,
    /// How the model got better.
    pub curve: Option<LearningCurve>,
    /// The curve of a model of values, where rows have one column.
    pub values: Option<ValueCurve>,
    /// What the model predicts everywhere, where rows have two columns.
    pub map: Option<DecisionMap>,
    /// Which classes are confused.
    pub confusion: Option<Confusion>,
    /// Whether the probabilities are calibrated.
    pub reliability: Option<Reliability>,
    /// What the Gaussian processes changed about the predictions of the forest.
    pub comparison: Option<Comparison>,
    /// Class by class.
    pub classes: Vec<ClassRow>,
    /// Which columns matter.
    pub importances: Option<Importances>,
    /// The rows with the most uncertain predictions, the most uncertain first; 24 are shown.
    pub uncertain: Vec<UncertainRow>,
    /// Experiments that end in a count for each class.
    pub class_bars: Vec<ClassBars>,
    /// Paragraphs at the end.
    pub notes: Vec<String>,
}

impl Page {
    /// Writes the page as one HTML file. The same page gives the same bytes.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.to_html().as_bytes())
    }

    /// The page as the text of an HTML file.
    pub fn to_html(&self) -> String {
        let blocks = self.blocks();
        let mut html = Html::default();
        self.write_head(&mut html);
        self.write_header(&blocks, &mut html);
        html.add(format_args!("<main>\n"));
        block::write_all(&blocks, &mut html);
        html.add(format_args!("</main>\n<footer>Hedgerow {}</footer>\n", env!("CARGO_PKG_VERSION")));
        html.add(format_args!(
            "<div id=\"tip\" hidden></div>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
        ));
        html.into_string()
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        blocks.extend(self.scores.as_ref().map(Scores::block));
        blocks.extend(self.curve.as_ref().map(LearningCurve::block));
        blocks.extend(self.values.as_ref().map(ValueCurve::block));
        blocks.extend(self.map.as_ref().map(DecisionMap::block));
        blocks.extend(self.confusion.as_ref().map(Confusion::block));
        blocks.extend(self.reliability.as_ref().map(Reliability::block));
        blocks.extend(self.comparison.as_ref().map(comparison::block));
        let classes = (!self.classes.is_empty()).then(|| class_table::block(&self.classes));
        let importances = self.importances.as_ref().map(Importances::block);
        // A long table would part two blocks that fit side by side.
        if classes.as_ref().is_some_and(|block| block.wide) {
            blocks.extend(importances.into_iter().chain(classes));
        } else {
            blocks.extend(classes.into_iter().chain(importances));
        }
        blocks.extend((!self.uncertain.is_empty()).then(|| uncertain::block(&self.uncertain)));
        blocks.extend(self.class_bars.iter().enumerate().map(|(i, bars)| bars.block(i + 1)));
        blocks.extend((!self.notes.is_empty()).then(|| self.notes_block()));
        blocks
    }

    fn write_head(&self, html: &mut Html) {
        // The policy is a promise to the reader: nothing is fetched from anywhere.
        html.add(format_args!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
             style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
             <title>{}</title>\n",
            esc(self.title())
        ));
        html.add(format_args!(
            "<style>\n{STYLE}\
             @media screen and (prefers-color-scheme:dark) {{\n:root:not([data-theme=light]) {{\n{DARK}}}\n}}\n\
             @media screen {{\n:root[data-theme=dark] {{\n{DARK}}}\n}}\n</style>\n</head>\n"
        ));
    }

    fn write_header(&self, blocks: &[Block], html: &mut Html) {
        html.add(format_args!(
            "<body>\n<header>\n\
             <button id=\"theme\" type=\"button\" aria-label=\"Switch between light and dark\" hidden>◐</button>\n\
             <h1>{}</h1>\n",
            esc(self.title())
        ));
        html.paragraph("subtitle", &self.subtitle);
        if !self.facts.is_empty() {
            html.add(format_args!("<dl class=\"facts\">\n"));
            for (name, value) in &self.facts {
                html.add(format_args!("<div><dt>{}</dt><dd>{}</dd></div>\n", esc(name), esc(value)));
            }
            html.add(format_args!("</dl>\n"));
        }
        if blocks.len() > 2 {
            html.add(format_args!("<nav>\n"));
            for block in blocks {
                html.add(format_args!("<a href=\"#{}\">{}</a>\n", block.id, esc(&block.title)));
            }
            html.add(format_args!("</nav>\n"));
        }
        html.add(format_args!("</header>\n"));
    }

    fn title(&self) -> &str {
        if self.title.is_empty() { "Model report" } else { &self.title }
    }

    fn notes_block(&self) -> Block {
        let mut block = Block::wide("notes", "Notes");
        for note in &self.notes {
            block.body.paragraph("note", note);
        }
        block
    }
}
