//! How a file is to be read.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use hedgerow_core::error::nearest;
use hedgerow_core::text::list;
use hedgerow_core::{DataError, DataProblem, Result, Task};

use crate::block::SourceColumn;
use crate::delimiter::{Decimal, Delimiter};
use crate::format::Format;

/// A column as a user names it.
///
/// Text parses to a name. A name that no column has, but that is a whole number, means the column at that place,
/// counted from 0 over all columns of the file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ColumnRef {
    /// By name.
    Name(String),
    /// By place, from 0.
    Index(usize),
}

impl ColumnRef {
    /// The place of the column meant, if there is one.
    pub(crate) fn find(&self, columns: &[SourceColumn]) -> Option<usize> {
        let place = match self {
            Self::Index(place) => Some(*place),
            Self::Name(name) => columns.iter().position(|c| c.name == *name).or_else(|| name.parse().ok()),
        };
        place.filter(|&p| p < columns.len())
    }

    /// The place of the column meant, or an error that lists the columns there are.
    pub(crate) fn resolve(&self, columns: &[SourceColumn]) -> Result<usize> {
        self.find(columns).ok_or_else(|| {
            let wanted = self.to_string();
            let meant = nearest(&wanted, columns.iter().map(|c| c.name.as_str()));
            let hint = meant.map(|name| format!("did you mean {name:?}?"));
            let problem = DataProblem::NoSuchColumn { wanted, available: column_names(columns) };
            DataError { hint, ..problem.into() }.into()
        })
    }
}

impl FromStr for ColumnRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::Name(text.to_string()))
    }
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Index(place) => write!(f, "{place}"),
        }
    }
}

/// How to read a file. The default leaves everything to the file's name and content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format of the content; `None` goes by the file's name.
    pub format: Option<Format>,
    /// The column that holds the labels, or the numbers of a regression.
    pub target: Option<ColumnRef>,
    /// Whether targets are read as labels or as numbers, where no model's schema tells.
    pub task: Task,
    /// Whether the first line of a CSV, TSV or whitespace table names the columns. `None`: in CSV and TSV it does unless
    /// it consists of numbers only; in whitespace tables it does if none of its fields is a number while the second
    /// line has one.
    pub header: Option<bool>,
    /// What stands between the fields of a CSV, TSV or whitespace table. `None`: a comma, semicolon, tab or pipe that parts the first
    /// lines into equally many fields, and otherwise what the format stands for.
    pub delimiter: Option<Delimiter>,
    /// The decimal mark in such a table. `None`: a comma if a semicolon stands between the fields and all numbers with decimals among
    /// the first lines are written with one, otherwise a point.
    pub decimal: Option<Decimal>,
    /// A file of labels, in the NPY or IDX format, one for each row.
    pub labels: Option<PathBuf>,
    /// The column that holds the weight of each row.
    pub weight: Option<ColumnRef>,
    /// Columns to take as categories even if they hold numbers.
    pub categorical: Vec<ColumnRef>,
    /// Columns to leave out.
    pub ignore: Vec<ColumnRef>,
    /// Height and width where each row is a grey image, for formats that do not tell.
    pub image: Option<[usize; 2]>,
}

/// The first names of the columns, and how many more there are.
pub(crate) fn column_names(columns: &[SourceColumn]) -> String {
    let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
    list(&names, 12)
}
