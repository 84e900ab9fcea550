//! A reader of markup that is stricter than browsers: every tag is closed in order, every attribute quoted.

/// Elements without content.
const VOID: [&str; 5] = ["meta", "img", "br", "col", "link"];

/// What was found in a page.
#[derive(Debug, Default)]
pub(super) struct Markup {
    pub(super) attributes: Vec<String>,
    /// Attributes that lead somewhere.
    pub(super) addresses: Vec<(String, String)>,
    /// The ids of the sections, in order.
    pub(super) sections: Vec<String>,
}

impl Markup {
    /// Reads a page and panics at the first thing that is wrong with it.
    pub(super) fn check(html: &str) -> Self {
        let mut found = Self::default();
        let mut open: Vec<String> = Vec::new();
        let mut ids = std::collections::BTreeSet::new();
        let mut rest = html.strip_prefix("<!DOCTYPE html>\n").expect("a doctype");
        while let Some(start) = rest.find('<') {
            check_text(&rest[..start]);
            rest = &rest[start + 1..];
            let end = end_of_tag(rest);
            let tag = &rest[..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "closed out of order");
                continue;
            }
            let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
            let closes_itself = attributes.ends_with('/') || VOID.contains(&name);
            for (key, value) in read_attributes(attributes.trim_end_matches('/')) {
                if key == "id" {
                    assert!(ids.insert(value.clone()), "id {value} twice");
                    if name == "section" {
                        found.sections.push(value.clone());
                    }
                }
                if ["src", "href"].contains(&key.as_str()) {
                    found.addresses.push((key.clone(), value));
                }
                found.attributes.push(key);
            }
            if name == "style" || name == "script" {
                let end = rest.find(&format!("</{name}>")).expect("an end of raw text");
                rest = &rest[end + name.len() + 3..];
            } else if !closes_itself {
                open.push(name.to_string());
            }
        }
        check_text(rest);
        assert!(open.is_empty(), "left open: {open:?}");
        let missing: Vec<_> = found
            .addresses
            .iter()
            .filter_map(|(_, a)| a.strip_prefix('#'))
            .filter(|a| !ids.contains(*a))
            .collect();
        assert!(missing.is_empty(), "links to nowhere: {missing:?}");
        found
    }
}

/// Text between tags: nothing of it may look like a tag, and every `&` begins an entity.
fn check_text(text: &str) {
    assert!(!text.contains('>'), "{text:?}");
    for part in text.split('&').skip(1) {
        let name = part.split_once(';').map_or("", |(name, _)| name);
        assert!(["amp", "lt", "gt", "quot", "#39", "#10"].contains(&name), "&{part}");
    }
}

/// Where the tag ends, quoted text aside.
fn end_of_tag(text: &str) -> usize {
    let mut is_quoted = false;
    for (i, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '>' if !is_quoted => return i,
            '<' => panic!("a tag inside a tag: {}", &text[..i]),
            _ => {}
        }
    }
    panic!("a tag without an end");
}

fn read_attributes(text: &str) -> Vec<(String, String)> {
    let mut attributes = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let name: String =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_:".contains(*c)).collect();
        assert!(!name.is_empty(), "{rest:?}");
        rest = &rest[name.len()..];
        let mut value = String::new();
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let end = quoted.find('"').expect("an end of the value");
            value = quoted[..end].to_string();
            check_text(&value);
            rest = &quoted[end + 1..];
        }
        attributes.push((name, value));
        assert!(rest.is_empty() || rest.starts_with(' '), "{rest:?}");
        rest = rest.trim_start();
    }
    attributes
}

#[test]
fn sees_what_is_wrong() {
    let page = |body: &str| format!("<!DOCTYPE html>\n<html>{body}</html>");
    Markup::check(&page("<p class=\"a &gt;\" hidden>x<br>&lt;</p><path d=\"M0\"/>"));
    for wrong in ["<p>", "</p>", "<p></b></p>", "<p class=a></p>", "a > b", "a & b", "<a href=\"#none\"></a>"]
    {
        let text = page(wrong);
        assert!(std::panic::catch_unwind(|| Markup::check(&text)).is_err(), "{wrong}");
    }
}
