//! How the model got better, and what happened on the way.

use super::axis::Axis;
use super::html::{concat, element, paragraph};
use super::marks::{self, Mark};
use super::number::{decimal, percent, rows, short};
use super::plot::{Plot, Series, evenly, strip};
use super::section::Section;

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
    /// Expected calibration error over the same rows.
    pub ece: Option<f64>,
    /// Of a regression, the root of the mean squared error over the same rows.
    pub rmse: Option<f64>,
    /// Of a regression, the negative log predictive density over the same rows.
    pub nlpd: Option<f64>,
    /// The share of the same rows whose class was in its prediction set, and the classes in a set.
    pub sets: Option<[f64; 2]>,
    /// The weights in predictions of the memory of all rows, of long and of short memories of the newest ones.
    pub memory_weights: Option<[f64; 3]>,
    /// Accuracy at this point on rows that are never learnt.
    pub test_accuracy: Option<f64>,
    /// Of a regression, the root of the mean squared error on these.
    pub test_rmse: Option<f64>,
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
    pub(super) fn section(&self) -> Section {
        Section::new("curve", "Learning curve", true, paragraph("lead", &self.text) + &self.body())
    }

    fn body(&self) -> String {
        if self.points.is_empty() {
            return paragraph("none", "No points were measured.");
        }
        let points = sorted(&self.points, MOST_POINTS);
        let panels = panels(&points);
        if panels.is_empty() {
            return paragraph("none", "No figure is known for any point.");
        }
        let marks = marks::sorted(&self.marks);
        let ends = points.iter().map(|p| p.rows_seen).chain(marks.iter().map(|m| m.rows_seen));
        let x = Axis::from_zero(ends.map(|n| n as f64), 8);
        let levels = marks::levels(&marks, &x).iter().max().map_or(0, |most| most + 1);
        let drawn: String = (1..=panels.len())
            .map(|n| panels[n - 1].to_html(x, &marks, [n == 1, n == panels.len()]))
            .collect();
        let readings = readings(&evenly(&points, MOST_READINGS), &x);
        format!("<div class=\"panels\" style=\"--levels:{levels}\">\n{drawn}{readings}</div>\n")
            + &marks::list(&marks)
    }
}

