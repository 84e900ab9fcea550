//! LIBSVM: `label index:value …` on each line, indices rising, absent features zero.
//!
//! A first line of four whole numbers gives rows, features, classes and the first index, as in Saffari's online forest
//! code. Without it nothing tells the number of features before the end, so the file is read twice.

use std::collections::BTreeSet;
use std::io::{BufReader, Seek as _, SeekFrom};

use hedgerow_core::{DataError, DataProblem, Error, Result, Schema};

use super::lines::{Lines, malformed, shown};
use super::{MAX_COLUMNS, Source, too_many};
use crate::block::{BLOCK_BYTES, Block, Cells, Declared, LabelCells, SourceColumn, TextCells};
use crate::located::located;
use crate::number::{Parsed, parse};
use crate::open::{Place, spool};

const FORMAT: &str = "libsvm";

/// Rows of a LIBSVM file.
pub(crate) struct LibsvmSource {
    lines: Lines,
    columns: Vec<SourceColumn>,
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

impl LibsvmSource {
    pub(crate) fn open(place: &Place, model: Option<&Schema>) -> Result<Self> {
        // Standard input cannot be read twice.
        let spooled = if place.is_stdin() {
            Some(spool(place.open_text()?).map_err(|e| place.error(e))?)
        } else {
            None
        };
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
        let range = match header {
            Some(header) => {
                Range { lowest: Some(header.base), end: header.base.saturating_add(header.n_features) }
            }
            None => scan(&mut lines)?,
        };
        let n_model = model.map(Schema::n_features);
        let model_base = model.and_then(|m| m.columns.first()).is_some_and(|c| c.name == "0");
        let base = match (header, n_model) {
            (Some(header), _) => header.base,
            _ if range.lowest == Some(0) => 0,
            // A file without its first feature does not tell; the model's names do.
            (None, Some(n)) if model_base && range.end <= n as u64 => 0,
            _ => 1,
        };
        if base > 1 {
            return Err(malformed(FORMAT, "a first index of 0 or 1", base.to_string()).into());
        }
        let n_features = match n_model {
            Some(n) => n,
            None => usize::try_from(range.end.saturating_sub(base)).unwrap_or(usize::MAX),
        };
        if n_features > MAX_COLUMNS {
            return Err(too_many(n_features));
        }
        if let (Some(header), Some(expected)) = (header, n_model)
            && header.n_features > expected as u64
        {
            return Err(DataProblem::ColumnCount { expected, got: header.n_features as usize }.into());
        }
        let mut lines = if header.is_some() { lines } else { start()? };
        let pending = header.is_none() && next_row(&mut lines, 1)?;
        Ok(Self {
            lines,
            columns: SourceColumn::numbered(base as usize, n_features, &Declared::Numeric),
            base,
            header,
            has_model: model.is_some(),
            pending,
            n_rows: 0,
            labels_seen: BTreeSet::new(),
        })
    }

    /// Adds the line in the buffer to the block's values and labels.
    fn parse_row(&mut self, values: &mut Vec<f32>, labels: &mut TextCells) -> Result<()> {
        let width = self.columns.len();
        let start = values.len();
        values.resize(start + width, 0.0);
        let row = &mut values[start..];
        let mut tokens = tokens(row_text(self.lines.line())).peekable();
        // Rows to be predicted may have no label.
        let label = tokens.next_if(|token| !token.contains(&b':')).unwrap_or(b"");
        if label.contains(&b',') {
            return Err(unsupported("several labels in one row"));
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
        labels.push(label.strip_prefix(b"+").filter(|rest| is_number(rest)).unwrap_or(label));
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
                    let problem =
                        DataProblem::ColumnCount { expected: width, got: got.unwrap_or(usize::MAX) };
                    return Err(problem.into());
                }
                let expected = format!("{width} features, counted from {}", self.base);
                return Err(malformed(FORMAT, &expected, format!("index {index}")).into());
            };
            *cell = match parse(value) {
                Parsed::Number(v) if v.is_finite() => v,
                Parsed::Number(_) => {
                    let text = String::from_utf8_lossy(value).into_owned();
                    return Err(DataError::from(DataProblem::Infinite { text })
                        .in_column(index.to_string())
                        .into());
                }
                Parsed::Missing => f32::NAN,
                Parsed::Text => {
                    let text = String::from_utf8_lossy(value).into_owned();
                    return Err(DataError::from(DataProblem::NotANumber { text })
                        .in_column(index.to_string())
                        .into());
                }
            };
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

impl Source for LibsvmSource {
    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn label_name(&self) -> Option<&str> {
        Some("label")
    }

    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()> {
        let mut values = Vec::new();
        let mut labels = TextCells::column();
        block.n_rows = 0;
        block.lines.clear();
        while block.n_rows < max_rows && values.len() * size_of::<f32>() < BLOCK_BYTES {
            if !std::mem::take(&mut self.pending) && !next_row(&mut self.lines, self.n_rows + 1)? {
                self.check_end()?;
                break;
            }
            let line = self.lines.number();
            self.parse_row(&mut values, &mut labels)
                .map_err(|e| located(e, Some(self.n_rows + 1), Some(line), None))?;
            self.n_rows += 1;
            block.n_rows += 1;
            block.lines.push(line);
        }
        block.cells = Cells::Numbers(values);
        block.labels = Some(LabelCells::Text(labels));
        Ok(())
    }
}

/// The lowest index that is used, and the one after the highest.
struct Range {
    lowest: Option<u64>,
    end: u64,
}

/// Looks through all rows for the range of indices, starting with the line in the buffer.
fn scan(lines: &mut Lines) -> Result<Range> {
    let mut range = Range { lowest: None, end: 0 };
    let mut row = 1;
    loop {
        for (i, token) in tokens(row_text(lines.line())).enumerate() {
            if i == 0 && !token.contains(&b':') {
                continue;
            }
            let (index, _) =
                split_pair(token).map_err(|e| located(e, Some(row), Some(lines.number()), None))?;
            range.lowest = Some(range.lowest.map_or(index, |lowest| lowest.min(index)));
            range.end = range.end.max(index.saturating_add(1));
        }
        row += 1;
        if !next_row(lines, row)? {
            return Ok(range);
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

fn is_number(text: &[u8]) -> bool {
    matches!(parse(text), Parsed::Number(_))
}

fn tokens(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty())
}

fn split_pair(token: &[u8]) -> Result<(u64, &[u8])> {
    let bad = || Error::from(malformed(FORMAT, "index:value", shown(token)));
    let colon = token.iter().position(|&b| b == b':').ok_or_else(bad)?;
    let (index, value) = (&token[..colon], &token[colon + 1..]);
    if index == b"qid" {
        return Err(unsupported("a query id (qid)"));
    }
    let index = std::str::from_utf8(index).ok().and_then(|t| t.parse().ok()).ok_or_else(bad)?;
    Ok((index, value))
}

fn parse_header(line: &[u8]) -> Option<Header> {
    let numbers: Option<Vec<u64>> =
        tokens(line).map(|t| std::str::from_utf8(t).ok().and_then(|t| t.parse().ok())).collect();
    match numbers?[..] {
        [n_rows, n_features, n_classes, base] => Some(Header { n_rows, n_features, n_classes, base }),
        _ => None,
    }
}

fn unsupported(what: &str) -> Error {
    DataProblem::Unsupported {
        format: FORMAT,
        what: what.into(),
        instead: "give each row one label and index:value pairs".into(),
    }
    .into()
}
