//! ARFF, Weka's text format: `@attribute` lines declare the columns, rows follow after `@data`.

use csv::ByteRecord;
use hedgerow_core::data::MAX_CATEGORIES;
use hedgerow_core::{DataProblem, Error, Result};

use super::Source;
use super::lines::{Lines, malformed, shown, unsupported};
use super::table::{Records, Table};
use crate::block::{Declared, SourceColumn};
use crate::located::located;
use crate::open::Place;

const FORMAT: &str = "arff";

/// Opens an ARFF file.
pub(crate) fn open(place: &Place) -> Result<Source> {
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
            columns.push(parse_attribute(rest).map_err(|e| located(e, None, Some(lines.number()), None))?);
        } else if keyword(line, "@data").is_some() {
            break;
        } else if keyword(line, "@relation").is_none() {
            return Err(lines.malformed("@relation, @attribute or @data", shown(line)).into());
        }
    }
    if columns.is_empty() {
        return Err(lines.malformed("an @attribute before @data", "none").into());
    }
    let zero = |column: &SourceColumn| match &column.declared {
        Declared::Nominal(names) => names.first().cloned().unwrap_or_default().into_bytes(),
        _ => b"0".to_vec(),
    };
    let records = ArffRecords { lines, zeros: columns.iter().map(zero).collect() };
    let default_target = columns.iter().rposition(|c| c.name.eq_ignore_ascii_case("class"));
    let table = Table::new(Box::new(records), columns.len());
    Ok(Source { is_named: true, default_target, ..Source::new(columns, table) })
}

/// Rows of an ARFF file.
struct ArffRecords {
    lines: Lines,
    /// What a column holds in a sparse row that does not mention it.
    zeros: Vec<Vec<u8>>,
}

impl ArffRecords {
    /// Splits the line in the buffer into the fields of a row.
    fn parse_row(&self, record: &mut ByteRecord) -> Result<()> {
        let line = self.lines.line();
        let Some(inside) = line.strip_prefix(b"{") else {
            let mut rest = Some(line);
            while let Some(text) = rest {
                let (field, after) = take_value(text, b",\t")?;
                record.push_field(&field);
                rest = after;
            }
            return Ok(());
        };
        let Some(inside) = inside.strip_suffix(b"}") else {
            return Err(malformed(FORMAT, "a closing brace at the end of a sparse row", shown(line)).into());
        };
        let mut fields = self.zeros.clone();
        let mut rest = Some(inside.trim_ascii()).filter(|inside| !inside.is_empty());
        while let Some(pair) = rest {
            let pair = pair.trim_ascii_start();
            let digits = pair.iter().take_while(|b| b.is_ascii_digit()).count();
            let index: Option<usize> = std::str::from_utf8(&pair[..digits]).ok().and_then(|t| t.parse().ok());
            let Some(field) = index.and_then(|i| fields.get_mut(i)) else {
                return Err(malformed(FORMAT, "a column's number and its value", shown(pair)).into());
            };
            (*field, rest) = take_value(&pair[digits..], b",")?;
        }
        record.extend(fields);
        Ok(())
    }
}

impl Records for ArffRecords {
    fn read(&mut self, row: u64, record: &mut ByteRecord) -> Result<bool> {
        record.clear();
        while self.lines.advance(row)? {
            if !self.lines.line().starts_with(b"%") {
                self.lines.mark(record);
                let parsed = self.parse_row(record);
                return parsed
                    .map(|()| true)
                    .map_err(|e| located(e, Some(row), Some(self.lines.number()), None));
            }
        }
        Ok(false)
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
            b"date" | b"relational" => {
                let what = format!("a column of type {}", String::from_utf8_lossy(&word));
                let instead = "make it a number, or leave it out with --ignore";
                Declared::Unsupported(unsupported(FORMAT, what, instead))
            }
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
    if names.len() > MAX_CATEGORIES {
        return Err(DataProblem::TooManyCategories.into());
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
