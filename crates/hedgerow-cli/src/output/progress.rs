//! A bar with the time left, on a terminal only.

use std::io::{self, IsTerminal as _};

use hedgerow::core::{Observer, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows how far a training run has come.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::no_length().with_message(what);
        if !io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        Self(bar)
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Observer for Bar {
    fn progress(&self, progress: Progress) {
        let template = if progress.total.is_some() {
            "{msg} {bar:30} {pos}/{len}  {eta} left{prefix}"
        } else {
            "{msg} {spinner} {pos}  {elapsed} so far{prefix}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
        if let Some(total) = progress.total {
            self.0.set_length(total as u64);
        }
        if let Some(accuracy) = progress.accuracy {
            self.0.set_prefix(format!("  out-of-bag accuracy {:.2} %", 100.0 * accuracy));
        }
        self.0.set_position(progress.done as u64);
    }
}
