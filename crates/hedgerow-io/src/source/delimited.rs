//! Tables of text with a character between the fields: how they are written, and what their columns are called.

use csv::ByteRecord;
use hedgerow_core::{DataError, DataProblem, Result};

use super::Source;
use super::csv::CsvRecords;
use super::lines::{BlankRecords, malformed, shown};
use super::table::{Records, Table};
use crate::block::{Declared, SourceColumn, line_of};
use crate::delimiter::{Decimal, Delimiter};
use crate::format::Format;
use crate::number::is_number;
use crate::open::{Place, read_ahead};
use crate::options::ReadOptions;

/// Opens a table of text.
pub(crate) fn open(place: &Place, format: Format, options: &ReadOptions) -> Result<Source> {
    let (input, sample) = read_ahead(place.open_text()?);
    let usual = match format {
        Format::Tsv => Delimiter::TAB,
        Format::Whitespace => Delimiter::SPACE,
        _ => Delimiter::COMMA,
    };
    let delimiter = options.delimiter.unwrap_or_else(|| sample.delimiter(usual, options.decimal));
    let decimal = options.decimal.unwrap_or_else(|| match delimiter {
        Delimiter::SEMICOLON => sample.decimal(delimiter),
        _ => Decimal::Point,
    });
    let mut records: Box<dyn Records> = match delimiter {
        Delimiter::SPACE => Box::new(BlankRecords::new(place, input, format.name())),
        _ => Box::new(CsvRecords::new(place, input, format.name(), delimiter)),
    };
    let mut first = ByteRecord::new();
    if !records.read(1, &mut first)? {
        return Err(DataProblem::Empty.into());
    }
    if delimiter == Delimiter::SPACE && first.len() == 1 && first[0].contains(&b',') {
        let got = format!("{}; for commas give --delimiter comma", shown(&first[0]));
        let error = malformed(format.name(), "fields separated by blanks", got);
        return Err(error.at_line(line_of(&first)).into());
    }
    let mut ahead = Vec::new();
    let is_named = match options.header {
        Some(is_named) => is_named,
        // Files named like tables with blanks seldom have a header, with whatever delimiter.
        None if usual == Delimiter::SPACE || delimiter == Delimiter::SPACE => {
            let mut second = ByteRecord::new();
            if records.read(1, &mut second)? {
                ahead.push(second);
            }
            ahead.first().is_some_and(|second| is_header(&first, second, decimal))
        }
        // No header consists of numbers only, and every bare table of numbers does.
        None => !first.iter().all(|field| is_number(field, decimal)),
    };
    let columns = if is_named {
        header_columns(&first)?
    } else {
        let columns = SourceColumn::numbered(0, first.len(), &Declared::Unknown);
        ahead.push(first);
        columns
    };
    let may_be_wrong = options.delimiter.is_some() || delimiter != usual || columns.len() == 1;
    let split_hint = may_be_wrong
        .then(|| format!("the lines were split at every {delimiter}; --delimiter gives another character"));
    let table =
        Table { ahead, decimal, split_hint: split_hint.clone(), ..Table::new(records, columns.len()) };
    Ok(Source { is_named, split_hint, ..Source::new(columns, table) })
}

/// Whether the first line holds names: it has no number in it. A table of words has none in the second line either.
fn is_header(first: &ByteRecord, second: &ByteRecord, decimal: Decimal) -> bool {
    let has_number = |record: &ByteRecord| record.iter().any(|field| is_number(field, decimal));
    has_number(second) && !has_number(first)
}

/// The columns that a header line names. A column without a name goes by its number.
fn header_columns(record: &ByteRecord) -> Result<Vec<SourceColumn>> {
    let column = |(i, field): (usize, &[u8])| {
        let name = std::str::from_utf8(field.trim_ascii()).map_err(|_| {
            let error = DataError::from(DataProblem::InvalidUtf8);
            error.at_line(line_of(record)).in_column(i.to_string())
        })?;
        let name = if name.is_empty() { i.to_string() } else { name.to_string() };
        Ok(SourceColumn { name, declared: Declared::Unknown })
    };
    record.iter().enumerate().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_first_line() {
        let is_header = |first: [&str; 2], second: [&str; 2], decimal| {
            is_header(&ByteRecord::from(&first[..]), &ByteRecord::from(&second[..]), decimal)
        };
        assert!(is_header(["a", "b"], ["1,5", "x"], Decimal::Comma));
        assert!(!is_header(["5.1", "x"], ["4.9", "y"], Decimal::Point));
        assert!(!is_header(["red", "x"], ["blue", "y"], Decimal::Point));
    }
}
