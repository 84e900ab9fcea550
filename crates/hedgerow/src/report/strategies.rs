//! Query strategies compared: learning curves, mean ranks, and where labels were asked for.

use super::axis::Axis;
use super::html::{clip, concat, element, esc, paragraph};
use super::hues::hex;
use super::number::{decimal, percent, short};
use super::plot::{Plot, evenly, number};
use super::section::Section;

/// Points of a curve that are drawn at most.
const MOST_POINTS: usize = 300;
/// The least distance between two labels at the ends of curves, as a share of the height.
const LABEL_GAP: f64 = 0.055;
/// Queries whose numbers are drawn.
const MOST_NUMBERED: usize = 25;
/// Rows of a table that are drawn beside the queried ones.
const MOST_ROWS: usize = 2_000;

/// The learning curves of several strategies with one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StrategyCurves {
    /// The model.
    pub model: String,
    /// The strategies, with a name and points each.
    pub strategies: Vec<(String, Vec<StrategyPoint>)>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StrategyPoint {
    /// Labels.
    pub labels: u64,
    /// Mean accuracy.
    pub accuracy: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// Mean ranks of strategies with their critical difference (Demšar, 2006, Statistical comparisons of classifiers over multiple data sets).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankDiagram {
    /// What was ranked, in a sentence.
    pub text: String,
    /// The strategies with their mean ranks, 1 is best.
    pub strategies: Vec<(String, f64)>,
    /// The distance from which two differ.
    pub critical_difference: f64,
    /// Strategies that do not differ, as places in the list.
    pub groups: Vec<Vec<usize>>,
}

/// Where the labels of a strategy were asked for, on rows of two numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryMap {
    /// The strategy.
    pub strategy: String,
    /// What the two columns are called.
    pub columns: [String; 2],
    /// The rows, with the class of each.
    pub rows: Vec<([f64; 2], usize)>,
    /// Places among the rows in the order in which they were labelled.
    pub order: Vec<usize>,
    /// What the classes are called.
    pub classes: Vec<String>,
}

/// The curves, a panel for each model.
pub(super) fn curves(all: &[StrategyCurves]) -> Section {
    let lead = "Mean accuracy on test rows by the number of labels; the bands are one standard error over runs wide to each side.";
    let panels = concat(all, StrategyCurves::panel);
    let body = panels_of(&panels);
    Section::new("strategies", "Learning curves", true, paragraph("lead", lead) + &body)
}

/// Panels one above the other, without anything over the first.
fn panels_of(panels: &str) -> String {
    format!("<div class=\"panels\" style=\"--levels:0\">\n{panels}</div>\n")
}

impl StrategyCurves {
    fn panel(&self) -> String {
        let points = || self.strategies.iter().flat_map(|(_, points)| points);
        let x = Axis::from_zero(points().map(|p| p.labels as f64), 8);
        let ends = points().flat_map(|p| [p.accuracy - p.standard_error, p.accuracy + p.standard_error]);
        let y = Axis::around_shares(ends, 5);
        let mut plot = Plot::new(x, y);
        for (i, (_, points)) in self.strategies.iter().enumerate() {
            let points = evenly(points, MOST_POINTS);
            let at = |p: &StrategyPoint, side: f64| (p.labels as f64, p.accuracy + side * p.standard_error);
            let band = points.iter().map(|p| at(p, 1.0)).chain(points.iter().rev().map(|p| at(p, -1.0)));
            let (band, line) = (plot.outline(band), plot.outline(points.iter().map(|p| at(p, 0.0))));
            let color = hex(i);
            plot.shapes += &format!(
                "<g stroke=\"{color}\"><path style=\"fill:{color};stroke:none\" opacity=\".13\" d=\"{band}Z\"/>\
                 <path class=\"line\" d=\"{line}\"/></g>\n"
            );
        }
        let y = plot.y;
        plot.y_labels(|tick| percent(tick, y.decimals(100.0)));
        plot.x_labels(short, "labels");
        let mut labels: Vec<(f64, usize)> = (0..self.strategies.len())
            .filter_map(|i| Some((y.share(self.strategies[i].1.last()?.accuracy), i)))
            .collect();
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut least = 0.0;
        for (height, i) in labels {
            let height = f64::max(height, least);
            least = height + LABEL_GAP;
            let place = format!("bottom:{}%;color:{}", number(100.0 * height), hex(i));
            plot.text("end", &place, &self.label(i));
        }
        let key = concat(0..self.strategies.len(), |i| {
            format!("<span style=\"color:{}\">{}</span>", hex(i), self.label(i))
        });
        let heading = format!("<h3>{}</h3>\n<p class=\"key\">{key}</p>\n", esc(&self.model));
        plot.panel(&heading, "height:340px", "accuracy by labels")
    }

    /// The last value and the name of a strategy.
    fn label(&self, i: usize) -> String {
        let (name, points) = &self.strategies[i];
        let last = points.last().map_or(f64::NAN, |p| p.accuracy);
        format!("<b>{}</b> {}", percent(last, 1), clip(name, 24))
    }
}

impl RankDiagram {
    pub(super) fn section(&self) -> Section {
        let groups = "Mean ranks, 1 is best. Bars join strategies that Nemenyi's test does not tell apart.";
        let lead = format!("{} {groups}", self.text);
        Section::new("ranks", "Mean ranks", true, paragraph("lead", lead.trim_start()) + &self.body())
    }

