//! LIBSVM: `label index:value …` on each line, indices rising, absent features zero.
//!
//! A first line of four whole numbers gives rows, features, classes and the first index, as in Saffari's online forest
//! code. Without it nothing tells the number of features before the end, so the file is read twice.

use std::collections::BTreeSet;
use std::io::{BufReader, Seek as _, SeekFrom};

use hedgerow_core::{DataError, DataProblem, Error, Result, Schema};

use super::lines::{Lines, malformed, shown, split_blanks, unsupported};
use super::{MAX_COLUMNS, Rows, Source, too_many};
use crate::block::{BLOCK_BYTES, Block, Cells, ColumnCells, Declared, SourceColumn, TextCells};
use crate::delimiter::Decimal;
use crate::located::located;
use crate::number::{finite, is_number};
use crate::open::{Place, spool};

const FORMAT: &str = "libsvm";
const INSTEAD: &str = "give each row one label and index:value pairs";

/// Opens a LIBSVM file.
pub(crate) fn open(place: &Place, model: Option<&Schema>) -> Result<Source> {
    // Standard input cannot be read twice.
    let spooled =
        if place.is_stdin() { Some(spool(place.open_text()?).map_err(|e| place.error(e))?) } else { None };
    let start = || -> Result<Lines> {
        let Some(file) = &spooled else { return Lines::open(place, FORMAT) };
        let mut file = file.try_clone().map_err(|e| place.error(e))?;
        file.seek(SeekFrom::Start(0)).map_err(|e| place.error(e))?;
        Ok(Lines::new(place, BufReader::new(Box::new(file)), FORMAT))
    };
    let mut lines = start()?;
    if !next_row(&mut lines, 1)? {
        return Err(DataProblem::Empty.into());
    }
    let header = parse_header(row_text(lines.line()));
    let n_model = model.map(Schema::n_features);
    let (base, n_features) = if let Some(header) = header {
        (header.base, header.n_features)
    } else {
        let (lowest, end) = scan(&mut lines)?;
        // A file without its first feature does not tell where it counts from; the model's names do.
        let model_base = model.and_then(|m| m.columns.first()).is_some_and(|c| c.name == "0");
        let is_from_0 = lowest == Some(0) || n_model.is_some_and(|n| model_base && end <= n as u64);
        let base = u64::from(!is_from_0);
        (base, end.saturating_sub(base))
    };
    if base > 1 {
        return Err(malformed(FORMAT, "a first index of 0 or 1", base.to_string()).into());
    }
    let width = n_model.unwrap_or(usize::try_from(n_features).unwrap_or(usize::MAX));
    if width > MAX_COLUMNS {
        return Err(too_many(width));
    }
    if header.is_some() && n_features > width as u64 {
        return Err(DataProblem::ColumnCount { expected: width, got: n_features as usize }.into());
    }
    let mut lines = if header.is_some() { lines } else { start()? };
    let pending = header.is_none() && next_row(&mut lines, 1)?;
    let columns = SourceColumn::numbered(base as usize, width, &Declared::Numeric);
    let (has_model, labels_seen) = (model.is_some(), BTreeSet::new());
    let rows = LibsvmRows { lines, width, base, header, has_model, pending, n_rows: 0, labels_seen };
    Ok(Source { label_name: Some("label"), ..Source::new(columns, rows) })
}

/// Rows of a LIBSVM file.
struct LibsvmRows {
    lines: Lines,
    width: usize,
    /// The index of the first feature.
    base: u64,
    header: Option<Header>,
    /// Whether the features are a model's, so that a larger index is one the model does not know.
    has_model: bool,
    /// Whether the line in the buffer is the next row.
    pending: bool,
    n_rows: u64,
    labels_seen: BTreeSet<Vec<u8>>,
}

/// The sizes that the first line may give.
#[derive(Debug, Clone, Copy)]
struct Header {
    n_rows: u64,
    n_features: u64,
    n_classes: u64,
    base: u64,
}

