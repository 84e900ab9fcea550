//! Stores as text.

use std::io::{self, Write};

use super::super::{Show, count, size};
use super::info;
use crate::commands::store::{StoreInfo, StoreLabelled};

impl Show for StoreInfo {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{}: {} rows of {} features, {} labelled, {} labels corrected; {} on disk",
            self.dir.display(),
            count(self.rows),
            count(self.features as u64),
            count(self.labelled),
            count(self.corrections),
            size(self.bytes),
        )?;
        let classes: Vec<String> = self.classes.iter().map(|name| format!("{name:?}")).collect();
        writeln!(out, "  {} classes: {}", classes.len(), info::list(&classes, 20))?;
        for input in &self.inputs {
            let end = if input.done { "all of it" } else { "not to its end" };
            writeln!(out, "  {} rows from {}, {end}", count(input.rows), input.name)?;
        }
        for learner in &self.learners {
            let kind = learner.model.as_ref().map_or_else(String::new, |kind| format!(" ({kind})"));
            let place = learner.cursor.map_or_else(
                || "no checkpoint yet".to_string(),
                |at| format!("{} of {} events learnt", count(at), count(self.events)),
            );
            writeln!(
                out,
                "  learner {:?}{kind}: {place}, model {}",
                learner.name,
                size(learner.model_bytes)
            )?;
        }
        Ok(())
    }
}

impl Show for StoreLabelled {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} rows labelled, {} labels corrected, {} as they were",
            count(self.added),
            count(self.corrected),
            count(self.unchanged)
        )?;
        if !self.new_classes.is_empty() {
            let names: Vec<String> = self.new_classes.iter().map(|name| format!("{name:?}")).collect();
            writeln!(out, "  new classes: {}", info::list(&names, 20))?;
        }
        writeln!(out, "learn from it with: hedgerow stream --store {}", self.dir.display())
    }
}
