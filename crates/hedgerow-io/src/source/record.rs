//! Record batches as a source, for the formats of the Arrow family.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema};
use hedgerow_core::{Error, Result};

use super::arrow::FORMAT;
use super::lines::malformed;
use super::{MAX_COLUMNS, Rows, Source, guarded, rows_of_block, too_many, unsupported_column};
use crate::block::{Block, Cells, ColumnCells, Declared, SourceColumn, TextCells};

/// What the readers of the formats give.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Opens record batches as a source.
pub(super) fn open(schema: &Schema, batches: Batches) -> Result<Source> {
    if schema.fields().len() > MAX_COLUMNS {
        return Err(too_many(schema.fields().len()));
    }
    let columns = schema
        .fields()
        .iter()
        .map(|field| SourceColumn { name: field.name().clone(), declared: declared(field.data_type()) });
    let columns: Vec<SourceColumn> = columns.collect();
    let rows = RecordRows { columns: columns.clone(), batches, current: None, n_read: 0 };
    Ok(Source { is_named: true, ..Source::new(columns, rows) })
}

/// Rows out of record batches.
struct RecordRows {
    columns: Vec<SourceColumn>,
    batches: Batches,
    current: Option<RecordBatch>,
    n_read: u64,
}

impl RecordRows {
    fn cells(&self, i: usize, array: &ArrayRef) -> Result<ColumnCells> {
        let problem = || {
            let got = array.data_type().to_string();
            let error = malformed(FORMAT, "a column of the type that its schema tells", got);
            Error::from(error.in_column(self.columns[i].name.clone()))
        };
        Ok(match self.columns[i].declared {
            Declared::Numeric | Declared::Boolean => {
                ColumnCells::Numbers(numbers(array).ok_or_else(problem)?)
            }
            Declared::Text => {
                // An empty text is a missing one.
                let texts = texts(array).ok_or_else(problem)?.into_iter().map(Option::unwrap_or_default);
                ColumnCells::Text(TextCells::column(texts))
            }
            _ => ColumnCells::Skipped,
        })
    }

    /// The next rows as they come from the format's reader.
    fn next_slice(&mut self, max_rows: usize) -> Result<Option<RecordBatch>> {
        loop {
            let batch = match self.current.take() {
                Some(batch) => batch,
                None => match guarded(FORMAT, || self.batches.next())? {
                    Some(Ok(batch)) => batch,
                    Some(Err(e)) => {
                        let error = malformed(FORMAT, "a batch of rows", e.to_string());
                        return Err(error.at_row(self.n_read + 1).into());
                    }
                    None => return Ok(None),
                },
            };
            if batch.num_columns() != self.columns.len() {
                let expected = format!("{} columns, as in its schema", self.columns.len());
                return Err(malformed(FORMAT, &expected, batch.num_columns().to_string()).into());
            }
            let n = batch.num_rows().min(max_rows).min(rows_of_block(self.columns.len()));
            if n < batch.num_rows() {
                self.current = Some(batch.slice(n, batch.num_rows() - n));
            }
            if n > 0 {
                return Ok(Some(batch.slice(0, n)));
            }
        }
    }
}

impl Rows for RecordRows {
    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()> {
        block.n_rows = 0;
        if let Some(batch) = self.next_slice(max_rows.max(1))? {
            let convert = || -> Result<Vec<ColumnCells>> {
                batch.columns().iter().enumerate().map(|(i, array)| self.cells(i, array)).collect()
            };
            block.set(batch.num_rows(), Cells::Columns(guarded(FORMAT, convert)??));
            self.n_read += batch.num_rows() as u64;
        }
        Ok(())
    }
}

/// The values of an array of numbers or flags; missing ones are `NaN`. None if it holds something else.
fn numbers(array: &dyn Array) -> Option<Vec<f64>> {
    macro_rules! values {
        ($($Type:ident => $number:expr),+) => {
            match array.data_type() {
                $(kind if *kind == <$Type as arrow_array::types::ArrowPrimitiveType>::DATA_TYPE => {
                    array.as_primitive::<$Type>().iter().map(|v| v.map_or(f64::NAN, $number)).collect()
                })+
                DataType::Boolean => {
                    array.as_boolean().iter().map(|v| v.map_or(f64::NAN, |v| f64::from(u8::from(v)))).collect()
                }
                DataType::Null => vec![f64::NAN; array.len()],
                DataType::Dictionary(..) => {
                    let values = numbers(array.as_any_dictionary().values())?;
                    keys(array).map(|key| key.map_or(f64::NAN, |key| values[key])).collect()
                }
                _ => return None,
            }
        };
    }
    Some(values! {
        Int8Type => f64::from, Int16Type => f64::from, Int32Type => f64::from, Int64Type => |v| v as f64,
        UInt8Type => f64::from, UInt16Type => f64::from, UInt32Type => f64::from, UInt64Type => |v| v as f64,
        Float16Type => f64::from, Float32Type => f64::from, Float64Type => |v| v
    })
}

/// The texts of an array; none if it holds something else.
fn texts(array: &dyn Array) -> Option<Vec<Option<&str>>> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        DataType::Utf8View => array.as_string_view().iter().collect(),
        DataType::Dictionary(..) => {
            let values = texts(array.as_any_dictionary().values())?;
            keys(array).map(|key| values[key?]).collect()
        }
        _ => return None,
    })
}

/// For each row of a dictionary the place of its value; none where it is missing.
fn keys(array: &dyn Array) -> impl Iterator<Item = Option<usize>> {
    let dictionary = array.as_any_dictionary();
    let is_valid = |row: usize| dictionary.is_valid(row);
    // There are no keys to normalise where there are no values.
    let places =
        if dictionary.values().is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
    places.into_iter().enumerate().map(move |(row, place)| is_valid(row).then_some(place))
}

/// What a column's type means for us.
fn declared(data_type: &DataType) -> Declared {
    match data_type {
        DataType::Boolean => Declared::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Declared::Text,
        DataType::Dictionary(_, values) => declared(values),
        DataType::Null => Declared::Numeric,
        kind if kind.is_integer() || kind.is_floating() => Declared::Numeric,
        other => Declared::Unsupported(unsupported_column(FORMAT, &other.to_string())),
    }
}
