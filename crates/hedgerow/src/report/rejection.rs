//! How accurate the predictions are that are left when the most uncertain ones are rejected.

use hedgerow_core::rejection::{RejectionCurve, RejectionPoint};

use super::axis::{Axis, UNIT};
use super::html::{element, paragraph};
use super::number::{decimal, percent};
use super::plot::{Plot, strip};
use super::section::Section;

pub(super) fn section(rejected: &RejectionCurve) -> Section {
    Section::new("rejection", "Accuracy and rejection", false, body(rejected))
}

fn body(rejected: &RejectionCurve) -> String {
    let RejectionCurve { area, curve } = rejected;
    let Some(last) = curve.last() else { return paragraph("none", "No rows were evaluated.") };
    let at = |kept: f64| rejected.accuracy_at(kept).map_or(f64::NAN, |accuracy| accuracy);
    let text = format!(
        "Accuracy on the rows that are kept when those with the smallest top probability are rejected: {} on the most certain half, {} on 80 %, {} on all. \
         Area under the curve {}.",
        percent(at(0.5), 1),
        percent(at(0.8), 1),
        percent(last.accuracy, 1),
        decimal(*area, 4)
    );
    let mut plot = Plot::new(UNIT, Axis::around_shares(curve.iter().map(|point| point.accuracy), 5));
    plot.line("a", &curve.iter().map(|point| (point.kept, point.accuracy)).collect::<Vec<_>>());
    let decimals = plot.y.decimals(100.0);
    plot.y_labels(|share| percent(share, decimals));
    plot.x_labels(|share| percent(share, 0), "rows kept");
    let drawn = plot.panel("<h3>Accuracy</h3>\n", "height:260px", "accuracy by the share of rows kept");
    paragraph("lead", &text) + &element("div", "reliability", [drawn, readings(curve)])
}

/// Strips that show the numbers of each point.
fn readings(curve: &[RejectionPoint]) -> String {
    let mut left = 0.0;
    let strips = curve.iter().map(|point| {
        let text = format!(
            "{} of the rows kept\nright {}\nrejected above an uncertainty of {}",
            percent(point.kept, 0),
            percent(point.accuracy, 2),
            decimal(point.uncertainty, 3)
        );
        let span = [left, point.kept, point.kept];
        left = point.kept;
        strip(span, &text)
    });
    element("div", "hits", strips)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_told_in_words_and_drawn() {
        let rows = (0..200).map(|i| (f64::from(i) / 200.0, i % 10 != 9 || i < 100)).collect();
        let html = body(&RejectionCurve::of(rows).unwrap());
        for part in ["100.0\u{a0}% on the most certain half", "95.0\u{a0}% on all", "rows kept", "<svg"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(body(&RejectionCurve { area: 0.0, curve: Vec::new() }).contains("No rows"));
    }
}
