//! Results as text.

mod demo;
mod generate;
mod info;
mod learning;
mod made;
mod metrics;
mod outliers;
mod query;
mod simulate;
mod store;
mod train;

use std::io::{self, Write};

use hedgerow::core::text::list;
use hedgerow::core::{ParamInfo, StopReason};
use serde::Serialize;

pub(crate) use learning::Lines;

use super::{Show, count, percent, seconds, size};
use crate::commands::Outcome;
use crate::commands::evaluate::EvaluateResult;
use crate::commands::fit::FitResult;
use crate::commands::merge::MergeResult;
use crate::commands::predict::PredictResult;

impl Show for FitResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let ending = match self.made.stop {
            StopReason::Converged => ", stopped because it converged",
            stop => made::ending(stop),
        };
        made::begin(&self.made, "", ending, out)?;
        let (read, fitted) = (seconds(self.made.seconds.read), seconds(self.made.seconds.fit));
        writeln!(out, "  read in {read}, fitted in {fitted}; {}", self.made.inside.details)?;
        if let Some(accuracy) = self.oob_accuracy.filter(|_| self.metrics_from != Some("out_of_bag")) {
            writeln!(out, "  out-of-bag accuracy {}", percent(accuracy))?;
        }
        if let (Some(report), Some(from), Some(rows)) = (&self.metrics, self.metrics_from, self.metrics_rows)
        {
            let name = match from {
                "out_of_bag" => "out of bag",
                "holdout" => "held out",
                other => other,
            };
            writeln!(out, "{name}, {} rows:", count(rows as u64))?;
            metrics::write_any(report, &self.made.about.classes, out)?;
        } else {
            writeln!(out, "no metrics: give --test DATA, or --holdout SHARE to hold rows out")?;
        }
        if let (Some(quality), Some(from)) = (&self.validation, self.validation_from) {
            writeln!(out, "validation ({}), {}", from.words(), metrics::quality(quality))?;
        }
        made::end(&self.made, out)
    }

    fn notes(&self) -> Vec<String> {
        [without_label(self.rows_without_label), self.left_out.notes(), self.notes.clone()].concat()
    }
}

/// What is told about rows that were left out of a training.
fn without_label(rows: u64) -> Vec<String> {
    let text = || format!("{} rows without a label were left out of the training", count(rows));
    (rows > 0).then(text).into_iter().collect()
}

/// How many rows were predicted, in what time, and how long a row took.
fn predicted(rows: usize, took: f64) -> String {
    let each = seconds(took / rows.max(1) as f64);
    format!("{} rows predicted in {} ({each} a row", count(rows as u64), seconds(took))
}

impl Show for EvaluateResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}):", predicted(self.rows, self.seconds.predict))?;
        metrics::write_any(&self.metrics, &self.about.classes, out)?;
        if let Some(rejected) = &self.rejection {
            let at = |kept: f64| rejected.accuracy_at(kept).map_or_else(|| "-".into(), percent);
            let [half, most] = [0.5, 0.8].map(at);
            writeln!(
                out,
                "  accuracy on the most certain 50 % {half}   80 % {most}   area under the curve {:.4}",
                rejected.area
            )?;
        }
        if let Some(sets) = &self.sets {
            let [level, coverage] = [sets.level, sets.coverage].map(percent);
            let size = sets.mean_size;
            writeln!(
                out,
                "  prediction sets of {level}: {coverage} of the rows covered, {size:.2} classes a row"
            )?;
        }
        if let Some(importances) = &self.importances {
            writeln!(out, "accuracy lost when a column is shuffled:")?;
            info::write_shares(importances, 12, out)?;
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.left_out.notes();
        if let (Some(wanted), Some(accuracy)) = (self.missed, self.metrics.accuracy()) {
            notes.push(format!("accuracy {accuracy:.4} is below the {wanted} asked for"));
        }
        notes
    }

    fn outcome(&self) -> Outcome {
        if self.missed.is_some() { Outcome::Negative } else { Outcome::Done }
    }
}

impl Show for PredictResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let read = seconds(self.seconds.read);
        writeln!(out, "{}; reading took {read})", predicted(self.rows, self.seconds.predict))?;
        if let Some(latency) = self.one_row_seconds {
            let (median, p99) = (seconds(latency.median), seconds(latency.p99));
            writeln!(out, "one row alone, on one thread: {median} (median), {p99} (p99)")?;
        }
        Ok(())
    }
}

impl Show for MergeResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (model, classes) = (self.about.model, &self.about.classes);
        let (of, parts, n_classes) = (&self.inside.parts, self.parts, classes.len());
        let names = list(classes, 20);
        writeln!(out, "{model} of {of} from {parts} models, {n_classes} classes: {names}")?;
        writeln!(out, "saved to {} ({})", self.out.display(), size(self.about.bytes))
    }
}

/// The parameters of a model.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct ParamList(pub(crate) Vec<ParamInfo>);

impl Show for ParamList {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = self.0.iter().map(|p| p.name.len()).max().unwrap_or(0);
        for param in &self.0 {
            writeln!(out, "{:width$}  {}", param.name, param.meaning)?;
            writeln!(out, "{:width$}  default: {}", "", param.default)?;
        }
        Ok(())
    }
}
