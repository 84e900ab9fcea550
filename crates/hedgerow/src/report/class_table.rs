//! Class by class: how many rows, how many found, how many of the predictions right.

use hedgerow_core::metrics::ClassTally;
use hedgerow_core::traits::most_probable;
use hedgerow_core::{ClassId, LabelTable};
use ndarray::ArrayView2;

use super::block::Block;
use super::html::{Html, esc};
use super::number::{DASH, clip, count, percent};

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
    /// A row for every class of the table; as many labels as there are predictions.
    pub(super) fn of_predictions(
        proba: ArrayView2<'_, f64>,
        truth: &[ClassId],
        labels: &LabelTable,
    ) -> Vec<ClassRow> {
        let n_classes = proba.ncols();
        let (mut all, mut predicted) = (vec![0_u64; n_classes], vec![0_u64; n_classes]);
        let (mut right, mut confidence) = (vec![0_u64; n_classes], vec![0.0; n_classes]);
        for (i, (prediction, class)) in most_probable(proba).into_iter().zip(truth).enumerate() {
            all[class.index()] += 1;
            predicted[prediction.index()] += 1;
            right[class.index()] += u64::from(prediction == *class);
            confidence[class.index()] += proba[(i, prediction.index())];
        }
        let share = |part: f64, all: u64| (all > 0).then(|| part / all as f64);
        let row = |c: usize| ClassRow {
            name: labels.name(ClassId(c as u32)).to_string(),
            rows: all[c],
            recall: share(right[c] as f64, all[c]),
            precision: share(right[c] as f64, predicted[c]),
            confidence: share(confidence[c], all[c]),
        };
        Self::sorted((0..n_classes).map(row).collect(), labels)
    }

    /// The same from counts.
    pub(super) fn of_tallies(tallies: &[ClassTally], labels: &LabelTable) -> Vec<ClassRow> {
        let share = |part: f64, all: u64| (all > 0).then(|| part / all as f64);
        let row = |(c, tally): (usize, &ClassTally)| ClassRow {
            name: labels.name(ClassId(c as u32)).to_string(),
            rows: tally.rows,
            recall: share(tally.right as f64, tally.rows),
            precision: share(tally.right as f64, tally.answered),
            confidence: share(tally.confidence, tally.rows),
        };
        Self::sorted(tallies.iter().enumerate().map(row).collect(), labels)
    }

    /// The rows in the order of the labels.
    fn sorted(rows: Vec<ClassRow>, labels: &LabelTable) -> Vec<ClassRow> {
        let new_of_old = labels.clone().sort();
        let place = |old: usize| new_of_old.get(old).map_or(usize::MAX, |new| new.index());
        let mut rows: Vec<(usize, ClassRow)> =
            rows.into_iter().enumerate().map(|(old, row)| (place(old), row)).collect();
        rows.sort_by_key(|row| row.0);
        rows.into_iter().map(|row| row.1).collect()
    }
}

pub(super) fn block(classes: &[ClassRow]) -> Block {
    let mut block = Block::new("classes", "Classes");
    block.wide = classes.len() > LONG;
    block.body.paragraph(
        "lead",
        "Recall: the share of the class's rows that were predicted right. Precision: the share of its predictions that are right. \
         Confidence: mean top probability for its rows.",
    );
    let mut shown: Vec<&ClassRow> = classes.iter().collect();
    if classes.len() > MOST_CLASSES {
        let recall = |row: &ClassRow| row.recall.filter(|r| !r.is_nan()).unwrap_or(f64::INFINITY);
        shown.sort_by(|a, b| recall(a).total_cmp(&recall(b)));
        shown.truncate(MOST_CLASSES);
        let text =
            format!("The {MOST_CLASSES} of {} classes with the lowest recall.", count(classes.len() as u64));
        block.body.paragraph("lead", &text);
    }
    let n_tables = if block.wide { 2 } else { 1 };
    block.body.add(format_args!("<div class=\"tables\">\n"));
    for part in shown.chunks(shown.len().div_ceil(n_tables).max(1)) {
        write_table(part, &mut block.body);
    }
    block.body.add(format_args!("</div>\n"));
    block
}

fn write_table(classes: &[&ClassRow], html: &mut Html) {
    html.add(format_args!(
        "<table class=\"classes\">\n<thead><tr><th scope=\"col\">class</th><th scope=\"col\">rows</th>\
         <th scope=\"col\">recall</th><th scope=\"col\">precision</th><th scope=\"col\">confidence</th>\
         </tr></thead>\n<tbody>\n"
    ));
    for class in classes {
        html.add(format_args!(
            "<tr><th scope=\"row\" title=\"{}\">{}</th><td>{}</td>",
            esc(&clip(&class.name, 160)),
            esc(&clip(&class.name, 28)),
            count(class.rows)
        ));
        write_share(class.recall, "", html);
        write_share(class.precision, "", html);
        write_share(class.confidence, "calm", html);
        html.add(format_args!("</tr>\n"));
    }
    html.add(format_args!("</tbody>\n</table>\n"));
}

/// A share as a number over a thin bar.
fn write_share(share: Option<f64>, class: &str, html: &mut Html) {
    match share.filter(|s| s.is_finite()) {
        Some(share) => html.add(format_args!(
            "<td>{}<span class=\"track {class}\"><i style=\"width:{:.1}%\"></i></span></td>",
            percent(share, 1),
            100.0 * share.clamp(0.0, 1.0)
        )),
        None => html.add(format_args!("<td>{DASH}</td>")),
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn shares_by_hand() {
        let proba = array![[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.3, 0.7, 0.0]];
        let truth = [ClassId(0), ClassId(1), ClassId(1)];
        let labels = LabelTable::from(["a", "b", "c"].map(String::from).to_vec());
        let rows = ClassRow::of_predictions(proba.view(), &truth, &labels);
        assert_eq!((rows[0].rows, rows[0].recall, rows[0].precision), (1, Some(1.0), Some(0.5)));
        assert_eq!((rows[1].rows, rows[1].recall, rows[1].precision), (2, Some(0.5), Some(1.0)));
        assert!((rows[1].confidence.unwrap() - 0.65).abs() < 1e-15);
        assert_eq!(rows[2], ClassRow { name: "c".into(), ..ClassRow::default() });
    }
}
