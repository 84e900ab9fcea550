//! Markup as text, and text that cannot be taken for markup.

/// The longest name that is written out where it is only pointed at.
const LONGEST_TITLE: usize = 160;

/// Text made safe for the inside of elements and of quoted attributes.
pub(super) fn esc(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' => safe.push_str("&#10;"),
            c if c.is_control() => safe.push(char::REPLACEMENT_CHARACTER),
            c => safe.push(c),
        }
    }
    safe
}

/// The same for the beginning of a text that may be too long for its place.
pub(super) fn clip(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return esc(text);
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    esc(&format!("{}…", kept.trim_end()))
}

/// A name of which so many characters are shown, and more of them on being pointed at.
pub(super) fn name(text: &str, most: usize) -> String {
    format!("<span class=\"name\" title=\"{}\">{}</span>", clip(text, LONGEST_TITLE), clip(text, most))
}

/// An element of a class with markup inside.
pub(super) fn element(tag: &str, class: &str, inside: impl IntoIterator<Item = String>) -> String {
    format!("<{tag} class=\"{class}\">\n{}</{tag}>\n", inside.into_iter().collect::<String>())
}

/// The markup of all items, one after the other.
pub(super) fn concat<T>(items: impl IntoIterator<Item = T>, markup: impl Fn(T) -> String) -> String {
    items.into_iter().map(markup).collect()
}

/// A paragraph of text; nothing where the text is empty.
pub(super) fn paragraph(class: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p class=\"{class}\">{}</p>\n", esc(text)) }
}

/// A table: its attributes, the cells of its head, and each row's name and cells.
pub(super) fn table(attributes: &str, head: &str, rows: impl Iterator<Item = (String, String)>) -> String {
    let rows = concat(rows, |(name, cells)| format!("<tr><th scope=\"row\">{name}</th>{cells}</tr>\n"));
    format!("<table {attributes}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n")
}

/// The cells of a table's head, markup.
pub(super) fn head_cells(names: impl IntoIterator<Item = String>) -> String {
    concat(names, |name| format!("<th scope=\"col\">{name}</th>"))
}

/// Cells of a table, markup.
pub(super) fn cells(texts: impl IntoIterator<Item = String>) -> String {
    concat(texts, |text| format!("<td>{text}</td>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_means_markup_gets_through() {
        let text = esc("<b title=\"x\" lang='y'>&amp;\0</b>");
        assert_eq!(text, "&lt;b title=&quot;x&quot; lang=&#39;y&#39;&gt;&amp;amp;\u{fffd}&lt;/b&gt;");
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(clip("größte", 6), "größte");
        assert_eq!(clip("größte", 4), "grö…");
    }
}
