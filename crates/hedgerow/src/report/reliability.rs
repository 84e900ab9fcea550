//! Whether the probabilities are calibrated.

use hedgerow_core::metrics::ReliabilityBin;

use super::axis::{Axis, UNIT};
use super::html::{element, paragraph};
use super::interval::wilson;
use super::number::{count, decimal, percent, rows, tiny};
use super::plot::{Plot, number, strip};
use super::section::Section;

/// Predictions grouped by their confidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reliability {
    /// Bins of equal width from 0 to 1.
    pub bins: Vec<ReliabilityBin>,
    /// Expected calibration error, where it is known.
    pub ece: Option<f64>,
}

impl Reliability {
    pub(super) fn section(&self) -> Section {
        Section::new("reliability", "Reliability", false, self.body())
    }

    fn body(&self) -> String {
        let all: u64 = self.bins.iter().map(|b| b.count as u64).fold(0, u64::saturating_add);
        if all == 0 {
            return paragraph("none", "No rows were evaluated.");
        }
        let error =
            self.ece.map_or(String::new(), |e| format!(" Expected calibration error {}.", decimal(e, 4)));
        let text = format!(
            "{} by top probability; on the diagonal, confidence is accuracy. Whiskers: 95 % interval.{error}",
            rows(all)
        );
        let parts = [self.diagram(), self.histogram(), self.readings()];
        paragraph("lead", &text) + &element("div", "reliability", parts)
    }

    /// The bins with predictions and their places.
    fn filled(&self) -> impl Iterator<Item = (usize, &ReliabilityBin)> {
        self.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0)
    }

    /// Where a bin begins, its middle, and where it ends.
    fn span(&self, bin: usize) -> [f64; 3] {
        [0.0, 0.5, 1.0].map(|share| (bin as f64 + share) / self.bins.len() as f64)
    }

    fn diagram(&self) -> String {
        let mut plot = Plot::new(UNIT, UNIT);
        plot.shape("diagonal", "M0 1000L1000 0");
        let known = || self.filled().filter(|(_, b)| b.confidence.is_finite() && b.accuracy.is_finite());
        for (_, bin) in known() {
            let ends = wilson(bin.accuracy * bin.count as f64, bin.count as f64);
            let [low, high] = ends.map(|end| plot.down(end));
            let whisker = format!("M{} {low}V{high}", plot.across(bin.confidence));
            plot.shape(&format!("whisker {}", weight(bin)), &whisker);
        }
        for (_, bin) in known() {
            plot.dots(&format!("a {}", weight(bin)), [(bin.confidence, bin.accuracy)].into_iter());
        }
        plot.y_labels(|t| decimal(t, 1));
        plot.text("aside upper", "", "underconfident");
        plot.text("aside lower", "", "overconfident");
        plot.panel("<h3>Accuracy</h3>\n", "aspect-ratio:1", "accuracy by confidence")
    }

    fn histogram(&self) -> String {
        let mut plot = Plot::new(UNIT, Axis::from_zero(self.bins.iter().map(|b| b.count as f64), 1));
        for (i, bin) in self.filled() {
            let [left, _, right] = self.span(i);
            let gap = 0.08 * (right - left);
            let [left, right] = [left + gap, right - gap].map(|x| plot.across(x));
            let column = format!("M{left} 1000V{}H{right}V1000z", plot.down(bin.count as f64));
            plot.shape("column", &column);
        }
        for (i, bin) in self.filled() {
            let at = number(100.0 * self.span(i)[1]);
            let bottom = number(100.0 * plot.y.share(bin.count as f64));
            let class = if i % 2 == 1 { "over between" } else { "over" };
            plot.text(class, &format!("left:{at}%;bottom:{bottom}%"), &tiny(bin.count as u64));
        }
        plot.x_labels(|t| decimal(t, 1), "confidence");
        plot.panel("<h3>Predictions</h3>\n", "height:84px", "predictions by confidence")
    }

    fn readings(&self) -> String {
        let reading = |(i, bin): (usize, &ReliabilityBin)| {
            let text = format!(
                "{} predictions\nmean confidence {}\nright {}",
                count(bin.count as u64),
                percent(bin.confidence, 1),
                percent(bin.accuracy, 1)
            );
            strip(self.span(i), &text)
        };
        element("div", "hits", self.filled().map(reading))
    }
}

/// How much a bin counts, as its class in the style sheet.
fn weight(bin: &ReliabilityBin) -> &'static str {
    match bin.count {
        ..10 => "few",
        10..100 => "some",
        100.. => "many",
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use hedgerow_core::{ClassId, LabelTable, Schema};
    use ndarray::Array2;

    use super::super::{Page, Predictions};

    #[test]
    fn bins_agree_with_going_through_them_one_by_one() {
        let mut rng = Rng::new(5, Purpose::Data, 0);
        let mut proba = Array2::from_shape_fn((400, 4), |_| rng.unit().powi(3));
        for mut row in proba.rows_mut() {
            let sum = row.sum();
            row /= sum;
        }
        let truth: Vec<ClassId> = (0..400).map(|_| ClassId(rng.below(4))).collect();
        let labels = LabelTable::from(["a", "b", "c", "d"].map(String::from).to_vec());
        let schema = Schema { labels, ..Schema::unnamed(1) };
        let mut page = Page::default();
        page.evaluate(&Predictions::new(proba.view(), &truth, &schema)).unwrap();
        let got = page.reliability.unwrap();
        assert_eq!(got.bins.len(), 15);
        let mut gap = 0.0;
        for (b, bin) in got.bins.iter().enumerate() {
            let (low, high) = (b as f64 / 15.0, (b + 1) as f64 / 15.0);
            let top = |i: usize| proba.row(i).iter().copied().fold(0.0, f64::max);
            let inside: Vec<usize> =
                (0..400).filter(|&i| top(i) >= low && (top(i) < high || b == 14)).collect();
            let right = inside.iter().filter(|&&i| proba[(i, truth[i].index())] == top(i)).count();
            let confidence: f64 = inside.iter().map(|&i| top(i)).sum();
            assert_eq!(bin.count, inside.len());
            if bin.count > 0 {
                assert!((bin.confidence - confidence / bin.count as f64).abs() < 1e-12);
                assert!((bin.accuracy - right as f64 / bin.count as f64).abs() < 1e-12);
                gap += (confidence - right as f64).abs() / 400.0;
            }
        }
        assert!((got.ece.unwrap() - gap).abs() < 1e-12);
    }
}
