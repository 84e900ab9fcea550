//! The figures about a set of predictions, one tile each.

use hedgerow_core::metrics;

use super::html::paragraph;
use super::interval::wilson;
use super::number::{decimal, percent};
use super::section::Section;

/// Figures and which rows they were measured on.
#[derive(Debug, Clone)]
pub struct Scores {
    /// Which rows, in a few words: `360 rows held out`.
    pub measured_on: String,
    /// The figures.
    pub metrics: metrics::Report,
}

impl Scores {
    pub(super) fn section(&self) -> Section {
        let m = &self.metrics;
        // The unit of a share is smaller than the figure.
        let share = |share: f64| percent(share, 2).replace("\u{a0}%", "<small>\u{a0}%</small>");
        let known = |value: Option<f64>, decimals| decimal(value.unwrap_or(f64::NAN), decimals);
        let interval = self.interval().map_or(String::new(), |[low, high]| {
            format!("; 95 % interval {} to {}", percent(low, 1), percent(high, 1))
        });
        let tiles = format!(
            include_str!("assets/scores.html"),
            accuracy = share(m.accuracy),
            interval = interval,
            balanced_accuracy = share(m.balanced_accuracy),
            log_loss = decimal(m.log_loss, 4),
            brier = decimal(m.brier, 4),
            ece = decimal(m.ece, 4),
            auc = known(m.auc, 4),
            overconfidence = known(m.overconfidence, 3),
            underconfidence = known(m.underconfidence, 3),
        );
        Section::new("scores", "Scores", true, paragraph("lead", &self.measured_on) + &tiles)
    }

    /// The interval of the accuracy, where rows all count the same.
    fn interval(&self) -> Option<[f64; 2]> {
        let table = &self.metrics.confusion;
        let all = table.iter().flatten().sum::<u64>() as f64;
        let right = table.iter().enumerate().filter_map(|(i, row)| row.get(i)).sum::<u64>() as f64;
        let is_plain = all > 0.0 && (right / all - self.metrics.accuracy).abs() < 1e-9;
        is_plain.then(|| wilson(right, all))
    }
}
