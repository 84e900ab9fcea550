//! Queries as text.

use std::io::{self, Write};

use super::super::{Show, count, percent, seconds};
use super::made;
use crate::commands::Outcome;
use crate::commands::query::QueryResult;

/// Classes whose labels are counted in the text.
const MOST_CLASSES: usize = 12;
/// The widest name of a class.
const MOST_LETTERS: usize = 20;

impl Show for QueryResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (rows, labelled) = (count(self.rows as u64), count(self.labelled as u64));
        write!(out, "{rows} rows of {} columns, {labelled} labels", self.features)?;
        let classes: Vec<String> = self
            .classes
            .iter()
            .take(MOST_CLASSES)
            .map(|(name, n)| format!("{name} {}", count(*n as u64)))
            .collect();
        let more = if self.classes.len() > MOST_CLASSES { ", ..." } else { "" };
        if !classes.is_empty() {
            write!(out, " ({}{more})", classes.join(", "))?;
        }
        match self.model {
            Some(model) if self.seconds.fit >= 0.001 => {
                let ending = made::ending(self.stop);
                writeln!(out, "; {model} fitted in {}{ending}", seconds(self.seconds.fit))?;
            }
            Some(model) => writeln!(out, "; model {model}")?,
            None => writeln!(out, "; no model yet: that takes labels of two classes")?,
        }
        if self.queries.is_empty() {
            writeln!(out, "every row has a label: there is nothing to choose from")?;
        } else {
            self.write_queries(out)?;
        }
        if let Some(advice) = &self.advice {
            writeln!(out, "stop? {advice}")?;
        }
        match &self.out {
            Some(path) => writeln!(out, "chosen rows: {}", path.display()),
            None => Ok(()),
        }
    }

    fn outcome(&self) -> Outcome {
        if self.queries.is_empty() { Outcome::Negative } else { Outcome::Done }
    }
}

impl QueryResult {
    fn write_queries(&self, out: &mut dyn Write) -> io::Result<()> {
        let took = seconds(self.seconds.query);
        let (strategy, n) = (self.strategy, self.queries.len());
        writeln!(out, "{n} rows to label next, chosen by {strategy} in {took} (rows count from 0):")?;
        let prediction = |query: &crate::commands::query::Query| match (&query.prediction, query.probability)
        {
            (Some(name), Some(p)) => {
                let name: String = name.chars().take(MOST_LETTERS).collect();
                format!("{name} {}", percent(p))
            }
            _ => "-".into(),
        };
        let predictions: Vec<String> = self.queries.iter().map(prediction).collect();
        let width = predictions.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(10);
        writeln!(out, "{:>9}  {:>9}  {:width$}  reason", "row", "utility", "prediction")?;
        for (query, prediction) in self.queries.iter().zip(&predictions) {
            let (row, utility, reason) = (query.row, query.utility, &query.reason);
            writeln!(out, "{row:>9}  {utility:>9.4}  {prediction:width$}  {reason}")?;
        }
        Ok(())
    }
}
