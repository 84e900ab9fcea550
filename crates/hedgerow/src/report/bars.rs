//! Bars behind names and numbers.

use super::html::{concat, esc, name};

/// The longest name that is written out.
const LONGEST_NAME: usize = 40;

/// A bar as long as a share of the room there is; none where the share is not a number.
pub(super) fn track(class: &str, share: f64) -> String {
    let width = if share.is_finite() { 100.0 * share.clamp(0.0, 1.0) } else { 0.0 };
    format!("<span class=\"track {class}\"><i style=\"width:{width:.1}%\"></i></span>")
}

/// An item of a list: a name, its bar, and the numbers behind it.
pub(super) fn item(class: &str, text: &str, share: f64, numbers: &[String]) -> String {
    let numbers = concat(numbers, |n| format!("<span class=\"value\">{}</span>", esc(n)));
    format!("<li class=\"{class}\">{}{}{numbers}</li>\n", name(text, LONGEST_NAME), track("", share))
}
