//! Records with one character between the fields, and quotes.

use std::io::{self, Read};

use csv::{ByteRecord, ReaderBuilder};
use hedgerow_core::{Error, Result};

use super::lines::{MAX_LINE, malformed, place_io_error};
use super::table::Records;
use crate::delimiter::Delimiter;
use crate::open::{Input, Place};

/// Records of a CSV or TSV file, or one like them.
pub(crate) struct CsvRecords {
    place: Place,
    format: &'static str,
    reader: csv::Reader<Limited>,
    /// Fields of the first record.
    n_fields: Option<usize>,
}

impl CsvRecords {
    pub(crate) fn new(place: &Place, input: Input, format: &'static str, delimiter: Delimiter) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter.byte())
            .from_reader(Limited { input, n_open_bytes: 0 });
        Self { place: place.clone(), format, reader, n_fields: None }
    }

    fn error(&self, error: csv::Error, row: u64) -> Error {
        let text = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(e) if e.kind() == io::ErrorKind::FileTooLarge => {
                let got = "a longer one (is a quote left open?)";
                malformed(self.format, "rows of at most 256 MiB", got).at_row(row).into()
            }
            csv::ErrorKind::Io(e) => place_io_error(&self.place, e, row),
            _ => malformed(self.format, "a table", text).at_row(row).into(),
        }
    }
}

impl Records for CsvRecords {
    fn read(&mut self, row: u64, record: &mut ByteRecord) -> Result<bool> {
        loop {
            let more = self.reader.read_byte_record(record).map_err(|e| self.error(e, row))?;
            self.reader.get_mut().n_open_bytes = 0;
            let n_fields = *self.n_fields.get_or_insert(record.len());
            if !more || record.len() != 1 || n_fields == 1 || !record[0].trim_ascii().is_empty() {
                return Ok(more);
            }
        }
    }
}

/// Fails when a single row does not end, so that a quote left open cannot fill the memory with the rest of the file.
struct Limited {
    input: Input,
    /// Bytes read since the last record ended.
    n_open_bytes: u64,
}

impl Read for Limited {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.n_open_bytes > MAX_LINE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let n = self.input.read(buf)?;
        self.n_open_bytes += n as u64;
        Ok(n)
    }
}
