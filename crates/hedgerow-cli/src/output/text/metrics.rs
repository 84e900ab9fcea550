//! Figures about predictions.

use std::io::{self, Write};

use hedgerow::core::metrics::{Report, ValueReport};
use hedgerow::core::{ClassQuality, Quality, ValueQuality};
use hedgerow::report::{Confusion, Pair};

use super::super::{count, percent};
use crate::commands::Metrics;

/// Classes up to which the whole confusion table is shown.
const MOST_CLASSES: usize = 12;

/// Those of either task.
pub(super) fn write_any(metrics: &Metrics, classes: &[String], out: &mut dyn Write) -> io::Result<()> {
    match metrics {
        Metrics::Classes(report) => write(report, classes, out),
        Metrics::Values(report) => write_values(report, out),
    }
}

/// How good out-of-sample predictions are, in a line.
pub(super) fn quality(quality: &Quality) -> String {
    let rows = count(quality.rows() as u64);
    match quality {
        Quality::Classes(ClassQuality { accuracy, balanced_accuracy, log_loss, .. }) => {
            let [accuracy, balanced] = [*accuracy, *balanced_accuracy].map(percent);
            format!("{rows} rows: accuracy {accuracy}, balanced {balanced}, log-loss {log_loss:.4}")
        }
        Quality::Values(ValueQuality { rmse, r2, nlpd, .. }) => {
            let r2 = r2.map_or_else(String::new, |r2| format!("R² {r2:.4}, "));
            format!("{rows} rows: {r2}RMSE {rmse:.5}, NLPD {nlpd:.4}")
        }
    }
}

fn write_values(report: &ValueReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  RMSE       {:.5}", report.rmse)?;
    writeln!(out, "  MAE        {:.5}", report.mae)?;
    writeln!(out, "  NLPD       {:.4}", report.nlpd)?;
    writeln!(out, "  coverage   {:.1} % of values inside 90 % intervals", 100.0 * report.coverage90)?;
    match report.nmse {
        Some(nmse) => writeln!(out, "  NMSE       {nmse:.4} (1 is predicting the mean)"),
        None => Ok(()),
    }
}

fn write(report: &Report, classes: &[String], out: &mut dyn Write) -> io::Result<()> {
    let or_dash = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.4}"));
    let [accuracy, balanced] = [report.accuracy, report.balanced_accuracy].map(percent);
    let [auc, over, under] = [report.auc, report.overconfidence, report.underconfidence].map(or_dash);
    let Report { log_loss, brier, ece, .. } = report;
    writeln!(out, "  accuracy {accuracy}   balanced {balanced}   AUC {auc}")?;
    let temporal =
        report.kappa_temporal.map_or(String::new(), |kappa| format!("   kappa-temporal {kappa:.4}"));
    writeln!(out, "  kappa {:.4}{temporal}", report.kappa)?;
    writeln!(out, "  log-loss {log_loss:.4}   Brier {brier:.4}   ECE {ece:.4}")?;
    writeln!(out, "  overconfidence where wrong {over}   underconfidence where right {under}")?;
    if classes.len() <= MOST_CLASSES {
        write_table(report, classes, out)
    } else {
        write_worst(report, classes, out)
    }
}

fn write_table(report: &Report, classes: &[String], out: &mut dyn Write) -> io::Result<()> {
    let shorten = |name: &String| name.chars().take(10).collect::<String>();
    // Classes that came as they came are shown in order.
    let table = Confusion::new(report, classes).sorted();
    let names: Vec<String> = table.classes.iter().map(shorten).collect();
    let largest = table.counts.iter().flatten().map(|&n| count(n).len()).max().unwrap_or(1);
    let width = names.iter().map(|n| n.chars().count()).max().unwrap_or(1).max(largest);
    writeln!(out, "  confusion (rows: true class, columns: prediction)")?;
    write!(out, "  {:>width$}", "")?;
    for name in &names {
        write!(out, " {name:>width$}")?;
    }
    writeln!(out)?;
    for (name, row) in names.iter().zip(&table.counts) {
        write!(out, "  {name:>width$}")?;
        for &n in row {
            let cell = if n == 0 { "·".into() } else { count(n) };
            write!(out, " {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_worst(report: &Report, classes: &[String], out: &mut dyn Write) -> io::Result<()> {
    let words = |&Pair { truth, prediction, count }: &Pair| {
        format!("{} predicted as {} {count}×", classes[truth], classes[prediction])
    };
    let worst = Confusion::new(report, classes).worst_pairs();
    let worst: Vec<String> = worst.iter().take(6).map(words).collect();
    if worst.is_empty() { Ok(()) } else { writeln!(out, "  most confused: {}", worst.join(", ")) }
}
