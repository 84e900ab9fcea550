//! Simulations as text.

use std::io::{self, Write};

use super::super::{Show, count, seconds};
use crate::commands::simulate::SimulateResult;

impl Show for SimulateResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (params, n_rows) = (&self.result.params, count(self.rows as u64));
        writeln!(
            out,
            "{n_rows} rows of {} columns and {} classes; {} runs of {} labels each in {}",
            self.features,
            self.classes.len(),
            params.seeds,
            params.labels,
            seconds(self.seconds)
        )?;
        for own in self.result.outcomes.chunk_by(|a, b| a.model == b.model) {
            let full = own[0].full_accuracy.as_ref();
            let full = full.map_or(String::new(), |full| {
                format!(" ({:.2} % with all labels of the pool)", 100.0 * full.mean)
            });
            writeln!(out, "{}{full}", own[0].model)?;
            let share = format!("labels to {:.0} %", 100.0 * params.share_of_full);
            writeln!(
                out,
                "  {:22} {:>14} {:>14} {:>7} {share:>15}",
                "strategy", "area", "at the end", "AUC"
            )?;
            for outcome in own {
                let of = |estimate: &hedgerow::active::simulation::Estimate| {
                    format!("{:.2} ± {:.2}", 100.0 * estimate.mean, 100.0 * estimate.standard_error)
                };
                let needed = outcome.median_labels_needed().map_or("–".into(), |n| n.to_string());
                let (area, end) = (of(&outcome.area), of(&outcome.final_accuracy));
                writeln!(
                    out,
                    "  {:22} {area:>14} {end:>14} {:>7.4} {needed:>15}",
                    outcome.strategy, outcome.auc.mean
                )?;
            }
        }
        let Some(ranks) = &self.result.ranks else { return self.written(out) };
        let friedman =
            ranks.friedman.map_or(String::new(), |test| format!(", Friedman p {:.2e}", test.p_value));
        writeln!(
            out,
            "mean ranks over {} runs{friedman}; strategies differ from {:.2} on:",
            ranks.scores.len(),
            ranks.critical_difference
        )?;
        for (name, rank) in ranks.strategies.iter().zip(&ranks.mean_ranks) {
            writeln!(out, "  {name:22} {rank:.2}")?;
        }
        for pair in &ranks.pairs {
            writeln!(
                out,
                "  {} − {}: {:+.2} points, better in {} of {} runs, Wilcoxon p {:.2e} (Holm)",
                ranks.strategies[pair.first],
                ranks.strategies[pair.second],
                100.0 * pair.mean_difference,
                pair.sign.wins,
                ranks.scores.len(),
                pair.adjusted
            )?;
        }
        self.written(out)
    }
}

impl SimulateResult {
    fn written(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.report {
            Some(path) => writeln!(out, "report: {}", path.display()),
            None => Ok(()),
        }
    }
}
