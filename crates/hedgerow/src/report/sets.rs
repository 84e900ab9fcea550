//! Prediction sets: how many rows they cover, and how large they are.

use hedgerow_core::conformal::SetReport;

use super::bars;
use super::html::{element, paragraph};
use super::number::{count, decimal, percent};
use super::section::Section;

/// The most classes that are listed, those with the lowest coverage first.
const MOST_CLASSES: usize = 20;
/// The most sizes that are listed.
const MOST_SIZES: usize = 8;

/// Prediction sets of evaluated rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Sets {
    /// Their coverage and their sizes.
    pub report: SetReport,
    /// The names of the classes.
    pub classes: Vec<String>,
}

impl Sets {
    pub(super) fn section(&self) -> Section {
        Section::new("sets", "Prediction sets", false, self.body())
    }

    fn body(&self) -> String {
        let SetReport { level, coverage, mean_size, sizes, .. } = &self.report;
        let n_rows: u64 = sizes.iter().sum();
        if n_rows == 0 {
            return paragraph("none", "No rows were evaluated.");
        }
        let text = format!(
            "Sets of classes that should hold the true one for {} of the rows. They do for {}, with {} classes a row.",
            percent(*level, 0),
            percent(*coverage, 1),
            decimal(*mean_size, 2)
        );
        paragraph("lead", &text) + "<h3>Size of the sets</h3>\n" + &self.sizes(n_rows) + &self.coverage()
    }

    fn sizes(&self, n_rows: u64) -> String {
        let sizes = &self.report.sizes;
        let item = |name: String, rows: u64| {
            let share = rows as f64 / n_rows as f64;
            bars::item("", &name, share, &[percent(share, 1), count(rows)])
        };
        let shown = sizes.iter().enumerate().take(MOST_SIZES).filter(|(_, rows)| **rows > 0);
        let shown = shown.map(|(size, rows)| {
            let name = match size {
                0 => "no class".into(),
                1 => "1 class".into(),
                _ => format!("{size} classes"),
            };
            item(name, *rows)
        });
        let more: u64 = sizes.iter().skip(MOST_SIZES).sum();
        let more = (more > 0).then(|| item(format!("{MOST_SIZES} classes or more"), more));
        element("ul", "bars noted", shown.chain(more))
    }

    /// Coverage by class, the lowest first.
    fn coverage(&self) -> String {
        let covered = |class: usize| {
            let own = self.report.classes[class];
            own.covered as f64 / own.rows.max(1) as f64
        };
        let mut shown: Vec<usize> =
            (0..self.report.classes.len()).filter(|class| self.report.classes[*class].rows > 0).collect();
        shown.sort_by(|a, b| covered(*a).total_cmp(&covered(*b)));
        shown.truncate(MOST_CLASSES);
        let item = |class: usize| {
            let name = self.classes.get(class).map_or("?", String::as_str);
            let numbers = [percent(covered(class), 1), count(self.report.classes[class].rows)];
            bars::item("", name, covered(class), &numbers)
        };
        "<h3>Covered rows of each class</h3>\n".to_string()
            + &element("ul", "bars noted", shown.into_iter().map(item))
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::conformal::ClassCoverage;

    use super::*;

    #[test]
    fn sizes_and_classes_are_listed() {
        let classes = vec![ClassCoverage { rows: 60, covered: 57 }, ClassCoverage { rows: 40, covered: 32 }];
        let report =
            SetReport { level: 0.9, coverage: 0.89, mean_size: 1.25, sizes: vec![5, 65, 30], classes };
        let sets = Sets { report, classes: vec!["<a>".into(), "b".into()] };
        let html = sets.body();
        for part in [
            "90\u{a0}% of the rows",
            "89.0\u{a0}%",
            "1.25",
            "no class",
            "65.0\u{a0}%",
            "95.0\u{a0}%",
            "&lt;a&gt;",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(
            html.find(">b<").unwrap() < html.find("&lt;a&gt;").unwrap(),
            "the lowest coverage comes first"
        );
    }
}
