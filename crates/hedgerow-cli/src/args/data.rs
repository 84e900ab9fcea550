//! How a data file is read.

use std::path::PathBuf;

use clap::Args;
use hedgerow::io::{ColumnRef, Decimal, Delimiter, Format, ReadOptions};

/// How the data files are read. The format follows from the name; these options tell what the name does not.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// Column of the labels: a name, or a number counted from 0
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: Option<ColumnRef>,
    /// File of the labels, for data that come as a bare array (IDX, NPY)
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// Format, where the name does not tell: csv, tsv, txt (separated by blanks), libsvm, idx, npy, npz, arff, parquet, arrow
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) format: Option<Format>,
    /// Character between the fields of csv, tsv and txt files: the character itself, or comma, semicolon, tab, pipe, space. Without this, the
    /// first lines tell it
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<Delimiter>,
    /// Decimal mark of the numbers in such files: . or , (a comma is also found by itself where semicolons separate the fields)
    #[arg(long, value_name = "MARK", value_parser = decimal)]
    pub(crate) decimal: Option<Decimal>,
    /// The first line is data, not names
    #[arg(long, conflicts_with = "header")]
    pub(crate) no_header: bool,
    /// The first line holds names, even if they are numbers
    #[arg(long)]
    pub(crate) header: bool,
    /// Column of the rows' weights
    #[arg(long, value_name = "COLUMN")]
    pub(crate) weight: Option<ColumnRef>,
    /// Columns that hold categories although they look like numbers (may be repeated, or a,b,c)
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) categorical: Vec<ColumnRef>,
    /// Columns to leave out (may be repeated, or a,b,c)
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) ignore: Vec<ColumnRef>,
    /// Rows are grey images of this height and width, such as 28x28, and reports draw them so
    #[arg(long, value_name = "HxW", value_parser = image)]
    pub(crate) image: Option<[usize; 2]>,
}

impl DataArgs {
    pub(crate) fn options(&self) -> ReadOptions {
        let header = if self.header { Some(true) } else { self.no_header.then_some(false) };
        ReadOptions {
            format: self.format,
            target: self.target.clone(),
            header,
            delimiter: self.delimiter,
            decimal: self.decimal,
            labels: self.labels.clone(),
            weight: self.weight.clone(),
            categorical: self.categorical.clone(),
            ignore: self.ignore.clone(),
            image: self.image,
            ..ReadOptions::default()
        }
    }
}

fn delimiter(text: &str) -> Result<Delimiter, String> {
    text.parse().map_err(|_| "expected one character, or comma, semicolon, tab, pipe, space".into())
}

fn decimal(text: &str) -> Result<Decimal, String> {
    text.parse().map_err(|_| "expected . or ,".into())
}

fn image(text: &str) -> Result<[usize; 2], String> {
    let side = |text: &str| text.trim().parse().ok().filter(|&n: &usize| n > 0);
    let sides = text.split_once(['x', 'X', '×']).map(|(height, width)| (side(height), side(width)));
    match sides {
        Some((Some(height), Some(width))) => Ok([height, width]),
        _ => Err("expected height and width, such as 28x28".into()),
    }
}

fn format(text: &str) -> Result<Format, String> {
    text.parse().map_err(|_| {
        let known: Vec<String> = Format::ALL.iter().map(ToString::to_string).collect();
        format!("expected one of {}", known.join(", "))
    })
}
