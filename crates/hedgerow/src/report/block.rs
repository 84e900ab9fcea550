//! A part of the page under a heading.

use super::html::{Html, esc};

/// A part of the page under a heading.
#[derive(Debug)]
pub(super) struct Block {
    /// Where links lead to.
    pub(super) id: String,
    /// The heading.
    pub(super) title: String,
    /// Whether it needs the whole width; others come in pairs.
    pub(super) wide: bool,
    /// What is under the heading.
    pub(super) body: Html,
}

impl Block {
    pub(super) fn new(id: &str, title: &str) -> Self {
        Self { id: id.into(), title: title.into(), wide: false, body: Html::default() }
    }

    pub(super) fn wide(id: &str, title: &str) -> Self {
        Self { wide: true, ..Self::new(id, title) }
    }

    fn write(&self, html: &mut Html) {
        html.add(format_args!("<section id=\"{}\">\n<h2>{}</h2>\n", self.id, esc(&self.title)));
        html.add(format_args!("{}</section>\n", self.body.as_str()));
    }
}

/// Writes the blocks in order, narrow neighbors side by side.
pub(super) fn write_all(blocks: &[Block], html: &mut Html) {
    let mut rest = blocks;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        match rest.split_first() {
            Some((second, others)) if !first.wide && !second.wide => {
                html.add(format_args!("<div class=\"pair\">\n"));
                first.write(html);
                second.write(html);
                html.add(format_args!("</div>\n"));
                rest = others;
            }
            _ => first.write(html),
        }
    }
}
