//! Tables with one character between the fields, and quotes.
//!
//! The first line names the columns unless the caller tells otherwise or it consists of numbers only, which no header
//! does and every bare table of numbers does.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use csv::{ByteRecord, ReaderBuilder};
use hedgerow_core::{DataError, DataProblem, Error, Result};

use super::Source;
use super::delimited::Layout;
use super::lines::{MAX_LINE, malformed, place_io_error};
use crate::block::{Block, Declared, SourceColumn, TEXT_BLOCK_BYTES};
use crate::number::{Parsed, parse_as, trim};
use crate::open::{Input, Place};

/// Rows of a CSV or TSV file, or one like them.
pub(crate) struct CsvSource {
    place: Place,
    reader: csv::Reader<Limited>,
    /// Bytes read since the last record ended.
    n_open_bytes: Arc<AtomicU64>,
    columns: Vec<SourceColumn>,
    named: bool,
    /// The first record, where it turned out to be data.
    pending: bool,
    record: ByteRecord,
    next_row: u64,
    layout: Layout,
}

impl CsvSource {
    pub(crate) fn new(place: &Place, input: Input, layout: Layout, header: Option<bool>) -> Result<Self> {
        let n_open_bytes = Arc::new(AtomicU64::new(0));
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(layout.delimiter.byte())
            .from_reader(Limited { input, n_open_bytes: n_open_bytes.clone() });
        let mut source = Self {
            place: place.clone(),
            reader,
            n_open_bytes,
            columns: Vec::new(),
            named: false,
            pending: false,
            record: ByteRecord::new(),
            next_row: 1,
            layout,
        };
        source.start(header)?;
        Ok(source)
    }

    fn start(&mut self, header: Option<bool>) -> Result<()> {
        if !self.advance()? {
            return Err(DataProblem::Empty.into());
        }
        let decimal = self.layout.decimal;
        let is_number = |field: &[u8]| matches!(parse_as(trim(field), decimal), Parsed::Number(_));
        self.named = header.unwrap_or_else(|| !self.record.iter().all(is_number));
        self.columns = if self.named {
            header_columns(self.record.iter(), self.line())?
        } else {
            SourceColumn::numbered(0, self.record.len(), &Declared::Unknown)
        };
        self.pending = !self.named;
        Ok(())
    }

    /// Moves to the next record that is not blank.
    fn advance(&mut self) -> Result<bool> {
        loop {
            let more = self.reader.read_byte_record(&mut self.record).map_err(|e| self.error(e))?;
            self.n_open_bytes.store(0, Ordering::Relaxed);
            let is_blank =
                self.record.len() == 1 && self.columns.len() > 1 && trim(&self.record[0]).is_empty();
            if !(more && is_blank) {
                return Ok(more);
            }
        }
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    fn error(&self, error: csv::Error) -> Error {
        let text = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(e) if e.kind() == io::ErrorKind::FileTooLarge => {
                let got = "a longer one (is a quote left open?)";
                malformed(self.layout.format.name(), "rows of at most 256 MiB", got)
                    .at_row(self.next_row)
                    .into()
            }
            csv::ErrorKind::Io(e) => place_io_error(&self.place, e, self.next_row),
            _ => malformed(self.layout.format.name(), "a table", text).at_row(self.next_row).into(),
        }
    }
}

impl Source for CsvSource {
    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn is_named(&self) -> bool {
        self.named
    }

    fn split_hint(&self) -> Option<String> {
        self.layout.hint(self.columns.len())
    }

    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()> {
        let n_columns = self.columns.len();
        block.clear_text(n_columns).decimal = self.layout.decimal;
        while block.n_rows < max_rows {
            if !std::mem::take(&mut self.pending) && !self.advance()? {
                break;
            }
            if self.record.len() != n_columns {
                let error = self.layout.ragged(n_columns, self.record.len());
                return Err(error.at_row(self.next_row).at_line(self.line()).into());
            }
            if push_row(block, self.record.iter(), self.line()) > TEXT_BLOCK_BYTES {
                self.next_row += 1;
                break;
            }
            self.next_row += 1;
        }
        Ok(())
    }
}

/// Fails when a single row does not end, so that a quote left open cannot fill the memory with the rest of the file.
struct Limited {
    input: Input,
    n_open_bytes: Arc<AtomicU64>,
}

impl Read for Limited {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buf)?;
        let n_before = self.n_open_bytes.fetch_add(n as u64, Ordering::Relaxed);
        if n_before > MAX_LINE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(n)
    }
}

/// Adds a row of fields to a block of text and returns the block's size.
pub(crate) fn push_row<'a>(block: &mut Block, fields: impl Iterator<Item = &'a [u8]>, line: u64) -> usize {
    block.lines.push(line);
    block.n_rows += 1;
    match &mut block.cells {
        crate::block::Cells::Text(text) => {
            fields.for_each(|field| text.push(field));
            text.bytes()
        }
        _ => 0,
    }
}

/// The columns that a header line names. A column without a name goes by its number.
pub(crate) fn header_columns<'a>(
    fields: impl Iterator<Item = &'a [u8]>,
    line: u64,
) -> Result<Vec<SourceColumn>> {
    let mut columns = Vec::new();
    for (i, field) in fields.enumerate() {
        let name = std::str::from_utf8(trim(field))
            .map_err(|_| DataError::from(DataProblem::InvalidUtf8).at_line(line).in_column(i.to_string()))?;
        let name = if name.is_empty() { i.to_string() } else { name.to_string() };
        columns.push(SourceColumn { name, declared: Declared::Unknown });
    }
    Ok(columns)
}
