//! Tables whose fields are separated by blanks.

use hedgerow_core::{DataProblem, Result};

use super::Source;
use super::csv::{header_columns, push_row};
use super::delimited::Layout;
use super::lines::{Lines, shown};
use crate::block::{Block, Declared, SourceColumn, TEXT_BLOCK_BYTES};
use crate::delimiter::Decimal;
use crate::number::{Parsed, parse_as};
use crate::open::{Input, Place};

/// Rows of a whitespace-separated file.
pub(crate) struct WhitespaceSource {
    lines: Lines,
    columns: Vec<SourceColumn>,
    named: bool,
    layout: Layout,
    /// Lines read ahead to tell whether there is a header, with their numbers.
    ahead: Vec<(Vec<u8>, u64)>,
    next_row: u64,
}

impl WhitespaceSource {
    pub(crate) fn new(place: &Place, input: Input, layout: Layout, header: Option<bool>) -> Result<Self> {
        let mut lines = Lines::new(place, input, layout.format.name());
        if !lines.advance(1)? {
            return Err(DataProblem::Empty.into());
        }
        let (first, first_line) = (lines.line().to_vec(), lines.number());
        if split(&first).count() == 1 && first.contains(&b',') {
            let hint = format!("{}; for commas give --delimiter comma", shown(&first));
            return Err(lines.malformed("fields separated by blanks", hint).into());
        }
        let mut ahead = Vec::new();
        if lines.advance(1)? {
            ahead.push((lines.line().to_vec(), lines.number()));
        }
        let is_number = |field| is_number(field, layout.decimal);
        // A header has no numbers in it; a table of words without a header has none in the next line either.
        let named = header.unwrap_or_else(|| {
            let second_has_number = ahead.first().is_some_and(|(line, _)| split(line).any(is_number));
            second_has_number && !split(&first).any(is_number)
        });
        let columns = if named {
            header_columns(split(&first), first_line)?
        } else {
            let columns = SourceColumn::numbered(0, split(&first).count(), &Declared::Unknown);
            ahead.insert(0, (first, first_line));
            columns
        };
        ahead.reverse();
        Ok(Self { lines, columns, named, layout, ahead, next_row: 1 })
    }
}

impl Source for WhitespaceSource {
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
        block.clear_text(self.columns.len()).decimal = self.layout.decimal;
        while block.n_rows < max_rows {
            let ahead = self.ahead.pop();
            if ahead.is_none() && !self.lines.advance(self.next_row)? {
                break;
            }
            let (line, number) = match &ahead {
                Some((line, number)) => (line.as_slice(), *number),
                None => (self.lines.line(), self.lines.number()),
            };
            let got = split(line).count();
            if got != self.columns.len() {
                let error = self.layout.ragged(self.columns.len(), got);
                return Err(error.at_row(self.next_row).at_line(number).into());
            }
            self.next_row += 1;
            if push_row(block, split(line), number) > TEXT_BLOCK_BYTES {
                break;
            }
        }
        Ok(())
    }
}

fn split(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

fn is_number(field: &[u8], decimal: Decimal) -> bool {
    matches!(parse_as(field, decimal), Parsed::Number(_))
}
