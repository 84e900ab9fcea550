//! What files hold, as text.

use std::io::{self, Write};

use hedgerow::core::text::list;
use hedgerow::core::{Column, Summary, Task};
use hedgerow::io::ColumnSummary;
use serde_json::Value;

use super::super::{Show, count, size};
use crate::commands::info::{DataInfo, LearningInfo, ModelInfo};

/// Columns shown unless all are asked for.
const FIRST_COLUMNS: usize = 20;

impl Show for DataInfo {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let summary = &self.summary;
        let image = summary.schema.image.map_or(String::new(), |[h, w]| format!(", images of {h} × {w}"));
        let (rows, columns) = (count(summary.rows), count(summary.columns.len() as u64));
        writeln!(out, "{} of {rows} rows, {columns} feature columns{image}", summary.format)?;
        if let Some(classes) = &summary.classes {
            let target = summary.schema.target.as_deref().unwrap_or("label");
            let each: Vec<String> = classes.iter().map(|c| tally(&c.label, c.count)).collect();
            writeln!(out, "target {target:?}, {} classes: {}", classes.len(), list(&each, 30))?;
        }
        if let Some(n) = summary.missing_labels.filter(|&n| n > 0) {
            writeln!(out, "{} rows have no label", count(n))?;
        }
        let shown = if self.show_all { summary.columns.len() } else { FIRST_COLUMNS };
        let shown = &summary.columns[..shown.min(summary.columns.len())];
        let width = shown.iter().map(|c| c.name.chars().count()).max().unwrap_or(0).clamp(6, 30);
        writeln!(out, "{:width$}  {:<11}  {:>8}  {:>8}  values", "column", "kind", "missing", "distinct")?;
        for column in shown {
            let ColumnSummary { name, kind, .. } = column;
            let distinct = count(column.distinct as u64) + if column.distinct_capped { "+" } else { "" };
            let (missing, values) = (count(column.missing), values(column));
            writeln!(out, "{name:width$}  {kind:<11}  {missing:>8}  {distinct:>8}  {values}")?;
        }
        if shown.len() < summary.columns.len() {
            writeln!(out, "and {} more columns (--all shows them)", summary.columns.len() - shown.len())?;
        }
        Ok(())
    }
}

fn values(column: &ColumnSummary) -> String {
    if let (Some(min), Some(max)) = (column.min, column.max) {
        let mean = column.mean.map_or(String::new(), |mean| format!(", mean {mean:.4}"));
        return format!("{min} to {max}{mean}");
    }
    let top: Vec<String> = column.top.iter().map(|c| tally(&c.name, c.count)).collect();
    list(&top, 6)
}

impl Show for ModelInfo {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (model, bytes, version) = (self.model, size(self.bytes), self.format_version);
        let Summary { parts, details, .. } = &self.inside;
        writeln!(out, "{model} of {parts}, {details}, {bytes} (file format {version})")?;
        let labels = self.schema.labels.names();
        if self.task == Task::Regression {
            writeln!(out, "{}", super::made::regression_of(self.schema.target.as_deref()))?;
        } else {
            let target = self.schema.target.as_ref().map_or(String::new(), |t| format!(" of {t:?}"));
            writeln!(out, "{} classes{target}: {}", labels.len(), list(labels, 30))?;
        }
        let column = |column: &Column| match column.kind.word() {
            "numeric" => column.name.clone(),
            word => format!("{} ({word})", column.name),
        };
        let columns: Vec<String> = self.schema.columns.iter().map(column).collect();
        let most = if self.show_all { usize::MAX } else { FIRST_COLUMNS };
        writeln!(out, "{} columns: {}", columns.len(), list(&columns, most))?;
        self.inside.closely.lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        match &self.learning {
            Some(learning) => write_learning(learning, out)?,
            None if self.model.learns() => {
                writeln!(out, "saved without its rows: it predicts, but cannot learn more")?;
            }
            None => writeln!(out, "it predicts; models of this kind do not learn row by row")?,
        }
        if let Some(importances) = &self.importances {
            writeln!(out, "columns that removed most impurity:")?;
            write_shares(importances, if self.show_all { usize::MAX } else { 8 }, out)?;
        }
        let params = serde_json::to_value(&self.params).map_err(io::Error::other)?;
        if let Value::Object(params) = params {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
            let each: Vec<String> = params.iter().map(|(name, v)| format!("{name}={}", text(v))).collect();
            writeln!(out, "parameters: {}", each.join(" "))?;
        }
        Ok(())
    }
}

fn write_learning(learning: &LearningInfo, out: &mut dyn Write) -> io::Result<()> {
    let (learnt, retained) = (count(learning.rows_learnt), count(learning.rows_retained as u64));
    let (rows, model) = (size(learning.row_bytes), size(learning.predictor_bytes));
    write!(out, "keeps learning: {learnt} rows learnt, {retained} retained ")?;
    writeln!(out, "({rows} in the file, the model without them {model})")?;
    if let Some(stream) = &learning.stream {
        writeln!(out, "stream of {} rows: {}", count(stream.summary.rows), stream.text)?;
    }
    let Some(by_class) = &learning.retained_by_class else { return Ok(()) };
    let each: Vec<String> = by_class.iter().map(|(name, n)| tally(name, *n as u64)).collect();
    writeln!(out, "retained by class: {}", list(&each, 30))
}

/// Named shares with a bar each, the first ones.
pub(super) fn write_shares(shares: &[(String, f64)], most: usize, out: &mut dyn Write) -> io::Result<()> {
    const WIDTH: f64 = 30.0;
    let shown = &shares[..most.min(shares.len())];
    let width = shown.iter().map(|s| s.0.chars().count()).max().unwrap_or(0);
    let top = shown.first().map_or(1.0, |s| s.1).max(1e-12);
    for (name, share) in shown {
        let bar = "█".repeat((share.max(0.0) / top * WIDTH).round() as usize);
        writeln!(out, "  {name:width$} {:6.2} % {bar}", 100.0 * share)?;
    }
    Ok(())
}

/// A name and how many there are of it.
fn tally(name: &str, n: u64) -> String {
    format!("{name} ({})", count(n))
}

/// Classes that came up for the first time, if there are any.
pub(super) fn write_new_classes(names: &[String], out: &mut dyn Write) -> io::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    writeln!(out, "  new classes: {}", list(&quoted(names), 20))
}

/// Names in quotation marks.
pub(super) fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("{name:?}")).collect()
}
