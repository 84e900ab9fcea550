//! Rows as a source hands them over, before they are encoded.

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
    pub labels: Option<LabelCells>,
}

impl Block {
    /// No rows.
    pub(crate) fn new() -> Self {
        Self { first_row: 0, n_rows: 0, cells: Cells::Bytes(Vec::new()), lines: Vec::new(), labels: None }
    }

    /// Whether there are rows, all of them with all of their fields: those before the one at which a source of text gave up.
    pub(crate) fn is_whole(&self, n_columns: usize) -> bool {
        let n_fields = if let Cells::Text(text) = &self.cells { text.len() } else { 0 };
        self.n_rows > 0 && n_fields == self.n_rows * n_columns
    }

    /// Empties the block, keeping its memory where it was text.
    pub(crate) fn clear_text(&mut self, n_columns: usize) -> &mut TextCells {
        self.n_rows = 0;
        self.lines.clear();
        self.labels = None;
        if !matches!(self.cells, Cells::Text(_)) {
            self.cells = Cells::Text(TextCells::default());
        }
        match &mut self.cells {
            Cells::Text(text) => {
                text.clear(n_columns);
                text
            }
            _ => unreachable!("set just above"),
        }
    }
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
#[cfg_attr(not(any(feature = "arrow", feature = "parquet")), allow(dead_code))]
pub(crate) enum ColumnCells {
    /// Numbers; `NaN` is missing.
    Numbers(Vec<f64>),
    /// Text, and whether it is there.
    Text(TextCells, Vec<bool>),
    /// A column that is not read.
    Skipped,
}

/// Fields one after the other in one buffer.
#[derive(Debug, Default)]
pub(crate) struct TextCells {
    data: Vec<u8>,
    ends: Vec<usize>,
    n_columns: usize,
    /// The mark before the decimals of numbers.
    pub decimal: Decimal,
}

impl TextCells {
    /// No fields, in rows of `n_columns`.
    pub(crate) fn clear(&mut self, n_columns: usize) {
        self.data.clear();
        self.ends.clear();
        self.n_columns = n_columns;
    }

    /// No fields, one a row.
    pub(crate) fn column() -> Self {
        Self { data: Vec::new(), ends: Vec::new(), n_columns: 1, decimal: Decimal::Point }
    }

    /// Adds a field.
    pub(crate) fn push(&mut self, field: &[u8]) {
        self.data.extend_from_slice(field);
        self.ends.push(self.data.len());
    }

    /// The number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.data.len() + self.ends.len() * size_of::<usize>()
    }

    /// One field.
    pub(crate) fn field(&self, row: usize, column: usize) -> &[u8] {
        let at = row * self.n_columns + column;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.data[start..self.ends[at]]
    }
}

/// Labels that come apart from the columns.
#[derive(Debug)]
pub(crate) enum LabelCells {
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Numbers; `NaN` is missing.
    Floats(Vec<f64>),
    /// Text.
    Text(TextCells),
}

impl LabelCells {
    /// How many labels.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ints(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Text(cells) => cells.len(),
        }
    }
}
