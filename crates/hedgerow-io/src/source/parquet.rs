//! Apache Parquet, one row group after the other, read column by column.
//!
//! The `parquet` crate's own column readers are used: its readers of Arrow arrays take longer to build than the rest of this crate.

use std::fs::File;
use std::sync::Arc;

use hedgerow_core::{DataProblem, Error, Result};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes as _, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, Type};

use super::lines::malformed;
use super::{MAX_COLUMNS, Rows, Source, guarded, rows_of_block, too_many, unsupported_column};
use crate::block::{Block, Cells, ColumnCells, Declared, SourceColumn, TextCells};
use crate::open::Place;

const FORMAT: &str = "parquet";

/// Opens a Parquet file.
pub(crate) fn open(place: &Place) -> Result<Source> {
    let file = place.open_seekable()?;
    if file.metadata().is_ok_and(|m| m.len() == 0) {
        return Err(DataProblem::Empty.into());
    }
    let bad = |e: ParquetError| Error::from(malformed(FORMAT, "a Parquet file", e.to_string()));
    let file = guarded(FORMAT, || SerializedFileReader::new(file))?.map_err(bad)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let fields = schema.root_schema().get_fields();
    if fields.len() > MAX_COLUMNS {
        return Err(too_many(fields.len()));
    }
    let mut leaves: Vec<Option<usize>> = vec![None; fields.len()];
    let mut columns: Vec<SourceColumn> = fields.iter().map(|field| nested(field)).collect();
    for (i, leaf) in schema.columns().iter().enumerate() {
        let at = schema.get_column_root_idx(i);
        if fields[at].is_primitive() && leaf.max_rep_level() == 0 {
            let declared = declared(leaf);
            leaves[at] = (!matches!(declared, Declared::Unsupported(_))).then_some(i);
            columns[at].declared = declared;
        }
    }
    let rows = ParquetRows {
        file,
        columns: columns.clone(),
        leaves,
        n_groups: 0,
        readers: Vec::new(),
        n_left: 0,
        n_read: 0,
    };
    Ok(Source { is_named: true, ..Source::new(columns, rows) })
}

/// A column of lists or structs, which is what every column is until its one leaf is found.
fn nested(field: &Type) -> SourceColumn {
    let declared = Declared::Unsupported(unsupported_column(FORMAT, "lists or structs"));
    SourceColumn { name: field.name().to_string(), declared }
}

/// What the type of a column means for us.
fn declared(leaf: &ColumnDescriptor) -> Declared {
    let (logical, converted) = (leaf.logical_type_ref(), leaf.converted_type());
    let unsupported = |what: &str| Declared::Unsupported(unsupported_column(FORMAT, what));
    match leaf.physical_type() {
        Physical::BOOLEAN => Declared::Boolean,
        Physical::FLOAT | Physical::DOUBLE => Declared::Numeric,
        Physical::INT32 | Physical::INT64 => match (logical, converted) {
            (None | Some(LogicalType::Integer(_) | LogicalType::Unknown), converted) => match converted {
                ConvertedType::DATE
                | ConvertedType::DECIMAL
                | ConvertedType::TIME_MILLIS
                | ConvertedType::TIME_MICROS
                | ConvertedType::TIMESTAMP_MILLIS
                | ConvertedType::TIMESTAMP_MICROS => unsupported(&converted.to_string()),
                _ => Declared::Numeric,
            },
            (Some(other), _) => unsupported(&name_of(other)),
        },
        Physical::INT96 => unsupported("timestamp (INT96)"),
        Physical::BYTE_ARRAY => match (logical, converted) {
            (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _)
            | (None, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON) => Declared::Text,
            (Some(LogicalType::Unknown), _) => Declared::Numeric,
            (logical, _) => unsupported(&logical.map_or("bytes".into(), name_of)),
        },
        Physical::FIXED_LEN_BYTE_ARRAY => match logical {
            Some(LogicalType::Float16) => Declared::Numeric,
            logical => unsupported(&logical.map_or("bytes".into(), name_of)),
        },
    }
}

/// What people call a type: `timestamp`, without its unit.
fn name_of(logical: &LogicalType) -> String {
    let whole = format!("{logical:?}").to_lowercase();
    whole.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_string()
}

/// Rows out of the columns of row groups.
struct ParquetRows {
    file: SerializedFileReader<File>,
    columns: Vec<SourceColumn>,
    /// For each column its place among the leaves of the schema; none where it is not read.
    leaves: Vec<Option<usize>>,
    /// Row groups begun.
    n_groups: usize,
    /// The columns of the current row group.
    readers: Vec<Option<ColumnReader>>,
    /// Rows of the current row group that are not read yet.
    n_left: usize,
    n_read: u64,
}

