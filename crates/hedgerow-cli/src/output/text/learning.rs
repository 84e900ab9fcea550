//! How learning goes, as text.

use std::io::{self, Write};

use serde::Serialize;

use super::super::{Show, count, seconds, size};
use super::made::{self, ending};
use super::{info, metrics};
use crate::commands::learning::{LearnResult, Window};
use crate::commands::update::RegressionUpdate;

/// What `stream` tells at the end.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Streamed(pub(crate) LearnResult);

/// What `update` tells.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Updated(pub(crate) LearnResult);

/// Lines about the stretches of a stream, written while it goes on.
#[derive(Debug)]
pub(crate) struct Lines {
    is_silent: bool,
    has_test: bool,
    has_begun: bool,
}

impl Lines {
    pub(crate) fn new(is_silent: bool, has_test: bool) -> Self {
        Self { is_silent, has_test, has_begun: false }
    }

    /// Tells about one stretch.
    pub(crate) fn tell(&mut self, window: &Window) -> anyhow::Result<()> {
        if self.is_silent {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        if !self.has_begun {
            let test = if self.has_test { "      test" } else { "" };
            writeln!(out, "       rows  accuracy{test}    rows/s")?;
        }
        let accuracy = percent(window.prequential_accuracy);
        write!(out, "{:>11} {accuracy:>9}", count(window.rows_seen))?;
        if self.has_test {
            write!(out, " {:>9}", window.test_accuracy.map_or_else(|| "-".into(), percent))?;
        }
        write!(out, " {:>9}", count(window.rows_per_second as u64))?;
        for drift in &window.drifts {
            write!(out, "  drift noticed (since row {})", count(drift.since))?;
        }
        // At the start every class is new.
        if self.has_begun {
            for name in &window.new_classes {
                write!(out, "  new class {name:?}")?;
            }
        }
        writeln!(out)?;
        self.has_begun = true;
        Ok(out.flush()?)
    }
}

impl Show for Streamed {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let result = &self.0;
        writeln!(
            out,
            "{} of {}, {}, from {} rows, {} features, {} classes{}",
            result.model,
            result.inside.parts,
            result.inside.details,
            count(result.rows),
            count(result.features as u64),
            result.classes.len(),
            ending(result.stop),
        )?;
        write_stream(result, out)?;
        writeln!(out, "prequential, each row predicted before it was learnt:")?;
        metrics::write(&result.prequential, &result.classes, out)?;
        write_test(result, out)?;
        write_end(result, out)
    }
}

impl Show for Updated {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let result = &self.0;
        writeln!(
            out,
            "{} rows learnt{}; accuracy on them before they were learnt {}",
            count(result.rows),
            ending(result.stop),
            percent(result.prequential.accuracy),
        )?;
        if !result.new_classes.is_empty() {
            let names: Vec<String> = result.new_classes.iter().map(|name| format!("{name:?}")).collect();
            writeln!(out, "  new classes: {}", info::list(&names, 20))?;
        }
        write_stream(result, out)?;
        for drift in result.drifts.iter().take(5) {
            let (before, after) = (percent(drift.error_before), percent(drift.error_after));
            writeln!(
                out,
                "  drift noticed at row {}: the error rose from {before} to {after} since row {}",
                count(drift.noticed_at),
                count(drift.since)
            )?;
        }
        write_test(result, out)?;
        write_end(result, out)
    }
}

/// What happened to rows and trees, and how fast.
fn write_stream(result: &LearnResult, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "  {} rows/s learnt, {} rows/s in all (reading {}, learning {}, evaluating {})",
        count(result.rows_per_second as u64),
        count(result.rows_per_second_overall as u64),
        seconds(result.seconds.read),
        seconds(result.seconds.fit),
        seconds(result.seconds.predict),
    )?;
    writeln!(
        out,
        "  {} rows retained, {} forgotten; {}; {} noticed",
        count(result.rows_retained as u64),
        count(result.rows_forgotten as u64),
        result.renewed.words(),
        if result.n_drifts == 1 {
            "1 drift".into()
        } else {
            format!("{} drifts", count(result.n_drifts as u64))
        },
    )?;
    if result.left_out.without_label > 0 {
        writeln!(out, "  {} rows without a label were left out", count(result.left_out.without_label))?;
    }
    Ok(())
}

fn write_test(result: &LearnResult, out: &mut dyn Write) -> io::Result<()> {
    if result.metrics_from != "test" {
        return Ok(());
    }
    writeln!(out, "test, {} rows:", count(result.metrics_rows))?;
    metrics::write(&result.metrics, &result.classes, out)
}

fn write_end(result: &LearnResult, out: &mut dyn Write) -> io::Result<()> {
    let peak = result.peak_memory_bytes.map_or_else(String::new, |peak| format!("; peak {}", size(peak)));
    writeln!(out, "model in memory {}{peak}", size(result.model_memory_bytes))?;
    match &result.out {
        Some(path) => writeln!(out, "saved to {} ({})", path.display(), size(result.bytes)),
        None => writeln!(out, "not saved: give --out FILE to keep the model ({})", size(result.bytes)),
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

impl Show for RegressionUpdate {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let made = &self.made;
        let (rows, took) = (count(made.rows as u64), seconds(made.seconds.fit));
        writeln!(out, "{rows} rows learnt in {took}{}; {}", ending(made.stop), made.inside.parts)?;
        if let Some(report) = &self.prequential {
            writeln!(out, "prequential (each row predicted before it was learnt):")?;
            metrics::write_values(report, out)?;
        }
        if let Some(report) = &self.metrics {
            writeln!(out, "test:")?;
            metrics::write_any(report, &made.classes, out)?;
        }
        made::end(made, out)
    }
}
