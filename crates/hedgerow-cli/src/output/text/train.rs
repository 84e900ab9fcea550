//! What came of training in the background.

use std::io::{self, Write};

use super::made::{self, ending};
use super::metrics;
use crate::commands::live::{JobLine, LiveStatus, Watched};
use crate::commands::train::TrainResult;
use crate::output::live::{table, title};
use crate::output::{Show, count, seconds};

impl Show for TrainResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        made::begin(&self.made, ending(self.made.stop), out)?;
        let (read, fitted) = (seconds(self.made.seconds.read), seconds(self.made.seconds.fit));
        writeln!(
            out,
            "  read in {read}, trained for {fitted}, policy {}; {}",
            self.policy, self.made.inside.details
        )?;
        let jobs: Vec<JobLine> = self.jobs.iter().map(JobLine::new).collect();
        writeln!(out, "{}", table(&jobs))?;
        if let Some(quality) = &self.validation {
            writeln!(
                out,
                "validation, {} rows: accuracy {:.2} %, balanced {:.2} %, log-loss {:.4}",
                count(quality.rows as u64),
                100.0 * quality.accuracy,
                100.0 * quality.balanced_accuracy,
                quality.log_loss,
            )?;
        }
        if let Some(store) = &self.store {
            let again = if store.resumed_at > 0 { ", resumed from the model found there" } else { "" };
            let (dir, rows) = (store.dir.display(), count(store.rows));
            writeln!(out, "kept in {dir}: {rows} rows, learner {}{again}", store.learner)?;
        }
        if let (Some(report), Some(rows)) = (&self.metrics, self.metrics_rows) {
            writeln!(out, "test, {} rows:", count(rows as u64))?;
            metrics::write_any(report, &self.made.classes, out)?;
        }
        made::end(&self.made, out)
    }
}

impl Show for Watched {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(LiveStatus {
            model,
            state,
            elapsed_seconds,
            left_seconds,
            rounds,
            validation,
            jobs,
            process,
            ..
        }) = &self.status
        else {
            return writeln!(out, "nothing is being trained: {}", self.reason);
        };
        if !self.is_running {
            writeln!(out, "nothing is being trained: {}", self.reason)?;
            writeln!(out, "the last status:")?;
        }
        let rounds = rounds.map_or_else(String::new, |rounds| format!(", {} rounds", count(rounds as u64)));
        writeln!(out, "{model}, {state}, process {process}{rounds}")?;
        writeln!(out, "{}", title(&seconds(*elapsed_seconds), *left_seconds, validation.as_ref()))?;
        writeln!(out, "{}", table(jobs))
    }
}
