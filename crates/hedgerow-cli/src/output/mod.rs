//! Showing results: text for people, JSON for programs; results to standard output, everything else to standard error.

pub(crate) mod live;
pub(crate) mod progress;
pub(crate) mod text;

use std::io::{self, Write};

pub(crate) use hedgerow::core::text::count;

use serde::Serialize;

use crate::commands::Outcome;

/// A result that can be shown to people.
pub(crate) trait Show: Serialize {
    fn text(&self, out: &mut dyn Write) -> io::Result<()>;

    /// What is told beside it, on standard error.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    fn outcome(&self) -> Outcome {
        Outcome::Done
    }
}

/// Prints a result.
pub(crate) fn show(result: &impl Show, json: bool) -> anyhow::Result<Outcome> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, result)?;
        writeln!(out)?;
    } else {
        result.text(&mut out)?;
    }
    out.flush()?;
    result.notes().iter().for_each(|text| note(text));
    Ok(result.outcome())
}

/// Prints a message to standard error.
pub(crate) fn note(message: &str) {
    // Nothing useful can be done if even this fails.
    let _ = writeln!(io::stderr(), "hedgerow: {message}");
}

/// Reports an error with its causes.
pub(crate) fn error(error: &anyhow::Error) {
    note(&format!("error: {}", with_causes(error)));
}

/// An error and its causes. A cause that the message before it ends with is not repeated.
pub(crate) fn with_causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for message in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = message;
        } else if !text.ends_with(&message) {
            text = format!("{text}: {message}");
        }
    }
    text
}

/// Whether an error only means that the reader of our output has gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let csv = cause.downcast_ref::<csv::Error>().and_then(|e| match e.kind() {
            csv::ErrorKind::Io(e) => Some(e.kind()),
            _ => None,
        });
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        [io, csv, json].contains(&Some(io::ErrorKind::BrokenPipe))
    })
}

/// A number of bytes as people read it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// A share in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Seconds as people read them.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 120.0 => format!("{s:.1} s"),
        s => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let system = || io::Error::from_raw_os_error(2);
        let error = anyhow::Error::from(hedgerow::core::Error::io("m.hedgerow", system()));
        assert_eq!(with_causes(&error), format!("m.hedgerow: {}", system()));
        let outer = anyhow::Error::from(system()).context("the folder cannot be used");
        assert_eq!(with_causes(&outer), format!("the folder cannot be used: {}", system()));
        assert_eq!(with_causes(&error.context("no model")), format!("no model: m.hedgerow: {}", system()));
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(size(14_700_000), "14.7 MB");
        assert_eq!(seconds(0.000_016), "16 µs");
        assert_eq!(seconds(150.0), "2 min 30 s");
    }
}
