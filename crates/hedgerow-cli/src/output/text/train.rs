//! What came of training in slices.

use std::io::{self, Write};

use hedgerow::core::StopReason;

use super::metrics;
use crate::commands::live::{JobLine, LiveStatus, Running};
use crate::commands::train::TrainResult;
use crate::output::live::{table, title};
use crate::output::{Show, count, seconds, size};

impl Show for TrainResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let ending = match self.stop {
            StopReason::Done | StopReason::Converged => "",
            StopReason::Time => ", stopped because the time was up",
            StopReason::Memory => ", stopped because the memory was used up",
            StopReason::Interrupted => ", stopped because it was interrupted",
        };
        let (rows, features) = (count(self.rows as u64), count(self.features as u64));
        writeln!(
            out,
            "{} of {} from {rows} rows, {features} features, {} classes{ending}",
            self.model,
            self.inside.parts(),
            self.classes.len(),
        )?;
        let (read, fitted) = (seconds(self.seconds.read), seconds(self.seconds.fit));
        writeln!(
            out,
            "  read in {read}, trained for {fitted}, {} first; {}",
            self.policy,
            self.inside.details()
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
            metrics::write(report, &self.classes, out)?;
        }
        match &self.out {
            Some(path) => {
                let rows =
                    if self.rows_remembered.is_some() { " with its rows, ready to learn more" } else { "" };
                writeln!(out, "saved to {}{rows} ({})", path.display(), size(self.bytes))
            }
            None => writeln!(out, "not saved: give --out FILE to keep the model ({})", size(self.bytes)),
        }
    }
}

impl Show for Running {
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
