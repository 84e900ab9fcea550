//! What came of training in the background.

use std::io::{self, Write};

use super::made::{self, ending};
use super::metrics;
use crate::commands::Outcome;
use crate::commands::live::{JobLine, LiveStatus, Watched};
use crate::commands::train::TrainResult;
use crate::output::live::{table, title};
use crate::output::{Show, count, seconds};

impl Show for TrainResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        made::begin(&self.made, "", ending(self.made.stop), out)?;
        let (read, fitted) = (seconds(self.made.seconds.read), seconds(self.made.seconds.fit));
        let (policy, details) = (self.policy, &self.made.inside.details);
        writeln!(out, "  read in {read}, trained for {fitted}, policy {policy}; {details}")?;
        let jobs: Vec<JobLine> = self.jobs.iter().map(JobLine::new).collect();
        writeln!(out, "{}", table(&jobs))?;
        if let Some(quality) = &self.validation {
            writeln!(out, "validation, {}", metrics::quality(quality))?;
        }
        if let Some(store) = &self.store {
            let again = if store.resumed_at > 0 { ", resumed from the model found there" } else { "" };
            let (dir, rows) = (store.dir.display(), count(store.rows));
            writeln!(out, "kept in {dir}: {rows} rows, learner {}{again}", store.learner)?;
        }
        if let (Some(report), Some(rows)) = (&self.metrics, self.metrics_rows) {
            writeln!(out, "test, {} rows:", count(rows as u64))?;
            metrics::write_any(report, &self.made.about.classes, out)?;
        }
        made::end(&self.made, out)
    }

    fn notes(&self) -> Vec<String> {
        [super::without_label(self.rows_without_label), self.left_out.notes()].concat()
    }
}

impl Show for Watched {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.is_running {
            writeln!(out, "nothing is being trained: {}", self.reason)?;
        }
        let Some(status) = &self.status else { return Ok(()) };
        if !self.is_running {
            writeln!(out, "the last status:")?;
        }
        let LiveStatus { model, state, process, .. } = status;
        let rounds = |rounds| format!(", {} rounds", count(rounds as u64));
        let rounds = status.rounds.map_or_else(String::new, rounds);
        writeln!(out, "{model}, {state}, process {process}{rounds}")?;
        writeln!(out, "{}", title(status))?;
        writeln!(out, "{}", table(&status.jobs))
    }

    fn outcome(&self) -> Outcome {
        if self.is_running { Outcome::Done } else { Outcome::Negative }
    }
}
