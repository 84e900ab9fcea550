//! NPZ, arrays of `NumPy` in a zip archive: one of rows, and perhaps one of labels.
//!
//! The rows are the array called `X`, `x`, `data` or `features`, the labels the one called `y`, `labels` or `target`;
//! otherwise the only array of two dimensions and the only one of one dimension. Each is unpacked to a temporary file,
//! so that memory does not grow with it.

use std::fs::File;
use std::io::BufReader;

use hedgerow_core::{DataProblem, Result};
use zip::ZipArchive;
use zip::result::ZipError;

use super::lines::{malformed, unsupported};
use super::npy::read_header;
use super::{RawArray, Source, matrix};
use crate::labels::LabelStream;
use crate::open::{Place, damaged, spool};

const ROW_NAMES: [&str; 6] = ["X", "x", "data", "features", "X_train", "x_train"];
const LABEL_NAMES: [&str; 7] = ["y", "Y", "labels", "label", "target", "y_train", "targets"];

/// Opens an NPZ archive.
pub(crate) fn open(place: &Place) -> Result<Source> {
    let file = place.open_seekable()?;
    if file.metadata().is_ok_and(|m| m.len() == 0) {
        return Err(DataProblem::Empty.into());
    }
    let mut archive = ZipArchive::new(file).map_err(|e| archive_error(place, e))?;
    let names = array_names(&mut archive, place)?;
    let rows = pick(&mut archive, place, &names, &ROW_NAMES, |a| a.shape.len() > 1)?;
    let Some((_, rows)) = rows else {
        let got = names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(malformed("npz", "an array of rows called X, or just one of two dimensions", got).into());
    };
    let labels = pick(&mut archive, place, &names, &LABEL_NAMES, |a| a.shape.len() == 1)?;
    let labels = labels.map(|(name, array)| LabelStream::new(array, &name)).transpose()?;
    matrix::open(rows, labels)
}

/// The names of the arrays without `.npy`, with their places in the archive.
fn array_names(archive: &mut ZipArchive<File>, place: &Place) -> Result<Vec<(String, usize)>> {
    let mut names = Vec::new();
    for i in 0..archive.len() {
        let entry = archive.by_index_raw(i).map_err(|e| archive_error(place, e))?;
        let name = entry.name().map_err(|e| archive_error(place, e))?;
        if let Some(stem) = name.strip_suffix(".npy") {
            names.push((stem.to_string(), i));
        }
    }
    Ok(names)
}

/// The array with one of the names wanted, or the only one that has the shape wanted.
fn pick(
    archive: &mut ZipArchive<File>,
    place: &Place,
    names: &[(String, usize)],
    wanted: &[&str],
    has_shape: impl Fn(&RawArray) -> bool,
) -> Result<Option<(String, RawArray)>> {
    for name in wanted {
        if let Some((name, i)) = names.iter().find(|(n, _)| n == name) {
            return Ok(Some((name.clone(), unpack(archive, place, *i)?)));
        }
    }
    let mut fitting = Vec::new();
    for (name, i) in names {
        // A member that is no readable array cannot be the one wanted.
        if let Ok(array) = unpack(archive, place, *i)
            && has_shape(&array)
        {
            fitting.push((name.clone(), array));
        }
    }
    Ok(if fitting.len() == 1 { fitting.pop() } else { None })
}

fn unpack(archive: &mut ZipArchive<File>, place: &Place, i: usize) -> Result<RawArray> {
    let entry = archive.by_index(i).map_err(|e| archive_error(place, e))?;
    let file = spool(entry).map_err(|e| place.error(damaged(e)))?;
    read_header(place, BufReader::new(Box::new(file)))
}

fn archive_error(place: &Place, error: ZipError) -> hedgerow_core::Error {
    match error {
        ZipError::Io(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => place.error(e),
        ZipError::UnsupportedArchive(what) => {
            unsupported("npz", what, "save it with numpy.savez or numpy.savez_compressed").into()
        }
        other => malformed("npz", "a zip archive", other.to_string()).into(),
    }
}
