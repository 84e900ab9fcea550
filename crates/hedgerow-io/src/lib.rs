//! Reads rows with their targets from files, in batches, into the shape Hedgerow's models take.
//!
//! Every format is a small source of typed cells ([`Format`] lists them). One inference stage turns the first rows into
//! a [`Schema`](hedgerow_core::Schema), one encoding stage turns every row into numbers by that schema, and
//! [`RowReader`] hands them out in batches, so that memory is bounded by the batch and not by the file.
//! [`read_dataset`] puts all batches together for training ([`read_labelled`] leaves rows without a label out); [`summarize`] describes a file without training on it.
//!
//! The rules in short:
//!
//! - An empty field, `?`, `NA`, `N/A`, `NaN` and `NULL` are missing values, in labels too; `None` is one among numbers only.
//!   Missing features are `NaN`.
//! - In CSV, TSV and whitespace tables the delimiter is inferred from the first lines; a decimal comma is recognised where
//!   semicolons stand between the fields and no number has a point.
//! - A column of numbers is numeric, one of two words like yes and no is boolean, one with text is categorical. A column
//!   of numbers with less than a tenth of text in it is taken for a mistake, which is reported with its row.
//! - Labels are text; numbers are one label however they are written. Where the format tells which labels a file has (LIBSVM,
//!   an IDX label file beside the images, `y` in an NPZ archive, `class` in ARFF) no target need be named.
//! - For a regression ([`ReadOptions::task`], or the task of a model's schema) the target is a number instead of a label.
//! - `-` is standard input. Gzip is found by the name's `.gz` or by the first bytes.
//!
//! ```
//! use hedgerow_io::{ReadOptions, read_dataset};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("shapes.csv");
//! std::fs::write(&path, "width,color,shape\n1.5,red,disc\n,blue,bar\n")?;
//! let options = ReadOptions { target: Some("shape".parse()?), ..ReadOptions::default() };
//! let data = read_dataset(&path, &options, None)?;
//! assert_eq!(data.n_rows(), 2);
//! assert_eq!(data.schema.labels.names(), ["bar", "disc"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod dataset;
mod dates;
mod delimiter;
mod encode;
mod format;
mod infer;
mod labels;
mod located;
mod number;
mod open;
mod options;
mod plan;
mod reader;
mod sniff;
mod source;
mod summary;

pub use dataset::{read_dataset, read_labelled, sort_classes};
pub use dates::date_notes;
pub use delimiter::{Decimal, Delimiter};
pub use format::Format;
pub use options::{ColumnRef, ReadOptions};
pub use reader::{Batch, RowReader};
pub use summary::{CategoryCount, ClassCount, ColumnSummary, Summary, summarize};
