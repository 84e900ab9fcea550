//! A model that was made: first and last lines of what is told.

use std::io::{self, Write};

use hedgerow::core::{StopReason, Task};

use crate::commands::Made;
use crate::output::{count, size};

/// Why it ended early, if it did.
pub(super) fn ending(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Done | StopReason::Converged => "",
        StopReason::Time => ", stopped because the time was up",
        StopReason::Memory => ", stopped because the memory was used up",
        StopReason::Interrupted => ", stopped because it was interrupted",
    }
}

/// What was made of what, with more about the model after its parts, and why it ended.
pub(super) fn begin(made: &Made, details: &str, ending: &str, out: &mut dyn Write) -> io::Result<()> {
    let about = &made.about;
    let target = match about.task {
        Task::Classification => format!("{} classes", about.classes.len()),
        Task::Regression => regression_of(about.target.as_deref()),
    };
    let (model, parts) = (about.model, &made.inside.parts);
    let (rows, features) = (count(made.rows as u64), count(about.features as u64));
    writeln!(out, "{model} of {parts}{details} from {rows} rows, {features} features, {target}{ending}")
}

/// What a regression model predicts.
pub(super) fn regression_of(target: Option<&str>) -> String {
    target.map_or_else(|| "regression".into(), |target| format!("regression of {target:?}"))
}

/// Where it was saved.
pub(super) fn end(made: &Made, out: &mut dyn Write) -> io::Result<()> {
    let rows = if made.rows_retained.is_some() { " with its rows, ready to learn more" } else { "" };
    saved(made, rows, out)
}

/// Where it was saved, and with what.
pub(super) fn saved(made: &Made, with: &str, out: &mut dyn Write) -> io::Result<()> {
    let bytes = size(made.about.bytes);
    match &made.out {
        Some(path) => writeln!(out, "saved to {}{with} ({bytes})", path.display()),
        None => writeln!(out, "not saved: give --out FILE to keep the model ({bytes})"),
    }
}
