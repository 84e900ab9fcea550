//! Lines of text, one at a time, with their numbers.

use std::io::{BufRead as _, Read as _};

use csv::{ByteRecord, Position};
use hedgerow_core::{DataError, DataProblem, Error, Result};

use super::table::Records;
use crate::open::{Input, Place, io_error};

/// A line longer than this is no table but a mistake, and must not fill the memory.
pub(crate) const MAX_LINE: u64 = 256 << 20;

/// The lines of a text file.
pub(crate) struct Lines {
    place: Place,
    input: Input,
    buffer: Vec<u8>,
    /// The number of the line in the buffer, from 1.
    number: u64,
    format: &'static str,
}

impl Lines {
    pub(crate) fn open(place: &Place, format: &'static str) -> Result<Self> {
        Ok(Self::new(place, place.open_text()?, format))
    }

    pub(crate) fn new(place: &Place, input: Input, format: &'static str) -> Self {
        Self { place: place.clone(), input, buffer: Vec::new(), number: 0, format }
    }

    /// The number of the line read last, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The line read last, without blanks around it.
    pub(crate) fn line(&self) -> &[u8] {
        self.buffer.trim_ascii()
    }

    /// Moves to the next line that is not blank; `false` at the end. `row` is the row that is being read, from 1.
    pub(crate) fn advance(&mut self, row: u64) -> Result<bool> {
        loop {
            self.buffer.clear();
            let n = (&mut self.input)
                .take(MAX_LINE)
                .read_until(b'\n', &mut self.buffer)
                .map_err(|e| place_io_error(&self.place, e, row))?;
            if n == 0 {
                return Ok(false);
            }
            self.number += 1;
            if n as u64 == MAX_LINE {
                return Err(self.malformed("lines of at most 256 MiB", "a longer one").into());
            }
            if !self.line().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Notes the line read last as the place of a record.
    pub(crate) fn mark(&self, record: &mut ByteRecord) {
        record.set_position(Some(Position::new().set_line(self.number).clone()));
    }

    /// The problem of a line that does not follow the format.
    pub(crate) fn malformed(&self, expected: &str, got: impl Into<String>) -> DataError {
        malformed(self.format, expected, got).at_line(self.number)
    }
}

/// Lines as records whose fields are separated by blanks.
pub(crate) struct BlankRecords(Lines);

impl BlankRecords {
    pub(crate) fn new(place: &Place, input: Input, format: &'static str) -> Self {
        Self(Lines::new(place, input, format))
    }
}

impl Records for BlankRecords {
    fn read(&mut self, row: u64, record: &mut ByteRecord) -> Result<bool> {
        if !self.0.advance(row)? {
            return Ok(false);
        }
        record.clear();
        split_blanks(self.0.line()).for_each(|field| record.push_field(field));
        self.0.mark(record);
        Ok(true)
    }
}

/// The pieces of a text between blanks.
pub(crate) fn split_blanks(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// A file that does not follow its format.
pub(crate) fn malformed(format: &'static str, expected: &str, got: impl Into<String>) -> DataError {
    DataProblem::Malformed { format, expected: expected.into(), got: got.into() }.into()
}

/// Something that a format has and we do not read, and what to do instead.
pub(crate) fn unsupported(
    format: &'static str,
    what: impl Into<String>,
    instead: impl Into<String>,
) -> DataProblem {
    DataProblem::Unsupported { format, what: what.into(), instead: instead.into() }
}

/// An I/O error while a row was read, with the row where the data are to blame.
pub(crate) fn place_io_error(place: &Place, error: std::io::Error, row: u64) -> Error {
    match io_error(error) {
        Ok(data) => data.at_row(row).into(),
        Err(error) => Error::io(place.shown(), error),
    }
}

/// A piece of text for a message, cut where it is long.
pub(crate) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    let lossy = String::from_utf8_lossy(text);
    if lossy.chars().count() <= LONGEST {
        return format!("{lossy:?}");
    }
    format!("{:?} …", lossy.chars().take(LONGEST).collect::<String>())
}
