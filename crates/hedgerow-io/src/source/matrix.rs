//! A bare matrix of numbers as a source, whatever file it came from.

use hedgerow_core::{DataProblem, Result};

use super::lines::malformed;
use super::{MAX_COLUMNS, RawArray, Source, too_many};
use crate::block::{Declared, SourceColumn};
use crate::labels::LabelStream;

/// The rows of an array; axes after the first are flattened.
pub(crate) fn open(array: RawArray, labels: Option<LabelStream>) -> Result<Source> {
    if array.shape.len() < 2 {
        let got = format!("{} dimensions", array.shape.len());
        return Err(malformed(array.format, "an array of rows and columns", got).into());
    }
    if !array.element.is_number() {
        return Err(malformed(array.format, "an array of numbers", "an array of text").into());
    }
    let width = array.width().unwrap_or(usize::MAX);
    if width > MAX_COLUMNS {
        return Err(too_many(width));
    }
    if width == 0 {
        return Err(DataProblem::NoFeatures.into());
    }
    let image = match array.shape[..] {
        [_, height, width] => Some([height as usize, width as usize]),
        _ => None,
    };
    let columns = SourceColumn::numbered(0, width, &Declared::Numeric);
    let declared_rows = Some(array.n_rows());
    Ok(Source { image, labels, wants_label_file: true, declared_rows, ..Source::new(columns, array) })
}