impl Panel {
    fn to_html(&self, x: Axis, marks: &[&Mark], [is_first, is_last]: [bool; 2]) -> String {
        let mut plot = Plot::new(x, self.y);
        marks::draw_lines(marks, &mut plot);
        for series in self.series.iter().rev() {
            plot.line(series.class, &series.points);
        }
        plot.y_labels(|tick| (self.tick)(tick, &self.y));
        plot.end_labels(&self.series);
        if is_first {
            marks::draw_numbers(marks, &mut plot);
        }
        if is_last {
            plot.x_labels(short, "rows seen");
        }
        // The names and last values of the lines in one line, for narrow pages.
        let known = self.series.iter().filter(|s| !s.points.is_empty());
        let key = concat(known, |s| format!("<span class=\"{}\">{}</span>", s.class, s.label()));
        let heading = format!("<h3>{}</h3>\n<p class=\"key\">{key}</p>\n", self.title);
        plot.panel(&heading, &format!("height:{}px", self.height), self.title)
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
    let accuracy = vec![
        series("prequential", "a", |p| Some(p.accuracy), |v| percent(v, 1)),
        series("test rows", "b", |p| p.test_accuracy, |v| percent(v, 1)),
    ];
    let rmse =
        vec![series("prequential", "a", |p| p.rmse, short), series("test rows", "b", |p| p.test_rmse, short)];
    let nlpd = vec![series("prequential", "a", |p| p.nlpd, |v| decimal(v, 3))];
    let loss = vec![series("prequential", "a", |p| p.log_loss, |v| decimal(v, 3))];
    let ece = vec![series("prequential", "a", |p| p.ece, |v| decimal(v, 3))];
    let coverage = vec![series("in their sets", "a", |p| Some(p.sets?[0]), |v| percent(v, 1))];
    let set_size = vec![series("classes a row", "b", |p| Some(p.sets?[1]), |v| decimal(v, 2))];
    let share = |v| percent(v, 0);
    let weights = vec![
        series("all rows", "a", |p| Some(p.memory_weights?[0]), share),
        series("300 to 1,000 rows", "b", |p| Some(p.memory_weights?[1]), share),
        series("20 to 100 rows", "c", |p| Some(p.memory_weights?[2]), share),
    ];
    let speed = vec![series("rows/s", "c", |p| p.rows_per_second, short)];
    let small = |title, tick, series: Vec<Series>| {
        let y = Axis::from_zero(values(&series), 3).up_to_tick();
        Panel { title, height: 110, y, tick, series }
    };
    let mut panels = vec![
        Panel {
            title: "Accuracy",
            height: 260,
            y: Axis::around_shares(values(&accuracy), 5),
            tick: |v, y| percent(v, y.decimals(100.0)),
            series: accuracy,
        },
        Panel { height: 260, ..small("RMSE", |v, _| short(v), rmse) },
        small("NLPD", |v, y| decimal(v, y.decimals(1.0)), nlpd),
        small("Log-loss", |v, y| decimal(v, y.decimals(1.0)), loss),
        small("Calibration error (ECE)", |v, y| decimal(v, y.decimals(1.0)), ece),
        Panel {
            height: 110,
            y: Axis::around_shares(values(&coverage), 3),
            ..small(
                "Rows whose class is in its prediction set of 90 %",
                |v, y| percent(v, y.decimals(100.0)),
                coverage,
            )
        },
        small("Size of these sets", |v, y| decimal(v, y.decimals(1.0)), set_size),
        small("Weights of memories", |v, y| percent(v, y.decimals(100.0)), weights),
        small("Speed", |v, _| short(v), speed),
    ];
    panels.retain(|panel| panel.series.iter().any(|s| !s.points.is_empty()));
    panels
}

fn values(series: &[Series]) -> impl Iterator<Item = f64> {
    series.iter().flat_map(|s| s.points.iter().map(|p| p.1))
}

/// Strips over all panels that show a line and, on being pointed at, the numbers.
fn readings(points: &[CurvePoint], x: &Axis) -> String {
    let at = |i: usize| points.get(i).map(|p| x.share(p.rows_seen as f64));
    let strip_of = |(i, point): (usize, &CurvePoint)| {
        let here = x.share(point.rows_seen as f64);
        let left = i.checked_sub(1).and_then(at).map_or(0.0, |before| (before + here) / 2.0);
        let right = at(i + 1).map_or(1.0, |after| (here + after) / 2.0);
        strip([left, here, right], &reading(point))
    };
    element("div", "hits", points.iter().enumerate().map(strip_of))
}

/// A point in words.
fn reading(point: &CurvePoint) -> String {
    let mut lines = vec![format!("{} seen", rows(point.rows_seen))];
    lines.extend(point.accuracy.is_finite().then(|| format!("prequential {}", percent(point.accuracy, 2))));
    lines.extend(point.test_accuracy.map(|v| format!("test rows {}", percent(v, 2))));
    lines.extend(point.rmse.map(|v| format!("RMSE {}", short(v))));
    lines.extend(point.test_rmse.map(|v| format!("RMSE of test rows {}", short(v))));
    lines.extend(point.nlpd.map(|v| format!("NLPD {}", decimal(v, 4))));
    lines.extend(point.log_loss.map(|v| format!("log-loss {}", decimal(v, 4))));
    lines.extend(point.ece.map(|v| format!("ECE {}", decimal(v, 4))));
    lines.extend(point.sets.map(|[coverage, size]| {
        format!("in their sets of 90 % {}, {} classes a row", percent(coverage, 1), decimal(size, 2))
    }));
    lines.extend(point.memory_weights.map(|[all, long, short]| {
        format!(
            "memories: all rows {}, 300 to 1,000 rows {}, 20 to 100 rows {}",
            percent(all, 0),
            percent(long, 0),
            percent(short, 0)
        )
    }));
    lines.extend(point.rows_per_second.map(|v| format!("{} rows/s", short(v))));
    lines.join("\n")
}

/// At most so many points in the order of the rows.
fn sorted(points: &[CurvePoint], most: usize) -> Vec<CurvePoint> {
    let mut sorted = points.to_vec();
    sorted.sort_by_key(|p| p.rows_seen);
    evenly(&sorted, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_the_order() {
        let points: Vec<_> =
            (0..5000).rev().map(|i| CurvePoint { rows_seen: i, ..CurvePoint::default() }).collect();
        let thinned = sorted(&points, MOST_POINTS);
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
