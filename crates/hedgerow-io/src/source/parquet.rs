//! Apache Parquet, one row group after the other.

use hedgerow_core::{DataProblem, Error, Result};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

use super::Source;
use super::lines::malformed;
use super::record::{self, guarded};
use crate::open::Place;

const FORMAT: &str = "parquet";

/// Opens a Parquet file.
pub(crate) fn open(place: &Place) -> Result<Source> {
    let file = place.open_seekable()?;
    if file.metadata().is_ok_and(|m| m.len() == 0) {
        return Err(DataProblem::Empty.into());
    }
    let bad = |e: ParquetError| Error::from(malformed(FORMAT, "a Parquet file", e.to_string()));
    let builder = guarded(FORMAT, || ParquetRecordBatchReaderBuilder::try_new(file))?.map_err(bad)?;
    let schema = builder.schema().clone();
    let builder = builder.with_batch_size(record::rows_of_block(schema.fields().len()));
    let reader = guarded(FORMAT, || builder.build())?.map_err(bad)?;
    record::open(FORMAT, &schema, Box::new(reader))
}
