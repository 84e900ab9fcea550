//! Numbers and missing values as they stand in text.

/// What a field holds, looked at as a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Parsed {
    /// A number, infinite where the text says so or where it is too large for 32 bits.
    Number(f32),
    /// One of the tokens for a missing value.
    Missing,
    /// Anything else.
    Text,
}

/// The field without blanks around it.
pub(crate) fn trim(field: &[u8]) -> &[u8] {
    field.trim_ascii()
}

/// Whether a trimmed field means "no value", in a column of any kind.
pub(crate) fn is_missing(field: &[u8]) -> bool {
    match field {
        [] | [b'?'] => true,
        [b'N' | b'n', ..] => matches!(
            field,
            b"NA" | b"N/A" | b"na" | b"n/a" | b"NaN" | b"nan" | b"NAN" | b"NULL" | b"null" | b"Null"
        ),
        _ => false,
    }
}

/// Whether a trimmed field means "no value" among numbers. `None` is too plausible as a category to count elsewhere.
pub(crate) fn is_missing_number(field: &[u8]) -> bool {
    is_missing(field) || matches!(field, b"None" | b"none" | b"-nan" | b"-NaN")
}

/// A trimmed field as a number.
pub(crate) fn parse(field: &[u8]) -> Parsed {
    if let Some(value) = parse_short(field) {
        return Parsed::Number(value);
    }
    if is_missing_number(field) {
        return Parsed::Missing;
    }
    match std::str::from_utf8(field).ok().and_then(|text| text.parse::<f32>().ok()) {
        Some(value) if value.is_nan() => Parsed::Missing,
        Some(value) => Parsed::Number(value),
        None => Parsed::Text,
    }
}

/// A short decimal without an exponent. Up to 2^24 the digits are exact in 32 bits, and so are ten to the 0 to 10, so one
/// division rounds once and gives what the full parser would (Clinger's fast path).
fn parse_short(field: &[u8]) -> Option<f32> {
    const POWERS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
    let (is_negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, field),
    };
    if digits.is_empty() || digits.len() > 11 {
        return None;
    }
    let (mut mantissa, mut n_digits, mut point) = (0_u64, 0_usize, None);
    for (i, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                mantissa = mantissa * 10 + u64::from(byte - b'0');
                n_digits += 1;
            }
            b'.' if point.is_none() => point = Some(i),
            _ => return None,
        }
    }
    if n_digits == 0 || mantissa > 1 << 24 {
        return None;
    }
    let decimals = point.map_or(0, |p| digits.len() - 1 - p);
    let value = mantissa as f32 / POWERS.get(decimals)?;
    Some(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens() {
        for text in ["", "?", "NA", "N/A", "na", "n/a", "NaN", "nan", "NULL", "null", "None", "none"] {
            assert_eq!(parse(text.as_bytes()), Parsed::Missing, "{text:?}");
        }
        for text in ["x", "1x", "1,5", "--1", ".", "-", "1 2", "0x10", "nanny"] {
            assert_eq!(parse(text.as_bytes()), Parsed::Text, "{text:?}");
        }
        for text in ["inf", "-Infinity", "1e39", "-1e400"] {
            assert!(matches!(parse(text.as_bytes()), Parsed::Number(v) if v.is_infinite()), "{text:?}");
        }
        assert_eq!(parse(b"+5"), Parsed::Number(5.0));
        assert_eq!(parse(b"1."), Parsed::Number(1.0));
        assert_eq!(parse(b".5"), Parsed::Number(0.5));
        assert!(matches!(parse(b"-0"), Parsed::Number(v) if v.is_sign_negative()));
    }

    proptest! {
        #[test]
        fn the_fast_path_agrees_with_the_full_parser(text in "-?[0-9]{0,9}\\.?[0-9]{0,9}") {
            if let Some(fast) = parse_short(text.as_bytes()) {
                prop_assert_eq!(fast.to_bits(), text.parse::<f32>().unwrap().to_bits());
            }
        }
    }
}
