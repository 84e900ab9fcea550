//! How the model got better, and what happened on the way.

use super::axis::Axis;
use super::block::Block;
use super::html::{Html, esc};
use super::marks::{self, Mark};
use super::number::{decimal, percent, rows, short};
use super::plot::{Frame, Series, key, number};

/// The most points that are drawn; of more, evenly spaced ones.
const MOST_POINTS: usize = 600;
/// The most points that can be read off.
const MOST_READINGS: usize = 120;

/// How the model got better with the rows it saw.
#[derive(Debug, Clone, Default)]
pub struct LearningCurve {
    /// How it was measured, in a sentence.
    pub text: String,
    /// The points, by rows seen.
    pub points: Vec<CurvePoint>,
    /// What happened on the way.
    pub marks: Vec<Mark>,
}

/// What was known after some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CurvePoint {
    /// Rows learnt so far.
    pub rows_seen: u64,
    /// Accuracy over the last rows, each predicted before its label was learnt; `NaN` where it is not known.
    pub accuracy: f64,
    /// Log-loss over the same rows.
    pub log_loss: Option<f64>,
    /// Accuracy at this point on rows that are never learnt.
    pub test_accuracy: Option<f64>,
    /// Rows learnt in a second.
    pub rows_per_second: Option<f64>,
}

/// A plot among those that share an axis.
struct Panel {
    title: &'static str,
    height: u32,
    y: Axis,
    tick: fn(f64, &Axis) -> String,
    series: Vec<Series>,
}

impl LearningCurve {
    pub(super) fn block(&self) -> Block {
        let mut block = Block::wide("curve", "Learning curve");
        block.body.paragraph("lead", &self.text);
        if self.points.is_empty() {
            block.body.paragraph("none", "No points were measured.");
            return block;
        }
        let marks = marks::sorted(&self.marks);
        let points = thin(&self.points, MOST_POINTS);
        let ends = points.iter().map(|p| p.rows_seen).chain(marks.iter().map(|m| m.rows_seen));
        let x = Axis::from_zero(ends.map(|n| n as f64), 8);
        let panels = panels(&points);
        if panels.is_empty() {
            block.body.paragraph("none", "No figure is known for any point.");
            return block;
        }
        let levels = marks::levels(&marks, &x).iter().max().map_or(0, |most| most + 1);
        let html = &mut block.body;
        html.add(format_args!("<div class=\"panels\" style=\"--levels:{levels}\">\n"));
        for (i, panel) in panels.iter().enumerate() {
            panel.write(x, &marks, [i == 0, i + 1 == panels.len()], html);
        }
        write_readings(&thin(&points, MOST_READINGS), &x, html);
        html.add(format_args!("</div>\n"));
        marks::write_list(&marks, html);
        block
    }
}

impl Panel {
    fn write(&self, x: Axis, marks: &[&Mark], [is_first, is_last]: [bool; 2], html: &mut Html) {
        let frame = Frame { x, y: self.y };
        let last = if is_last { " last" } else { "" };
        html.add(format_args!("<div class=\"panel{last}\">\n<h3>{}</h3>\n", self.title));
        key(&self.series, html);
        frame.open(&format!("height:{}px", self.height), self.title, html);
        marks::write_lines(marks, &x, html);
        for series in self.series.iter().rev() {
            frame.line(series.class, &series.points, html);
        }
        Frame::end_shapes(html);
        frame.y_labels(|tick| (self.tick)(tick, &self.y), html);
        frame.end_labels(&self.series, html);
        if is_first {
            marks::write_numbers(marks, &x, html);
        }
        if is_last {
            frame.x_labels(short, html);
            html.add(format_args!("<span class=\"xname\">rows seen</span>\n"));
        }
        Frame::close(html);
        html.add(format_args!("</div>\n"));
    }
}

