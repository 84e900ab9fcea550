//! Numbers as people read them; what is not a number is a dash.

pub(super) use hedgerow_core::text::count;

/// Shown for a number that is not known.
pub(super) const DASH: &str = "–";

/// A number in few characters: 950, 12.5k, 3M.
pub(super) fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if !size.is_finite() => return DASH.into(),
        size if size < 1e4 => (value, ""),
        size if size < 1e6 => (value / 1e3, "k"),
        size if size < 1e9 => (value / 1e6, "M"),
        size if size >= 1e13 => return format!("{value:.1e}"),
        _ => (value / 1e9, "B"),
    };
    let decimals = match scaled.abs() {
        size if unit.is_empty() && size.fract() == 0.0 || size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{scaled:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if unit.is_empty() && scaled >= 1e3 { count(scaled.round() as u64) } else { format!("{text}{unit}") }
}

/// A count in at most four characters: 950, 3.6k, 20k.
pub(super) fn tiny(n: u64) -> String {
    let (scaled, unit) = match n {
        0..1_000 => return n.to_string(),
        1_000..999_500 => (n as f64 / 1e3, "k"),
        999_500..999_500_000 => (n as f64 / 1e6, "M"),
        _ => (n as f64 / 1e9, "B"),
    };
    let decimals = usize::from(scaled < 9.95);
    let text = format!("{scaled:.decimals$}");
    format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// A share as a percentage: 97.3 %.
pub(super) fn percent(share: f64, decimals: usize) -> String {
    if share.is_finite() { format!("{:.decimals$}\u{a0}%", 100.0 * share) } else { DASH.into() }
}

/// A share as a whole percentage, where a little is not nothing: <1 %.
pub(super) fn whole_percent(share: f64) -> String {
    if share > 0.0 && share < 0.005 { "<1\u{a0}%".into() } else { percent(share, 0) }
}

/// A number with a fixed number of decimals.
pub(super) fn decimal(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { DASH.into() }
}

/// A number with three digits that matter.
pub(super) fn significant(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => DASH.into(),
        0.0 => "0".into(),
        size if !(1e-4..1e6).contains(&size) => format!("{value:.2e}"),
        size => {
            let decimals = (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{value:.decimals$}")
        }
    }
}

/// `1 row`, `2 rows`.
pub(super) fn rows(n: u64) -> String {
    if n == 1 { "1 row".into() } else { format!("{} rows", count(n)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_characters_for_any_size() {
        let cases = [
            (0.0, "0"),
            (950.0, "950"),
            (1_500.0, "1,500"),
            (12_500.0, "12.5k"),
            (200_000.0, "200k"),
            (1_250_000.0, "1.25M"),
            (1e9, "1B"),
            (2e300, "2.0e300"),
            (0.25, "0.25"),
            (f64::NAN, DASH),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn four_characters_for_any_count() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (3_637, "3.6k"),
            (20_300, "20k"),
            (999_600, "1M"),
            (1_000_000_000, "1B"),
        ];
        for (n, text) in cases {
            assert_eq!(tiny(n), text);
        }
    }

    #[test]
    fn unknown_numbers_are_dashes() {
        assert_eq!(percent(f64::NAN, 1), DASH);
        assert_eq!(decimal(f64::INFINITY, 2), DASH);
        assert_eq!(significant(f64::NAN), DASH);
        assert_eq!(percent(0.9731, 1), "97.3\u{a0}%");
        assert_eq!([0.0, 0.004, 0.006].map(whole_percent), ["0\u{a0}%", "<1\u{a0}%", "1\u{a0}%"]);
    }

    #[test]
    fn three_digits_that_matter() {
        let cases = [(0.0, "0"), (0.043_21, "0.0432"), (12.345, "12.3"), (1e-7, "1.00e-7"), (-0.5, "-0.500")];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }
}
