//! What came of training in slices.

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
            self.policy,
            self.made.inside.details()
        )?;
        let jobs: Vec<JobLine> = self.jobs.iter().map(JobLine::new).collect();
        writeln!(out, "{}", table(&jobs))?;
        if let Some(judged) = &self.judged {
            writeln!(
                out,
                "{} rows not learnt: accuracy {:.2} %, {:.2} % over classes, log-loss {:.4}",
                count(judged.rows as u64),
                100.0 * judged.accuracy,
                100.0 * judged.macro_accuracy,
                judged.loss,
            )?;
        }
        if let Some(store) = &self.store {
            let again = if store.resumed_at > 0 { ", gone on from the model found there" } else { "" };
            let (dir, rows) = (store.dir.display(), count(store.rows));
            writeln!(out, "kept in {dir}: {rows} rows, learner {}{again}", store.learner)?;
        }
        if let (Some(report), Some(rows)) = (&self.metrics, self.metrics_rows) {
            writeln!(out, "test, {} rows:", count(rows as u64))?;
            metrics::write(report, &self.made.classes, out)?;
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
            judged,
            jobs,
            process,
            ..
        }) = &self.status
        else {
            return writeln!(out, "nothing is being trained: {}", self.reason);
        };
        if !self.is_running {
            writeln!(out, "nothing is being trained: {}", self.reason)?;
            writeln!(out, "this is how it stood then:")?;
        }
        let rounds = rounds.map_or_else(String::new, |rounds| format!(", {} rounds", count(rounds as u64)));
        writeln!(out, "{model}, {state}, process {process}{rounds}")?;
        writeln!(out, "{}", title(&seconds(*elapsed_seconds), *left_seconds, judged.as_ref()))?;
        writeln!(out, "{}", table(jobs))
    }
}
