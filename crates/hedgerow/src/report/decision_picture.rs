//! A decision map as a picture of its own.

use super::decision_map::DecisionMap;
use super::decision_view::{MOST_NAMED, tick_text};
use super::html::{Html, esc};
use super::hues::hex;
use super::number::clip;
use super::plot::{Frame, number};

/// Sides of a picture of its own, and where the map is in it.
const WIDTH: f64 = 460.0;
const LEFT: f64 = 54.0;
const TOP: f64 = 42.0;
const SIDE: f64 = 390.0;

const STYLE: &str = "\
text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;fill:#58636c}\
.title{font-size:15px;font-weight:600;fill:#1a2025}.page{fill:#fff}.unsure{fill:#d3d8dc}\
path{fill:none;stroke-linecap:round;vector-effect:non-scaling-stroke}\
.row{stroke-width:6}.halo{stroke:#fff;stroke-width:8}.row.small{stroke-width:4}.halo.small{stroke-width:5.5}\
.ring{stroke:#1a2025;stroke-width:14}.hole{stroke:#fff;stroke-width:10.5}\
@media (prefers-color-scheme:dark){text{fill:#a2acb4}.title{fill:#e7eaec}.page{fill:#121518}.unsure{fill:#3a4249}\
.halo,.hole{stroke:#121518}.ring{stroke:#e7eaec}}";

const ACTIVE: &str = "<path class=\"ring\" d=\"M5 -4h0\"/><path class=\"hole\" d=\"M5 -4h0\"/>\
    <text x=\"16\">active rows</text>";
const NOT_SURE: &str = "<rect class=\"unsure\" x=\"-1\" y=\"-10\" width=\"12\" height=\"12\"/>\
    <text x=\"16\">not sure</text>";

impl DecisionMap {
    /// The map as a picture of its own: one SVG file that needs nothing else, light or dark as the viewer likes it.
    pub fn to_svg(&self, title: &str) -> String {
        let frame = self.frame();
        let lines = self.legend_lines();
        let height = TOP + SIDE + 52.0 + 20.0 * lines.len() as f64;
        let mut svg = Html::default();
        svg.add(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{0}\">\n<style>{STYLE}</style>\n\
             <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
             <text class=\"title\" x=\"{LEFT}\" y=\"26\">{0}</text>\n",
            esc(title)
        ));
        svg.add(format_args!(
            "<svg x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\" viewBox=\"0 0 1000 1000\">\n"
        ));
        svg.add(format_args!(
            "<rect class=\"unsure\" width=\"1000\" height=\"1000\"/>\n\
             <image width=\"1000\" height=\"1000\" preserveAspectRatio=\"none\" href=\"{}\"/>\n",
            self.picture()
        ));
        self.write_marks(&frame, &mut svg);
        svg.add(format_args!("</svg>\n"));
        self.write_svg_ticks(&frame, &mut svg);
        for (i, line) in lines.iter().enumerate() {
            let y = number(TOP + SIDE + 62.0 + 20.0 * i as f64);
            svg.add(format_args!("<g transform=\"translate({LEFT} {y})\">{line}</g>\n"));
        }
        svg.add(format_args!("</svg>\n"));
        svg.into_string()
    }

    fn write_svg_ticks(&self, frame: &Frame, svg: &mut Html) {
        let bottom = TOP + SIDE;
        for tick in frame.x.ticks() {
            let (x, text) = (number(LEFT + SIDE * frame.x.share(tick)), tick_text(tick, &frame.x));
            svg.add(format_args!(
                "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{text}</text>\n",
                bottom + 16.0
            ));
        }
        for tick in frame.y.ticks() {
            let (y, text) = (TOP + SIDE * (1.0 - frame.y.share(tick)) + 4.0, tick_text(tick, &frame.y));
            svg.add(format_args!(
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{text}</text>\n",
                LEFT - 8.0,
                number(y)
            ));
        }
        let [across, up] = &self.columns;
        svg.add(format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
            LEFT + SIDE,
            bottom + 32.0,
            esc(&clip(across, 60))
        ));
        svg.add(format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
            LEFT - 8.0,
            TOP - 8.0,
            esc(&clip(up, 7))
        ));
    }

    /// The legend, four entries a line.
    fn legend_lines(&self) -> Vec<String> {
        let mut entries: Vec<String> = Vec::new();
        for (class, name) in self.classes.iter().enumerate().take(MOST_NAMED) {
            entries.push(format!(
                "<path class=\"row\" stroke=\"{}\" d=\"M5 -4h0\"/><text x=\"16\">{}</text>",
                hex(class),
                esc(&clip(name, 12))
            ));
        }
        if !self.active.is_empty() {
            entries.push(ACTIVE.into());
        }
        entries.push(NOT_SURE.into());
        let line = |entries: &[String]| -> String {
            let place = |(i, entry): (usize, &String)| {
                format!("<g transform=\"translate({} 0)\">{entry}</g>", 98 * i)
            };
            entries.iter().enumerate().map(place).collect()
        };
        entries.chunks(4).map(line).collect()
    }
}
