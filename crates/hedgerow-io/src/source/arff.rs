//! ARFF, Weka's text format: `@attribute` lines declare the columns, rows follow after `@data`.

use hedgerow_core::{DataProblem, Error, Result};

use super::Source;
use super::csv::push_row;
use super::lines::{Lines, malformed, shown};
use crate::block::{Block, Declared, SourceColumn, TEXT_BLOCK_BYTES};
use crate::located::located;
use crate::open::Place;

const FORMAT: &str = "arff";

/// Rows of an ARFF file.
pub(crate) struct ArffSource {
    lines: Lines,
    columns: Vec<SourceColumn>,
    /// What a column holds in a sparse row that does not mention it.
    zeros: Vec<Vec<u8>>,
    next_row: u64,
    fields: Vec<Vec<u8>>,
}

impl ArffSource {
    pub(crate) fn open(place: &Place) -> Result<Self> {
        let mut lines = Lines::open(place, FORMAT)?;
        let mut columns: Vec<SourceColumn> = Vec::new();
        let mut is_empty = true;
        loop {
            if !lines.advance(1)? {
                return Err(if is_empty {
                    DataProblem::Empty.into()
                } else {
                    lines.malformed("a line @data", "the end of the file").into()
                });
            }
            is_empty = false;
            let line = lines.line();
            if line.starts_with(b"%") {
                continue;
            }
            if let Some(rest) = keyword(line, "@attribute") {
                let column =
                    parse_attribute(rest).map_err(|e| located(e, None, Some(lines.number()), None))?;
                columns.push(column);
            } else if keyword(line, "@data").is_some() {
                break;
            } else if keyword(line, "@relation").is_none() {
                return Err(lines.malformed("@relation, @attribute or @data", shown(line)).into());
            }
        }
        if columns.is_empty() {
            return Err(lines.malformed("an @attribute before @data", "none").into());
        }
        let zeros = columns
            .iter()
            .map(|c| match &c.declared {
                Declared::Nominal(names) => names.first().map_or_else(Vec::new, |n| n.clone().into_bytes()),
                _ => b"0".to_vec(),
            })
            .collect();
        Ok(Self { lines, columns, zeros, next_row: 1, fields: Vec::new() })
    }

    /// Splits the line in the buffer into the fields of a row.
    fn parse_row(&mut self) -> Result<()> {
        let line = self.lines.line();
        let sparse = line.strip_prefix(b"{").map(|rest| rest.trim_ascii_end().strip_suffix(b"}"));
        let Some(inside) = sparse else {
            let mut n = 0;
            let mut rest = line;
            loop {
                let (field, after) = take_value(rest, b",\t")?;
                set(&mut self.fields, n, field);
                n += 1;
                match after {
                    Some(after) => rest = after,
                    None => break,
                }
            }
            if n != self.columns.len() {
                return Err(DataProblem::Ragged { expected: self.columns.len(), got: n }.into());
            }
            return Ok(());
        };
        let Some(inside) = inside else {
            return Err(malformed(FORMAT, "a closing brace at the end of a sparse row", shown(line)).into());
        };
        for (i, zero) in self.zeros.iter().enumerate() {
            set(&mut self.fields, i, zero.clone());
        }
        let mut rest = Some(inside.trim_ascii()).filter(|inside| !inside.is_empty());
        while let Some(pair) = rest {
            let pair = pair.trim_ascii_start();
            let digits = pair.iter().take_while(|b| b.is_ascii_digit()).count();
            let index: Option<usize> = std::str::from_utf8(&pair[..digits]).ok().and_then(|t| t.parse().ok());
            let Some(index) = index.filter(|&i| i < self.columns.len()) else {
                return Err(malformed(FORMAT, "a column's number and its value", shown(pair)).into());
            };
            let (field, after) = take_value(&pair[digits..], b",")?;
            set(&mut self.fields, index, field);
            rest = after;
        }
        Ok(())
    }
}

impl Source for ArffSource {
    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn is_named(&self) -> bool {
        true
    }

    fn default_target(&self) -> Option<usize> {
        self.columns.iter().rposition(|c| c.name.eq_ignore_ascii_case("class"))
    }

    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()> {
        block.clear_text(self.columns.len());
        while block.n_rows < max_rows {
            if !self.lines.advance(self.next_row)? {
                break;
            }
            if self.lines.line().starts_with(b"%") {
                continue;
            }
            let line = self.lines.number();
            self.parse_row().map_err(|e| located(e, Some(self.next_row), Some(line), None))?;
            self.next_row += 1;
            let fields = self.fields[..self.columns.len()].iter().map(Vec::as_slice);
            if push_row(block, fields, line) > TEXT_BLOCK_BYTES {
                break;
            }
        }
        Ok(())
    }
}

