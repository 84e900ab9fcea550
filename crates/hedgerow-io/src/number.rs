//! Numbers and missing values as they stand in text.

use std::borrow::Cow;

use hedgerow_core::DataProblem;

use crate::delimiter::Decimal;

/// What a field holds, looked at as a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Parsed {
    /// A number, infinite where the text is infinite or where it is too large for 32 bits.
    Number(f32),
    /// One of the tokens for a missing value.
    Missing,
    /// Anything else.
    Text,
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

/// The same with another decimal mark. Where it is a comma, a number with a point is text: it would mean thousands.
pub(crate) fn parse_as(field: &[u8], decimal: Decimal) -> Parsed {
    match decimal {
        Decimal::Comma if field.contains(&b',') || field.contains(&b'.') => {
            comma_number(field).map_or(Parsed::Text, |point| parse(&point))
        }
        _ => parse(field),
    }
}

/// A trimmed field as a finite number; `NaN` is missing.
#[inline]
pub(crate) fn finite(field: &[u8], decimal: Decimal) -> Result<f32, DataProblem> {
    match parse_as(field, decimal) {
        Parsed::Number(value) if value.is_finite() => Ok(value),
        Parsed::Number(_) => Err(DataProblem::Infinite { text: utf8(field)?.to_string() }),
        Parsed::Missing => Ok(f32::NAN),
        Parsed::Text => Err(DataProblem::NotANumber(utf8(field)?.to_string())),
    }
}

/// A field as text.
pub(crate) fn utf8(field: &[u8]) -> Result<&str, DataProblem> {
    std::str::from_utf8(field).map_err(|_| DataProblem::InvalidUtf8)
}

/// Whether a field is a number.
pub(crate) fn is_number(field: &[u8], decimal: Decimal) -> bool {
    matches!(parse_as(field.trim_ascii(), decimal), Parsed::Number(_))
}

/// A label or category that is a number with that decimal mark, with a point; any other text as it is.
pub(crate) fn with_point(field: &[u8], decimal: Decimal) -> Cow<'_, [u8]> {
    match decimal {
        Decimal::Comma => comma_number(field.trim_ascii()).map_or(Cow::Borrowed(field), Cow::Owned),
        Decimal::Point => Cow::Borrowed(field),
    }
}

/// A trimmed field that is a number with one comma before its decimals, with a point instead.
pub(crate) fn comma_number(field: &[u8]) -> Option<Vec<u8>> {
    let at = field.iter().position(|b| *b == b',')?;
    if !field.get(at + 1).is_some_and(u8::is_ascii_digit) || field.contains(&b'.') {
        return None;
    }
    let mut point = field.to_vec();
    point[at] = b'.';
    matches!(parse(&point), Parsed::Number(_)).then_some(point)
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

    #[test]
    fn decimal_commas() {
        let comma = |text: &str| parse_as(text.as_bytes(), Decimal::Comma);
        for (text, value) in [("1,5", 1.5), ("-0,25", -0.25), (",5", 0.5), ("7", 7.0), ("1,5e3", 1500.0)] {
            assert_eq!(comma(text), Parsed::Number(value), "{text:?}");
        }
        for text in ["1.5", "1.234,5", "1,2,3", "1,", "a,5", ",", "x.y"] {
            assert_eq!(comma(text), Parsed::Text, "{text:?}");
        }
        assert_eq!((comma("NA"), comma("")), (Parsed::Missing, Parsed::Missing));
        assert_eq!(parse_as(b"1.5", Decimal::Point), Parsed::Number(1.5));
        assert_eq!(parse_as(b"1,5", Decimal::Point), Parsed::Text);
        assert_eq!(with_point(b" 1,50", Decimal::Comma).as_ref(), b"1.50");
        assert_eq!(with_point(b"a,5", Decimal::Comma).as_ref(), b"a,5");
        assert_eq!(with_point(b"1,50", Decimal::Point).as_ref(), b"1,50");
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
