//! Whether the probabilities are calibrated.

use hedgerow_core::metrics::{ReliabilityBin, Running};
use hedgerow_core::{ClassId, Result};
use ndarray::ArrayView2;

use super::axis::Axis;
use super::block::Block;
use super::html::{Html, esc};
use super::interval::wilson;
use super::number::{count, decimal, percent, rows, tiny};
use super::plot::{Frame, number};

/// Predictions grouped by their confidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reliability {
    /// Bins of equal width from 0 to 1.
    pub bins: Vec<ReliabilityBin>,
    /// Expected calibration error, where it is known.
    pub ece: Option<f64>,
}

impl Reliability {
    /// Groups predictions into 15 equal bins of their top probability.
    pub fn new(proba: ArrayView2<'_, f64>, truth: &[ClassId]) -> Result<Self> {
        let running = Running::of(proba, truth, None)?;
        if proba.is_empty() {
            return Ok(Self::default());
        }
        Ok(Self { bins: running.reliability(), ece: Some(running.report().ece) })
    }

    pub(super) fn block(&self) -> Block {
        let mut block = Block::new("reliability", "Reliability");
        let all: u64 = self.bins.iter().map(|b| b.count as u64).fold(0, u64::saturating_add);
        if all == 0 {
            block.body.paragraph("none", "No rows were evaluated.");
            return block;
        }
        let error =
            self.ece.map_or(String::new(), |e| format!(" Expected calibration error {}.", decimal(e, 4)));
        let text = format!(
            "{} by top probability; on the diagonal, confidence is accuracy. Whiskers: 95 % interval.{error}",
            rows(all)
        );
        block.body.paragraph("lead", &text);
        block.body.add(format_args!("<div class=\"reliability\">\n"));
        self.write_diagram(&mut block.body);
        self.write_histogram(&mut block.body);
        self.write_readings(&mut block.body);
        block.body.add(format_args!("</div>\n"));
        block
    }

    fn filled(&self) -> impl Iterator<Item = &ReliabilityBin> {
        self.bins.iter().filter(|b| b.count > 0 && b.confidence.is_finite() && b.accuracy.is_finite())
    }

    fn write_diagram(&self, html: &mut Html) {
        let frame = Frame { x: Axis::unit(), y: Axis::unit() };
        html.add(format_args!("<div class=\"panel\">\n<h3>Accuracy</h3>\n"));
        frame.open("aspect-ratio:1", "accuracy by confidence", html);
        html.add(format_args!("<path class=\"diagonal\" d=\"M0 1000L1000 0\"/>\n"));
        for bin in self.filled() {
            let [low, high] = wilson(bin.accuracy * bin.count as f64, bin.count as f64);
            html.add(format_args!(
                "<path class=\"whisker {}\" d=\"M{} {}V{}\"/>\n",
                weight(bin),
                number(frame.across(bin.confidence)),
                number(frame.down(low)),
                number(frame.down(high))
            ));
        }
        for bin in self.filled() {
            frame.dots(&format!("a {}", weight(bin)), &[(bin.confidence, bin.accuracy)], html);
        }
        Frame::end_shapes(html);
        frame.y_labels(|t| decimal(t, 1), html);
        html.add(format_args!(
            "<span class=\"aside upper\">underconfident</span><span class=\"aside lower\">overconfident</span>\n"
        ));
        Frame::close(html);
        html.add(format_args!("</div>\n"));
    }

    fn write_histogram(&self, html: &mut Html) {
        let y = Axis::from_zero(self.bins.iter().map(|b| b.count as f64), 1);
        let frame = Frame { x: Axis::unit(), y };
        html.add(format_args!("<div class=\"panel last\">\n<h3>Predictions</h3>\n"));
        frame.open("height:84px", "predictions by confidence", html);
        let width = 1000.0 / self.bins.len() as f64;
        for (i, bin) in self.bins.iter().enumerate().filter(|(_, b)| b.count > 0) {
            let top = frame.down(bin.count as f64);
            html.add(format_args!(
                "<path class=\"column\" d=\"M{} 1000V{}h{}V1000z\"/>\n",
                number(i as f64 * width + 0.08 * width),
                number(top),
                number(0.84 * width)
            ));
        }
        Frame::end_shapes(html);
        for (i, bin) in self.bins.iter().enumerate().filter(|(_, b)| b.count > 0) {
            html.add(format_args!(
                "<span class=\"over{}\" style=\"left:{}%;bottom:{}%\">{}</span>\n",
                if i % 2 == 1 { " between" } else { "" },
                number(100.0 * (i as f64 + 0.5) / self.bins.len() as f64),
                number(100.0 * frame.y.share(bin.count as f64)),
                tiny(bin.count as u64)
            ));
        }
        frame.x_labels(|t| decimal(t, 1), html);
        html.add(format_args!("<span class=\"xname\">confidence</span>\n"));
        Frame::close(html);
        html.add(format_args!("</div>\n"));
    }

    fn write_readings(&self, html: &mut Html) {
        html.add(format_args!("<div class=\"hits\">\n"));
        let width = 100.0 / self.bins.len() as f64;
        for (i, bin) in self.bins.iter().enumerate().filter(|(_, b)| b.count > 0) {
            let text = format!(
                "{} predictions\nmean confidence {}\nright {}",
                count(bin.count as u64),
                percent(bin.confidence, 1),
                percent(bin.accuracy, 1)
            );
            html.add(format_args!(
                "<i style=\"left:{:.2}%;width:{width:.2}%\" title=\"{}\"></i>\n",
                i as f64 * width,
                esc(&text)
            ));
        }
        html.add(format_args!("</div>\n"));
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
    use ndarray::Array2;

    use super::*;

    #[test]
    fn bins_agree_with_going_through_them_one_by_one() {
        let mut rng = Rng::new(5, Purpose::Data, 0);
        let mut proba = Array2::from_shape_fn((400, 4), |_| rng.unit().powi(3));
        for mut row in proba.rows_mut() {
            let sum = row.sum();
            row /= sum;
        }
        let truth: Vec<ClassId> = (0..400).map(|_| ClassId(rng.below(4))).collect();
        let got = Reliability::new(proba.view(), &truth).unwrap();
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

    #[test]
    fn wrong_sizes_are_an_error_and_nothing_is_nothing() {
        assert!(Reliability::new(Array2::zeros((2, 2)).view(), &[ClassId(0)]).is_err());
        assert_eq!(Reliability::new(Array2::zeros((0, 3)).view(), &[]).unwrap(), Reliability::default());
    }
}
