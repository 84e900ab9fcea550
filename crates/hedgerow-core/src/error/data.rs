//! What can be wrong with data, and where.

use std::fmt;
use std::path::PathBuf;

use crate::data::{MAX_CATEGORIES, MAX_CLASSES, MAX_FEATURES, Task};

/// A problem with its place. Rows count from 1 as a person counts them, without the header; lines count everything.
#[derive(Debug, Clone, PartialEq)]
pub struct DataError {
    /// The file, where there is one.
    pub file: Option<PathBuf>,
    /// The row of data, from 1.
    pub row: Option<u64>,
    /// The line of the text file, from 1.
    pub line: Option<u64>,
    /// The column, by name (or number, from 0, where columns have no names).
    pub column: Option<String>,
    /// What is wrong there.
    pub problem: DataProblem,
    /// What may help, where more is known than the problem: how the file was read, or a column that may have been meant.
    pub hint: Option<String>,
}

impl DataError {
    /// The same problem in row `row` (from 1).
    #[must_use]
    pub fn at_row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }

    /// The same problem on line `line` (from 1).
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The same problem in the column called `column`.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    /// The same problem with what may help, after what may help already.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.hint = Some(match self.hint {
            Some(first) => format!("{first}; {hint}"),
            None => hint,
        });
        self
    }
}

impl From<DataProblem> for DataError {
    fn from(problem: DataProblem) -> Self {
        Self { file: None, row: None, line: None, column: None, problem, hint: None }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        let place = match (self.row, self.line) {
            (Some(row), Some(line)) => Some(format!("row {row} (line {line})")),
            (Some(row), None) => Some(format!("row {row}")),
            (None, line) => line.map(|line| format!("line {line}")),
        };
        let column = self.column.as_ref().map(|column| format!("column {column:?}"));
        let places: Vec<String> = place.into_iter().chain(column).collect();
        if !places.is_empty() {
            write!(f, "{}: ", places.join(", "))?;
        }
        write!(f, "{}", self.problem)?;
        self.hint.iter().try_for_each(|hint| write!(f, " ({hint})"))
    }
}

impl std::error::Error for DataError {}

