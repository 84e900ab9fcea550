//! The file formats, and how a file's name tells which one it is.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use hedgerow_core::{DataProblem, Error};

/// A file format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Fields between commas, or another delimiter where the first lines show one, with a header line.
    Csv,
    /// Fields between tabs, likewise.
    Tsv,
    /// Fields between blanks, likewise.
    Whitespace,
    /// `label index:value …`, also with a leading line that gives the sizes.
    Libsvm,
    /// The binary format of MNIST.
    Idx,
    /// One array of `NumPy`.
    Npy,
    /// Several arrays of `NumPy` in a zip archive.
    Npz,
    /// Weka's text format, which declares its columns.
    Arff,
    /// Apache Parquet; needs the feature `parquet`.
    Parquet,
    /// Arrow IPC, as a file or a stream; needs the feature `arrow`.
    ArrowIpc,
}

impl Format {
    /// Every format there is.
    pub const ALL: [Self; 10] = [
        Self::Csv,
        Self::Tsv,
        Self::Whitespace,
        Self::Libsvm,
        Self::Idx,
        Self::Npy,
        Self::Npz,
        Self::Arff,
        Self::Parquet,
        Self::ArrowIpc,
    ];

    /// The name `--format` takes, and how file names end.
    fn names(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Csv => ("csv", &["csv"]),
            Self::Tsv => ("tsv", &["tsv"]),
            Self::Whitespace => ("txt", &["txt", "data"]),
            Self::Libsvm => ("libsvm", &["libsvm", "svm"]),
            Self::Idx => ("idx", &["idx"]),
            Self::Npy => ("npy", &["npy"]),
            Self::Npz => ("npz", &["npz"]),
            Self::Arff => ("arff", &["arff"]),
            Self::Parquet => ("parquet", &["parquet"]),
            Self::ArrowIpc => ("arrow", &["arrow", "feather", "ipc"]),
        }
    }

    /// The name `--format` takes.
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// The format that a file's name tells, and whether the name ends in `.gz`.
    pub fn of_path(path: &Path) -> Option<(Self, bool)> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let (stem, is_gz) = match name.strip_suffix(".gz") {
            Some(stem) => (stem, true),
            None => (name.as_str(), false),
        };
        if is_idx_name(stem) {
            return Some((Self::Idx, is_gz));
        }
        let end = stem.rsplit_once('.')?.1;
        Some((Self::ALL.into_iter().find(|format| format.names().1.contains(&end))?, is_gz))
    }

    /// The problem of a name that tells no format.
    pub(crate) fn unknown() -> DataProblem {
        DataProblem::UnknownFormat(Self::known())
    }

    fn known() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

/// `train-images-idx3-ubyte` and its like.
fn is_idx_name(stem: &str) -> bool {
    stem.split(['-', '.']).any(|part| {
        part.strip_prefix("idx").is_some_and(|d| d.len() == 1 && d.as_bytes()[0].is_ascii_digit())
    }) && stem.ends_with("ubyte")
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let format = Self::ALL.into_iter().find(|f| f.name().eq_ignore_ascii_case(text));
        format.ok_or_else(|| Error::param("format", format!("one of {}", Self::known()), text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_format() {
        let of = |name: &str| Format::of_path(Path::new(name));
        assert_eq!(of("a/b.csv"), Some((Format::Csv, false)));
        assert_eq!(of("b.CSV.GZ"), Some((Format::Csv, true)));
        assert_eq!(of("train-images-idx3-ubyte"), Some((Format::Idx, false)));
        assert_eq!(of("train-images.idx3-ubyte.gz"), Some((Format::Idx, true)));
        assert_eq!(of("x.feather"), Some((Format::ArrowIpc, false)));
        assert_eq!(of("iris.data"), Some((Format::Whitespace, false)));
        assert_eq!(of("zip.train.gz"), None);
        assert_eq!(of("noname"), None);
        assert_eq!(of("-"), None);
    }

    #[test]
    fn display_and_parse_are_inverse() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        assert!("xls".parse::<Format>().unwrap_err().to_string().contains("csv, tsv"));
    }
}