impl ParquetRows {
    /// Goes to the next row group that has rows; `false` at the end.
    fn next_group(&mut self) -> Result<bool, ParquetError> {
        while self.n_left == 0 {
            if self.n_groups == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.n_groups)?;
            let readers = self.leaves.iter().map(|leaf| leaf.map(|i| group.get_column_reader(i)).transpose());
            self.readers = readers.collect::<Result<_, _>>()?;
            self.n_left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            self.n_groups += 1;
        }
        Ok(true)
    }

    fn next_cells(&mut self, max_rows: usize) -> Result<Option<(usize, Vec<ColumnCells>)>, ParquetError> {
        if !self.next_group()? {
            return Ok(None);
        }
        let n = self.n_left.min(max_rows).min(rows_of_block(self.columns.len()));
        let schema = self.file.metadata().file_metadata().schema_descr_ptr();
        let cells = self.readers.iter_mut().zip(&self.leaves).map(|(reader, leaf)| match (reader, leaf) {
            (Some(reader), Some(leaf)) => read_column(reader, &schema.column(*leaf), n),
            _ => Ok(ColumnCells::Skipped),
        });
        let cells = cells.collect::<Result<_, _>>()?;
        self.n_left -= n;
        Ok(Some((n, cells)))
    }
}

impl Rows for ParquetRows {
    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()> {
        block.n_rows = 0;
        let next = guarded(FORMAT, || self.next_cells(max_rows.max(1)))?.map_err(|e| {
            Error::from(malformed(FORMAT, "a batch of rows", e.to_string()).at_row(self.n_read + 1))
        })?;
        if let Some((n, cells)) = next {
            block.set(n, Cells::Columns(cells));
            self.n_read += n as u64;
        }
        Ok(())
    }
}

/// The next `n` cells of a column.
fn read_column(
    reader: &mut ColumnReader,
    leaf: &Arc<ColumnDescriptor>,
    n: usize,
) -> Result<ColumnCells, ParquetError> {
    let is_unsigned = match leaf.logical_type_ref() {
        Some(LogicalType::Integer(int)) => !int.is_signed,
        _ => matches!(
            leaf.converted_type(),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        ),
    };
    let max = leaf.max_def_level();
    let numbers = match reader {
        ColumnReader::BoolColumnReader(reader) => numbers(reader, max, n, |v| f64::from(u8::from(*v))),
        ColumnReader::Int32ColumnReader(reader) if is_unsigned => {
            numbers(reader, max, n, |v| f64::from(*v as u32))
        }
        ColumnReader::Int32ColumnReader(reader) => numbers(reader, max, n, |v| f64::from(*v)),
        ColumnReader::Int64ColumnReader(reader) if is_unsigned => {
            numbers(reader, max, n, |v| *v as u64 as f64)
        }
        ColumnReader::Int64ColumnReader(reader) => numbers(reader, max, n, |v| *v as f64),
        ColumnReader::FloatColumnReader(reader) => numbers(reader, max, n, |v| f64::from(*v)),
        ColumnReader::DoubleColumnReader(reader) => numbers(reader, max, n, |v| *v),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            numbers(reader, max, n, |v| half(v.as_bytes()))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            let texts = values(reader, max, n)?;
            // An empty text is a missing one.
            let texts = texts.iter().map(|text| text.as_ref().map_or(&[][..], |text| text.data()));
            return Ok(ColumnCells::Text(TextCells::column(texts)));
        }
        ColumnReader::Int96ColumnReader(_) => Err(ParquetError::NYI("INT96".into())),
    };
    Ok(ColumnCells::Numbers(numbers?))
}

/// Numbers of a column; missing ones are `NaN`.
fn numbers<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    max: i16,
    n: usize,
    number: impl Fn(&T::T) -> f64,
) -> Result<Vec<f64>, ParquetError> {
    Ok(values(reader, max, n)?.iter().map(|v| v.as_ref().map_or(f64::NAN, &number)).collect())
}

/// The next `n` values of a column, none where one is missing: where its definition level is below `max`.
fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    max: i16,
    n: usize,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (n_records, ..) = reader.read_records(n, Some(&mut levels), None, &mut values)?;
    if n_records != n {
        return Err(ParquetError::EOF(format!("a column ends {} rows too early", n - n_records)));
    }
    if max == 0 {
        levels = vec![0; n];
    }
    let mut values = values.into_iter();
    Ok(levels.iter().map(|&level| if level == max { values.next() } else { None }).collect())
}

/// A number in half precision (IEEE 754 binary16), from two bytes with the low one first.
fn half(bytes: &[u8]) -> f64 {
    let &[low, high] = bytes else { return f64::NAN };
    let bits = u16::from_le_bytes([low, high]);
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + fraction) * 2.0_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}
