//! A bare matrix of numbers as a source, whatever file it came from.

use hedgerow_core::{DataProblem, Result};

use super::lines::malformed;
use super::{MAX_COLUMNS, RawArray, Source, too_many};
use crate::block::{Block, Declared, SourceColumn};
use crate::labels::LabelStream;

/// Rows of an array; axes after the first are flattened.
pub(crate) struct MatrixSource {
    array: RawArray,
    columns: Vec<SourceColumn>,
    image: Option<[usize; 2]>,
    labels: Option<LabelStream>,
}

impl MatrixSource {
    pub(crate) fn new(array: RawArray, labels: Option<LabelStream>) -> Result<Self> {
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
        Ok(Self { columns: SourceColumn::numbered(0, width, &Declared::Numeric), array, image, labels })
    }
}

impl Source for MatrixSource {
    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn image(&self) -> Option<[usize; 2]> {
        self.image
    }

    fn take_labels(&mut self) -> Option<LabelStream> {
        self.labels.take()
    }

    fn wants_label_file(&self) -> bool {
        true
    }

    fn declared_rows(&self) -> Option<u64> {
        Some(self.array.n_rows())
    }

    fn read(&mut self, max_rows: usize, block: &mut Block) -> Result<()> {
        let (n_rows, cells) = self.array.read_cells(max_rows)?;
        block.n_rows = n_rows;
        block.cells = cells;
        block.lines.clear();
        block.labels = None;
        Ok(())
    }
}
