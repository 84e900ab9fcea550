//! Out-of-sample predictions of a forest alone and blended with Gaussian processes: both confusions, and both
//! accuracies by the forest's prediction.

pub use hedgerow_core::Comparison;

use super::confusion::pairs;
use super::html::{cells, clip, head_cells, paragraph, table};
use super::number::{count, percent, rows};
use super::section::Section;

/// The most classes that fit a table.
const MOST_CLASSES: usize = 30;
/// The most confused pairs of classes that are listed where there is no table.
const MOST_PAIRS: usize = 20;

pub(super) fn section(comparison: &Comparison) -> Section {
    let title = format!("Forest alone and with {}", comparison.partners[1]);
    Section::new("comparison", &title, true, body(comparison))
}

fn body(comparison: &Comparison) -> String {
    let [_, partners] = comparison.partners;
    let n = comparison.report.n_rows();
    if n == 0 {
        return paragraph("none", &format!("No out-of-sample predictions of forest and {partners} yet."));
    }
    let [before, after] = comparison.report.n_right().map(|right| percent(right as f64 / n as f64, 2));
    let n = rows(n);
    let lead = format!("Out-of-sample accuracy on {n}: forest {before}, with {partners} {after}.");
    let changes = if comparison.classes.len() <= MOST_CLASSES { confusion } else { changed_pairs };
    paragraph("lead", &lead) + &by_prediction(comparison) + &changes(comparison)
}

fn name(comparison: &Comparison, class: usize) -> String {
    clip(comparison.classes.get(class).map_or("?", String::as_str), 18)
}

fn even_table(head: &str, rows: impl Iterator<Item = (String, String)>) -> String {
    format!("<div class=\"scroll\">{}</div>\n", table("class=\"classes even\"", head, rows))
}

/// By the forest's prediction.
fn by_prediction(comparison: &Comparison) -> String {
    let head = format!(
        "<th>forest's prediction</th><th>rows</th><th>{} used</th><th>forest right</th><th>blend right</th>\
         <th>gained</th><th>forest log-loss</th><th>blend log-loss</th>",
        comparison.partners[0]
    );
    let accounts = comparison.report.by_prediction().into_iter().enumerate().filter(|(_, a)| a.rows > 0);
    let rows = accounts.map(|(class, account)| {
        let share = |n: u64| percent(n as f64 / account.rows as f64, 1);
        let gained = account.right_after.cast_signed() - account.right_before.cast_signed();
        let texts = [
            count(account.rows),
            share(account.blended),
            share(account.right_before),
            share(account.right_after),
            format!("{gained:+}"),
            format!("{:.3}", account.loss_before),
            format!("{:.3}", account.loss_after),
        ];
        (name(comparison, class), cells(texts))
    });
    even_table(&head, rows)
}

/// One table of both: forest → blend.
fn confusion(comparison: &Comparison) -> String {
    let n = comparison.report.n_classes();
    let head = head_cells((0..n).map(|class| name(comparison, class)));
    let row = |truth: usize| {
        let texts = (0..n).map(|prediction| match comparison.report.counts(truth, prediction) {
            [0, 0] => String::new(),
            [before, after] if before == after => count(before),
            [before, after] => format!("{} → {}", count(before), count(after)),
        });
        (name(comparison, truth), cells(texts))
    };
    let heading = format!("<h3>Confusion, forest alone → with {}</h3>\n", comparison.partners[1]);
    heading + &even_table(&format!("<th>true ↓ predicted →</th>{head}"), (0..n).map(row))
}

/// The confused pairs of classes whose number changed most.
fn changed_pairs(comparison: &Comparison) -> String {
    let n = comparison.report.n_classes();
    let all = (0..n).flat_map(|truth| (0..n).map(move |prediction| (truth, prediction)));
    let with_counts = all
        .filter(|(truth, prediction)| truth != prediction)
        .map(|(truth, prediction)| (truth, prediction, comparison.report.counts(truth, prediction)));
    let mut changed: Vec<_> = with_counts.filter(|(_, _, [before, after])| before != after).collect();
    changed.sort_by_key(|(.., [before, after])| std::cmp::Reverse(before.abs_diff(*after)));
    let item = |(truth, prediction, [before, after]): (usize, usize, [u64; 2])| {
        let names = [truth, prediction].map(|class| name(comparison, class));
        (names, vec![format!("{} → {}", count(before), count(after))])
    };
    pairs("Most changed", changed.into_iter().take(MOST_PAIRS).map(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(n: usize) -> Comparison {
        let mut before = vec![vec![0; n]; n];
        before[0][1] = 7;
        before[1][1] = 13;
        let mut after = vec![vec![0; n]; n];
        (after[0][0], after[0][1], after[1][1]) = (5, 2, 13);
        let mut right = vec![0; n];
        right[1] = 18;
        let (blended, losses) = (vec![10; n], vec![[4.0, 2.0]; n]);
        let report = serde_json::json!({ "before": before, "after": after, "blended": blended, "right": right, "losses": losses });
        let report = serde_json::from_value(report).unwrap();
        Comparison { partners: ["IVM", "IVMs"], classes: (0..n).map(|c| format!("<{c}>")).collect(), report }
    }

    #[test]
    fn forest_and_blend_are_side_by_side() {
        let page = body(&comparison(3));
        for part in
            ["20 rows", "65.00\u{a0}%", "90.00\u{a0}%", "7 → 2", "0 → 5", ">13<", "+5", "&lt;1&gt;", "0.200"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<1>"));
        let list = body(&comparison(40));
        assert!(list.contains("Most changed") && list.contains("7 → 2") && !list.contains("Confusion"));
        let empty = body(&Comparison::default());
        assert!(empty.contains("yet"));
        let in_leaves = body(&Comparison { partners: ["leaf GP", "leaf GPs"], ..comparison(3) });
        assert!(in_leaves.contains("leaf GP used") && in_leaves.contains("with leaf GPs 90"));
        assert!(!in_leaves.contains("IVM"));
    }
}