/// The panels for which there are numbers.
fn panels(points: &[CurvePoint]) -> Vec<Panel> {
    let series = |name, class, value: fn(&CurvePoint) -> Option<f64>, text: fn(f64) -> String| {
        let known = |p: &CurvePoint| Some((p.rows_seen as f64, value(p).filter(|v| v.is_finite())?));
        let points: Vec<_> = points.iter().filter_map(known).collect();
        let last = points.last().map_or(String::new(), |p| text(p.1));
        Series { name, class, points, last }
    };
    let values = |series: &[Series]| -> Vec<f64> {
        series.iter().flat_map(|s| s.points.iter().map(|p| p.1)).collect()
    };
    let mut panels = Vec::new();
    let accuracy = vec![
        series("prequential", "a", |p| Some(p.accuracy), |v| percent(v, 1)),
        series("test rows", "b", |p| p.test_accuracy, |v| percent(v, 1)),
    ];
    let tick = |v: f64, y: &Axis| percent(v, y.decimals(100.0));
    let y = Axis::around_shares(values(&accuracy).into_iter(), 5);
    panels.push(Panel { title: "Accuracy", height: 260, y, tick, series: accuracy });

    let loss = vec![series("prequential", "a", |p| p.log_loss, |v| decimal(v, 3))];
    let tick = |v: f64, y: &Axis| decimal(v, y.decimals(1.0));
    let y = Axis::from_zero(values(&loss).into_iter(), 3).up_to_tick();
    panels.push(Panel { title: "Log-loss", height: 110, y, tick, series: loss });

    let speed = vec![series("rows/s", "c", |p| p.rows_per_second, short)];
    let y = Axis::from_zero(values(&speed).into_iter(), 3).up_to_tick();
    panels.push(Panel { title: "Speed", height: 110, y, tick: |v, _| short(v), series: speed });
    panels.retain(|panel| panel.series.iter().any(|s| !s.points.is_empty()));
    panels
}

/// Strips over all panels that show a line and, on being pointed at, the numbers.
fn write_readings(points: &[CurvePoint], x: &Axis, html: &mut Html) {
    let at: Vec<f64> = points.iter().map(|p| 100.0 * x.share(p.rows_seen as f64)).collect();
    html.add(format_args!("<div class=\"hits\">\n"));
    for (i, point) in points.iter().enumerate() {
        let left = if i == 0 { 0.0 } else { (at[i - 1] + at[i]) / 2.0 };
        let right = at.get(i + 1).map_or(100.0, |next| (at[i] + next) / 2.0);
        let width = (right - left).max(0.0);
        let center = if width > 0.0 { 100.0 * (at[i] - left) / width } else { 0.0 };
        html.add(format_args!(
            "<i style=\"left:{left:.2}%;width:{width:.2}%;--at:{}%\" title=\"{}\"></i>\n",
            number(center),
            esc(&reading(point))
        ));
    }
    html.add(format_args!("</div>\n"));
}

/// A point in words.
fn reading(point: &CurvePoint) -> String {
    let mut lines = vec![format!("{} seen", rows(point.rows_seen))];
    lines.push(format!("prequential {}", percent(point.accuracy, 2)));
    lines.extend(point.test_accuracy.map(|v| format!("test rows {}", percent(v, 2))));
    lines.extend(point.log_loss.map(|v| format!("log-loss {}", decimal(v, 4))));
    lines.extend(point.rows_per_second.map(|v| format!("{} rows/s", short(v))));
    lines.join("\n")
}

/// At most so many points, evenly spaced, with the first and the last.
fn thin(points: &[CurvePoint], most: usize) -> Vec<CurvePoint> {
    let mut sorted = points.to_vec();
    sorted.sort_by_key(|p| p.rows_seen);
    if sorted.len() <= most {
        return sorted;
    }
    (0..most).map(|i| sorted[i * (sorted.len() - 1) / (most - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_the_order() {
        let points: Vec<_> =
            (0..5000).rev().map(|i| CurvePoint { rows_seen: i, ..CurvePoint::default() }).collect();
        let thinned = thin(&points, MOST_POINTS);
        assert_eq!(thinned.len(), MOST_POINTS);
        assert_eq!((thinned[0].rows_seen, thinned[MOST_POINTS - 1].rows_seen), (0, 4999));
        assert!(thinned.is_sorted_by_key(|p| p.rows_seen));
    }

    #[test]
    fn figures_that_no_point_has_get_no_panel() {
        let mut point = CurvePoint { rows_seen: 5, accuracy: 0.5, ..CurvePoint::default() };
        assert_eq!(panels(&[point]).iter().map(|p| p.title).collect::<Vec<_>>(), ["Accuracy"]);
        point.accuracy = f64::NAN;
        point.log_loss = Some(0.3);
        assert_eq!(panels(&[point]).iter().map(|p| p.title).collect::<Vec<_>>(), ["Log-loss"]);
    }
}
