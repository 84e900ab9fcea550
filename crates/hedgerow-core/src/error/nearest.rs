//! The known name that a mistyped one was most likely meant to be.

/// Longer names are not compared: no parameter has one, and the cost grows with the square of the length.
const LONGEST: usize = 64;

/// The known name nearest to a mistyped one, where one is near enough to be worth suggesting.
///
/// Case and the difference between `-`, `_` and blanks do not count. Other names may differ in a third of their characters, one at
/// least; of equally near names the first is taken.
///
/// ```
/// use hedgerow_core::error::nearest;
///
/// assert_eq!(nearest("n_tree", ["seed", "n_trees"]), Some("n_trees"));
/// assert_eq!(nearest("color", ["seed", "n_trees"]), None);
/// ```
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(wanted);
    if wanted.is_empty() || wanted.len() > LONGEST {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for name in known {
        let characters = folded(name);
        if characters.len() > LONGEST {
            continue;
        }
        let distance = edits(&wanted, &characters);
        let allowed = (wanted.len().max(characters.len()) / 3).max(1);
        // A name of one character is near to every other name of one character.
        let shares_nothing = distance >= wanted.len().max(characters.len());
        if distance <= allowed && !shares_nothing && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// ` (did you mean "n_trees"?)` for the end of a message, or nothing.
pub(super) fn suggestion(wanted: &str, known: &str) -> String {
    nearest(wanted, known.split(", ")).map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"))
}

/// The characters that count.
fn folded(name: &str) -> Vec<char> {
    let characters = name.chars().map(|c| if c == '-' || c == ' ' { '_' } else { c });
    characters.flat_map(char::to_lowercase).collect()
}

/// How many characters must be put in, left out, replaced or exchanged with their neighbor to make one text the other
/// (the restricted Damerau-Levenshtein distance).
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: &str, b: &str) -> usize {
        edits(&folded(a), &folded(b))
    }

    #[test]
    fn each_edit_counts_once() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("abcd", "acbd"), 1);
        assert_eq!(distance("n-Trees", "n_trees"), 0);
        assert_eq!(distance("größe", "grösse"), 2);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let known = ["n_trees", "max_height", "seed", "y"];
        assert_eq!(nearest("ntrees", known), Some("n_trees"));
        assert_eq!(nearest("max_hieght", known), Some("max_height"));
        assert_eq!(nearest("sed", known), Some("seed"));
        assert_eq!(nearest("Y", known), Some("y"));
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest("height", known), None);
        assert_eq!(nearest("", known), None);
    }
}
