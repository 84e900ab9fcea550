//! Which columns matter, as bars or, where rows are images, as a picture.

use hedgerow_core::Schema;

use super::bars;
use super::html::{element, paragraph};
use super::number::{count, significant};
use super::picture::thinned;
use super::section::Section;

/// The most columns that get a bar.
const MOST_BARS: usize = 20;
/// The same beside a picture.
const MOST_BESIDE_PICTURE: usize = 10;
/// Steps of color in the picture.
const LEVELS: usize = 16;

/// How much each column matters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Importances {
    /// What the numbers are: `Accuracy lost when a column is shuffled.`
    pub meaning: String,
    /// Name and importance of every column, in the order of the columns.
    pub values: Vec<(String, f64)>,
    /// Height and width where each row is an image.
    pub image: Option<[usize; 2]>,
}

impl Importances {
    /// The importances of a schema's columns.
    pub fn new(meaning: impl Into<String>, schema: &Schema, values: &[f64]) -> Self {
        let values = schema.columns.iter().zip(values).map(|(c, &v)| (c.name.clone(), v)).collect();
        Self { meaning: meaning.into(), values, image: schema.image }
    }

    pub(super) fn section(&self) -> Section {
        let body = paragraph("lead", &self.meaning) + &self.body();
        Section::new("importances", "Importances", false, body)
    }

    fn body(&self) -> String {
        let mut order: Vec<usize> =
            (0..self.values.len()).filter(|&i| self.values[i].1.is_finite()).collect();
        order.sort_by(|&a, &b| self.values[b].1.total_cmp(&self.values[a].1).then(a.cmp(&b)));
        let Some(&first) = order.first() else {
            return paragraph("none", "No column has a known importance.");
        };
        let largest = self.values[first].1;
        let image = self.image.filter(|[h, w]| h.checked_mul(*w) == Some(self.values.len()));
        order.truncate(if image.is_some() { MOST_BESIDE_PICTURE } else { MOST_BARS });
        let bar = |&column: &usize| {
            let (name, value) = &self.values[column];
            let pixel = image.map_or(String::new(), |[_, width]| {
                format!(" · {}, {}", column / width + 1, column % width + 1)
            });
            bars::item("", &format!("{name}{pixel}"), value / largest.max(0.0), &[significant(*value)])
        };
        let mut bars = element("ul", "bars", order.iter().map(bar));
        if self.values.len() > order.len() {
            let pixels = if image.is_some() { "; after each name, its row and column" } else { "" };
            let (shown, all) = (order.len(), count(self.values.len() as u64));
            bars += &paragraph("none", &format!("the first {shown} of {all} columns{pixels}"));
        }
        let bars = format!("<div>\n{bars}</div>\n");
        match image {
            Some(image) => element("div", "heat", [self.picture(image, largest), bars]),
            None => bars,
        }
    }

    /// One path for each step of color, equal neighbors in a row joined.
    fn picture(&self, size: [usize; 2], largest: f64) -> String {
        let [height, width] = thinned(size);
        let level = |row: usize, column: usize| {
            let (row, column) = (row * size[0] / height, column * size[1] / width);
            let value = self.values[row * size[1] + column].1;
            let share = if largest > 0.0 { (value / largest).clamp(0.0, 1.0) } else { 0.0 };
            (LEVELS as f64 * share).round() as usize
        };
        let mut paths = vec![String::new(); LEVELS + 1];
        for row in 0..height {
            let levels: Vec<usize> = (0..width).map(|column| level(row, column)).collect();
            let mut start = 0;
            for equal in levels.chunk_by(|a, b| a == b) {
                paths[equal[0]] += &format!("M{start} {row}h{0}v1h-{0}z", equal.len());
                start += equal.len();
            }
        }
        let draw = |(level, path): (usize, &String)| {
            format!("<path fill-opacity=\"{:.2}\" d=\"{path}\"/>\n", level as f64 / LEVELS as f64)
        };
        let drawn = paths.iter().enumerate().skip(1).filter(|(_, path)| !path.is_empty());
        let paths: String = drawn.map(draw).collect();
        format!(
            "<div class=\"map\"><svg viewBox=\"0 0 {width} {height}\" shape-rendering=\"crispEdges\" role=\"img\" \
             aria-label=\"importance of every pixel\">\n{paths}</svg>\n\
             <p class=\"scale\"><span>0</span><i class=\"ramp\"></i><span>{}</span></p></div>\n",
            significant(largest)
        )
    }
}
