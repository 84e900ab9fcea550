//! What Gaussian processes changed about a forest's answers: confusion before and after, and what came of each answer of the forest.

use hedgerow_hybrid::Account;

use super::block::Block;
use super::html::{Html, esc};
use super::number::{clip, count, percent, rows};

/// The most classes that fit a table.
const MOST_CLASSES: usize = 30;
/// The most classes taken for another that are listed where there is no table.
const MOST_PAIRS: usize = 20;

/// Who helps the forest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Helper {
    /// Informative Vector Machines.
    #[default]
    Machine,
    /// Gaussian processes in its leaves.
    Process,
}

impl Helper {
    /// One, and several.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Machine => ["machine", "machines"],
            Self::Process => ["process", "processes"],
        }
    }
}

/// What machines or processes changed, on rows that nobody had seen when they were answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Takeover {
    /// Who changed it.
    pub helper: Helper,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Counts.
    pub account: Account,
}

impl Takeover {
    pub(super) fn block(&self) -> Block {
        let [_, helpers] = self.helper.names();
        let mut block = Block::wide("takeover", &format!("Where the {helpers} took over"));
        let n = self.account.n_rows();
        if n == 0 {
            let text = format!("No rows have been answered by forest and {helpers} yet.");
            block.body.paragraph("none", &text);
            return block;
        }
        let share = |right: u64| percent(right as f64 / n as f64, 2);
        let [before, after] = self.account.n_right();
        let lead = format!(
            "Of {} that nobody had seen when they were answered, the forest alone got {} right, together with the {helpers} {}.",
            rows(n),
            share(before),
            share(after)
        );
        block.body.paragraph("lead", &lead);
        self.write_answers(&mut block.body);
        if self.classes.len() <= MOST_CLASSES {
            self.write_confusion(&mut block.body);
        } else {
            self.write_pairs(&mut block.body);
        }
        block
    }

    fn name(&self, class: usize) -> String {
        esc(&clip(self.classes.get(class).map_or("?", String::as_str), 18)).to_string()
    }

    /// By the forest's answer.
    fn write_answers(&self, html: &mut Html) {
        let [helper, _] = self.helper.names();
        html.add(format_args!(
            "<div class=\"scroll\"><table class=\"classes even\">\n<thead><tr><th>forest's answer</th><th>rows</th>\
             <th>{helper} heard</th><th>right before</th><th>right after</th><th>gained</th><th>log-loss before</th>\
             <th>after</th></tr></thead>\n<tbody>\n"
        ));
        for (class, account) in self.account.by_answer().into_iter().enumerate().filter(|(_, a)| a.rows > 0) {
            let share = |n: u64| percent(n as f64 / account.rows as f64, 1);
            let gained = account.right_after.cast_signed() - account.right_before.cast_signed();
            html.add(format_args!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{gained:+}</td>\
                 <td>{:.3}</td><td>{:.3}</td></tr>\n",
                self.name(class),
                count(account.rows),
                share(account.heard),
                share(account.right_before),
                share(account.right_after),
                account.loss_before,
                account.loss_after,
            ));
        }
        html.add(format_args!("</tbody>\n</table></div>\n"));
    }

    /// One table of both: before → after.
    fn write_confusion(&self, html: &mut Html) {
        let [_, helpers] = self.helper.names();
        html.add(format_args!(
            "<h3>Confusion, forest alone → with {helpers}</h3>\n<div class=\"scroll\"><table class=\"classes even\">\n\
             <thead><tr><th>true ↓ answer →</th>"
        ));
        let n = self.account.before.len();
        (0..n).for_each(|class| html.add(format_args!("<th scope=\"col\">{}</th>", self.name(class))));
        html.add(format_args!("</tr></thead>\n<tbody>\n"));
        for truth in 0..n {
            html.add(format_args!("<tr><th scope=\"row\">{}</th>", self.name(truth)));
            for answer in 0..n {
                let (before, after) = (self.account.before[truth][answer], self.account.after[truth][answer]);
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

    /// The classes taken for another whose number changed most.
    fn write_pairs(&self, html: &mut Html) {
        let n = self.account.before.len();
        let mut pairs: Vec<(usize, usize, u64, u64)> = Vec::new();
        for (truth, answer) in (0..n).flat_map(|truth| (0..n).map(move |answer| (truth, answer))) {
            let (before, after) = (self.account.before[truth][answer], self.account.after[truth][answer]);
            if truth != answer && before != after {
                pairs.push((truth, answer, before, after));
            }
        }
        pairs.sort_by_key(|(truth, answer, before, after)| {
            (std::cmp::Reverse(before.abs_diff(*after)), *truth, *answer)
        });
        html.add(format_args!("<h3>Most changed</h3>\n<ol class=\"pairs\">\n"));
        for (truth, answer, before, after) in pairs.into_iter().take(MOST_PAIRS) {
            html.add(format_args!(
                "<li><span class=\"who\"><b>{}</b> taken for <b>{}</b></span><span>{} → {}</span></li>\n",
                self.name(truth),
                self.name(answer),
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

    fn takeover(n: usize) -> Takeover {
        let mut before = vec![vec![0; n]; n];
        before[0][1] = 7;
        before[1][1] = 13;
        let mut after = vec![vec![0; n]; n];
        (after[0][0], after[0][1], after[1][1]) = (5, 2, 13);
        let mut right = vec![0; n];
        right[1] = 18;
        let account = Account { before, after, heard: vec![10; n], right, losses: vec![[4.0, 2.0]; n] };
        Takeover { classes: (0..n).map(|c| format!("<{c}>")).collect(), account, ..Takeover::default() }
    }

    #[test]
    fn before_and_after_stand_side_by_side() {
        let page = takeover(3).block().body.into_string();
        for part in
            ["20 rows", "65.00\u{a0}%", "90.00\u{a0}%", "7 → 2", "0 → 5", ">13<", "+5", "&lt;1&gt;", "0.200"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<1>"));
        let list = takeover(40).block().body.into_string();
        assert!(list.contains("Most changed") && list.contains("7 → 2") && !list.contains("Confusion"));
        let empty = Takeover::default().block().body.into_string();
        assert!(empty.contains("yet"));
        let in_leaves = Takeover { helper: Helper::Process, ..takeover(3) }.block().body.into_string();
        assert!(in_leaves.contains("process heard") && in_leaves.contains("with the processes 90"));
        assert!(!in_leaves.contains("machine"));
    }
}
