//! Which columns matter, as bars or, where rows are images, as a picture.

use hedgerow_core::Schema;

use super::bars::{self, Bar};
use super::block::Block;
use super::html::Html;
use super::number::{count, significant};
use super::picture::thinned;

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

    pub(super) fn block(&self) -> Block {
        let mut block = Block::new("importances", "Importances");
        block.body.paragraph("lead", &self.meaning);
        let image = self.image.filter(|[h, w]| h.checked_mul(*w) == Some(self.values.len()));
        let image = image.filter(|_| !self.values.is_empty());
        let mut order: Vec<usize> =
            (0..self.values.len()).filter(|&i| self.values[i].1.is_finite()).collect();
        order.sort_by(|&a, &b| self.values[b].1.total_cmp(&self.values[a].1).then(a.cmp(&b)));
        if order.is_empty() {
            block.body.paragraph("none", "No column has a known importance.");
            return block;
        }
        let largest = self.values[order[0]].1;
        order.truncate(if image.is_some() { MOST_BESIDE_PICTURE } else { MOST_BARS });
        if let Some(image) = image {
            block.body.add(format_args!("<div class=\"heat\">\n"));
            self.write_picture(image, largest, &mut block.body);
        }
        let bars: Vec<Bar> = order.iter().map(|&i| self.bar(i, image)).collect();
        block.body.add(format_args!("<div>\n"));
        bars::write(&bars, &mut block.body);
        if self.values.len() > bars.len() {
            let pixels = if image.is_some() { "; after each name, its row and column" } else { "" };
            let text =
                format!("the first {} of {} columns{pixels}", bars.len(), count(self.values.len() as u64));
            block.body.paragraph("none", &text);
        }
        block.body.add(format_args!("</div>\n{}", if image.is_some() { "</div>\n" } else { "" }));
        block
    }

    fn bar(&self, column: usize, image: Option<[usize; 2]>) -> Bar {
        let (name, value) = &self.values[column];
        let name = match image {
            Some([_, width]) => format!("{name} · {}, {}", column / width + 1, column % width + 1),
            None => name.clone(),
        };
        Bar { name, value: *value, text: significant(*value), note: None }
    }

    /// One path for each step of color, equal neighbors in a row joined.
    fn write_picture(&self, size: [usize; 2], largest: f64, html: &mut Html) {
        let [height, width] = thinned(size);
        let level = |row: usize, column: usize| {
            let (row, column) = (row * size[0] / height, column * size[1] / width);
            let value = self.values[row * size[1] + column].1;
            if largest > 0.0 {
                (LEVELS as f64 * (value / largest).clamp(0.0, 1.0)).round() as usize
            } else {
                0
            }
        };
        let mut paths = vec![String::new(); LEVELS + 1];
        for row in 0..height {
            let mut column = 0;
            while column < width {
                let (start, here) = (column, level(row, column));
                while column < width && level(row, column) == here {
                    column += 1;
                }
                paths[here].push_str(&format!("M{start} {row}h{0}v1h-{0}z", column - start));
            }
        }
        html.add(format_args!(
            "<div class=\"map\"><svg viewBox=\"0 0 {width} {height}\" shape-rendering=\"crispEdges\" role=\"img\" \
             aria-label=\"importance of every pixel\">\n"
        ));
        for (level, path) in paths.iter().enumerate().skip(1).filter(|(_, path)| !path.is_empty()) {
            let opacity = level as f64 / LEVELS as f64;
            html.add(format_args!("<path fill-opacity=\"{opacity:.2}\" d=\"{path}\"/>\n"));
        }
        html.add(format_args!(
            "</svg>\n<p class=\"scale\"><span>0</span><i class=\"ramp\"></i><span>{}</span></p></div>\n",
            significant(largest)
        ));
    }
}
