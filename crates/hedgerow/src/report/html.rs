//! Text that goes into a page, and nothing that could be taken for markup.

use std::fmt::{self, Write as _};

/// A piece of a page.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Adds markup. Whatever came from outside has gone through [`esc`].
    pub(super) fn add(&mut self, markup: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(markup);
    }

    /// Adds a paragraph, unless the text is empty.
    pub(super) fn paragraph(&mut self, class: &str, text: &str) {
        if !text.is_empty() {
            self.add(format_args!("<p class=\"{class}\">{}</p>\n", esc(text)));
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Text made safe for the inside of elements and of quoted attributes.
pub(super) fn esc(text: &str) -> Escaped<'_> {
    Escaped(text)
}

/// Text that is written with its special characters replaced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' => f.write_str("&#10;")?,
                c if c.is_control() => f.write_char(char::REPLACEMENT_CHARACTER)?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_means_markup_gets_through() {
        let text = esc("<b title=\"x\" lang='y'>&amp;\0</b>").to_string();
        assert_eq!(text, "&lt;b title=&quot;x&quot; lang=&#39;y&#39;&gt;&amp;amp;\u{fffd}&lt;/b&gt;");
    }
}
