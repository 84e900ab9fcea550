//! Where an error happened.

use hedgerow_core::Error;

use crate::block::Block;

/// Adds to an error about data what is known of its place and not in it yet. Rows count from 1.
pub(crate) fn located(error: Error, row: Option<u64>, line: Option<u64>, column: Option<&str>) -> Error {
    match error {
        Error::Data(mut data) => {
            data.row = data.row.or(row);
            data.line = data.line.or(line);
            if data.column.is_none() {
                data.column = column.map(String::from);
            }
            Error::Data(data)
        }
        other => other,
    }
}

/// The same for an error about a cell of a row of a block.
pub(crate) fn in_cell(error: Error, block: &Block, row: usize, column: Option<&str>) -> Error {
    located(error, Some(block.first_row + row as u64 + 1), block.lines.get(row).copied(), column)
}
