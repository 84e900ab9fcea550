//! The figures about a set of predictions, one tile each.

use hedgerow_core::metrics;

use super::block::Block;
use super::interval::wilson;
use super::number::{DASH, decimal, percent};

/// Figures and which rows they were measured on.
#[derive(Debug, Clone)]
pub struct Scores {
    /// Which rows, in a few words: `360 rows held out`.
    pub measured_on: String,
    /// The figures.
    pub metrics: metrics::Report,
}

impl Scores {
    pub(super) fn block(&self) -> Block {
        let mut block = Block::wide("scores", "Scores");
        block.body.paragraph("lead", &self.measured_on);
        block.body.add(format_args!("<div class=\"tiles\">\n"));
        for (name, value, meaning) in self.tiles() {
            let (number, unit) = match value.split_once('\u{a0}') {
                Some((number, unit)) => (number, format!("<small>\u{a0}{unit}</small>")),
                None => (value.as_str(), String::new()),
            };
            block.body.add(format_args!(
                "<div><h3>{name}</h3><p class=\"figure\">{number}{unit}</p><p>{meaning}</p></div>\n"
            ));
        }
        block.body.add(format_args!("</div>\n"));
        block
    }

    /// Name, value and meaning of each figure.
    fn tiles(&self) -> [(&'static str, String, String); 8] {
        let m = &self.metrics;
        let or_dash = |value: Option<f64>, decimals| value.map_or(DASH.into(), |v| decimal(v, decimals));
        let interval = self.interval().map_or(String::new(), |[low, high]| {
            format!("; 95 % interval {} to {}", percent(low, 1), percent(high, 1))
        });
        let tile = |name, value, meaning: &str| (name, value, meaning.to_string());
        [
            ("Accuracy", percent(m.accuracy, 2), format!("rows predicted right{interval}")),
            tile("Balanced accuracy", percent(m.balanced_accuracy, 2), "every class counts the same"),
            tile("Log-loss", decimal(m.log_loss, 4), "−ln of the probability given to the truth; 0 is best"),
            tile("Brier score", decimal(m.brier, 4), "squared distance from the truth, up to 2; 0 is best"),
            tile("Calibration error", decimal(m.ece, 4), "ECE: gap of confidence and accuracy; 0 is best"),
            tile("AUC", or_dash(m.auc, 4), "rows of a class ranked above others; 1 is best, 0.5 is chance"),
            tile(
                "Overconfidence",
                or_dash(m.overconfidence, 3),
                "certainty of wrong predictions, 1 − entropy; 0 is best",
            ),
            tile(
                "Underconfidence",
                or_dash(m.underconfidence, 3),
                "uncertainty of right predictions, entropy; 0 is best",
            ),
        ]
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