/// What is wrong with the data.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DataProblem {
    /// No rows at all.
    #[error("there are no rows of data")]
    Empty,
    /// Fewer rows than anything can be learnt from.
    #[error("at least {expected} rows are needed, got {got}")]
    TooFewRows {
        /// The fewest that will do.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// More rows than can be counted.
    #[error("{got} rows, at most {most} are supported")]
    TooManyRows {
        /// How many there are.
        got: usize,
        /// The most there may be.
        most: usize,
    },
    /// A row with more or fewer fields than the others.
    #[error("expected {expected} fields, as in the first row, got {got}")]
    Ragged {
        /// Fields of the first row.
        expected: usize,
        /// Fields of this row.
        got: usize,
    },
    /// Text where a number should be: the text.
    #[error("expected a number, got {0:?} ({advice})", advice = number_advice(.0))]
    NotANumber(String),
    /// An infinite value, or one too large for 32-bit floats.
    #[error("expected a finite number within 32-bit range, got {text}")]
    Infinite {
        /// The value as it is in the file.
        text: String,
    },
    /// The target column was named but is not there.
    #[error("no column is called {wanted:?}; there are: {available}")]
    NoSuchColumn {
        /// The name or number given.
        wanted: String,
        /// The columns there are.
        available: String,
    },
    /// Labels are needed and none were named: the columns there are.
    #[error("it has no labels: name the target column with --target (columns: {0})")]
    NoTarget(String),
    /// A row to learn from without a label.
    #[error("the label is missing")]
    MissingLabel,
    /// Weights that leave fewer than two classes.
    #[error("the weights leave fewer than two classes to learn from")]
    NoWeight,
    /// Targets of the other task.
    #[error("{expected} needs {} as targets, got {} (for {got})", .expected.target_word(), .got.target_word())]
    WrongTask {
        /// The task wanted.
        expected: Task,
        /// The task that the targets are of.
        got: Task,
    },
    /// Columns or classes that are not the known ones with more at the end.
    #[error("the {what} must stay as they are: expected {expected}, got {got}")]
    OtherSchema {
        /// Columns or classes.
        what: &'static str,
        /// The first that was expected, in words.
        expected: String,
        /// What came instead.
        got: String,
    },
    /// Text where the number of a regression should be: the text.
    #[error(
        "expected a number, the target of a regression, got {0:?} (for classes, give --task classification)"
    )]
    NotAValue(String),
    /// Only one class.
    #[error("all {rows} rows have the same label {label:?}: at least two classes are needed")]
    SingleClass {
        /// The only label.
        label: String,
        /// How many rows carry it.
        rows: usize,
    },
    /// A target that is a measurement, not a class.
    #[error(
        "the target looks continuous ({distinct} different values such as {example} in {rows} rows): a classifier needs classes; \
         bin it into classes first"
    )]
    ContinuousTarget {
        /// How many different values.
        distinct: usize,
        /// One of them.
        example: String,
        /// In how many rows.
        rows: usize,
    },
    /// Rows of a class the model does not know, where it must.
    #[error("the label {label:?} is unknown to the model; it knows: {known}")]
    UnknownLabel {
        /// The label.
        label: String,
        /// The labels known.
        known: String,
    },
    /// A compressed file that ends early or is damaged: the decompressor's message.
    #[error("the compressed data are damaged or cut off: {0}")]
    Compressed(String),
    /// Bytes that are not UTF-8.
    #[error("the text is not valid UTF-8")]
    InvalidUtf8,
    /// More columns than a model can hold.
    #[error("{got} columns, at most {MAX_FEATURES} are supported")]
    TooManyColumns {
        /// How many there are.
        got: usize,
    },
    /// More classes than a model can hold.
    #[error("more than {MAX_CLASSES} different labels: is this column really the target?")]
    TooManyClasses,
    /// More categories in one column than a model can hold.
    #[error(
        "more than {MAX_CATEGORIES} categories: is this column a name or a key? Leave it out with --ignore"
    )]
    TooManyCategories,
    /// Two columns of one name.
    #[error("columns {first} and {second} (counted from 0) have the same name")]
    DuplicateColumn {
        /// The first one's number.
        first: usize,
        /// The other's.
        second: usize,
    },
    /// A column the model needs is not in the data: the columns there are.
    #[error("the column is missing; the model was trained with it (the data have: {0})")]
    MissingColumn(String),
    /// A column the model does not know.
    #[error("the column is unknown to the model; leave it out with --ignore, or train again with it")]
    ExtraColumn,
    /// A different number of columns, where they have no names.
    #[error("expected {expected} feature columns, as in training, got {got}")]
    ColumnCount {
        /// Columns in training.
        expected: usize,
        /// Columns that came.
        got: usize,
    },
    /// A column of another kind than in training.
    #[error("expected {expected}, as in training, got {got}")]
    ColumnKind {
        /// The kind in training.
        expected: String,
        /// The kind that came.
        got: String,
    },
    /// A table without feature columns.
    #[error("there is no column to learn from beside the target")]
    NoFeatures,
    /// The file does not follow its format.
    #[error("not valid {format}: expected {expected}, got {got}")]
    Malformed {
        /// The format's name.
        format: &'static str,
        /// What should have stood there.
        expected: String,
        /// What is there.
        got: String,
    },
    /// Something the format allows and we do not read.
    #[error("{what} in {format} is not supported; {instead}")]
    Unsupported {
        /// The format's name.
        format: &'static str,
        /// What is not supported.
        what: String,
        /// What to do instead.
        instead: String,
    },
    /// The file's name does not tell its format: the formats there are.
    #[error("cannot tell the format from the name; give --format (one of {0})")]
    UnknownFormat(String),
    /// Labels and rows do not match in number.
    #[error("{rows} rows but {labels} labels")]
    LabelCount {
        /// Rows in the data.
        rows: usize,
        /// Labels beside them.
        labels: usize,
    },
    /// A number without a category.
    #[error("expected the number of a category, from 0 to {} or missing, got {got}", .n - 1)]
    NoSuchCategory {
        /// What came.
        got: String,
        /// How many categories there are.
        n: usize,
    },
    /// A sample weight that is no weight: what came.
    #[error("expected a weight of zero or more, got {0}")]
    BadWeight(String),
    /// The data do not fit into the memory allowed: the limit.
    #[error("the data take more than {0}, which --max-memory allows")]
    OverMemory(String),
    /// Rows in a format whose labels are in a file of their own, which was not found.
    #[error(
        "no labels were found for it: give the file that holds them with --labels, or a column with --target"
    )]
    NoLabelFile,
}

/// What to do about text among numbers.
fn number_advice(text: &str) -> &'static str {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned.split_once(',') {
        Some((whole, decimals)) if digits(whole) && digits(decimals) => {
            "if the decimal mark is a comma, give --decimal ,"
        }
        _ => "if the column holds categories, name it with --categorical",
    }
}
