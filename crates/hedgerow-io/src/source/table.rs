//! Tables of text: rows of fields, whatever cuts the text into records.

use csv::ByteRecord;
use hedgerow_core::{DataError, DataProblem, Result};

use super::Rows;
use crate::block::{Block, TEXT_BLOCK_BYTES, line_of};
use crate::delimiter::Decimal;

/// Cuts text into records.
pub(crate) trait Records: Send {
    /// Reads the next record that is not blank; `false` at the end. `row` is the row that is being read, from 1.
    fn read(&mut self, row: u64, record: &mut ByteRecord) -> Result<bool>;
}

/// Rows of a table of text.
pub(crate) struct Table {
    pub(super) records: Box<dyn Records>,
    /// Records that were read ahead, the next one last.
    pub(super) ahead: Vec<ByteRecord>,
    /// The mark before the decimals of numbers.
    pub(super) decimal: Decimal,
    /// How lines are split into fields, where that may be why a row has not as many as the first.
    pub(super) split_hint: Option<String>,
    pub(super) n_columns: usize,
    pub(super) record: ByteRecord,
    pub(super) next_row: u64,
}

impl Table {
    pub(crate) fn new(records: Box<dyn Records>, n_columns: usize) -> Self {
        let (ahead, record) = (Vec::new(), ByteRecord::new());
        Self { records, ahead, decimal: Decimal::Point, split_hint: None, n_columns, record, next_row: 1 }
    }
}

impl Rows for Table {
    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()> {
        block.clear_text(self.n_columns, self.decimal);
        while block.n_rows < max_rows {
            match self.ahead.pop() {
                Some(record) => self.record = record,
                None if self.records.read(self.next_row, &mut self.record)? => {}
                None => break,
            }
            if self.record.len() != self.n_columns {
                let problem = DataProblem::Ragged { expected: self.n_columns, got: self.record.len() };
                let error = DataError { hint: self.split_hint.clone(), ..problem.into() };
                return Err(error.at_row(self.next_row).at_line(line_of(&self.record)).into());
            }
            self.next_row += 1;
            if block.push_record(&self.record) > TEXT_BLOCK_BYTES {
                break;
            }
        }
        Ok(())
    }
}
