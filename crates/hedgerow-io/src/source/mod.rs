//! One source of cells for each format.

mod arff;
mod csv;
mod delimited;
mod idx;
mod libsvm;
mod lines;
mod matrix;
mod npy;
mod npz;
mod raw;
mod whitespace;

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "arrow")]
mod ipc_sizes;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod record;

use hedgerow_core::{DataProblem, Result, Schema};

use crate::block::{Block, SourceColumn};
use crate::format::Format;
use crate::labels::LabelStream;
use crate::open::Place;
use crate::options::ReadOptions;

pub(crate) use self::raw::RawArray;

/// The most columns a source may have; more cannot all be features, and a header must not make us name billions.
pub(crate) const MAX_COLUMNS: usize = 1 << 20;

/// Something that gives rows of cells.
pub(crate) trait Source: Send {
    /// The columns, in the order of the cells.
    fn columns(&self) -> &[SourceColumn];

    /// Whether the names of the columns come from the file.
    fn is_named(&self) -> bool {
        false
    }

    /// Height and width where each row is an image.
    fn image(&self) -> Option<[usize; 2]> {
        None
    }

    /// The column that holds the labels unless the caller names another.
    fn default_target(&self) -> Option<usize> {
        None
    }

    /// The name of the labels where they come with the blocks and not in a column.
    fn label_name(&self) -> Option<&str> {
        None
    }

    /// Labels that the source found beside its rows; asked for once.
    fn take_labels(&mut self) -> Option<LabelStream> {
        None
    }

    /// Whether labels for this format usually stand in a file of their own.
    fn wants_label_file(&self) -> bool {
        false
    }

    /// How many rows there will be, where the file tells at its start.
    fn declared_rows(&self) -> Option<u64> {
        None
    }

    /// How lines are split into fields, where that may be why columns are not as expected.
    fn split_hint(&self) -> Option<String> {
        None
    }

    /// Replaces the content of `block` by the next rows, at most `max_rows`. No rows means the end.
    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()>;
}

/// Opens the source for a format. `model` is the schema that will be enforced, where there is one.
pub(crate) fn open(
    place: &Place,
    format: Format,
    options: &ReadOptions,
    model: Option<&Schema>,
) -> Result<Box<dyn Source>> {
    Ok(match format {
        Format::Csv | Format::Tsv | Format::Whitespace => delimited::open(place, format, options)?,
        Format::Libsvm => Box::new(libsvm::LibsvmSource::open(place, model)?),
        Format::Idx => Box::new(idx::open(place, options.labels.is_some())?),
        Format::Npy => Box::new(npy::open(place)?),
        Format::Npz => Box::new(npz::open(place)?),
        Format::Arff => Box::new(arff::ArffSource::open(place)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(parquet::open(place)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(not_built("parquet")),
        #[cfg(feature = "arrow")]
        Format::ArrowIpc => Box::new(arrow::open(place)?),
        #[cfg(not(feature = "arrow"))]
        Format::ArrowIpc => return Err(not_built("arrow")),
    })
}

/// The labels in a file of their own.
pub(crate) fn open_labels(place: &Place, format: Format) -> Result<RawArray> {
    match format {
        Format::Idx => idx::read_header(place),
        Format::Npy => npy::read_header(place),
        other => Err(DataProblem::Unsupported {
            format: other.name(),
            what: "a file of labels".into(),
            instead: "give the labels as NPY or IDX".into(),
        }
        .into()),
    }
}

#[cfg(not(all(feature = "arrow", feature = "parquet")))]
fn not_built(feature: &'static str) -> hedgerow_core::Error {
    DataProblem::Unsupported {
        format: feature,
        what: "reading".into(),
        instead: format!("build with the feature {feature:?} to read it"),
    }
    .into()
}

/// The error for too many columns.
pub(crate) fn too_many(got: usize) -> hedgerow_core::Error {
    DataProblem::TooManyColumns { limit: hedgerow_core::data::MAX_FEATURES, got }.into()
}
