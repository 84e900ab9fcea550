//! How learning goes, as text.

use std::io::{self, Write};

use super::super::{Show, count, percent, seconds, size};
use super::made::{self, ending};
use super::{info, metrics};
use crate::commands::learning::{LearnResult, Prequential, QueryFigures, SetFigures, Window};
use crate::commands::{Metrics, Seconds};

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
        let (name, figure, sets) = match window.prequential {
            Prequential::Classes {
                prequential_accuracy: accuracy,
                prequential_set_coverage90: coverage,
                prequential_set_size90: size,
                ..
            } => ("accuracy", percent(accuracy), Some((coverage, size))),
            Prequential::Values { prequential_rmse, .. } => ("RMSE", format!("{prequential_rmse:.5}"), None),
        };
        if !self.has_begun {
            let test = if self.has_test { "      test" } else { "" };
            let sets = if sets.is_some() { "   covered  set size" } else { "" };
            writeln!(out, "       rows {name:>9}{test}    rows/s{sets}")?;
        }
        write!(out, "{:>11} {figure:>9}", count(window.rows_seen))?;
        if self.has_test {
            let test =
                window.test_accuracy.map(percent).or(window.test_rmse.map(|rmse| format!("{rmse:.5}")));
            write!(out, " {:>9}", test.unwrap_or_else(|| "-".into()))?;
        }
        write!(out, " {:>9}", count(window.rows_per_second as u64))?;
        if let Some((coverage, size)) = sets {
            write!(out, " {:>9} {size:>9.2}", percent(coverage))?;
        }
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

impl Show for LearnResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.is_update {
            write_update(self, out)?;
        } else {
            let (made, details) = (&self.made, format!(", {},", self.made.inside.details));
            made::begin(made, &details, ending(made.stop), out)?;
            write_stream(self, out)?;
        }
        if !self.is_update || self.prequential.report().is_none() {
            writeln!(out, "prequential, each row predicted before it was learnt:")?;
            metrics::write_any(&self.prequential, &self.made.about.classes, out)?;
        }
        write_end(self, out)
    }

    fn notes(&self) -> Vec<String> {
        let is_unlabelled = self.store.as_ref().is_some_and(|store| self.made.rows == 0 && store.rows > 0);
        let text = "no row has a label yet: name the column with --target, or give labels with `hedgerow store label`";
        is_unlabelled.then(|| text.into()).into_iter().collect()
    }
}

/// What `update` tells first.
fn write_update(result: &LearnResult, out: &mut dyn Write) -> io::Result<()> {
    let (rows, why) = (count(result.made.rows as u64), ending(result.made.stop));
    let figure = match &result.prequential {
        Metrics::Classes(report) => {
            format!("accuracy on them before they were learnt {}", percent(report.accuracy))
        }
        Metrics::Values(report) => format!("RMSE on them before they were learnt {:.5}", report.rmse),
    };
    writeln!(out, "{rows} rows learnt{why}; {figure}")?;
    info::write_new_classes(&result.new_classes, out)?;
    write_stream(result, out)?;
    for drift in result.drifts.iter().take(5) {
        let (at, since) = (count(drift.noticed_at), count(drift.since));
        let (before, after) = (percent(drift.error_before), percent(drift.error_after));
        let rise = format!("the error rose from {before} to {after} since row {since}");
        writeln!(out, "  drift noticed at row {at}: {rise}")?;
    }
    Ok(())
}

/// What happened to rows and trees, and how fast.
fn write_stream(result: &LearnResult, out: &mut dyn Write) -> io::Result<()> {
    let [speed, overall] =
        [result.rows_per_second, result.rows_per_second_overall].map(|rows| count(rows as u64));
    let Seconds { read, fit, predict } = result.made.seconds;
    let [read, fit, predict] = [read, fit, predict].map(seconds);
    write!(out, "  {speed} rows/s learnt, {overall} rows/s in all ")?;
    writeln!(out, "(reading {read}, learning {fit}, evaluating {predict})")?;
    let [retained, forgotten, drifts] =
        [result.made.rows_retained.unwrap_or(0), result.rows_forgotten, result.n_drifts]
            .map(|n| count(n as u64));
    let plural = if result.n_drifts == 1 { "" } else { "s" };
    let renewed = result.renewed.words();
    writeln!(
        out,
        "  {retained} rows retained, {forgotten} forgotten; {renewed}; {drifts} drift{plural} noticed"
    )?;
    if let Some(gain) = &result.calibration {
        let [before, after] = [gain.log_loss_before, gain.log_loss_after];
        writeln!(out, "  prequential calibration: log-loss {after:.4}, without it {before:.4}")?;
    }
    if let Some(SetFigures { level, coverage, mean_size }) = result.sets {
        let [level, coverage] = [level, coverage].map(percent);
        writeln!(
            out,
            "  prediction sets of {level}: {coverage} of the rows covered, {mean_size:.2} classes a row"
        )?;
    }
    if let Some(stream) = &result.stream {
        writeln!(out, "  stream: {}", stream.text)?;
    }
    if let Some(QueryFigures { labels, random, share, .. }) = result.queries {
        let [labels, random] = [labels, random].map(count);
        writeln!(
            out,
            "  {labels} labels asked for ({} of the rows), {random} of them at random",
            percent(share)
        )?;
    }
    if result.left_out.without_label > 0 {
        writeln!(out, "  {} rows without a label were left out", count(result.left_out.without_label))?;
    }
    Ok(())
}

fn write_end(result: &LearnResult, out: &mut dyn Write) -> io::Result<()> {
    let made = &result.made;
    if result.metrics_from == "test" {
        writeln!(out, "test, {} rows:", count(result.metrics_rows))?;
        metrics::write_any(&result.metrics, &made.about.classes, out)?;
    }
    let peak = made.about.peak_memory_bytes.map_or_else(String::new, |peak| format!("; peak {}", size(peak)));
    writeln!(out, "model in memory {}{peak}", size(made.model_memory_bytes))?;
    made::saved(made, "", out)
}
