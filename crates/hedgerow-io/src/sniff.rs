//! Which character stands between the fields, told from the first lines.
//!
//! Every usual delimiter is tried on the first lines, quotes heeded. One that cuts the first line into two fields or more and all other
//! lines into as many is the delimiter; where several do, the one whose fields are numbers most often. A file in which none does is
//! read with the delimiter its name tells, so that one column stays one column and a faulty row is reported as such.

use csv::{ByteRecord, ReaderBuilder};

use crate::delimiter::{Decimal, Delimiter};
use crate::number::{comma_number, is_number};
use crate::source::split_blanks;

/// Records that are compared. Decimal marks are looked for in all of the sample.
const COMPARED: usize = 100;

/// The first bytes of a text file.
pub(crate) struct Sample {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether more follow.
    pub is_cut: bool,
}

impl Sample {
    /// The delimiter that fits best. `usual` wins against others that fit as well, and where none does.
    pub(crate) fn delimiter(&self, usual: Delimiter, decimal: Option<Decimal>) -> Delimiter {
        let mut best: (Option<Fit>, Delimiter) = (None, usual);
        for delimiter in std::iter::once(usual).chain(Delimiter::USUAL) {
            let fit = Fit::of(&self.records(delimiter, COMPARED), decimal);
            // None is less than any fit.
            if fit > best.0 {
                best = (fit, delimiter);
            }
        }
        best.1
    }

    /// The mark before decimals: a comma where fields use it and none uses a point or several commas.
    pub(crate) fn decimal(&self, delimiter: Delimiter) -> Decimal {
        let mut decimal = Decimal::Point;
        for field in self.records(delimiter, usize::MAX).iter().flat_map(ByteRecord::iter) {
            let field = field.trim_ascii();
            if comma_number(field).is_some() {
                decimal = Decimal::Comma;
            } else if is_grouped(field) || (field.contains(&b'.') && is_any_number(field)) {
                return Decimal::Point;
            }
        }
        decimal
    }

    /// The first records that are not blank. The last one of the sample may be cut and is left out unless it is the only one.
    fn records(&self, delimiter: Delimiter, most: usize) -> Vec<ByteRecord> {
        let wanted = most.saturating_add(1);
        let mut records: Vec<ByteRecord> = if delimiter == Delimiter::SPACE {
            let lines = self.bytes.split(|b| *b == b'\n').map(<[u8]>::trim_ascii);
            let records = lines.filter(|line| !line.is_empty()).map(|line| split_blanks(line).collect());
            records.take(wanted).collect()
        } else {
            let mut builder = ReaderBuilder::new();
            let builder = builder.has_headers(false).flexible(true).delimiter(delimiter.byte());
            let records = builder.from_reader(&*self.bytes).into_byte_records().map_while(Result::ok);
            let is_blank = |record: &ByteRecord| record.iter().all(|field| field.trim_ascii().is_empty());
            records.filter(|record| !is_blank(record)).take(wanted).collect()
        };
        if records.len() > most || (self.is_cut && records.len() > 1) {
            records.pop();
        }
        records
    }
}

/// How well a delimiter fits: what counts more comes first.
#[derive(Debug, PartialEq, PartialOrd)]
struct Fit {
    /// Share of records with as many fields as the first one.
    agreeing: f64,
    /// Share of fields that are numbers.
    numbers: f64,
}

impl Fit {
    /// None if the first record is not parted at all.
    fn of(records: &[ByteRecord], decimal: Option<Decimal>) -> Option<Self> {
        let n_fields = records.first().map(ByteRecord::len).filter(|&n| n > 1)?;
        let agreeing = records.iter().filter(|record| record.len() == n_fields).count();
        let is_number = |field: &&[u8]| decimal.map_or_else(|| is_any_number(field), |d| is_number(field, d));
        let fields = || records.iter().flat_map(ByteRecord::iter);
        let share = |part: usize, whole: usize| part as f64 / whole as f64;
        Some(Self {
            agreeing: share(agreeing, records.len()),
            numbers: share(fields().filter(is_number).count(), fields().count()),
        })
    }
}

/// Whether a field is a number with either decimal mark.
fn is_any_number(field: &[u8]) -> bool {
    is_number(field, Decimal::Point) || is_number(field, Decimal::Comma)
}

