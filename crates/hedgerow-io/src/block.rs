//! Rows as a source hands them over, before they are encoded.

use csv::ByteRecord;
use hedgerow_core::DataProblem;

use crate::delimiter::Decimal;

/// A source of numbers stops filling a block at about this many bytes, whatever number of rows was asked for.
pub(crate) const BLOCK_BYTES: usize = 8 << 20;
/// The same for text, of which the first block must hold enough rows to tell the kinds of very many columns.
pub(crate) const TEXT_BLOCK_BYTES: usize = 64 << 20;

/// A column of a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SourceColumn {
    /// The name in the file, or the column's number.
    pub name: String,
    /// What the file itself declares about the content.
    pub declared: Declared,
}

impl SourceColumn {
    /// Columns of one kind called by their numbers, from `first` on.
    pub(crate) fn numbered(first: usize, n: usize, declared: &Declared) -> Vec<Self> {
        (first..first + n).map(|i| Self { name: i.to_string(), declared: declared.clone() }).collect()
    }
}

/// What a file declares about a column's content.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Declared {
    /// Nothing: the content must tell.
    Unknown,
    /// Numbers.
    Numeric,
    /// True and false.
    #[cfg_attr(not(any(feature = "arrow", feature = "parquet")), allow(dead_code))]
    Boolean,
    /// Text.
    Text,
    /// One of these names.
    Nominal(Vec<String>),
    /// Something that cannot be read, which matters only if the column is used.
    Unsupported(DataProblem),
}

/// Some rows.
#[derive(Debug)]
pub(crate) struct Block {
    /// The number of the first row, from 0.
    pub first_row: u64,
    /// How many rows.
    pub n_rows: usize,
    /// What stands in them.
    pub cells: Cells,
    /// The line of each row, in formats of text.
    pub lines: Vec<u64>,
    /// Labels that come apart from the columns.
    pub labels: Option<ColumnCells>,
}

impl Block {
    /// No rows.
    pub(crate) fn new() -> Self {
        Self { first_row: 0, n_rows: 0, cells: Cells::Bytes(Vec::new()), lines: Vec::new(), labels: None }
    }

    /// Whether it has rows although its source gave up: those of text before the bad one.
    pub(crate) fn has_rows_before_bad(&self) -> bool {
        self.n_rows > 0 && matches!(self.cells, Cells::Text(_))
    }

    /// Makes this a block of other rows, without lines and labels.
    pub(crate) fn set(&mut self, n_rows: usize, cells: Cells) {
        *self = Self { n_rows, cells, ..Self::new() };
    }

    /// Empties the block for rows of text, keeping its memory where it held such rows.
    pub(crate) fn clear_text(&mut self, n_columns: usize, decimal: Decimal) {
        self.n_rows = 0;
        self.lines.clear();
        match &mut self.cells {
            Cells::Text(text) => text.clear(),
            cells => *cells = Cells::Text(TextCells::new(n_columns, decimal)),
        }
    }

    /// Adds a row of fields to a block of text. Returns the bytes of the block.
    pub(crate) fn push_record(&mut self, record: &ByteRecord) -> usize {
        self.lines.push(line_of(record));
        self.n_rows += 1;
        let Cells::Text(text) = &mut self.cells else { return 0 };
        record.iter().for_each(|field| text.push(field));
        text.data.len() + text.ends.len() * size_of::<usize>()
    }

    /// One cell, in a block of `n_columns` columns.
    #[inline]
    pub(crate) fn cell(&self, row: usize, column: usize, n_columns: usize) -> Cell<'_> {
        let place = row * n_columns + column;
        match &self.cells {
            Cells::Text(cells) => Cell::Text(cells.field(row, column), cells.decimal),
            Cells::Bytes(values) => Cell::Int(i64::from(values[place])),
            Cells::Numbers(values) => Cell::Number(f64::from(values[place])),
            Cells::Columns(columns) => columns[column].cell(row),
        }
    }
}

/// The line at which a record begins.
pub(crate) fn line_of(record: &ByteRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

/// The cells of a block.
#[derive(Debug)]
pub(crate) enum Cells {
    /// Fields of text.
    Text(TextCells),
    /// Numbers from 0 to 255, row after row.
    Bytes(Vec<u8>),
    /// Numbers, row after row; `NaN` is missing.
    Numbers(Vec<f32>),
    /// One array for each column.
    #[cfg_attr(not(any(feature = "arrow", feature = "parquet")), allow(dead_code))]
    Columns(Vec<ColumnCells>),
}

/// The cells of one column.
#[derive(Debug)]
pub(crate) enum ColumnCells {
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Numbers; `NaN` is missing.
    Numbers(Vec<f64>),
    /// Text.
    Text(TextCells),
    /// A column that is not read.
    #[cfg_attr(not(any(feature = "arrow", feature = "parquet")), allow(dead_code))]
    Skipped,
}

impl ColumnCells {
    /// The cell of a row.
    #[inline]
    pub(crate) fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Ints(values) => Cell::Int(values[row]),
            Self::Numbers(values) => Cell::Number(values[row]),
            Self::Text(cells) => Cell::Text(cells.field(row, 0), cells.decimal),
            Self::Skipped => Cell::Missing,
        }
    }
}

/// One cell, in whatever form its block has it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell<'a> {
    /// A field without blanks around it, and the mark before the decimals of numbers.
    Text(&'a [u8], Decimal),
    /// A whole number.
    Int(i64),
    /// A number; `NaN` is missing.
    Number(f64),
    /// Nothing.
    Missing,
}

/// Fields one after the other in one buffer.
#[derive(Debug)]
pub(crate) struct TextCells {
    data: Vec<u8>,
    ends: Vec<usize>,
    n_columns: usize,
    /// The mark before the decimals of numbers.
    pub decimal: Decimal,
}

impl TextCells {
    fn new(n_columns: usize, decimal: Decimal) -> Self {
        Self { data: Vec::new(), ends: Vec::new(), n_columns, decimal }
    }

    fn clear(&mut self) {
        self.data.clear();
        self.ends.clear();
    }

    /// Fields of one column.
    pub(crate) fn column<T: AsRef<[u8]>>(fields: impl IntoIterator<Item = T>) -> Self {
        let mut cells = Self::new(1, Decimal::Point);
        fields.into_iter().for_each(|field| cells.push(field.as_ref()));
        cells
    }

    /// Adds a field.
    pub(crate) fn push(&mut self, field: &[u8]) {
        self.data.extend_from_slice(field);
        self.ends.push(self.data.len());
    }

    /// One field, without blanks around it.
    #[inline]
    pub(crate) fn field(&self, row: usize, column: usize) -> &[u8] {
        let at = row * self.n_columns + column;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        self.data[start..self.ends[at]].trim_ascii()
    }
}
