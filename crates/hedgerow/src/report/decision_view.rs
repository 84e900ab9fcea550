//! How a decision map looks on a page.

use super::axis::Axis;
use super::block::Block;
use super::decision_map::{Cell, DecisionMap};
use super::html::{Html, esc};
use super::hues::{hex, hue};
use super::number::{clip, count, significant, whole_percent};
use super::plot::Frame;
use super::png;

/// How opaque a color is where the model is sure.
const MOST_OPAQUE: f64 = 0.6;
/// Rows from which on dots are smaller.
const MANY_ROWS: usize = 400;
/// Classes that the legend names.
pub(super) const MOST_NAMED: usize = 24;
/// Places a side whose predictions can be read off.
const READINGS: usize = 16;

impl DecisionMap {
    pub(super) fn block(&self) -> Block {
        let mut block = Block::wide("map", "Decision map");
        block.body.paragraph("lead", &self.lead());
        if self.cells.is_empty() {
            block.body.paragraph("none", "No predictions were made.");
            return block;
        }
        let html = &mut block.body;
        html.add(format_args!("<div class=\"plane\">\n<div class=\"panel last\">\n"));
        html.add(format_args!("<h3>{}</h3>\n", esc(&clip(&self.columns[1], 60))));
        self.write_area(html);
        html.add(format_args!("</div>\n"));
        self.write_legend(html);
        html.add(format_args!("</div>\n"));
        block
    }

    fn lead(&self) -> String {
        let gap = if self.text.is_empty() { "" } else { " " };
        let drawn = match (self.rows.len(), self.n_rows) {
            (drawn, all) if drawn < all => {
                format!(" {} of {} rows are drawn.", count(drawn as u64), count(all as u64))
            }
            _ => String::new(),
        };
        let grey = "The color is that of the most probable class: strong where the model is certain, grey where it is not.";
        format!("{}{gap}{grey}{drawn}", self.text)
    }

    pub(super) fn frame(&self) -> Frame {
        Frame { x: Axis::between(self.span[0], 8), y: Axis::between(self.span[1], 8) }
    }

    fn write_area(&self, html: &mut Html) {
        let frame = self.frame();
        frame.open("aspect-ratio:1", "most probable class by place", html);
        html.add(format_args!(
            "<image class=\"cells\" width=\"1000\" height=\"1000\" preserveAspectRatio=\"none\" href=\"{}\"/>\n",
            self.picture()
        ));
        self.write_marks(&frame, html);
        Frame::end_shapes(html);
        frame.y_labels(|tick| tick_text(tick, &frame.y), html);
        frame.x_labels(|tick| tick_text(tick, &frame.x), html);
        html.add(format_args!("<span class=\"xname\">{}</span>\n", esc(&clip(&self.columns[0], 60))));
        self.write_readings(html);
        Frame::close(html);
    }

    /// Rows as dots; active ones have a ring and are drawn above the others.
    pub(super) fn write_marks(&self, frame: &Frame, html: &mut Html) {
        let small = if self.rows.len() > MANY_ROWS { " small" } else { "" };
        let all: Vec<(f64, f64)> = self.rows.iter().map(|(row, _)| place(*row)).collect();
        frame.dots(&format!("halo{small}"), &all, html);
        for class in 0..self.classes.len() {
            write_dots(frame, class, small, &self.rows_of(class).map(place).collect::<Vec<_>>(), html);
        }
        let rings: Vec<(f64, f64)> = self.active.iter().map(|(row, _)| place(*row)).collect();
        frame.dots("ring", &rings, html);
        frame.dots("hole", &rings, html);
        for class in 0..self.classes.len() {
            let own = self.active.iter().filter(|(_, own)| own.is_some_and(|own| own.index() == class));
            write_dots(frame, class, "", &own.map(|(row, _)| place(*row)).collect::<Vec<_>>(), html);
        }
    }

    fn rows_of(&self, class: usize) -> impl Iterator<Item = [f32; 2]> {
        self.rows.iter().filter(move |(_, own)| own.index() == class).map(|(row, _)| *row)
    }

