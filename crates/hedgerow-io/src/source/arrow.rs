//! Arrow IPC, as a file (which Feather is) or as a stream.

use std::io::{BufReader, Read as _, Seek as _, SeekFrom};

use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;
use hedgerow_core::{DataProblem, Error, Result};

use super::lines::{malformed, unsupported};
use super::record::{self, Batches};
use super::{Source, guarded, ipc_sizes};
use crate::open::Place;

pub(super) const FORMAT: &str = "arrow";

/// Opens an IPC file or stream, told apart by the first bytes.
pub(crate) fn open(place: &Place) -> Result<Source> {
    let mut file = place.open_seekable()?;
    let mut start = Vec::new();
    (&mut file).take(6).read_to_end(&mut start).map_err(|e| place.error(e))?;
    file.seek(SeekFrom::Start(0)).map_err(|e| place.error(e))?;
    if start.is_empty() {
        return Err(DataProblem::Empty.into());
    }
    if start.starts_with(b"FEA1") {
        return Err(unsupported(FORMAT, "Feather version 1", "save it as version 2").into());
    }
    let is_stream = start != *b"ARROW1";
    if !ipc_sizes::are_possible(&mut file, is_stream).map_err(|e| place.error(e))? {
        return Err(malformed(FORMAT, "a sound file", "sizes that do not fit it").into());
    }
    file.seek(SeekFrom::Start(0)).map_err(|e| place.error(e))?;
    let bad = |e: ArrowError| Error::from(malformed(FORMAT, "an Arrow IPC file", e.to_string()));
    let input = BufReader::new(file);
    let (schema, batches): (_, Batches) = if is_stream {
        let reader = guarded(FORMAT, || StreamReader::try_new(input, None))?.map_err(bad)?;
        (reader.schema(), Box::new(reader))
    } else {
        let reader = guarded(FORMAT, || FileReader::try_new(input, None))?.map_err(bad)?;
        (reader.schema(), Box::new(reader))
    };
    record::open(&schema, batches)
}
