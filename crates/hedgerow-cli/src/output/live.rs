//! Jobs at work: a table that follows them on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use hedgerow::core::{JobState, Quality};
use indicatif::{ProgressBar, ProgressStyle};

use super::{note, percent, seconds};
use crate::commands::live::{JobLine, LiveStatus};

/// How often the table is drawn, and a line is written where there is no terminal.
const DRAW: Duration = Duration::from_millis(200);
const LINE: Duration = Duration::from_secs(5);
/// Jobs that are shown, at most.
const MOST_JOBS: usize = 24;

/// Shows the status of jobs.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    start: Instant,
    drawn: Option<Instant>,
}

impl Live {
    pub(crate) fn new() -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::no_length();
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, start: Instant::now(), drawn: None }
    }

    /// Shows the newest status, if it is time to.
    pub(crate) fn show(&mut self, status: impl FnOnce() -> LiveStatus) {
        let pause = if self.bar.is_some() { DRAW } else { LINE };
        // The first line elsewhere comes after a pause: short runs write nothing.
        let since = self.drawn.or(self.bar.is_none().then_some(self.start));
        if since.is_some_and(|since| since.elapsed() < pause) {
            return;
        }
        self.drawn = Some(Instant::now());
        let status = status();
        let title = title(&status);
        match &self.bar {
            Some(bar) => bar.set_message(format!("{title}\n{}", table(&status.jobs))),
            None => note(&format!("{title}; {}", working(&status.jobs))),
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// How long it has been going on, and how good the model is.
pub(crate) fn title(status: &LiveStatus) -> String {
    let elapsed = seconds(status.elapsed_seconds);
    let left = status.left_seconds.map_or_else(String::new, |left| format!(", {} left", seconds(left)));
    let good = status.validation.as_ref().map_or_else(
        || "no model yet".to_string(),
        |quality| match quality {
            Quality::Classes(quality) => format!("validation accuracy {}", percent(quality.accuracy)),
            Quality::Values(quality) => format!("validation RMSE {:.5}", quality.rmse),
        },
    );
    format!("{elapsed}{left}: {good}")
}

/// The jobs under way, in a few words.
fn working(jobs: &[JobLine]) -> String {
    let busy: Vec<String> = jobs.iter().filter(|job| job.is_running).map(name).collect();
    if busy.is_empty() { "idle".into() } else { format!("training: {}", busy.join(", ")) }
}

fn name(job: &JobLine) -> String {
    format!("{} {}", job.kind, job.name).trim_end().to_string()
}

/// All jobs that were worked on or are ready, those under way marked.
pub(crate) fn table(jobs: &[JobLine]) -> String {
    let mut text = format!(
        "  {:<18} {:>9} {:>13} {:>10} {:>9} {:>9}",
        "job", "accuracy", "points", "attraction", "slices", "worked"
    );
    let shown: Vec<&JobLine> =
        jobs.iter().filter(|job| job.slices > 0 || job.state == JobState::Ready).collect();
    for job in shown.iter().take(MOST_JOBS) {
        let mark = match (job.is_running, job.is_cancelled, job.state) {
            (true, ..) => '>',
            (_, true, _) => 'x',
            (.., JobState::Done) => '.',
            _ => ' ',
        };
        let accuracy = job.accuracy.map_or_else(String::new, percent);
        let points = match job.goal {
            Some(goal) => format!("{}/{goal}", job.points),
            None => job.points.to_string(),
        };
        text.push_str(&format!(
            "\n{mark} {:<18.18} {accuracy:>9} {points:>13} {:>10.3} {:>9} {:>9}",
            name(job),
            job.attraction,
            job.slices,
            seconds(job.worked_seconds),
        ));
    }
    if shown.len() > MOST_JOBS {
        text.push_str(&format!("\n  and {} more", shown.len() - MOST_JOBS));
    }
    text
}
