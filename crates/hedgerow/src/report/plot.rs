//! Drawing on axes.
//!
//! The shapes are SVG stretched to whatever room there is, with lines that keep their width; all text is HTML set over
//! it in shares of that room. So a plot fills a wide screen and a telephone alike, and its text keeps its size.

use super::axis::Axis;
use super::html::{concat, element, esc};

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

/// Two axes and what is drawn on them.
#[derive(Debug)]
pub(super) struct Plot {
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// The shapes so far, SVG.
    pub(super) shapes: String,
    /// The texts so far, HTML.
    pub(super) texts: String,
    /// Whether there are numbers along the bottom.
    has_x_labels: bool,
}

impl Plot {
    pub(super) fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, shapes: String::new(), texts: String::new(), has_x_labels: false }
    }

    /// Distance from the left, as text.
    pub(super) fn across(&self, x: f64) -> String {
        number(SIDE * self.x.share(x))
    }

    /// Distance from the top, as text.
    pub(super) fn down(&self, y: f64) -> String {
        number(SIDE * (1.0 - self.y.share(y)))
    }

    /// A path by its commands, in units of the drawing.
    pub(super) fn shape(&mut self, class: &str, path: &str) {
        self.shapes += &format!("<path class=\"{class}\" d=\"{path}\"/>\n");
    }

    /// Text at a place in shares of the drawing.
    pub(super) fn text(&mut self, class: &str, style: &str, text: &str) {
        self.texts += &format!("<span class=\"{class}\" style=\"{style}\">{text}</span>\n");
    }

    /// A line through points, and dots on them where they are few.
    pub(super) fn line(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.len() > 1 {
            self.shape(&format!("line {class}"), &self.outline(points.iter().copied()));
        }
        if points.len() <= MOST_DOTS {
            self.dots(class, points.iter().copied());
        }
    }

    /// The commands of a path through points.
    pub(super) fn outline(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let step = |(i, (x, y))| {
            let step = if i == 0 { 'M' } else { 'L' };
            format!("{step}{} {}", self.across(x), self.down(y))
        };
        points.enumerate().map(step).collect()
    }

    /// Round dots: lines without length that have round ends.
    pub(super) fn dots(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let path = concat(points, |(x, y)| format!("M{} {}h0", self.across(x), self.down(y)));
        if !path.is_empty() {
            self.shape(&format!("dots {class}"), &path);
        }
    }

    /// The same in a color.
    pub(super) fn colored_dots(
        &mut self,
        color: &str,
        class: &str,
        points: impl Iterator<Item = (f64, f64)>,
    ) {
        self.shapes += &format!("<g stroke=\"{color}\">\n");
        self.dots(class, points);
        self.shapes += "</g>\n";
    }

    /// The numbers along the left side.
    pub(super) fn y_labels(&mut self, text: impl Fn(f64) -> String) {
        for tick in self.y.ticks() {
            let place = format!("bottom:{}%", number(100.0 * self.y.share(tick)));
            self.text("yt", &place, &text(tick));
        }
    }

    /// The numbers along the bottom, and what they are.
    pub(super) fn x_labels(&mut self, text: impl Fn(f64) -> String, name: &str) {
        let ticks = self.x.ticks();
        for (i, &tick) in ticks.iter().enumerate() {
            // Where the page is narrow, every second number has to go.
            let is_between = ticks.len() > MOST_NARROW_TICKS && i % 2 == 1;
            let place = format!("left:{}%", number(100.0 * self.x.share(tick)));
            self.text(if is_between { "xt between" } else { "xt" }, &place, &text(tick));
        }
        self.text("xname", "", name);
        self.has_x_labels = true;
    }

    /// Names and last values beside the ends of the lines, pushed apart where they would touch.
    pub(super) fn end_labels(&mut self, series: &[Series]) {
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
        for (height, series) in labels.iter_mut().rev() {
            *height = height.min(most);
            most = *height - LABEL_GAP;
            let place = format!("bottom:{}%", number(100.0 * *height));
            self.text(&format!("end {}", series.class), &place, &series.label());
        }
    }

    /// The drawing with its horizontal grid lines under a heading; `style` gives its height.
    pub(super) fn panel(&self, heading: &str, style: &str, what: &str) -> String {
        let grid = concat(self.y.ticks(), |tick| format!("M0 {}H1000", self.down(tick)));
        let area = format!(
            "<div class=\"area\" style=\"{style}\">\n<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" \
             role=\"img\" aria-label=\"{}\">\n<path class=\"grid\" d=\"{grid}\"/>\n{}</svg>\n{}</div>\n",
            esc(what),
            self.shapes,
            self.texts
        );
        element("div", if self.has_x_labels { "panel last" } else { "panel" }, [heading.into(), area])
    }
}

impl Series {
    /// Its last value and its name.
    pub(super) fn label(&self) -> String {
        format!("<b>{}</b> {}", self.last, self.name)
    }
}

/// A strip over all panels that, on being pointed at, shows a text: from where to where and where its middle is, in shares of the width.
pub(super) fn strip([left, middle, right]: [f64; 3], text: &str) -> String {
    let width = (right - left).max(0.0);
    let at = if width > 0.0 { number(100.0 * (middle - left) / width) } else { "0".into() };
    let (left, width) = (100.0 * left, 100.0 * width);
    format!("<i style=\"left:{left:.2}%;width:{width:.2}%;--at:{at}%\" title=\"{}\"></i>\n", esc(text))
}

/// At most so many of the items, evenly spaced, with the first and the last.
pub(super) fn evenly<T: Copy>(items: &[T], most: usize) -> Vec<T> {
    if items.len() <= most {
        return items.to_vec();
    }
    (0..most).map(|i| items[i * (items.len() - 1) / (most - 1)]).collect()
}

/// A number with one decimal, or none where it is 0.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), String::from)
}
