//! The page: what is on it, and how it becomes a file.

use std::io::{self, Write};

use hedgerow_core::rejection::RejectionCurve;

use super::class_bars::ClassBars;
use super::class_table::{self, ClassRow};
use super::comparison::{self, Comparison};
use super::confusion::Confusion;
use super::curve::LearningCurve;
use super::decision_map::DecisionMap;
use super::html::{element, esc, paragraph};
use super::importances::Importances;
use super::rejection;
use super::reliability::Reliability;
use super::scores::Scores;
use super::section::{self, Section};
use super::sets::Sets;
use super::strategies::{self, QueryMap, RankDiagram, StrategyCurves};
use super::uncertain::{self, UncertainRow};
use super::uncertainty_map::UncertaintyMaps;
use super::value_curve::ValueCurve;

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
    /// How uncertain it is everywhere, and why.
    pub uncertainty: Option<UncertaintyMaps>,
    /// Which classes are confused.
    pub confusion: Option<Confusion>,
    /// Whether the probabilities are calibrated.
    pub reliability: Option<Reliability>,
    /// How accurate the predictions are that are left when the most uncertain ones are rejected.
    pub rejection: Option<RejectionCurve>,
    /// Prediction sets.
    pub sets: Option<Sets>,
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
    /// Learning curves of query strategies, one entry for each model.
    pub strategies: Vec<StrategyCurves>,
    /// Mean ranks of query strategies.
    pub ranks: Option<RankDiagram>,
    /// Where labels were asked for.
    pub queries: Vec<QueryMap>,
    /// Paragraphs at the end.
    pub notes: Vec<String>,
}

impl Page {
    /// Writes the page as one HTML file. The same page gives the same bytes.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.to_html().as_bytes())
    }

    /// The page as the text of an HTML file. Its content security policy is a promise to the reader: nothing is fetched from anywhere.
    pub fn to_html(&self) -> String {
        let sections = self.sections();
        let title = if self.title.is_empty() { "Model report" } else { &self.title };
        format!(
            include_str!("assets/page.html"),
            title = esc(title),
            style = include_str!("assets/style.css"),
            dark = include_str!("assets/dark.css"),
            header = self.header(&sections),
            sections = section::join(&sections),
            version = env!("CARGO_PKG_VERSION"),
            script = include_str!("assets/script.js"),
        )
    }

    fn header(&self, sections: &[Section]) -> String {
        let mut header = paragraph("subtitle", &self.subtitle);
        if !self.facts.is_empty() {
            let fact = |(name, value): &(String, String)| {
                format!("<div><dt>{}</dt><dd>{}</dd></div>\n", esc(name), esc(value))
            };
            header += &element("dl", "facts", self.facts.iter().map(fact));
        }
        if sections.len() > 2 {
            let link = |s: &Section| format!("<a href=\"#{}\">{}</a>\n", s.id, esc(&s.title));
            header += &element("nav", "links", sections.iter().map(link));
        }
        header
    }

    /// What there is to show, in the order of the page.
    fn sections(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        sections.extend((!self.strategies.is_empty()).then(|| strategies::curves(&self.strategies)));
        sections.extend(self.ranks.as_ref().map(RankDiagram::section));
        sections.extend(self.queries.iter().enumerate().map(|(i, map)| map.section(i + 1)));
        sections.extend(self.scores.as_ref().map(Scores::section));
        sections.extend(self.curve.as_ref().map(LearningCurve::section));
        sections.extend(self.values.as_ref().map(ValueCurve::section));
        sections.extend(self.map.as_ref().map(DecisionMap::section));
        sections.extend(self.uncertainty.as_ref().map(UncertaintyMaps::section));
        sections.extend(self.confusion.as_ref().map(Confusion::section));
        sections.extend(self.reliability.as_ref().map(Reliability::section));
        sections.extend(self.rejection.as_ref().map(rejection::section));
        sections.extend(self.sets.as_ref().map(Sets::section));
        sections.extend(self.comparison.as_ref().map(comparison::section));
        let first = sections.len();
        sections.extend((!self.classes.is_empty()).then(|| class_table::section(&self.classes)));
        sections.extend(self.importances.as_ref().map(Importances::section));
        // A long table would part two sections that fit side by side.
        sections[first..].sort_by_key(|section| section.wide);
        sections.extend((!self.uncertain.is_empty()).then(|| uncertain::section(&self.uncertain)));
        sections.extend(self.class_bars.iter().enumerate().map(|(i, bars)| bars.section(i + 1)));
        let notes = self.notes.iter().map(|note| paragraph("note", note)).collect();
        sections.extend((!self.notes.is_empty()).then(|| Section::new("notes", "Notes", true, notes)));
        sections
    }
}
