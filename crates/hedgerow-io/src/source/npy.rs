//! NPY, one array of `NumPy`: a magic string, a Python dictionary that describes it, the data.

use std::io::Read as _;

use hedgerow_core::Result;

use super::RawArray;
use super::lines::{malformed, shown, unsupported};
use super::raw::Element;
use crate::open::{Input, Place};

/// No honest header is longer.
const MAX_HEADER: usize = 1 << 20;

/// Reads the header of the array that `input` holds; `place` is for messages.
pub(crate) fn read_header(place: &Place, mut input: Input) -> Result<RawArray> {
    let mut take = |n: usize| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut input).take(n as u64).read_to_end(&mut bytes).map_err(|e| place.error(e))?;
        if bytes.len() < n {
            return Err(malformed("npy", "a header", "the end of the file").into());
        }
        Ok(bytes)
    };
    let start = take(8)?;
    if start[..6] != *b"\x93NUMPY" {
        return Err(malformed("npy", "the magic string \\x93NUMPY", shown(&start[..6])).into());
    }
    let length_bytes = match start[6] {
        1 => 2,
        2 | 3 => 4,
        other => return Err(malformed("npy", "format version 1, 2 or 3", other.to_string()).into()),
    };
    let length = take(length_bytes)?.iter().rev().fold(0_usize, |v, &b| v << 8 | usize::from(b));
    if length > MAX_HEADER {
        return Err(malformed("npy", "a header of at most 1 MiB", format!("{length} bytes")).into());
    }
    let header = take(length)?;
    let text = String::from_utf8_lossy(&header);
    let bad = |what: &str| malformed("npy", what, shown(text.as_bytes()));
    let value = |key: &str| -> Option<&str> {
        let after = &text[text.find(&format!("'{key}'"))? + key.len() + 2..];
        Some(after.trim_start().strip_prefix(':')?.trim_start())
    };
    let descr = value("descr").ok_or_else(|| bad("a header with 'descr'"))?;
    let (element, big_endian) = parse_descr(descr)?;
    let fortran =
        value("fortran_order").ok_or_else(|| bad("a header with 'fortran_order'"))?.starts_with("True");
    let shape = value("shape").and_then(parse_shape).ok_or_else(|| bad("a header with a 'shape'"))?;
    Ok(RawArray { big_endian, fortran, ..RawArray::new(place, input, "npy", element, shape) })
}

/// The element type behind `'<f4', …`.
fn parse_descr(text: &str) -> Result<(Element, bool)> {
    let unsupported = |what: &str| unsupported("npy", what, "convert the array to numbers first");
    let Some(code) = text.strip_prefix('\'').and_then(|t| t.split_once('\'')).map(|(code, _)| code) else {
        return Err(unsupported("an array of records").into());
    };
    let big_endian = code.starts_with('>') || (code.starts_with('=') && cfg!(target_endian = "big"));
    let code = code.trim_start_matches(['<', '>', '|', '=']);
    let mut characters = code.chars();
    let kind = characters.next();
    let size: Option<usize> = characters.as_str().parse().ok();
    let element = match (kind, size) {
        (Some('b' | 'u'), Some(1)) => Element::Unsigned(1),
        (Some('u'), Some(n @ (2 | 4 | 8))) => Element::Unsigned(n),
        (Some('i'), Some(n @ (1 | 2 | 4 | 8))) => Element::Signed(n),
        (Some('f'), Some(n @ (2 | 4 | 8))) => Element::Float(n),
        (Some('U'), Some(n @ 1..=1_000_000)) => Element::Unicode(n),
        (Some('S' | 'a'), Some(n @ 1..=1_000_000)) => Element::Ascii(n),
        (Some('O'), _) => return Err(unsupported("an array of Python objects (pickle)").into()),
        _ => return Err(unsupported(&format!("the element type {code:?}")).into()),
    };
    Ok((element, big_endian))
}

/// The numbers in `(3, 4), …`.
fn parse_shape(text: &str) -> Option<Vec<u64>> {
    let inside = text.strip_prefix('(')?.split_once(')')?.0;
    inside
        .split(',')
        .map(str::trim)
        .filter(|n| !n.is_empty())
        .map(|n| n.trim_end_matches('L').parse().ok())
        .collect()
}
