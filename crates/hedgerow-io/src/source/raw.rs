//! Arrays of plain binary numbers, as IDX and NPY hold them.

use std::io::Read;

use hedgerow_core::Result;
use ndarray::{ArrayViewD, Axis, ShapeBuilder as _};

use super::Rows;
use super::lines::{malformed, place_io_error, unsupported};
use crate::block::{BLOCK_BYTES, Block, Cells, ColumnCells, TextCells};
use crate::open::{Input, Place};

/// The largest array in column order that is turned around in memory.
const MAX_FORTRAN: u64 = 1 << 30;

/// How one element is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    /// Whole numbers without a sign, by bytes; also truth values.
    Unsigned(usize),
    /// Whole numbers with a sign.
    Signed(usize),
    /// IEEE numbers of 2, 4 or 8 bytes.
    Float(usize),
    /// Characters of 4 bytes, so many of them.
    Unicode(usize),
    /// Bytes of text, so many of them.
    Ascii(usize),
}

impl Element {
    /// Bytes of one element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Unsigned(n) | Self::Signed(n) | Self::Float(n) | Self::Ascii(n) => n,
            Self::Unicode(n) => n.saturating_mul(4),
        }
    }

    /// Whether it is a number.
    pub(crate) fn is_number(self) -> bool {
        !matches!(self, Self::Unicode(_) | Self::Ascii(_))
    }
}

/// An array whose header has been read and whose elements follow.
pub(crate) struct RawArray {
    pub place: Place,
    pub input: Input,
    pub format: &'static str,
    pub element: Element,
    pub big_endian: bool,
    pub fortran: bool,
    pub shape: Vec<u64>,
    /// Rows read so far.
    pub n_read: u64,
    /// The whole content of an array in column order.
    pub whole: Option<Vec<u8>>,
}

impl RawArray {
    /// An array in row order, with the last byte of a number first.
    pub(crate) fn new(
        place: &Place,
        input: Input,
        format: &'static str,
        element: Element,
        shape: Vec<u64>,
    ) -> Self {
        let (place, big_endian, fortran, n_read, whole) = (place.clone(), false, false, 0, None);
        Self { place, input, format, element, big_endian, fortran, shape, n_read, whole }
    }

    /// How many rows the header promises.
    pub(crate) fn n_rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Elements a row, or `None` where the product does not fit.
    pub(crate) fn width(&self) -> Option<usize> {
        let mut axes = self.shape.iter().skip(1);
        usize::try_from(axes.try_fold(1_u64, |width, &n| width.checked_mul(n))?).ok()
    }

    /// The next rows of a one-dimensional array as labels, all of them that are left where there are fewer.
    pub(crate) fn read_labels(&mut self, n_rows: usize) -> Result<ColumnCells> {
        let bytes = self.read_bytes(n_rows, self.element.size())?;
        let chunks = bytes.chunks_exact(self.element.size().max(1));
        Ok(match self.element {
            Element::Float(_) => ColumnCells::Numbers(chunks.map(|c| self.float(c)).collect()),
            Element::Signed(_) | Element::Unsigned(..8) => {
                ColumnCells::Ints(chunks.map(|c| self.signed(c)).collect())
            }
            _ => ColumnCells::Text(TextCells::column(chunks.map(|c| self.text(c)))),
        })
    }

    /// The bytes of the next rows in row order. Nothing is allocated on the header's word alone: the buffer grows with
    /// what is really there.
    fn read_bytes(&mut self, max_rows: usize, row_bytes: usize) -> Result<Vec<u8>> {
        if row_bytes == 0 {
            return Err(malformed(self.format, "elements of at least one byte", "none").into());
        }
        let n_rows = (max_rows as u64).min(self.n_rows() - self.n_read);
        let bytes = if self.fortran && self.shape.len() > 1 {
            self.turned(n_rows as usize, row_bytes)?
        } else {
            let wanted = n_rows * row_bytes as u64;
            let bytes = self.take(wanted)?;
            if (bytes.len() as u64) < wanted {
                let rows = self.n_read + (bytes.len() / row_bytes) as u64;
                let expected = format!("{} rows, as its header says", self.n_rows());
                let got = format!("{rows} before the file ends");
                return Err(malformed(self.format, &expected, got).at_row(rows + 1).into());
            }
            bytes
        };
        self.n_read += n_rows;
        Ok(bytes)
    }

