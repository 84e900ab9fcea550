//! IDX, the binary format of MNIST: two zero bytes, the element type, the number of dimensions, the sizes, the data.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use hedgerow_core::Result;

use super::lines::malformed;
use super::raw::Element;
use super::{RawArray, Source, matrix};
use crate::format::Format;
use crate::labels::LabelStream;
use crate::open::Place;

/// Opens an IDX file of rows, and the labels beside it unless they are given apart.
pub(crate) fn open(place: &Place, has_labels: bool) -> Result<Source> {
    let array = read_header(place)?;
    let labels = match labels_beside(place.path()) {
        Some(path) if !has_labels => Some(LabelStream::open(&path, Some(Format::Idx))?),
        _ => None,
    };
    matrix::open(array, labels)
}

/// Reads the header.
pub(crate) fn read_header(place: &Place) -> Result<RawArray> {
    let mut input = place.open()?;
    let mut start = Vec::new();
    (&mut input).take(4).read_to_end(&mut start).map_err(|e| place.error(e))?;
    let [0, 0, code, n_dimensions] = start[..] else {
        let got = if start.is_empty() { "an empty file".to_string() } else { format!("{start:02x?}") };
        return Err(malformed("idx", "two zero bytes at the start", got).into());
    };
    let element = match code {
        0x08 => Element::Unsigned(1),
        0x09 => Element::Signed(1),
        0x0b => Element::Signed(2),
        0x0c => Element::Signed(4),
        0x0d => Element::Float(4),
        0x0e => Element::Float(8),
        other => return Err(malformed("idx", "an element type from 08 to 0e", format!("{other:02x}")).into()),
    };
    let mut sizes = Vec::new();
    (&mut input).take(4 * u64::from(n_dimensions)).read_to_end(&mut sizes).map_err(|e| place.error(e))?;
    if n_dimensions == 0 || sizes.len() < 4 * usize::from(n_dimensions) {
        return Err(malformed("idx", "the size of each dimension", "the end of the file").into());
    }
    let shape = sizes.chunks_exact(4).map(|c| c.iter().fold(0, |v, &b| v << 8 | u64::from(b))).collect();
    Ok(RawArray { big_endian: true, ..RawArray::new(place, input, "idx", element, shape) })
}

/// The label file that goes with an image file: `train-labels-idx1-ubyte` beside `train-images-idx3-ubyte`, either of
/// them with or without `.gz`.
fn labels_beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    if !name.contains("images") {
        return None;
    }
    let mut wanted = name.replace("images", "labels");
    for digit in '2'..='9' {
        wanted = wanted.replace(&format!("idx{digit}"), "idx1");
    }
    let other = match wanted.strip_suffix(".gz") {
        Some(stem) => stem.to_string(),
        None => format!("{wanted}.gz"),
    };
    [wanted, other].into_iter().map(|n| path.with_file_name(n)).find(|p| p.is_file())
}
