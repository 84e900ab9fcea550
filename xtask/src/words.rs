//! Words of earlier versions that must not come back (`docs/glossary.md`): in messages, names of JSON, comments, pages, and the Python package.

use std::fs;
use std::path::Path;

/// The words, and where they may stand.
const WORDS: &str = include_str!("../words.txt");

/// Where nothing is looked for: files that were made, data, and the list itself.
const LEFT_OUT: [&str; 9] =
    ["target", ".git", "data", "pictures", "glossary.md", "words.txt", "bench", "pyproject.toml", ".venv"];

/// The first of the words in a text.
fn found_in(text: &str) -> Option<&'static str> {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    for name in WORDS.lines().filter_map(|line| line.strip_prefix("+ ")) {
        text = text.replace(&format!("{name}s"), "").replace(name, "");
    }
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    WORDS.lines().filter(|line| !line.starts_with(['#', '+'])).find(|word| words.contains(word))
}

/// What a user or a reader sees of a Rust source: comments that are documentation, and texts in quotation marks. Its tests are left out.
fn seen_in_rust(source: &str) -> String {
    let source = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut seen = String::new();
    for line in source.lines().map(str::trim_start) {
        if let Some(comment) = line.strip_prefix("//") {
            seen.push_str(comment.trim_start_matches(['/', '!']));
        } else {
            line.split('"').skip(1).step_by(2).for_each(|text| {
                seen.push(' ');
                seen.push_str(text);
            });
        }
        seen.push('\n');
    }
    seen
}

/// All files below a folder that hold words of ours, with the first such word.
fn look(folder: &Path, wrong: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if LEFT_OUT.contains(&name.as_str()) || name == "tests" || name == "tests.rs" {
            continue;
        }
        if path.is_dir() {
            look(&path, wrong)?;
            continue;
        }
        let is_text =
            ["rs", "md", "py", "pyi", "html", "txt"].iter().any(|end| path.extension() == Some(end.as_ref()));
        let Some(text) = is_text.then(|| fs::read_to_string(&path)).transpose()? else { continue };
        let seen = if path.extension() == Some("rs".as_ref()) { seen_in_rust(&text) } else { text };
        wrong.extend(found_in(&seen).map(|word| format!("{}: {word}", path.display())));
    }
    Ok(())
}

/// Fails where a word of earlier versions stands in the workspace.
pub(crate) fn check() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    look(&crate::root(), &mut wrong)?;
    anyhow::ensure!(wrong.is_empty(), "words that docs/glossary.md does not use:\n{}", wrong.join("\n"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_has_come_back() {
        check().unwrap();
    }

    #[test]
    fn the_check_finds_what_it_looks_for() {
        assert_eq!(found_in("{\"n_judged\": 3}"), Some("judged"));
        assert_eq!(found_in("rows of Relevance\n    Vector Machines, unanswerable"), None);
        let source = "/// What it answers.\nlet nobody = f(\"a verdict\", 1);\n\n#[cfg(test)]\nmod tests {\n// judge\n";
        assert_eq!(
            seen_in_rust(source).split_whitespace().collect::<Vec<_>>(),
            ["What", "it", "answers.", "a", "verdict"]
        );
        assert_eq!(found_in(&seen_in_rust(source)), Some("answers"));
    }
}
