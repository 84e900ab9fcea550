//! What came of training in slices.

use std::io::{self, Write};

use hedgerow::core::StopReason;

use super::metrics;
use crate::commands::train::TrainResult;
use crate::output::live::table;
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
        writeln!(out, "{}", table(&self.jobs))?;
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
