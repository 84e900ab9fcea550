//! The rows with the most uncertain predictions.

use serde::Serialize;

use super::block::Block;
use super::html::{Html, esc};
use super::number::{clip, count, percent, whole_percent};
use super::picture::Picture;

/// The most rows that are shown.
const MOST_ROWS: usize = 24;
/// The most classes of an prediction that are shown.
const MOST_CLASSES: usize = 3;
/// The most values of a row that are shown.
pub(super) const MOST_VALUES: usize = 6;

/// A row and its prediction.
#[derive(Debug, Clone, Default, Serialize)]
pub struct UncertainRow {
    /// The row's number, counted as the caller counts.
    pub row: u64,
    /// Its label, where it is known.
    pub truth: Option<String>,
    /// Classes with their probabilities, the most probable first; three are shown.
    pub prediction: Vec<(String, f64)>,
    /// How certain the prediction is: 1 − its entropy to base "number of classes", from 0 for uniform to 1 for certain.
    #[serde(skip)]
    pub certainty: f64,
    /// What the row looks like.
    #[serde(skip)]
    pub look: Look,
}

/// What a row looks like.
#[derive(Debug, Clone)]
pub enum Look {
    /// An image.
    Picture(Picture),
    /// Names of columns with their values as text; six are shown.
    Values(Vec<(String, String)>),
}

impl Default for Look {
    fn default() -> Self {
        Self::Values(Vec::new())
    }
}

pub(super) fn block(rows: &[UncertainRow]) -> Block {
    let mut block = Block::wide("uncertain", "Most uncertain predictions");
    block.body.paragraph(
        "lead",
        "Certainty is 1 − the normalised entropy of the prediction: 0 is uniform, 100 % is certain.",
    );
    block.body.add(format_args!("<div class=\"rows\">\n"));
    for row in rows.iter().take(MOST_ROWS) {
        row.write(&mut block.body);
    }
    block.body.add(format_args!("</div>\n"));
    block
}

impl UncertainRow {
    fn write(&self, html: &mut Html) {
        let kind = if matches!(self.look, Look::Picture(_)) { "image" } else { "plain" };
        html.add(format_args!("<article class=\"{kind}\">\n"));
        if let Look::Picture(picture) = &self.look {
            picture.write(&format!("row {}", count(self.row)), html);
        }
        html.add(format_args!(
            "<div><p class=\"head\"><span>row {}</span><span>{} certain</span></p>\n<ul class=\"prediction\">\n",
            count(self.row),
            percent(self.certainty, 0)
        ));
        for (name, p) in self.prediction.iter().take(MOST_CLASSES) {
            let is_true = self.truth.as_ref() == Some(name);
            html.add(format_args!(
                "<li{}><span class=\"name\" title=\"{}\">{}</span>\
                 <span class=\"track\"><i style=\"width:{:.1}%\"></i></span><span class=\"value\">{}</span></li>\n",
                if is_true { " class=\"true\"" } else { "" },
                esc(&clip(name, 160)),
                esc(&clip(name, 24)),
                if p.is_finite() { 100.0 * p.clamp(0.0, 1.0) } else { 0.0 },
                esc(&whole_percent(*p))
            ));
        }
        html.add(format_args!("</ul>\n"));
        self.write_truth(html);
        if let Look::Values(values) = &self.look {
            write_values(values, html);
        }
        html.add(format_args!("</div></article>\n"));
    }

    fn write_truth(&self, html: &mut Html) {
        let Some(truth) = &self.truth else { return };
        let is_right = self.prediction.first().is_some_and(|(name, _)| name == truth);
        let (class, sign) = if is_right { ("good", "✓") } else { ("bad", "✗") };
        html.add(format_args!(
            "<p class=\"truth {class}\" title=\"{}\">{sign} true class {}</p>\n",
            esc(&clip(truth, 160)),
            esc(&clip(truth, 24))
        ));
    }
}

fn write_values(values: &[(String, String)], html: &mut Html) {
    if values.is_empty() {
        return;
    }
    html.add(format_args!("<dl>\n"));
    for (name, value) in values.iter().take(MOST_VALUES) {
        html.add(format_args!("<dt>{}</dt><dd>{}</dd>\n", esc(&clip(name, 40)), esc(&clip(value, 24))));
    }
    html.add(format_args!("</dl>\n"));
}
