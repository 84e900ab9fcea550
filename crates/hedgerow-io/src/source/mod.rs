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
mod table;

#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "arrow")]
mod ipc_sizes;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "arrow")]
mod record;

use hedgerow_core::{DataProblem, Result, Schema};

use crate::block::{Block, SourceColumn};
use crate::format::Format;
use crate::labels::LabelStream;
use crate::open::Place;
use crate::options::ReadOptions;

pub(crate) use self::lines::{malformed, split_blanks, unsupported};
pub(crate) use self::raw::RawArray;

/// The most columns a source may have; more cannot all be features, and a header must not make us name billions.
pub(crate) const MAX_COLUMNS: usize = 1 << 20;

/// Something that gives rows of cells.
pub(crate) trait Rows: Send {
    /// Replaces the content of `block` by the next rows, at most `max_rows`. No rows means the end.
    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()>;
}

/// A file that has been opened: what it tells of its rows, and the rows.
pub(crate) struct Source {
    /// The columns, in the order of the cells.
    pub columns: Vec<SourceColumn>,
    /// Whether the names of the columns come from the file.
    pub is_named: bool,
    /// Height and width where each row is an image.
    pub image: Option<[usize; 2]>,
    /// The column that holds the labels unless the caller names another.
    pub default_target: Option<usize>,
    /// The name of the labels where they come with the blocks and not in a column.
    pub label_name: Option<&'static str>,
    /// Labels that were found beside the rows.
    pub labels: Option<LabelStream>,
    /// Whether labels for this format usually stand in a file of their own.
    pub wants_label_file: bool,
    /// How many rows there will be, where the file tells at its start.
    pub declared_rows: Option<u64>,
    /// How lines are split into fields, where that may be why columns are not as expected.
    pub split_hint: Option<String>,
    /// The rows.
    pub rows: Box<dyn Rows>,
}

impl Source {
    /// A file that tells nothing but its columns.
    fn new(columns: Vec<SourceColumn>, rows: impl Rows + 'static) -> Self {
        Self {
            columns,
            is_named: false,
            image: None,
            default_target: None,
            label_name: None,
            labels: None,
            wants_label_file: false,
            declared_rows: None,
            split_hint: None,
            rows: Box::new(rows),
        }
    }
}

/// Opens the source for a format. `model` is the schema that will be enforced, where there is one.
pub(crate) fn open(
    place: &Place,
    format: Format,
    options: &ReadOptions,
    model: Option<&Schema>,
) -> Result<Source> {
    match format {
        Format::Csv | Format::Tsv | Format::Whitespace => delimited::open(place, format, options),
        Format::Libsvm => libsvm::open(place, model),
        Format::Idx => idx::open(place, options.labels.is_some()),
        Format::Npy => matrix::open(npy::read_header(place, place.open()?)?, None),
        Format::Npz => npz::open(place),
        Format::Arff => arff::open(place),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::open(place),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(not_built("parquet")),
        #[cfg(feature = "arrow")]
        Format::ArrowIpc => arrow::open(place),
        #[cfg(not(feature = "arrow"))]
        Format::ArrowIpc => Err(not_built("arrow")),
    }
}

/// The labels in a file of their own.
pub(crate) fn open_labels(place: &Place, format: Format) -> Result<RawArray> {
    match format {
        Format::Idx => idx::read_header(place),
        Format::Npy => npy::read_header(place, place.open()?),
        other => Err(unsupported(other.name(), "a file of labels", "give the labels as NPY or IDX").into()),
    }
}

#[cfg(not(all(feature = "arrow", feature = "parquet")))]
fn not_built(feature: &'static str) -> hedgerow_core::Error {
    unsupported(feature, "reading", format!("build with the feature {feature:?} to read it")).into()
}

/// The error for too many columns.
pub(crate) fn too_many(got: usize) -> hedgerow_core::Error {
    DataProblem::TooManyColumns { got }.into()
}

/// The problem with a column whose type is no number, flag or text.
#[cfg(any(feature = "arrow", feature = "parquet"))]
fn unsupported_column(format: &'static str, what: &str) -> DataProblem {
    let instead = "make it numbers or text, or leave it out with --ignore";
    unsupported(format, format!("a column of type {what}"), instead)
}

/// Rows of one read from a format of columns, so that a block stays small however many columns there are.
#[cfg(any(feature = "arrow", feature = "parquet"))]
fn rows_of_block(n_columns: usize) -> usize {
    (crate::block::BLOCK_BYTES / (8 * n_columns.max(1))).clamp(1, 8192)
}

/// Runs a reader of Arrow or Parquet, some of which panic on damaged files, and turns that into an error.
#[cfg(any(feature = "arrow", feature = "parquet"))]
fn guarded<T>(format: &'static str, read: impl FnOnce() -> T) -> Result<T> {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| malformed(format, "a sound file", "one on which the reader gives up").into())
}