/// Whether commas part the digits of a number into groups: 1,234,567.
fn is_grouped(field: &[u8]) -> bool {
    field.iter().filter(|b| **b == b',').count() > 1
        && field.iter().all(|b| b.is_ascii_digit() || b",.+-".contains(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(text: &str) -> Sample {
        Sample { bytes: text.into(), is_cut: false }
    }

    fn found(text: &str) -> Delimiter {
        sample(text).delimiter(Delimiter::COMMA, None)
    }

    #[test]
    fn the_delimiter_that_cuts_all_lines_alike() {
        assert_eq!(found("a,b\n1,2\n"), Delimiter::COMMA);
        assert_eq!(found("a;b\n1;2\n"), Delimiter::SEMICOLON);
        assert_eq!(found("a\tb\n1\t2\n"), Delimiter::TAB);
        assert_eq!(found("a|b\n1|2\n"), Delimiter::PIPE);
        // Commas inside of quotes, and as decimal marks.
        assert_eq!(found("a;b\n\"x, y\";2\n\"p, q, r\";3\n"), Delimiter::SEMICOLON);
        assert_eq!(found("a;b;c\n1,5;2;x\n2,5;3,5;y\n"), Delimiter::SEMICOLON);
        assert_eq!(found("1,5;2,5;3,5\n4,5;5,5;6,5\n"), Delimiter::SEMICOLON);
        // Semicolons inside of the fields of a table with commas.
        assert_eq!(found("id,tags\n1,a;b\n2,c;d\n"), Delimiter::COMMA);
        assert_eq!(found("1,a;b\n2,c;d\n"), Delimiter::COMMA);
        assert_eq!(found("\"a;b\",c\n\"d;e\",f\n"), Delimiter::COMMA);
        // A faulty row does not make it another table.
        assert_eq!(found("a;b\n1;2\n3\n4;5\n"), Delimiter::SEMICOLON);
        assert_eq!(found("\n\na;b\n1;2\n"), Delimiter::SEMICOLON);
    }

    #[test]
    fn one_column_has_no_delimiter() {
        for text in ["", "\n", "y\n1\n2\n", "y\n1,5\n2,5\n", "name\nSmith; John\n", "\"a,b\"\n\"c,d\"\n"] {
            for usual in Delimiter::USUAL {
                assert_eq!(sample(text).delimiter(usual, None), usual, "{text:?}");
            }
        }
    }

    #[test]
    fn the_end_of_a_cut_sample_does_not_count() {
        let cut = |text: &str| Sample { bytes: text.into(), is_cut: true };
        assert_eq!(cut("a;b;c\n1;2;3\n4;").delimiter(Delimiter::COMMA, None), Delimiter::SEMICOLON);
        let records = cut("a;b;c\n1;2;3\n4;").records(Delimiter::SEMICOLON, COMPARED);
        assert_eq!(records.iter().map(ByteRecord::len).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(cut("a;b;c;d").delimiter(Delimiter::COMMA, None), Delimiter::SEMICOLON);
    }

    #[test]
    fn blanks_unless_another_fits_better() {
        let found = |text| sample(text).delimiter(Delimiter::SPACE, None);
        assert_eq!(found("1 2 3\n4 5 6\n"), Delimiter::SPACE);
        assert_eq!(found("1,5 2,5\n3,5 4,5\n"), Delimiter::SPACE);
        assert_eq!(found("a\tb\n1\t2\n"), Delimiter::SPACE);
        assert_eq!(found("5.1,3.5,x\n4.9,3.0,y\n"), Delimiter::COMMA);
        assert_eq!(found("5.1, 3.5, x\n4.9, 3.0, y\n"), Delimiter::COMMA);
        assert_eq!(found("New York;5\nOld York;6\n"), Delimiter::SEMICOLON);
        assert_eq!(found("a\tb\n1\t\n3\t4\n"), Delimiter::TAB);
        assert_eq!(found("1\n2\n"), Delimiter::SPACE);
    }

    #[test]
    fn decimal_commas_are_taken_only_where_all_agree() {
        let found = |text| sample(text).decimal(Delimiter::SEMICOLON);
        assert_eq!(found("a;b\n1,5;2\n-0,25;x\n"), Decimal::Comma);
        assert_eq!(found("a;b\n1,5;2.5\n"), Decimal::Point);
        assert_eq!(found("a;b\n1,234;1,234,567\n"), Decimal::Point);
        assert_eq!(found("a;b\n1;2\nx, y;3\n"), Decimal::Point);
        // Dates and versions are no numbers.
        assert_eq!(found("a;b\n1,5;24.12.2024\n"), Decimal::Comma);
    }
}
