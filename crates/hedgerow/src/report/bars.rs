//! Lists of names with a bar and a number each.

use super::html::{Html, esc};
use super::number::clip;

/// The longest name that is written out.
const LONGEST_NAME: usize = 40;

/// A name, how long its bar is, and the number behind it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) text: String,
    /// A second number behind the first; all bars of a list have one or none has.
    pub(super) note: Option<String>,
}

/// Writes bars one under the other, the longest as long as there is room.
pub(super) fn write(bars: &[Bar], html: &mut Html) {
    let full = bars.iter().map(|b| b.value).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let class = if bars.iter().any(|b| b.note.is_some()) { "bars noted" } else { "bars" };
    html.add(format_args!("<ul class=\"{class}\">\n"));
    for bar in bars {
        let share = if full > 0.0 { (bar.value / full).clamp(0.0, 1.0) } else { 0.0 };
        let share = if share.is_finite() { share } else { 0.0 };
        let name = clip(&bar.name, LONGEST_NAME);
        html.add(format_args!(
            "<li><span class=\"name\" title=\"{}\">{}</span>\
             <span class=\"track\"><i style=\"width:{:.1}%\"></i></span><span class=\"value\">{}</span>",
            esc(&clip(&bar.name, 4 * LONGEST_NAME)),
            esc(&name),
            100.0 * share,
            esc(&bar.text),
        ));
        if let Some(note) = &bar.note {
            html.add(format_args!("<span class=\"value\">{}</span>", esc(note)));
        }
        html.add(format_args!("</li>\n"));
    }
    html.add(format_args!("</ul>\n"));
}
