//! How a decision map looks, on a page and as a picture of its own.

use super::axis::Axis;
use super::decision_map::{Cell, DecisionMap};
use super::html::{clip, element, esc, paragraph};
use super::hues::{hex, hue};
use super::number::{count, significant, whole_percent};
use super::plot::{Plot, number};
use super::png;
use super::section::Section;

/// How opaque a color is where the model is sure.
const MOST_OPAQUE: f64 = 0.6;
/// Rows from which on dots are smaller.
const MANY_ROWS: usize = 400;
/// Classes that the legend names.
const MOST_NAMED: usize = 24;
/// Places a side whose predictions can be read off.
const READINGS: usize = 16;

/// Where the map is in a picture of its own, and entries of the legend in a line.
const LEFT: f64 = 54.0;
const TOP: f64 = 42.0;
const SIDE: f64 = 390.0;
const LEGEND_COLUMNS: usize = 4;

/// A part of the legend: how it is drawn, around the origin, what it is, and how many of it there are.
pub(super) struct Entry {
    symbol: String,
    text: String,
    count: usize,
}

/// What a picture of its own is made of.
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    /// The address of the colors.
    pub(super) picture: String,
    pub(super) plot: &'a Plot,
    pub(super) legend: Vec<Entry>,
}

impl Frame<'_> {
    /// The picture, on the axes of a map.
    pub(super) fn to_svg(&self, map: &DecisionMap) -> String {
        let place = |(i, entry): (usize, &Entry)| {
            let x = LEFT + 5.0 + 98.0 * (i % LEGEND_COLUMNS) as f64;
            let y = TOP + SIDE + 58.0 + 20.0 * (i / LEGEND_COLUMNS) as f64;
            let text = clip(&entry.text, 12);
            format!(
                "<g transform=\"translate({x} {y})\">{}<text x=\"11\" y=\"4\">{text}</text></g>\n",
                entry.symbol
            )
        };
        format!(
            include_str!("assets/map.svg"),
            title = esc(self.title),
            height = TOP + SIDE + 52.0 + 20.0 * self.legend.len().div_ceil(LEGEND_COLUMNS) as f64,
            picture = self.picture,
            marks = self.plot.shapes,
            ticks = ticks(self.plot),
            across = clip(&map.columns[0], 60),
            up = clip(&map.columns[1], 7),
            legend = self.legend.iter().enumerate().map(place).collect::<String>(),
        )
    }
}

impl DecisionMap {
    pub(super) fn section(&self) -> Section {
        Section::new("map", "Decision map", true, paragraph("lead", &self.lead()) + &self.body())
    }

    /// The map as a picture of its own: one SVG file that needs nothing else, light or dark as the viewer likes it.
    pub fn to_svg(&self, title: &str) -> String {
        let plot = self.plot();
        let mut legend = self.legend();
        let symbol = "<rect class=\"unsure\" x=\"-6\" y=\"-6\" width=\"12\" height=\"12\"/>".into();
        legend.push(Entry { symbol, text: "not sure".into(), count: 0 });
        let frame = Frame { title, picture: self.picture(), plot: &plot, legend };
        frame.to_svg(self)
    }

    fn lead(&self) -> String {
        let grey = "The color is that of the most probable class: strong where the model is certain, grey where it is not.";
        let mut sentences = vec![self.text.clone(), grey.into()];
        if self.rows.len() < self.n_rows {
            let [drawn, all] = [self.rows.len(), self.n_rows].map(|n| count(n as u64));
            sentences.push(format!("{drawn} of {all} rows are drawn."));
        }
        sentences.join(" ").trim_start().to_string()
    }

    fn body(&self) -> String {
        if self.cells.is_empty() {
            return paragraph("none", "No predictions were made.");
        }
        let mut plot = self.plot();
        let image = "<image class=\"cells\" width=\"1000\" height=\"1000\" preserveAspectRatio=\"none\"";
        plot.shapes.insert_str(0, &format!("{image} href=\"{}\"/>\n", self.picture()));
        let (x, y) = (plot.x, plot.y);
        plot.y_labels(|tick| tick_text(tick, &y));
        plot.x_labels(|tick| tick_text(tick, &x), &clip(&self.columns[0], 60));
        plot.texts += &self.readings();
        let heading = format!("<h3>{}</h3>\n", clip(&self.columns[1], 60));
        let panel = plot.panel(&heading, "aspect-ratio:1", "most probable class by place");
        element("div", "plane", [panel, self.legend_list()])
    }

    /// All rows as small dots of one color, to show where they are.
    pub(super) fn dots_alone(&self) -> Plot {
        let mut plot = Plot::new(Axis::between(self.span[0], 8), Axis::between(self.span[1], 8));
        plot.dots("lone", self.rows.iter().map(|(row, _)| (f64::from(row[0]), f64::from(row[1]))));
        plot
    }

