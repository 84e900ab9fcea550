//! A part of the page under a heading.

use super::html::{element, esc};

/// A part of the page under a heading.
#[derive(Debug)]
pub(super) struct Section {
    /// Where links lead to.
    pub(super) id: String,
    /// The heading.
    pub(super) title: String,
    /// Whether it needs the whole width; others come in pairs.
    pub(super) wide: bool,
    /// What is under the heading.
    pub(super) body: String,
}

impl Section {
    pub(super) fn new(id: &str, title: &str, wide: bool, body: String) -> Self {
        Self { id: id.into(), title: title.into(), wide, body }
    }

    fn to_html(&self) -> String {
        let Self { id, title, body, .. } = self;
        format!("<section id=\"{id}\">\n<h2>{}</h2>\n{body}</section>\n", esc(title))
    }
}

/// The sections in order, narrow neighbors side by side.
pub(super) fn join(sections: &[Section]) -> String {
    let mut html = String::new();
    for neighbors in sections.chunk_by(|a, b| !a.wide && !b.wide) {
        for pair in neighbors.chunks(2) {
            let both = pair.iter().map(Section::to_html);
            html += &if pair.len() == 2 { element("div", "pair", both) } else { both.collect() };
        }
    }
    html
}
