//! Arrays of plain binary numbers, as IDX and NPY hold them.

use std::io::Read;

use hedgerow_core::{DataError, DataProblem, Error, Result};

use super::lines::{malformed, place_io_error};
use crate::block::{BLOCK_BYTES, Cells, LabelCells, TextCells};
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
    /// How many rows the header promises.
    pub(crate) fn n_rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Elements a row, or `None` where the product does not fit.
    pub(crate) fn width(&self) -> Option<usize> {
        let mut width = 1_u64;
        for &n in self.shape.iter().skip(1) {
            width = width.checked_mul(n)?;
        }
        usize::try_from(width).ok()
    }

    /// The next rows as cells. The caller has checked that the elements are numbers and the width is small.
    pub(crate) fn read_cells(&mut self, max_rows: usize) -> Result<(usize, Cells)> {
        let (n_rows, bytes) = self.read_bytes(max_rows)?;
        if self.element == Element::Unsigned(1) {
            return Ok((n_rows, Cells::Bytes(bytes)));
        }
        let mut values = Vec::with_capacity(bytes.len() / self.element.size());
        values.extend(bytes.chunks_exact(self.element.size()).map(|chunk| self.float(chunk) as f32));
        Ok((n_rows, Cells::Numbers(values)))
    }

    /// The next rows of a one-dimensional array as labels.
    pub(crate) fn read_labels(&mut self, max_rows: usize) -> Result<LabelCells> {
        let (_, bytes) = self.read_bytes(max_rows)?;
        let chunks = bytes.chunks_exact(self.element.size().max(1));
        Ok(match self.element {
            Element::Float(_) => LabelCells::Floats(chunks.map(|c| self.float(c)).collect()),
            Element::Signed(_) => LabelCells::Ints(chunks.map(|c| self.signed(c)).collect()),
            Element::Unsigned(n) if n < 8 => LabelCells::Ints(chunks.map(|c| self.signed(c)).collect()),
            Element::Unsigned(_) => {
                let mut cells = TextCells::column();
                chunks.for_each(|c| cells.push(self.unsigned(c).to_string().as_bytes()));
                LabelCells::Text(cells)
            }
            Element::Ascii(_) => {
                let mut cells = TextCells::column();
                for chunk in chunks {
                    let end = chunk.iter().rposition(|&b| b != 0).map_or(0, |p| p + 1);
                    cells.push(&chunk[..end]);
                }
                LabelCells::Text(cells)
            }
            Element::Unicode(_) => {
                let mut cells = TextCells::column();
                for chunk in chunks {
                    let characters = chunk.chunks_exact(4).map(|c| self.unsigned(c) as u32);
                    let text: String = characters
                        .map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER))
                        .collect();
                    cells.push(text.trim_end_matches('\0').as_bytes());
                }
                LabelCells::Text(cells)
            }
        })
    }

    /// The bytes of the next rows in row order. Nothing is allocated on the header's word alone: the buffer grows with
    /// what is really there.
    fn read_bytes(&mut self, max_rows: usize) -> Result<(usize, Vec<u8>)> {
        let row_bytes = self.width().and_then(|w| w.checked_mul(self.element.size())).unwrap_or(0);
        if row_bytes == 0 {
            return Err(malformed(self.format, "elements of at least one byte", "none").into());
        }
        let left = self.n_rows() - self.n_read;
        let n_rows = (BLOCK_BYTES / row_bytes)
            .clamp(1, max_rows.max(1))
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut bytes = Vec::new();
        if self.fortran && self.shape.len() > 1 {
            self.fill_whole(row_bytes)?;
            self.turn(n_rows, row_bytes, &mut bytes);
        } else {
            let wanted = n_rows as u64 * row_bytes as u64;
            (&mut self.input)
                .take(wanted)
                .read_to_end(&mut bytes)
                .map_err(|e| place_io_error(&self.place, e, self.n_read + 1))?;
            if (bytes.len() as u64) < wanted {
                return Err(self.cut_off(self.n_read + (bytes.len() / row_bytes) as u64));
            }
        }
        self.n_read += n_rows as u64;
        Ok((n_rows, bytes))
    }

    fn cut_off(&self, rows: u64) -> Error {
        let expected = format!("{} rows, as its header says", self.n_rows());
        malformed(self.format, &expected, format!("{rows} before the file ends")).at_row(rows + 1).into()
    }

    fn fill_whole(&mut self, row_bytes: usize) -> Result<()> {
        if self.whole.is_some() {
            return Ok(());
        }
        let total =
            self.n_rows().checked_mul(row_bytes as u64).filter(|&n| n <= MAX_FORTRAN).ok_or_else(|| {
                DataError::from(DataProblem::Unsupported {
                    format: self.format,
                    what: "an array of more than 1 GiB in Fortran order".into(),
                    instead: "save it with numpy.ascontiguousarray first".into(),
                })
            })?;
        let mut whole = Vec::new();
        (&mut self.input)
            .take(total)
            .read_to_end(&mut whole)
            .map_err(|e| place_io_error(&self.place, e, self.n_read + 1))?;
        if (whole.len() as u64) < total {
            return Err(malformed(
                self.format,
                &format!("{total} bytes, as its header says"),
                whole.len().to_string(),
            )
            .into());
        }
        self.whole = Some(whole);
        Ok(())
    }

    /// Gathers rows out of an array in column order; the axes after the first are in column order, too.
    fn turn(&self, n_rows: usize, row_bytes: usize, out: &mut Vec<u8>) {
        let Some(whole) = &self.whole else { return };
        let size = self.element.size();
        let rows_total = self.n_rows() as usize;
        let axes: Vec<usize> = self.shape.iter().skip(1).map(|&n| n as usize).collect();
        out.reserve(n_rows * row_bytes);
        for row in self.n_read as usize..self.n_read as usize + n_rows {
            for c in 0..row_bytes / size {
                // The place `c` in row order as coordinates, and those as a place in column order.
                let (mut rest, mut place) = (c, 0);
                let mut stride: usize = axes.iter().product();
                for &n in axes.iter().rev() {
                    stride /= n;
                    place += rest % n * stride;
                    rest /= n;
                }
                let at = (place * rows_total + row) * size;
                out.extend_from_slice(&whole[at..at + size]);
            }
        }
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
