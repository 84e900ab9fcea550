//! Drawing on axes.
//!
//! The shapes are SVG stretched to whatever room there is, with lines that keep their width; all text is HTML set over
//! it in shares of that room. So a plot fills a wide screen and a telephone alike, and its text keeps its size.

use super::axis::Axis;
use super::html::{Html, esc};

/// Units of the drawing in both directions.
const SIDE: f64 = 1000.0;
/// Points up to which each gets a dot.
const MOST_DOTS: usize = 40;
/// The least distance between two labels at the ends of lines, as a share of the height.
const LABEL_GAP: f64 = 0.11;

/// Numbers along the bottom for which there is room on a narrow page.
const MOST_NARROW_TICKS: usize = 6;

/// A line with a name.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: &'static str,
    /// Its class in the style sheet.
    pub(super) class: &'static str,
    pub(super) points: Vec<(f64, f64)>,
    /// The last value as text.
    pub(super) last: String,
}

/// Two axes and where the drawing is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) x: Axis,
    pub(super) y: Axis,
}

impl Frame {
    /// Begins a drawing with its horizontal grid lines; [`Frame::close`] ends it.
    pub(super) fn open(&self, style: &str, what: &str, html: &mut Html) {
        html.add(format_args!(
            "<div class=\"area\" style=\"{style}\">\n<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" \
             role=\"img\" aria-label=\"{}\">\n",
            esc(what)
        ));
        let mut lines = String::new();
        for tick in self.y.ticks() {
            lines.push_str(&format!("M0 {}H1000", number(self.down(tick))));
        }
        html.add(format_args!("<path class=\"grid\" d=\"{lines}\"/>\n"));
    }

    /// Ends the shapes; what follows is text.
    pub(super) fn end_shapes(html: &mut Html) {
        html.add(format_args!("</svg>\n"));
    }

    /// Ends the drawing.
    pub(super) fn close(html: &mut Html) {
        html.add(format_args!("</div>\n"));
    }

    /// Distance from the left.
    pub(super) fn across(&self, x: f64) -> f64 {
        SIDE * self.x.share(x)
    }

    /// Distance from the top.
    pub(super) fn down(&self, y: f64) -> f64 {
        SIDE * (1.0 - self.y.share(y))
    }

    /// A line through points, and dots on them where they are few.
    pub(super) fn line(&self, class: &str, points: &[(f64, f64)], html: &mut Html) {
        let mut path = String::new();
        for (i, &(x, y)) in points.iter().enumerate() {
            let step = if i == 0 { 'M' } else { 'L' };
            path.push_str(&format!("{step}{} {}", number(self.across(x)), number(self.down(y))));
        }
        if points.len() > 1 {
            html.add(format_args!("<path class=\"line {class}\" d=\"{path}\"/>\n"));
        }
        if points.len() <= MOST_DOTS {
            self.dots(class, points, html);
        }
    }

    /// Round dots: lines without length that have round ends.
    pub(super) fn dots(&self, class: &str, points: &[(f64, f64)], html: &mut Html) {
        if points.is_empty() {
            return;
        }
        let mut path = String::new();
        for &(x, y) in points {
            path.push_str(&format!("M{} {}h0", number(self.across(x)), number(self.down(y))));
        }
        html.add(format_args!("<path class=\"dots {class}\" d=\"{path}\"/>\n"));
    }

    /// The numbers along the left side.
    pub(super) fn y_labels(&self, text: impl Fn(f64) -> String, html: &mut Html) {
        for tick in self.y.ticks() {
            html.add(format_args!(
                "<span class=\"yt\" style=\"bottom:{}%\">{}</span>\n",
                number(100.0 * self.y.share(tick)),
                text(tick)
            ));
        }
    }

    /// The numbers along the bottom.
    pub(super) fn x_labels(&self, text: impl Fn(f64) -> String, html: &mut Html) {
        let ticks = self.x.ticks();
        for (i, &tick) in ticks.iter().enumerate() {
            // Where the page is narrow, every second number has to go.
            let between = if ticks.len() > MOST_NARROW_TICKS && i % 2 == 1 { " between" } else { "" };
            html.add(format_args!(
                "<span class=\"xt{between}\" style=\"left:{}%\">{}</span>\n",
                number(100.0 * self.x.share(tick)),
                text(tick)
            ));
        }
    }

    /// Names and last values beside the ends of the lines, pushed apart where they would touch.
    pub(super) fn end_labels(&self, series: &[Series], html: &mut Html) {
        let mut labels: Vec<(f64, &Series)> =
            series.iter().filter_map(|s| Some((self.y.share(s.points.last()?.1), s))).collect();
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut least = 0.0;
        for (height, _) in &mut labels {
            *height = height.max(least);
            least = *height + LABEL_GAP;
        }
        // What was pushed over the top goes down again, and takes with it what it meets.
        let mut most = 1.0;
        for (height, _) in labels.iter_mut().rev() {
            *height = height.min(most);
            most = *height - LABEL_GAP;
        }
        for (height, series) in labels {
            html.add(format_args!(
                "<span class=\"end {}\" style=\"bottom:{}%\"><b>{}</b> {}</span>\n",
                series.class,
                number(100.0 * height),
                series.last,
                series.name
            ));
        }
    }
}

/// The names and last values of the lines in one line, for narrow pages.
pub(super) fn key(series: &[Series], html: &mut Html) {
    html.add(format_args!("<p class=\"key\">"));
    for series in series.iter().filter(|s| !s.points.is_empty()) {
        html.add(format_args!(
            "<span class=\"{}\"><b>{}</b> {}</span>",
            series.class, series.last, series.name
        ));
    }
    html.add(format_args!("</p>\n"));
}

/// A number with one decimal, or none where it is 0.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), String::from)
}
