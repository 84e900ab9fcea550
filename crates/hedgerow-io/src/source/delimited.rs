//! Tables of text: which delimiter and decimal mark they are read with.

use hedgerow_core::{DataError, DataProblem, Result};

use super::Source;
use super::csv::CsvSource;
use super::whitespace::WhitespaceSource;
use crate::delimiter::{Decimal, Delimiter};
use crate::format::Format;
use crate::open::Place;
use crate::options::ReadOptions;
use crate::sniff::Sample;

/// How a table of text is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub format: Format,
    pub delimiter: Delimiter,
    pub decimal: Decimal,
    /// Whether the delimiter is not the one that the format stands for, or was given by the caller.
    is_unusual: bool,
}

impl Layout {
    fn find(format: Format, options: &ReadOptions, sample: Sample<'_>) -> Self {
        let usual = match format {
            Format::Tsv => Delimiter::TAB,
            Format::Whitespace => Delimiter::SPACE,
            _ => Delimiter::COMMA,
        };
        let delimiter = options.delimiter.unwrap_or_else(|| match format {
            Format::Whitespace => sample.delimiter_or_blanks(options.decimal),
            _ => sample.delimiter(usual, options.decimal).unwrap_or(usual),
        });
        let decimal = options.decimal.unwrap_or_else(|| match delimiter {
            Delimiter::SEMICOLON => sample.decimal(delimiter),
            _ => Decimal::Point,
        });
        Self { format, delimiter, decimal, is_unusual: options.delimiter.is_some() || delimiter != usual }
    }

    /// How lines are split, where the columns that were found give reason to doubt it.
    pub(crate) fn hint(self, n_columns: usize) -> Option<String> {
        (self.is_unusual || n_columns == 1).then(|| {
            format!("the lines were split at every {}; --delimiter gives another character", self.delimiter)
        })
    }

    /// The error of a row that has not as many fields as the first.
    pub(crate) fn ragged(self, expected: usize, got: usize) -> DataError {
        let error = DataError::from(DataProblem::Ragged { expected, got });
        match self.hint(expected) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// Opens a table of text.
pub(crate) fn open(place: &Place, format: Format, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let (input, ahead) = place.open_text_ahead()?;
    let sample = Sample { bytes: &ahead.bytes, is_cut: ahead.is_cut };
    let layout = Layout::find(format, options, sample);
    if layout.delimiter == Delimiter::SPACE {
        return Ok(Box::new(WhitespaceSource::new(place, input, layout, options.header)?));
    }
    let header = match format {
        // Such files seldom have a header, with whatever delimiter.
        Format::Whitespace => {
            options.header.or_else(|| Some(sample.has_names(layout.delimiter, layout.decimal)))
        }
        _ => options.header,
    };
    Ok(Box::new(CsvSource::new(place, input, layout, header)?))
}
