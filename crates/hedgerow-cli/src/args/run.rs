//! How much a command may use.

use std::time::{Duration, Instant};

use clap::Args;
use hedgerow::core::{Budget, Par, Result};

/// Threads and limits.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Running")]
pub(crate) struct RunArgs {
    /// Threads; 0 means one for each core. The result never depends on it
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) threads: usize,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

impl RunArgs {
    pub(crate) fn par(&self) -> Result<Par> {
        Par::new(self.threads)
    }
}

/// How fast a model with its rows is checksummed and written, on a slow computer.
const SAVED_BYTES_PER_SECOND: f64 = 1e8;

/// Limits of a run that learns.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Be done after this many seconds, reading included, with the best model so far
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) max_seconds: Option<f64>,
    /// Stay below this much memory, data included: 500MB, 2GB, or bytes
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_memory: Option<u64>,
}

impl LimitArgs {
    /// The deadline of the training itself: some of the time is kept for saving and evaluating the model.
    pub(crate) fn budget(&self, start: Instant) -> Budget {
        let deadline = self.max_seconds.and_then(|limit| {
            let kept = (0.06 * limit).min(1.0);
            start.checked_add(Duration::from_secs_f64((limit - kept).max(0.0)))
        });
        Budget { deadline, ..Budget::open() }
    }

    /// Keeps time to save so many bytes, a quarter of all time at most.
    pub(crate) fn keep_time_to_save(&self, bytes: usize, budget: &mut Budget) {
        let kept = (bytes as f64 / SAVED_BYTES_PER_SECOND).min(0.25 * self.max_seconds.unwrap_or(0.0));
        budget.deadline = budget.deadline.and_then(|end| end.checked_sub(Duration::from_secs_f64(kept)));
    }
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    let wrong = "expected a number of seconds above 0";
    pause(text).and_then(|value| if value > 0.0 { Ok(value) } else { Err(wrong.into()) })
}

/// Seconds between two things; 0 is no pause.
pub(super) fn pause(text: &str) -> std::result::Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number of seconds".to_string())?;
    let wrong = || "expected a number of seconds, 0 or more".to_string();
    (0.0..1e9).contains(&value).then_some(value).ok_or_else(wrong)
}

/// Reads `500MB`, `2GiB`, `1.5 GB`, `300000000`.
fn size(text: &str) -> std::result::Result<u64, String> {
    let wrong = || "expected a size such as 500MB, 2GB, or a number of bytes".to_string();
    let text = text.trim();
    let at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..at].parse().map_err(|_| wrong())?;
    let unit = match text[at..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let bytes = number * unit;
    if (1.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        assert_eq!(size("500MB"), Ok(500_000_000));
        assert_eq!(size("1.5 GiB"), Ok(1_610_612_736));
        assert_eq!(size("12345"), Ok(12_345));
        for wrong in ["", "MB", "-5MB", "5 apples", "0", "1e99"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert!(seconds("0").is_err() && seconds("nan").is_err() && seconds("2.5") == Ok(2.5));
        assert!(pause("0") == Ok(0.0) && pause("-1").is_err() && pause("nan").is_err());
    }
}
