//! Which classes are confused: the table, and its worst pairs in words.

use hedgerow_core::{LabelTable, metrics};

use super::block::Block;
use super::html::{Html, esc};
use super::number::{clip, count, percent, rows, tiny};

/// The most classes that fit a table.
const MOST_CLASSES: usize = 60;
/// The most classes whose cells have room for numbers.
const MOST_WITH_NUMBERS: usize = 24;
/// The most classes that fit half the page.
const MOST_NARROW: usize = 14;
/// The most classes whose cells are large.
const MOST_LARGE: usize = 4;
/// The width of the table on a narrow page.
const NARROW: usize = 364;
/// Steps of color.
const LEVELS: f64 = 9.0;
/// The share of a class that has at least to be wrong for the strongest color.
const LEAST_FULL: f64 = 0.05;

/// How often each class was predicted as each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confusion {
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Rows are true classes, columns predictions, as in [`metrics::Report::confusion`]. Missing cells are 0.
    pub counts: Vec<Vec<u64>>,
}

/// How a table of some size is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Large,
    Plain,
    /// Cells without numbers.
    Dense,
    /// No table, only its worst pairs.
    List,
}

/// A pair of confused classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pair {
    truth: usize,
    prediction: usize,
    count: u64,
}

impl Confusion {
    /// The table of a report with the names of its classes.
    pub fn new(report: &metrics::Report, classes: &[String]) -> Self {
        Self { classes: classes.to_vec(), counts: report.confusion.clone() }
    }

    /// The same table with its classes in order, for those that came as they came.
    #[must_use]
    pub fn sorted(self) -> Self {
        let mut table = LabelTable::from(self.classes.clone());
        let new_of_old = table.sort();
        if self.counts.len() != new_of_old.len() {
            return self;
        }
        let mut counts = vec![vec![0; new_of_old.len()]; new_of_old.len()];
        for (row, truth) in self.counts.iter().zip(&new_of_old) {
            for (&count, prediction) in row.iter().zip(&new_of_old) {
                counts[truth.index()][prediction.index()] = count;
            }
        }
        Self { classes: table.names().to_vec(), counts }
    }

    pub(super) fn block(&self) -> Block {
        let n = self.n_classes();
        let mut block = Block::new("confusion", "Confusion matrix");
        block.wide = (MOST_NARROW + 1..=MOST_CLASSES).contains(&n);
        let pairs = self.worst_pairs();
        let all = (0..n).map(|t| u128::from(self.row_total(t))).sum::<u128>() as u64;
        if n == 0 || all == 0 {
            block.body.paragraph("none", "No rows were evaluated.");
            return block;
        }
        let wrong = pairs.iter().map(|p| p.count).fold(0, u64::saturating_add);
        block.body.paragraph("lead", &format!("{} of {} predicted wrong.", count(wrong), rows(all)));
        let listed = match self.style() {
            Style::Large | Style::Plain => 6,
            Style::Dense => 16,
            Style::List => 40,
        };
        if self.style() != Style::List {
            self.write_table(&pairs, &mut block.body);
        }
        self.write_pairs(&pairs[..pairs.len().min(listed)], &mut block.body);
        block
    }

    fn n_classes(&self) -> usize {
        let widest = self.counts.iter().map(Vec::len).max().unwrap_or(0);
        self.classes.len().max(self.counts.len()).max(widest)
    }

    fn style(&self) -> Style {
        match self.n_classes() {
            n if n <= MOST_LARGE => Style::Large,
            n if n <= MOST_WITH_NUMBERS => Style::Plain,
            n if n <= MOST_CLASSES => Style::Dense,
            _ => Style::List,
        }
    }

    fn name(&self, class: usize) -> &str {
        self.classes.get(class).map_or("?", String::as_str)
    }

    fn count(&self, truth: usize, prediction: usize) -> u64 {
        self.counts.get(truth).and_then(|row| row.get(prediction)).copied().unwrap_or(0)
    }

    fn row_total(&self, truth: usize) -> u64 {
        self.counts.get(truth).map_or(0, |row| row.iter().copied().fold(0, u64::saturating_add))
    }

    fn share(&self, pair: Pair) -> f64 {
        pair.count as f64 / self.row_total(pair.truth).max(1) as f64
    }

