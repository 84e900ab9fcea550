//! Class by class: how many rows, how many found, how many of the predictions right.

use hedgerow_core::LabelTable;
use hedgerow_core::metrics::ClassTally;

use super::bars::track;
use super::html::{cells, element, head_cells, name, paragraph, table};
use super::number::{DASH, count, percent};
use super::section::Section;

/// The most classes that are listed.
const MOST_CLASSES: usize = 60;
/// Classes from which on the table is wide.
const LONG: usize = 20;

/// What is known about the predictions for one class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClassRow {
    /// The class.
    pub name: String,
    /// Rows that are of this class.
    pub rows: u64,
    /// The share of them that was found; none without rows.
    pub recall: Option<f64>,
    /// The share of the predictions with this class that was right; none without such predictions.
    pub precision: Option<f64>,
    /// The mean top probability of the predictions for rows of this class; none without rows.
    pub confidence: Option<f64>,
}

impl ClassRow {
    /// A row for every class, in the order of the labels.
    pub(super) fn of_tallies(tallies: &[ClassTally], labels: &LabelTable) -> Vec<ClassRow> {
        let share = |part: f64, all: u64| (all > 0).then(|| part / all as f64);
        let row = |(c, name): (usize, &String)| {
            let tally = tallies.get(c).copied().unwrap_or_default();
            ClassRow {
                name: name.clone(),
                rows: tally.rows,
                recall: share(tally.right as f64, tally.rows),
                precision: share(tally.right as f64, tally.predicted),
                confidence: share(tally.confidence, tally.rows),
            }
        };
        let new_of_old = labels.clone().sort();
        let mut rows: Vec<_> = new_of_old.iter().zip(labels.names().iter().enumerate().map(row)).collect();
        rows.sort_by_key(|(place, _)| place.index());
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// Its name and its cells.
    fn cells(&self) -> (String, String) {
        // A share is a number over a thin bar.
        let cell = |share: Option<f64>, class| match share.filter(|s| s.is_finite()) {
            Some(share) => percent(share, 1) + &track(class, share),
            None => DASH.into(),
        };
        let shares = [cell(self.recall, ""), cell(self.precision, ""), cell(self.confidence, "calm")];
        (name(&self.name, 28), cells([count(self.rows)].into_iter().chain(shares)))
    }
}

pub(super) fn section(classes: &[ClassRow]) -> Section {
    let mut body = paragraph(
        "lead",
        "Recall: the share of the class's rows that were predicted right. Precision: the share of its predictions that are right. \
         Confidence: mean top probability for its rows.",
    );
    let mut shown: Vec<&ClassRow> = classes.iter().collect();
    if classes.len() > MOST_CLASSES {
        let recall = |row: &ClassRow| row.recall.filter(|r| !r.is_nan()).unwrap_or(f64::INFINITY);
        shown.sort_by(|a, b| recall(a).total_cmp(&recall(b)));
        shown.truncate(MOST_CLASSES);
        let n_classes = count(classes.len() as u64);
        let text = format!("The {MOST_CLASSES} of {n_classes} classes with the lowest recall.");
        body += &paragraph("lead", &text);
    }
    let is_wide = classes.len() > LONG;
    let n_rows = shown.len().div_ceil(if is_wide { 2 } else { 1 }).max(1);
    let head = head_cells(["class", "rows", "recall", "precision", "confidence"].map(String::from));
    let tables =
        shown.chunks(n_rows).map(|part| table("class=\"classes\"", &head, part.iter().map(|c| c.cells())));
    body += &element("div", "tables", tables);
    Section::new("classes", "Classes", is_wide, body)
}

#[cfg(test)]
mod tests {
    use hedgerow_core::ClassId;
    use hedgerow_core::metrics::Running;
    use ndarray::array;

    use super::*;

    #[test]
    fn shares_by_hand() {
        let proba = array![[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.3, 0.7, 0.0]];
        let truth = [ClassId(0), ClassId(1), ClassId(1)];
        let labels = LabelTable::from(["a", "b", "c"].map(String::from).to_vec());
        let mut running = Running::default();
        for (prediction, class) in proba.rows().into_iter().zip(truth) {
            running.add(prediction, class, 1.0);
        }
        let rows = ClassRow::of_tallies(running.classes(), &labels);
        assert_eq!((rows[0].rows, rows[0].recall, rows[0].precision), (1, Some(1.0), Some(0.5)));
        assert_eq!((rows[1].rows, rows[1].recall, rows[1].precision), (2, Some(0.5), Some(1.0)));
        assert!((rows[1].confidence.unwrap() - 0.65).abs() < 1e-15);
        assert_eq!(rows[2], ClassRow { name: "c".into(), ..ClassRow::default() });
    }
}
