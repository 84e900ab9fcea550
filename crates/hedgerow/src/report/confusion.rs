//! Which classes are confused: the table, and its worst pairs in words.

use hedgerow_core::{LabelTable, metrics};

use super::html::{clip, concat, element, head_cells, name, paragraph, table};
use super::number::{count, percent, rows, tiny};
use super::section::Section;

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

/// A pair of confused classes.
#[derive(Debug)]
pub struct Pair {
    /// The class that is true.
    pub truth: usize,
    /// The class that was predicted.
    pub prediction: usize,
    /// How many rows.
    pub count: u64,
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

    pub(super) fn section(&self) -> Section {
        let is_wide = (MOST_NARROW + 1..=MOST_CLASSES).contains(&self.n_classes());
        Section::new("confusion", "Confusion matrix", is_wide, self.body())
    }

    fn body(&self) -> String {
        let n = self.n_classes();
        let all = (0..n).map(|truth| self.row_total(truth)).fold(0, u64::saturating_add);
        if all == 0 {
            return paragraph("none", "No rows were evaluated.");
        }
        let worst = self.worst_pairs();
        let wrong = worst.iter().map(|p| p.count).fold(0, u64::saturating_add);
        let lead = paragraph("lead", &format!("{} of {} predicted wrong.", count(wrong), rows(all)));
        // The class in the style sheet, the least and the largest width of a cell, and how many pairs are listed.
        let (table, n_listed) = match n {
            n if n <= MOST_LARGE => (self.table(" large", [40, 120], &worst), 6),
            n if n <= MOST_WITH_NUMBERS => (self.table("", [29, 76], &worst), 6),
            n if n <= MOST_CLASSES => (self.table(" dense", [13, 76], &worst), 16),
            _ => (String::new(), 40),
        };
        if worst.is_empty() {
            return lead + &table + &paragraph("none", "No class was predicted as another.");
        }
        let item = |pair: &Pair| {
            let names = [pair.truth, pair.prediction].map(|class| clip(self.name(class), 32));
            (names, vec![rows(pair.count), percent(self.share(pair), 1)])
        };
        lead + &table + &pairs("Most confused", worst.iter().take(n_listed).map(item))
    }

    fn n_classes(&self) -> usize {
        let widest = self.counts.iter().map(Vec::len).max().unwrap_or(0);
        self.classes.len().max(self.counts.len()).max(widest)
    }

    fn name(&self, class: usize) -> &str {
        self.classes.get(class).map_or("?", String::as_str)
    }

    fn row_total(&self, truth: usize) -> u64 {
        self.counts.get(truth).map_or(0, |row| row.iter().copied().fold(0, u64::saturating_add))
    }

    fn pair(&self, truth: usize, prediction: usize) -> Pair {
        let count = self.counts.get(truth).and_then(|row| row.get(prediction)).copied().unwrap_or(0);
        Pair { truth, prediction, count }
    }

    fn share(&self, pair: &Pair) -> f64 {
        pair.count as f64 / self.row_total(pair.truth).max(1) as f64
    }

    /// All mistakes, the most frequent first.
    pub fn worst_pairs(&self) -> Vec<Pair> {
        let all = self.counts.iter().enumerate().flat_map(|(truth, row)| {
            row.iter().enumerate().map(move |(prediction, &count)| Pair { truth, prediction, count })
        });
        let mut wrong: Vec<Pair> = all.filter(|p| p.truth != p.prediction && p.count > 0).collect();
        wrong.sort_by_key(|p| std::cmp::Reverse(p.count));
        wrong
    }

    fn table(&self, class: &str, widths: [usize; 2], worst: &[Pair]) -> String {
        let n = self.n_classes();
        let full = worst.iter().map(|p| self.share(p)).fold(LEAST_FULL, f64::max);
        let longest = (0..n).map(|c| self.name(c).chars().count()).max().unwrap_or(0);
        let label_width = (longest * 8 + 14).clamp(66, 140);
        let [least, most] = widths.map(|cell| label_width + n * cell);
        let is_turned = n > MOST_WITH_NUMBERS || longest * 7 + 4 > (NARROW - label_width) / n;
        let turned = if is_turned { " turned" } else { "" };
        let names: Vec<String> = (0..n).map(|class| name(self.name(class), 18)).collect();
        let corner =
            format!("<td class=\"corner\" style=\"width:{label_width}px\">true ↓<br>predicted →</td>");
        let cell = |truth, prediction| self.cell(&self.pair(truth, prediction), full);
        let row = |(truth, name): (usize, &String)| {
            (name.clone(), (0..n).map(|prediction| cell(truth, prediction)).collect::<String>())
        };
        let table = table(
            &format!("class=\"confusion{class}\" style=\"min-width:{least}px;max-width:{most}px\""),
            &(corner + &head_cells(names.iter().cloned())),
            names.iter().enumerate().map(row),
        );
        format!(
            "<div class=\"scroll{turned}\">{table}</div>\n<p class=\"scale{class}\"><span>right</span><i class=\"right\"></i>\
             <span>wrong, share of the true class: 0</span><i class=\"ramp\"></i><span>{}</span></p>\n",
            percent(full, 0)
        )
    }

    fn cell(&self, pair: &Pair, full: f64) -> String {
        let is_right = pair.truth == pair.prediction;
        if pair.count == 0 {
            return format!("<td{}></td>", if is_right { " class=\"right\"" } else { "" });
        }
        let share = self.share(pair);
        let [truth, prediction] = [pair.truth, pair.prediction].map(|class| clip(self.name(class), 24));
        let (class, what) = if is_right {
            ("right".to_string(), "right".to_string())
        } else {
            let level = (LEVELS * (share / full).sqrt()).ceil().clamp(1.0, LEVELS);
            (format!("e{level}"), format!("as {prediction}"))
        };
        let (n_rows, share, text) = (rows(pair.count), percent(share, 1), tiny(pair.count));
        format!("<td class=\"{class}\" title=\"{truth} predicted {what}: {n_rows} ({share})\">{text}</td>")
    }
}

/// Pairs of confused classes: true class and prediction, markup both, and numbers about them.
pub(super) fn pairs(title: &str, items: impl Iterator<Item = ([String; 2], Vec<String>)>) -> String {
    let item = |([truth, prediction], numbers): ([String; 2], Vec<String>)| {
        let numbers = concat(numbers, |number| format!("<span>{number}</span>"));
        let who = format!("<b>{truth}</b> predicted as <b>{prediction}</b>");
        format!("<li><span class=\"who\">{who}</span>{numbers}</li>\n")
    };
    format!("<h3>{title}</h3>\n") + &element("ol", "pairs", items.map(item))
}
