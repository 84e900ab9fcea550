//! Numbers and names as people read them.

use std::borrow::Borrow;

/// A whole number with commas: 1,234,567.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// A number with three digits that matter.
pub fn significant(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    let decimals = (2.0 - value.abs().max(1e-3).log10().floor()).clamp(0.0, 5.0) as usize;
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_string() }
}

/// The first `most` of some names, and how many more there are.
pub fn list<N: Borrow<str>>(names: &[N], most: usize) -> String {
    let shown = names[..most.min(names.len())].join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_every_three_digits() {
        assert_eq!([0, 12, 999, 1_000, 1_234_567].map(count), ["0", "12", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn numbers_in_few_digits() {
        let cases = [
            (0.0, "0"),
            (8.0, "8"),
            (0.001, "0.001"),
            (0.45678, "0.457"),
            (1234.5, "1234"),
            (1e-9, "1.00e-9"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }
}
