//! Stores as text.

use std::io::{self, Write};

use hedgerow::core::text::list;
use hedgerow::store::{Counts, Labelled};

use super::super::{Show, count, size};
use super::info;
use crate::commands::store::{StoreInfo, StoreLabelled};

impl Show for StoreInfo {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Counts { rows, events, labelled, corrections, bytes } = self.counts;
        let [rows, features, labelled, corrections] =
            [rows, self.features as u64, labelled, corrections].map(count);
        let (dir, bytes) = (self.dir.display(), size(bytes));
        write!(out, "{dir}: {rows} rows of {features} features, {labelled} labelled, ")?;
        writeln!(out, "{corrections} labels corrected; {bytes} on disk")?;
        let classes = info::quoted(&self.classes);
        writeln!(out, "  {} classes: {}", classes.len(), list(&classes, 20))?;
        for input in &self.inputs {
            let end = if input.is_done { "all of it" } else { "not to its end" };
            writeln!(out, "  {} rows from {}, {end}", count(input.rows), input.name)?;
        }
        for learner in &self.learners {
            let kind = learner.model.as_ref().map_or_else(String::new, |kind| format!(" ({kind})"));
            let place = learner.cursor.map_or_else(
                || "no checkpoint yet".to_string(),
                |at| format!("{} of {} events learnt", count(at), count(events)),
            );
            let bytes = size(learner.model_bytes);
            writeln!(out, "  learner {:?}{kind}: {place}, model {bytes}", learner.name)?;
        }
        Ok(())
    }
}

impl Show for StoreLabelled {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Labelled { added, corrected, unchanged } = self.labels;
        let [added, corrected, unchanged] = [added, corrected, unchanged].map(count);
        writeln!(out, "{added} rows labelled, {corrected} labels corrected, {unchanged} as they were")?;
        info::write_new_classes(&self.new_classes, out)?;
        writeln!(out, "learn from it with: hedgerow stream --store {}", self.dir.display())
    }
}
