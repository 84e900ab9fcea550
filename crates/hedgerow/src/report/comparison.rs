//! Out-of-sample predictions of a forest alone and blended with Gaussian processes: both confusions, and both
//! accuracies by the forest's prediction.

pub use hedgerow_core::Comparison;

use super::block::Block;
use super::html::{Html, esc};
use super::number::{clip, count, percent, rows};

/// The most classes that fit a table.
const MOST_CLASSES: usize = 30;
/// The most confused pairs of classes that are listed where there is no table.
const MOST_PAIRS: usize = 20;

/// The block of a page.
pub(super) fn block(comparison: &Comparison) -> Block {
    View(comparison).block()
}

/// A comparison as it is drawn.
struct View<'a>(&'a Comparison);

impl View<'_> {
    fn block(&self) -> Block {
        let [_, partners] = self.0.partners;
        let mut block = Block::wide("comparison", &format!("Forest alone and with {partners}"));
        let n = self.0.report.n_rows();
        if n == 0 {
            let text = format!("No out-of-sample predictions of forest and {partners} yet.");
            block.body.paragraph("none", &text);
            return block;
        }
        let share = |right: u64| percent(right as f64 / n as f64, 2);
        let [before, after] = self.0.report.n_right();
        let lead = format!(
            "Out-of-sample accuracy on {}: forest {}, with {partners} {}.",
            rows(n),
            share(before),
            share(after)
        );
        block.body.paragraph("lead", &lead);
        self.write_predictions(&mut block.body);
        if self.0.classes.len() <= MOST_CLASSES {
            self.write_confusion(&mut block.body);
        } else {
            self.write_pairs(&mut block.body);
        }
        block
    }

    fn name(&self, class: usize) -> String {
        esc(&clip(self.0.classes.get(class).map_or("?", String::as_str), 18)).to_string()
    }

    /// By the forest's prediction.
    fn write_predictions(&self, html: &mut Html) {
        let [partner, _] = self.0.partners;
        html.add(format_args!(
            "<div class=\"scroll\"><table class=\"classes even\">\n<thead><tr><th>forest's prediction</th><th>rows</th>\
             <th>{partner} used</th><th>forest right</th><th>blend right</th><th>gained</th><th>forest log-loss</th>\
             <th>blend log-loss</th></tr></thead>\n<tbody>\n"
        ));
        for (class, account) in
            self.0.report.by_prediction().into_iter().enumerate().filter(|(_, a)| a.rows > 0)
        {
            let share = |n: u64| percent(n as f64 / account.rows as f64, 1);
            let gained = account.right_after.cast_signed() - account.right_before.cast_signed();
            html.add(format_args!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{gained:+}</td>\
                 <td>{:.3}</td><td>{:.3}</td></tr>\n",
                self.name(class),
                count(account.rows),
                share(account.blended),
                share(account.right_before),
                share(account.right_after),
                account.loss_before,
                account.loss_after,
            ));
        }
        html.add(format_args!("</tbody>\n</table></div>\n"));
    }

    /// One table of both: forest → blend.
    fn write_confusion(&self, html: &mut Html) {
        let [_, partners] = self.0.partners;
        html.add(format_args!(
            "<h3>Confusion, forest alone → with {partners}</h3>\n<div class=\"scroll\"><table class=\"classes even\">\n\
             <thead><tr><th>true ↓ predicted →</th>"
        ));
        let n = self.0.report.before.len();
        (0..n).for_each(|class| html.add(format_args!("<th scope=\"col\">{}</th>", self.name(class))));
        html.add(format_args!("</tr></thead>\n<tbody>\n"));
        for truth in 0..n {
            html.add(format_args!("<tr><th scope=\"row\">{}</th>", self.name(truth)));
            for prediction in 0..n {
                let (before, after) =
                    (self.0.report.before[truth][prediction], self.0.report.after[truth][prediction]);
                let text = match (before, after) {
                    (0, 0) => String::new(),
                    (before, after) if before == after => count(before),
                    (before, after) => format!("{} → {}", count(before), count(after)),
                };
                html.add(format_args!("<td>{text}</td>"));
            }
            html.add(format_args!("</tr>\n"));
        }
        html.add(format_args!("</tbody>\n</table></div>\n"));
    }

    /// The confused pairs of classes whose number changed most.
    fn write_pairs(&self, html: &mut Html) {
        let n = self.0.report.before.len();
        let mut pairs: Vec<(usize, usize, u64, u64)> = Vec::new();
        for (truth, prediction) in (0..n).flat_map(|truth| (0..n).map(move |prediction| (truth, prediction)))
        {
            let (before, after) =
                (self.0.report.before[truth][prediction], self.0.report.after[truth][prediction]);
            if truth != prediction && before != after {
                pairs.push((truth, prediction, before, after));
            }
        }
        pairs.sort_by_key(|(truth, prediction, before, after)| {
            (std::cmp::Reverse(before.abs_diff(*after)), *truth, *prediction)
        });
        html.add(format_args!("<h3>Most changed</h3>\n<ol class=\"pairs\">\n"));
        for (truth, prediction, before, after) in pairs.into_iter().take(MOST_PAIRS) {
            html.add(format_args!(
                "<li><span class=\"who\"><b>{}</b> predicted as <b>{}</b></span><span>{} → {}</span></li>\n",
                self.name(truth),
                self.name(prediction),
                count(before),
                count(after)
            ));
        }
        html.add(format_args!("</ol>\n"));
    }
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
        let report = hedgerow_core::BlendReport {
            before,
            after,
            blended: vec![10; n],
            right,
            losses: vec![[4.0, 2.0]; n],
        };
        Comparison { partners: ["IVM", "IVMs"], classes: (0..n).map(|c| format!("<{c}>")).collect(), report }
    }

    #[test]
    fn forest_and_blend_are_side_by_side() {
        let page = block(&comparison(3)).body.into_string();
        for part in
            ["20 rows", "65.00\u{a0}%", "90.00\u{a0}%", "7 → 2", "0 → 5", ">13<", "+5", "&lt;1&gt;", "0.200"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<1>"));
        let list = block(&comparison(40)).body.into_string();
        assert!(list.contains("Most changed") && list.contains("7 → 2") && !list.contains("Confusion"));
        let empty = block(&Comparison::default()).body.into_string();
        assert!(empty.contains("yet"));
        let in_leaves =
            block(&Comparison { partners: ["leaf GP", "leaf GPs"], ..comparison(3) }).body.into_string();
        assert!(in_leaves.contains("leaf GP used") && in_leaves.contains("with leaf GPs 90"));
        assert!(!in_leaves.contains("IVM"));
    }
}