    /// Rows as dots; active ones have a ring and are drawn above the others.
    fn plot(&self) -> Plot {
        let mut plot = Plot::new(Axis::between(self.span[0], 8), Axis::between(self.span[1], 8));
        let small = if self.rows.len() > MANY_ROWS { " small" } else { "" };
        let place = |row: [f32; 2]| (f64::from(row[0]), f64::from(row[1]));
        plot.dots(&format!("halo{small}"), self.rows.iter().map(|(row, _)| place(*row)));
        for class in 0..self.classes.len() {
            let own = self.rows.iter().filter(|(_, own)| own.index() == class);
            plot.colored_dots(&hex(class), &format!("row{small}"), own.map(|(row, _)| place(*row)));
        }
        for part in ["ring", "hole"] {
            plot.dots(part, self.active.iter().map(|(row, _)| place(*row)));
        }
        for class in 0..self.classes.len() {
            let own = self.active.iter().filter(|(_, own)| own.is_some_and(|own| own.index() == class));
            plot.colored_dots(&hex(class), "row", own.map(|(row, _)| place(*row)));
        }
        plot
    }

    /// The predictions as the address of a picture.
    fn picture(&self) -> String {
        let pixel = |cell: &Cell| {
            let [red, green, blue] = hue(cell.class.index());
            let alpha = 255.0 * MOST_OPAQUE * self.strength(*cell);
            [red, green, blue, alpha.round() as u8]
        };
        let pixels: Vec<[u8; 4]> = self.cells.iter().map(pixel).collect();
        png::data_uri([self.side, self.side], 4, pixels.as_flattened())
    }

    /// The classes, and the active rows if there are any.
    fn legend(&self) -> Vec<Entry> {
        let entry = |(class, name): (usize, &String)| {
            let symbol = format!("<path class=\"row\" stroke=\"{}\" d=\"M0 0h0\"/>", hex(class));
            let count = self.rows.iter().filter(|(_, own)| own.index() == class).count();
            Entry { symbol, text: name.clone(), count }
        };
        let mut entries: Vec<Entry> = self.classes.iter().enumerate().take(MOST_NAMED).map(entry).collect();
        if !self.active.is_empty() {
            let symbol = "<path class=\"ring\" d=\"M0 0h0\"/><path class=\"hole\" d=\"M0 0h0\"/>".into();
            entries.push(Entry { symbol, text: "active rows".into(), count: self.active.len() });
        }
        entries
    }

    fn legend_list(&self) -> String {
        let item = |Entry { symbol, text, count: n }: Entry| {
            let (text, n) = (clip(&text, 40), count(n as u64));
            format!(
                "<li><svg viewBox=\"-8 -8 16 16\">{symbol}</svg><span>{text}</span>\
                 <span class=\"value\">{n}</span></li>\n"
            )
        };
        let mut items: Vec<String> = self.legend().into_iter().map(item).collect();
        if self.classes.len() > MOST_NAMED {
            let more = count((self.classes.len() - MOST_NAMED) as u64);
            let item = format!("<li><svg viewBox=\"-8 -8 16 16\"></svg><span>and {more} more</span></li>\n");
            items.insert(MOST_NAMED, item);
        }
        if self.classes.len() > 1 {
            let [from, to] = [0, 1].map(|c| format!("{}{:02x}", hex(c), (255.0 * MOST_OPAQUE).round() as u8));
            items.push(format!(
                "<li class=\"certainty\"><i style=\"--from:{from};--to:{to}\"></i><span>certain</span>\
                 <span>uncertain</span><span>certain</span></li>\n"
            ));
        }
        element("ul", "legend", items)
    }

    /// Squares that, on being pointed at, tell the prediction in their middle.
    fn readings(&self) -> String {
        let square = |square: usize| {
            let [down, across] = [square / READINGS, square % READINGS];
            let middle = |i: usize| (2 * i + 1) * self.side / (2 * READINGS);
            let cell = self.cells.get(middle(down) * self.side + middle(across))?;
            let at = |[low, high]: [f64; 2], share: f64| significant(low + (high - low) * share);
            let share = |i: usize| (i as f64 + 0.5) / READINGS as f64;
            let (x, y) = (at(self.span[0], share(across)), at(self.span[1], 1.0 - share(down)));
            let name = clip(self.classes.get(cell.class.index()).map_or("", String::as_str), 40);
            let [first, second] = [0, 1].map(|d| clip(&self.columns[d], 40));
            let probability = esc(&whole_percent(f64::from(cell.probability)));
            Some(format!("<i title=\"{name} {probability}&#10;{first} {x}&#10;{second} {y}\"></i>\n"))
        };
        element("div", "squares", (0..READINGS * READINGS).filter_map(square))
    }
}

/// The numbers along both axes of a picture of its own.
fn ticks(plot: &Plot) -> String {
    let text = |x: f64, y: f64, anchor: &str, text: String| {
        let (x, y) = (number(x), number(y));
        format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>\n")
    };
    let below = plot.x.ticks().into_iter().map(|tick| {
        let x = LEFT + SIDE * plot.x.share(tick);
        text(x, TOP + SIDE + 16.0, "middle", tick_text(tick, &plot.x))
    });
    let beside = plot.y.ticks().into_iter().map(|tick| {
        let y = TOP + SIDE * (1.0 - plot.y.share(tick)) + 4.0;
        text(LEFT - 8.0, y, "end", tick_text(tick, &plot.y))
    });
    below.chain(beside).collect()
}

/// A tick in as many digits as tell it from its neighbors.
pub(super) fn tick_text(tick: f64, axis: &Axis) -> String {
    if tick != 0.0 && !(1e-4..1e5).contains(&tick.abs()) {
        return format!("{tick:.0e}").replace('-', "−");
    }
    format!("{tick:.0$}", axis.decimals(1.0)).replace('-', "−")
}
