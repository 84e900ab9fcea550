//! Results about models of values as text.

use std::io::{self, Write};

use hedgerow::core::StopReason;
use hedgerow::core::metrics::ValueReport;

use super::super::{Show, count, seconds, size};
use crate::commands::values::Inside;
use crate::commands::values::evaluate::EvaluateValuesResult;
use crate::commands::values::fit::FitValuesResult;
use crate::commands::values::info::ValueModelInfo;
use crate::commands::values::update::UpdateValuesResult;

impl Inside {
    fn words(&self) -> String {
        let kernel = match self.kernel.get("length_scale") {
            Some(length) => format!("kernel: length_scale {length:.3}"),
            None if self.kernel.is_empty() => "no kernel yet".into(),
            None => format!("kernel with {} lengths", self.kernel.len()),
        };
        let noise = self.noise_deviation.map_or(String::new(), |noise| format!(", noise {noise:.4}"));
        format!("{kernel}{noise}")
    }
}

fn write(report: &ValueReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  RMSE       {:.5}", report.rmse)?;
    writeln!(out, "  MAE        {:.5}", report.mae)?;
    writeln!(out, "  NLPD       {:.4}", report.nlpd)?;
    writeln!(out, "  coverage   {:.1} % of values inside 90 % intervals", 100.0 * report.coverage90)?;
    match report.nmse {
        Some(nmse) => writeln!(out, "  NMSE       {nmse:.4} (1 is predicting the mean)"),
        None => Ok(()),
    }
}

impl Show for FitValuesResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let ending = match self.stop {
            StopReason::Done | StopReason::Converged => "",
            StopReason::Time => ", stopped because the time was up",
            StopReason::Memory => ", stopped because the memory was used up",
            StopReason::Interrupted => ", stopped because it was interrupted",
        };
        writeln!(
            out,
            "{} of {} active rows for the values of {} from {} rows, {} features{ending}",
            self.model,
            count(self.inside.active_rows as u64),
            self.target.as_deref().unwrap_or("the target"),
            count(self.rows as u64),
            count(self.features as u64),
        )?;
        let (read, fitted) = (seconds(self.seconds.read), seconds(self.seconds.fit));
        writeln!(out, "  read in {read}, fitted in {fitted}; {}", self.inside.words())?;
        if let (Some(report), Some(from), Some(rows)) = (&self.metrics, self.metrics_from, self.metrics_rows)
        {
            let name = if from == "holdout" { "held out" } else { from };
            writeln!(out, "{name}, {} rows:", count(rows as u64))?;
            write(report, out)?;
        } else {
            writeln!(out, "no metrics: give --test DATA, or --holdout SHARE to hold rows out")?;
        }
        match &self.out {
            Some(path) => {
                let rows =
                    if self.rows_retained.is_some() { " with its rows, ready to learn more" } else { "" };
                writeln!(out, "saved to {}{rows} ({})", path.display(), size(self.bytes))
            }
            None => writeln!(out, "not saved: give --out FILE to keep the model ({})", size(self.bytes)),
        }
    }
}

impl Show for EvaluateValuesResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let each = self.seconds.predict / self.rows.max(1) as f64;
        let all = seconds(self.seconds.predict);
        writeln!(out, "{} rows predicted in {all} ({} a row):", count(self.rows as u64), seconds(each))?;
        write(&self.metrics, out)
    }
}

impl Show for UpdateValuesResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let took = seconds(self.seconds);
        writeln!(out, "{} rows learnt in {took}; {} active rows", count(self.rows), self.inside.active_rows)?;
        if let Some(report) = &self.prequential {
            writeln!(out, "prequential (each row predicted before it was learnt):")?;
            write(report, out)?;
        }
        if let Some(report) = &self.metrics {
            writeln!(out, "test:")?;
            write(report, out)?;
        }
        writeln!(out, "saved to {} ({})", self.out.display(), size(self.bytes))
    }
}

impl Show for ValueModelInfo {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} of {} active rows for values, {}, {} (file format {})",
            self.model,
            count(self.inside.active_rows as u64),
            self.inside.words(),
            size(self.bytes),
            self.format_version,
        )?;
        if let Some(target) = &self.schema.target {
            writeln!(out, "predicts {target}")?;
        }
        let columns: Vec<String> = self.schema.columns.iter().map(|column| column.name.clone()).collect();
        writeln!(out, "{} columns: {}", columns.len(), super::info::list(&columns, 12))?;
        match (self.rows_learnt, self.rows_retained) {
            (Some(learnt), Some(retained)) => {
                let (learnt, retained) = (count(learnt), count(retained as u64));
                writeln!(out, "keeps learning: {learnt} rows learnt, {retained} retained")?;
            }
            _ => writeln!(out, "saved without its rows: it predicts, but cannot learn more")?,
        }
        let params = serde_json::to_value(&self.params).map_err(io::Error::other)?;
        if let serde_json::Value::Object(params) = params {
            let text = |v: &serde_json::Value| v.as_str().map_or_else(|| v.to_string(), String::from);
            let each: Vec<String> = params.iter().map(|(name, v)| format!("{name}={}", text(v))).collect();
            writeln!(out, "parameters: {}", each.join(" "))?;
        }
        Ok(())
    }
}