    /// The predictions as the address of a picture.
    pub(super) fn picture(&self) -> String {
        let pixel = |cell: &Cell| {
            let [red, green, blue] = hue(cell.class.index());
            let alpha = 255.0 * MOST_OPAQUE * self.strength(*cell);
            [red, green, blue, alpha.round() as u8]
        };
        let pixels: Vec<[u8; 4]> = self.cells.iter().map(pixel).collect();
        png::color_data_uri(self.side, self.side, &pixels)
    }

    fn write_legend(&self, html: &mut Html) {
        html.add(format_args!("<ul class=\"legend\">\n"));
        for (class, name) in self.classes.iter().enumerate().take(MOST_NAMED) {
            let rows = count(self.rows_of(class).count() as u64);
            html.add(format_args!(
                "<li><svg viewBox=\"0 0 16 16\"><path stroke=\"{}\" d=\"M8 8h0\"/></svg>\
                 <span>{}</span><span class=\"value\">{rows}</span></li>\n",
                hex(class),
                esc(&clip(name, 40))
            ));
        }
        if self.classes.len() > MOST_NAMED {
            let more = count((self.classes.len() - MOST_NAMED) as u64);
            html.add(format_args!(
                "<li><svg viewBox=\"0 0 16 16\"></svg><span>and {more} more</span></li>\n"
            ));
        }
        if !self.active.is_empty() {
            html.add(format_args!(
                "<li><svg viewBox=\"0 0 16 16\"><path class=\"ring\" d=\"M8 8h0\"/><path class=\"hole\" \
                 d=\"M8 8h0\"/></svg><span>active rows</span><span class=\"value\">{}</span></li>\n",
                count(self.active.len() as u64)
            ));
        }
        let opaque = (255.0 * MOST_OPAQUE).round() as u8;
        let sure: Vec<String> =
            (0..self.classes.len().min(2)).map(|c| format!("{}{opaque:02x}", hex(c))).collect();
        if let [first, .., last] = sure.as_slice() {
            html.add(format_args!(
                "<li class=\"certainty\"><i style=\"--from:{first};--to:{last}\"></i><span>certain</span>\
                 <span>uncertain</span><span>certain</span></li>\n"
            ));
        }
        html.add(format_args!("</ul>\n"));
    }

    /// Squares that, on being pointed at, tell the prediction in their middle.
    fn write_readings(&self, html: &mut Html) {
        html.add(format_args!("<div class=\"squares\">\n"));
        for square in 0..READINGS * READINGS {
            let [down, across] = [square / READINGS, square % READINGS];
            let middle = |i: usize| (2 * i + 1) * self.side / (2 * READINGS);
            let Some(cell) = self.cells.get(middle(down) * self.side + middle(across)) else { continue };
            let at = |[low, high]: [f64; 2], share: f64| significant(low + (high - low) * share);
            let share = |i: usize| (i as f64 + 0.5) / READINGS as f64;
            let (x, y) = (at(self.span[0], share(across)), at(self.span[1], 1.0 - share(down)));
            let name = self.classes.get(cell.class.index()).map_or("", String::as_str);
            let probability = whole_percent(f64::from(cell.probability));
            let [first, second] = &self.columns;
            let text = format!(
                "{} {probability}\n{} {x}\n{} {y}",
                clip(name, 40),
                clip(first, 40),
                clip(second, 40)
            );
            html.add(format_args!("<i title=\"{}\"></i>\n", esc(&text)));
        }
        html.add(format_args!("</div>\n"));
    }
}

/// Dots in the color of a class.
fn write_dots(frame: &Frame, class: usize, size: &str, places: &[(f64, f64)], html: &mut Html) {
    if !places.is_empty() {
        html.add(format_args!("<g stroke=\"{}\">\n", hex(class)));
        frame.dots(&format!("row{size}"), places, html);
        html.add(format_args!("</g>\n"));
    }
}

fn place(row: [f32; 2]) -> (f64, f64) {
    (f64::from(row[0]), f64::from(row[1]))
}

/// A tick in as many digits as tell it from its neighbors.
pub(super) fn tick_text(tick: f64, axis: &Axis) -> String {
    if tick != 0.0 && !(1e-4..1e5).contains(&tick.abs()) {
        return format!("{tick:.0e}").replace('-', "−");
    }
    format!("{tick:.0$}", axis.decimals(1.0)).replace('-', "−")
}