    fn body(&self) -> String {
        let n = self.strategies.len();
        if n < 2 {
            return paragraph("none", "There is nothing to compare.");
        }
        let x = Axis::between([1.0, n as f64], n.min(10));
        let mut plot = Plot::new(x, Axis::between([0.0, 1.0], 1));
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| self.strategies[a].1.total_cmp(&self.strategies[b].1));
        // The axis, the critical difference above it, and bars below.
        let side = |rank: f64| 1000.0 * x.share(rank);
        let reach = side(1.0 + self.critical_difference.min(n as f64 - 1.0));
        plot.shape("line c", &format!("M0 60V40H{0}V60M0 150H1000", number(reach)));
        for tick in x.ticks() {
            let at = number(side(tick));
            plot.shape("line c", &format!("M{at} 130V150"));
            plot.text(
                "over",
                &format!("left:{}%;top:calc(13% - 18px)", number(100.0 * x.share(tick))),
                &short(tick),
            );
        }
        let width = format!("critical difference {}", decimal(self.critical_difference, 2));
        plot.text("upper", "top:-14px;left:0", &width);
        let below = 190.0 + 40.0 * self.groups.len() as f64;
        let step = (1000.0 - below) / n.div_ceil(2) as f64;
        for (place, &i) in order.iter().enumerate() {
            let (name, rank) = &self.strategies[i];
            let is_left = place < n.div_ceil(2);
            // The best and the worst are outermost and highest, so that no two lines cross.
            let level = if is_left { place } else { n - 1 - place };
            let y = below + step * (level as f64 + 0.6);
            let end = if is_left { 0 } else { 1000 };
            let path = format!("M{} 150V{}H{end}", number(side(*rank)), number(y));
            plot.shapes += &format!("<path stroke=\"{}\" class=\"line\" d=\"{path}\"/>\n", hex(i));
            let text = format!("<b>{}</b> {}", decimal(*rank, 2), clip(name, 24));
            let edge = if is_left { "left:2px" } else { "right:2px" };
            let place = format!("{edge};bottom:{}%;color:{}", number(100.0 - y / 10.0), hex(i));
            plot.text("stem", &place, &text);
        }
        for (level, group) in self.groups.iter().enumerate() {
            let ranks = group.iter().map(|&i| self.strategies[i].1);
            let [low, high] = super::axis::ends(ranks);
            let y = number(190.0 + 40.0 * level as f64);
            let bar = format!("M{} {y}H{}", number(side(low) - 8.0), number(side(high) + 8.0));
            plot.shapes += &format!(
                "<path style=\"stroke-width:5\" class=\"line\" stroke=\"currentColor\" d=\"{bar}\"/>\n"
            );
        }
        let height = 90 + 26 * n.div_ceil(2) + 12 * self.groups.len();
        let panel = plot.panel("", &format!("height:{height}px"), "mean ranks");
        panels_of(&panel)
    }
}

impl QueryMap {
    pub(super) fn section(&self, place: usize) -> Section {
        let lead = format!(
            "Rows that {} had labelled in the first run: {} of them, numbers tell the order of the first {}.",
            self.strategy,
            self.order.len(),
            self.order.len().min(MOST_NUMBERED)
        );
        let title = format!("Order of queries: {}", self.strategy);
        Section::new(&format!("order-{place}"), &title, false, paragraph("lead", &lead) + &self.body())
    }

    fn body(&self) -> String {
        let span = |column: usize| {
            let [low, high] = super::axis::ends(self.rows.iter().map(|(row, _)| row[column]));
            let margin = 0.04 * (high - low);
            Axis::between([low - margin, high + margin], 6)
        };
        let mut plot = Plot::new(span(0), span(1));
        let at = |place: usize| (self.rows[place].0[0], self.rows[place].0[1]);
        let rows = evenly(&(0..self.rows.len()).collect::<Vec<_>>(), MOST_ROWS);
        for class in 0..self.classes.len() {
            let own = rows.iter().filter(|&&place| self.rows[place].1 == class);
            plot.shapes += "<g opacity=\".25\">";
            plot.colored_dots(&hex(class), "row small", own.map(|&place| at(place)));
            plot.shapes += "</g>\n";
        }
        let order: Vec<usize> = self.order.iter().copied().filter(|place| *place < self.rows.len()).collect();
        plot.dots("halo", order.iter().map(|&place| at(place)));
        for class in 0..self.classes.len() {
            let own = order.iter().filter(|&&place| self.rows[place].1 == class);
            plot.colored_dots(&hex(class), "row", own.map(|&place| at(place)));
        }
        for (i, &place) in order.iter().take(MOST_NUMBERED).enumerate() {
            let (x, y) = at(place);
            let [left, bottom] = [plot.x.share(x), plot.y.share(y)].map(|share| number(100.0 * share));
            plot.text("nth", &format!("left:{left}%;bottom:{bottom}%"), &(i + 1).to_string());
        }
        let (x, y) = (plot.x, plot.y);
        let text = |tick: f64, axis: &Axis| format!("{tick:.*}", axis.decimals(1.0));
        plot.y_labels(|tick| text(tick, &y));
        plot.x_labels(|tick| text(tick, &x), &clip(&self.columns[0], 60));
        let heading = format!("<h3>{}</h3>\n", clip(&self.columns[1], 60));
        element("div", "plane", [plot.panel(&heading, "aspect-ratio:1", "queried rows by place")])
    }
}