    fn take(&mut self, n: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(n).read_to_end(&mut bytes);
        read.map_err(|e| place_io_error(&self.place, e, self.n_read + 1))?;
        Ok(bytes)
    }

    /// Rows out of an array in column order, which is read as a whole.
    fn turned(&mut self, n_rows: usize, row_bytes: usize) -> Result<Vec<u8>> {
        let total = self.n_rows().saturating_mul(row_bytes as u64);
        if total > MAX_FORTRAN {
            let what = "an array of more than 1 GiB in Fortran order";
            let instead = "save it with numpy.ascontiguousarray first";
            return Err(unsupported(self.format, what, instead).into());
        }
        let whole = match self.whole.take() {
            Some(whole) => whole,
            None => self.take(total)?,
        };
        // The bytes of an element come first in memory, and last in row order.
        let sizes = std::iter::once(self.element.size()).chain(self.shape.iter().map(|&n| n as usize));
        let sizes: Vec<usize> = sizes.collect();
        let axes: Vec<usize> = (1..sizes.len()).chain([0]).collect();
        let array = ArrayViewD::from_shape(sizes.f(), &whole).map_err(|_| {
            malformed(self.format, &format!("{total} bytes, as its header says"), whole.len().to_string())
        })?;
        let first = self.n_read as usize;
        let array = array.permuted_axes(axes);
        let rows = array.slice_axis(Axis(0), (first..first + n_rows).into());
        let mut bytes = Vec::with_capacity(n_rows * row_bytes);
        rows.lanes(Axis(self.shape.len())).into_iter().for_each(|element| bytes.extend(element));
        self.whole = Some(whole);
        Ok(bytes)
    }

    fn unsigned(&self, chunk: &[u8]) -> u64 {
        let fold = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        if self.big_endian { chunk.iter().fold(0, fold) } else { chunk.iter().rev().fold(0, fold) }
    }

    fn signed(&self, chunk: &[u8]) -> i64 {
        let value = self.unsigned(chunk);
        if !matches!(self.element, Element::Signed(_)) {
            return value.cast_signed();
        }
        let shift = 64 - 8 * chunk.len() as u32;
        (value << shift).cast_signed() >> shift
    }

    fn text(&self, chunk: &[u8]) -> Vec<u8> {
        match self.element {
            Element::Unicode(_) => {
                let characters = chunk.chunks_exact(4).map(|c| char::from_u32(self.unsigned(c) as u32));
                let text: String = characters.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
                text.trim_end_matches('\0').into()
            }
            Element::Ascii(_) => {
                let end = chunk.iter().rposition(|&b| b != 0).map_or(0, |p| p + 1);
                chunk[..end].to_vec()
            }
            _ => self.unsigned(chunk).to_string().into(),
        }
    }

    fn float(&self, chunk: &[u8]) -> f64 {
        let bits = self.unsigned(chunk);
        match self.element {
            Element::Float(2) => half(bits as u16),
            Element::Float(4) => f64::from(f32::from_bits(bits as u32)),
            Element::Float(_) => f64::from_bits(bits),
            Element::Signed(_) => self.signed(chunk) as f64,
            _ => bits as f64,
        }
    }
}

impl Rows for RawArray {
    /// The elements are numbers, and a row of them is small.
    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()> {
        let size = self.element.size();
        let row_bytes = self.width().and_then(|width| width.checked_mul(size)).unwrap_or(0);
        let max_rows = (BLOCK_BYTES / row_bytes.max(1)).clamp(1, max_rows.max(1));
        let bytes = self.read_bytes(max_rows, row_bytes)?;
        let n_rows = bytes.len() / row_bytes;
        block.set(
            n_rows,
            match self.element {
                Element::Unsigned(1) => Cells::Bytes(bytes),
                _ => Cells::Numbers(bytes.chunks_exact(size).map(|chunk| self.float(chunk) as f32).collect()),
            },
        );
        Ok(())
    }
}

/// A 16-bit IEEE number.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision() {
        assert_eq!(half(0x3c00), 1.0);
        assert_eq!(half(0xc000), -2.0);
        assert_eq!(half(0x7bff), 65504.0);
        assert_eq!(half(0x0001), 2_f64.powi(-24));
        assert!(half(0x7e00).is_nan());
    }
}