    /// All mistakes, the most frequent first.
    fn worst_pairs(&self) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (truth, row) in self.counts.iter().enumerate() {
            let wrong =
                row.iter().enumerate().filter(|&(prediction, &count)| prediction != truth && count > 0);
            pairs.extend(wrong.map(|(prediction, &count)| Pair { truth, prediction, count }));
        }
        pairs.sort_by_key(|p| (std::cmp::Reverse(p.count), p.truth, p.prediction));
        pairs
    }

    fn write_table(&self, pairs: &[Pair], html: &mut Html) {
        let n = self.n_classes();
        let full = pairs.iter().map(|&p| self.share(p)).fold(LEAST_FULL, f64::max);
        let longest = (0..n).map(|c| self.name(c).chars().count()).max().unwrap_or(0);
        let label_width = (longest * 8 + 14).clamp(66, 140);
        let (class, least, most) = match self.style() {
            Style::Large => (" large", 40, 120),
            Style::Plain => ("", 29, 76),
            Style::Dense | Style::List => (" dense", 13, 76),
        };
        let (least, most) = (label_width + n * least, label_width + n * most);
        html.add(format_args!(
            "<div class=\"scroll\"><table class=\"confusion{class}\" style=\"min-width:{least}px;max-width:{most}px\">\n\
             <colgroup><col style=\"width:{label_width}px\"><col span=\"{n}\"></colgroup>\n"
        ));
        let is_turned = n > MOST_WITH_NUMBERS || longest * 7 + 4 > (NARROW - label_width) / n;
        let turned = if is_turned { " class=\"turned\"" } else { "" };
        html.add(format_args!("<thead><tr{turned}><td class=\"corner\">true ↓<br>predicted →</td>"));
        for prediction in 0..n {
            html.add(format_args!("<th scope=\"col\">{}</th>", self.label(prediction)));
        }
        html.add(format_args!("</tr></thead>\n<tbody>\n"));
        for truth in 0..n {
            html.add(format_args!("<tr><th scope=\"row\">{}</th>", self.label(truth)));
            for prediction in 0..n {
                self.write_cell(Pair { truth, prediction, count: self.count(truth, prediction) }, full, html);
            }
            html.add(format_args!("</tr>\n"));
        }
        html.add(format_args!("</tbody>\n</table></div>\n"));
        html.add(format_args!(
            "<p class=\"scale{class}\"><span>right</span><i class=\"right\"></i>\
             <span>wrong, share of the true class: 0</span><i class=\"ramp\"></i><span>{}</span></p>\n",
            percent(full, 0)
        ));
    }

    fn label(&self, class: usize) -> String {
        let name = self.name(class);
        let short = clip(name, 18);
        if short == name {
            format!("<span>{}</span>", esc(name))
        } else {
            format!("<span title=\"{}\">{}</span>", esc(&clip(name, 160)), esc(&short))
        }
    }

    fn write_cell(&self, pair: Pair, full: f64, html: &mut Html) {
        if pair.count == 0 {
            let class = if pair.truth == pair.prediction { " class=\"right\"" } else { "" };
            return html.add(format_args!("<td{class}></td>"));
        }
        let share = self.share(pair);
        let (truth, prediction) = (clip(self.name(pair.truth), 24), clip(self.name(pair.prediction), 24));
        let (class, what) = if pair.truth == pair.prediction {
            ("right".to_string(), format!("{truth} predicted right"))
        } else {
            let level = (LEVELS * (share / full).sqrt()).ceil().clamp(1.0, LEVELS);
            (format!("e{level}"), format!("{truth} predicted as {prediction}"))
        };
        html.add(format_args!(
            "<td class=\"{class}\" title=\"{}: {} ({})\">{}</td>",
            esc(&what),
            rows(pair.count),
            percent(share, 1),
            tiny(pair.count)
        ));
    }

    fn write_pairs(&self, pairs: &[Pair], html: &mut Html) {
        if pairs.is_empty() {
            return html.paragraph("none", "No class was predicted as another.");
        }
        html.add(format_args!("<h3>Most confused</h3>\n<ol class=\"pairs\">\n"));
        for &pair in pairs {
            let (truth, prediction) = (clip(self.name(pair.truth), 32), clip(self.name(pair.prediction), 32));
            html.add(format_args!(
                "<li><span class=\"who\"><b>{}</b> predicted as <b>{}</b></span>\
                 <span>{}</span><span>{}</span></li>\n",
                esc(&truth),
                esc(&prediction),
                rows(pair.count),
                percent(self.share(pair), 1)
            ));
        }
        html.add(format_args!("</ol>\n"));
    }
}