fn set(fields: &mut Vec<Vec<u8>>, at: usize, field: Vec<u8>) {
    if at < fields.len() {
        fields[at] = field;
    } else {
        fields.push(field);
    }
}

/// What follows a keyword, in whatever case it is written.
fn keyword<'a>(line: &'a [u8], word: &str) -> Option<&'a [u8]> {
    let (start, rest) = line.split_at_checked(word.len())?;
    let is_word = start.eq_ignore_ascii_case(word.as_bytes());
    (is_word && rest.first().is_none_or(u8::is_ascii_whitespace)).then(|| rest.trim_ascii())
}

/// A column from what follows `@attribute`.
fn parse_attribute(text: &[u8]) -> Result<SourceColumn> {
    let bad = || Error::from(malformed(FORMAT, "@attribute NAME TYPE", shown(text)));
    let is_quoted = matches!(text.first(), Some(b'\'' | b'"'));
    let (name, kind) = if is_quoted {
        let (name, rest) = take_quoted(text)?;
        (name, rest.trim_ascii())
    } else {
        let end = text.iter().position(|b| b.is_ascii_whitespace() || *b == b'{').ok_or_else(bad)?;
        (text[..end].to_vec(), text[end..].trim_ascii())
    };
    let name = String::from_utf8(name).map_err(|_| DataProblem::InvalidUtf8)?;
    if name.is_empty() {
        return Err(bad());
    }
    let declared = if let Some(list) = kind.strip_prefix(b"{") {
        let list = list.strip_suffix(b"}").ok_or_else(bad)?;
        Declared::Nominal(parse_names(list).map_err(|e| located(e, None, None, Some(&name)))?)
    } else {
        let word = kind.split(u8::is_ascii_whitespace).next().unwrap_or_default().to_ascii_lowercase();
        match word.as_slice() {
            // Whether text stands among the numbers shows in the rows.
            b"numeric" | b"real" | b"integer" => Declared::Numeric,
            b"string" => Declared::Text,
            b"date" | b"relational" => Declared::Unsupported(DataProblem::Unsupported {
                format: FORMAT,
                what: format!("a column of type {}", String::from_utf8_lossy(&word)),
                instead: "make it a number, or leave it out with --ignore".into(),
            }),
            _ => return Err(bad()),
        }
    };
    Ok(SourceColumn { name, declared })
}

/// The names between the braces of a nominal type.
fn parse_names(list: &[u8]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = Some(list).filter(|l| !l.trim_ascii().is_empty());
    while let Some(text) = rest {
        let (name, after) = take_value(text, b",")?;
        names.push(String::from_utf8(name).map_err(|_| DataProblem::InvalidUtf8)?);
        rest = after;
    }
    if names.len() > hedgerow_core::data::MAX_CATEGORIES {
        let limit = hedgerow_core::data::MAX_CATEGORIES;
        return Err(DataProblem::TooManyCategories { limit }.into());
    }
    Ok(names)
}

/// The first value, quoted or not, and what follows its separator, where one follows.
fn take_value<'a>(text: &'a [u8], separators: &[u8]) -> Result<(Vec<u8>, Option<&'a [u8]>)> {
    let text = trim_blanks(text, separators);
    if !matches!(text.first(), Some(b'\'' | b'"')) {
        return Ok(match text.iter().position(|b| separators.contains(b)) {
            Some(end) => (text[..end].trim_ascii().to_vec(), Some(&text[end + 1..])),
            None => (text.trim_ascii().to_vec(), None),
        });
    }
    let (value, rest) = take_quoted(text)?;
    let rest = trim_blanks(rest, separators);
    match rest.first() {
        None => Ok((value, None)),
        Some(b) if separators.contains(b) => Ok((value, Some(&rest[1..]))),
        Some(_) => Err(malformed(FORMAT, "a comma after a quoted value", shown(rest)).into()),
    }
}

fn trim_blanks<'a>(text: &'a [u8], separators: &[u8]) -> &'a [u8] {
    let start = text.iter().position(|b| !b.is_ascii_whitespace() || separators.contains(b));
    &text[start.unwrap_or(text.len())..]
}

/// The text in quotes at the start, and what follows the closing one.
fn take_quoted(text: &[u8]) -> Result<(Vec<u8>, &[u8])> {
    let quote = text[0];
    let mut value = Vec::new();
    let mut i = 1;
    while i < text.len() {
        match text[i] {
            b'\\' if i + 1 < text.len() => {
                value.push(text[i + 1]);
                i += 1;
            }
            b if b == quote => return Ok((value, &text[i + 1..])),
            b => value.push(b),
        }
        i += 1;
    }
    Err(malformed(FORMAT, "a closing quote", shown(text)).into())
}