impl LibsvmRows {
    /// Adds the line in the buffer to the block's values and labels.
    fn parse_row(&mut self, values: &mut Vec<f32>, labels: &mut TextCells) -> Result<()> {
        let width = self.width;
        let start = values.len();
        values.resize(start + width, 0.0);
        let row = &mut values[start..];
        let mut tokens = split_blanks(row_text(self.lines.line())).peekable();
        // Rows to be predicted may have no label.
        let label = tokens.next_if(|token| !token.contains(&b':')).unwrap_or(b"");
        if label.contains(&b',') {
            return Err(unsupported(FORMAT, "several labels in one row", INSTEAD).into());
        }
        if let Some(header) = self.header
            && !label.is_empty()
            && !self.labels_seen.contains(label)
        {
            self.labels_seen.insert(label.to_vec());
            if self.labels_seen.len() as u64 > header.n_classes {
                let expected = format!("{} classes, as the first line says", header.n_classes);
                return Err(malformed(FORMAT, &expected, "one more").into());
            }
        }
        // `+1` and `1` are one class.
        let without_plus = label.strip_prefix(b"+").filter(|rest| is_number(rest, Decimal::Point));
        labels.push(without_plus.unwrap_or(label));
        let mut last = None;
        for token in tokens {
            let (index, value) = split_pair(token)?;
            if last.is_some_and(|last| index <= last) {
                return Err(malformed(FORMAT, "rising indices", shown(token)).into());
            }
            last = Some(index);
            let column = index.checked_sub(self.base).and_then(|i| usize::try_from(i).ok());
            let Some(cell) = column.and_then(|i| row.get_mut(i)) else {
                if self.has_model {
                    let got = usize::try_from(index.saturating_add(1).saturating_sub(self.base));
                    let got = got.unwrap_or(usize::MAX);
                    return Err(DataProblem::ColumnCount { expected: width, got }.into());
                }
                let expected = format!("{width} features, counted from {}", self.base);
                return Err(malformed(FORMAT, &expected, format!("index {index}")).into());
            };
            *cell = finite(value, Decimal::Point)
                .map_err(|problem| DataError::from(problem).in_column(index.to_string()))?;
        }
        Ok(())
    }

    fn check_end(&self) -> Result<()> {
        match self.header {
            Some(header) if header.n_rows != self.n_rows => {
                let expected = format!("{} rows, as the first line says", header.n_rows);
                Err(malformed(FORMAT, &expected, self.n_rows.to_string()).into())
            }
            _ => Ok(()),
        }
    }
}

impl Rows for LibsvmRows {
    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()> {
        let (mut values, mut lines) = (Vec::new(), Vec::new());
        let mut labels = TextCells::column([b""; 0]);
        while lines.len() < max_rows && values.len() * size_of::<f32>() < BLOCK_BYTES {
            if !std::mem::take(&mut self.pending) && !next_row(&mut self.lines, self.n_rows + 1)? {
                self.check_end()?;
                break;
            }
            let line = self.lines.number();
            self.parse_row(&mut values, &mut labels)
                .map_err(|e| located(e, Some(self.n_rows + 1), Some(line), None))?;
            self.n_rows += 1;
            lines.push(line);
        }
        block.set(lines.len(), Cells::Numbers(values));
        (block.lines, block.labels) = (lines, Some(ColumnCells::Text(labels)));
        Ok(())
    }
}

/// The lowest index that is used in all rows, from the line in the buffer on, and the one after the highest.
fn scan(lines: &mut Lines) -> Result<(Option<u64>, u64)> {
    let (mut lowest, mut end) = (None, 0);
    let mut row = 1;
    loop {
        for (i, token) in split_blanks(row_text(lines.line())).enumerate() {
            if i == 0 && !token.contains(&b':') {
                continue;
            }
            let (index, _) =
                split_pair(token).map_err(|e| located(e, Some(row), Some(lines.number()), None))?;
            lowest = Some(lowest.unwrap_or(index).min(index));
            end = end.max(index.saturating_add(1));
        }
        row += 1;
        if !next_row(lines, row)? {
            return Ok((lowest, end));
        }
    }
}

/// Moves to the next line that has more than a comment.
fn next_row(lines: &mut Lines, row: u64) -> Result<bool> {
    while lines.advance(row)? {
        if !row_text(lines.line()).is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The line without its comment.
fn row_text(line: &[u8]) -> &[u8] {
    line.split(|&b| b == b'#').next().unwrap_or_default().trim_ascii()
}

fn split_pair(token: &[u8]) -> Result<(u64, &[u8])> {
    let bad = || Error::from(malformed(FORMAT, "index:value", shown(token)));
    let colon = token.iter().position(|&b| b == b':').ok_or_else(bad)?;
    let (index, value) = (&token[..colon], &token[colon + 1..]);
    if index == b"qid" {
        return Err(unsupported(FORMAT, "a query id (qid)", INSTEAD).into());
    }
    let index = std::str::from_utf8(index).ok().and_then(|t| t.parse().ok()).ok_or_else(bad)?;
    Ok((index, value))
}

fn parse_header(line: &[u8]) -> Option<Header> {
    let numbers: Option<Vec<u64>> =
        split_blanks(line).map(|t| std::str::from_utf8(t).ok().and_then(|t| t.parse().ok())).collect();
    match numbers?[..] {
        [n_rows, n_features, n_classes, base] => Some(Header { n_rows, n_features, n_classes, base }),
        _ => None,
    }
}
