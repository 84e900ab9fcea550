//! Which character stands between the fields, told from the first lines.
//!
//! Every usual delimiter is tried on the first lines, quotes heeded. One that cuts the first line into two fields or more and all other
//! lines into as many is the delimiter; where several do, the one whose fields are numbers most often. A file in which none does is
//! read with the delimiter its name tells, so that one column stays one column and a faulty row is reported as such.

use csv::{ByteRecord, ReaderBuilder};

use crate::delimiter::{Decimal, Delimiter};
use crate::number::{Parsed, comma_number, parse_as, trim};

/// Records that are compared. Decimal marks are looked for in all of the sample.
const COMPARED: usize = 100;

/// The first bytes of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Whether more follow.
    pub is_cut: bool,
}

impl Sample<'_> {
    /// The delimiter that fits, where one does. `usual` wins against others that fit as well.
    pub(crate) fn delimiter(self, usual: Delimiter, decimal: Option<Decimal>) -> Option<Delimiter> {
        let others = Delimiter::USUAL.into_iter().filter(|d| *d != usual);
        let mut best: Option<(Fit, Delimiter)> = None;
        for delimiter in std::iter::once(usual).chain(others) {
            let fit = Fit::of(&self.records(delimiter, COMPARED), decimal);
            if let Some(fit) = fit
                && best.as_ref().is_none_or(|(most, _)| fit.is_better_than(most))
            {
                best = Some((fit, delimiter));
            }
        }
        best.map(|(_, delimiter)| delimiter)
    }

    /// The delimiter of a file whose name promises blanks between the fields: blanks, unless another fits better.
    pub(crate) fn delimiter_or_blanks(self, decimal: Option<Decimal>) -> Delimiter {
        let blanks = Fit::of(&self.blank_records(), decimal);
        let Some(other) = self.delimiter(Delimiter::COMMA, decimal) else { return Delimiter::SPACE };
        match (blanks, Fit::of(&self.records(other, COMPARED), decimal)) {
            (None, Some(_)) => other,
            (Some(blanks), Some(fit)) if fit.is_better_than(&blanks) => other,
            _ => Delimiter::SPACE,
        }
    }

    /// The mark before decimals: a comma where fields use it and none uses a point or several commas.
    pub(crate) fn decimal(self, delimiter: Delimiter) -> Decimal {
        let mut has_comma = false;
        for field in self.records(delimiter, usize::MAX).iter().flat_map(ByteRecord::iter) {
            let field = trim(field);
            if comma_number(field).is_some() {
                has_comma = true;
            } else if is_grouped(field) || (field.contains(&b'.') && is_number(field, None)) {
                return Decimal::Point;
            }
        }
        if has_comma { Decimal::Comma } else { Decimal::Point }
    }

    /// Whether the first line holds names, by the rule for tables that usually have none: it has no number, and the second has one.
    pub(crate) fn has_names(self, delimiter: Delimiter, decimal: Decimal) -> bool {
        let records = self.records(delimiter, 2);
        let has_number =
            |i: usize| records.get(i).is_some_and(|r| r.iter().any(|field| is_number(field, Some(decimal))));
        has_number(1) && !has_number(0)
    }

    /// The first records that are not blank. The last one of the sample may be cut and is left out unless it is the only one.
    fn records(self, delimiter: Delimiter, most: usize) -> Vec<ByteRecord> {
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter.byte())
            .from_reader(self.bytes);
        let mut records = Vec::new();
        let mut record = ByteRecord::new();
        let mut n_bytes = 0;
        while records.len() < most && reader.read_byte_record(&mut record).unwrap_or(false) {
            n_bytes = reader.position().byte();
            if record.iter().any(|field| !trim(field).is_empty()) {
                records.push(record.clone());
            }
        }
        if self.is_cut && records.len() > 1 && n_bytes >= self.bytes.len() as u64 {
            records.pop();
        }
        records
    }

    /// The same for any number of blanks between fields.
    fn blank_records(self) -> Vec<ByteRecord> {
        let lines = self.bytes.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
        let fields = |line: &[u8]| {
            let fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
            fields.collect::<ByteRecord>()
        };
        let mut records: Vec<ByteRecord> = lines.take(COMPARED + 1).map(fields).collect();
        if self.is_cut && records.len() > 1 {
            records.pop();
        }
        records
    }
}

/// How well a delimiter fits.
#[derive(Debug)]
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
        let (mut numbers, mut fields) = (0_usize, 0_usize);
        for field in records.iter().flat_map(ByteRecord::iter) {
            fields += 1;
            numbers += usize::from(is_number(field, decimal));
        }
        let share = |part: usize, whole: usize| part as f64 / whole as f64;
        Some(Self { agreeing: share(agreeing, records.len()), numbers: share(numbers, fields) })
    }

    fn is_better_than(&self, other: &Self) -> bool {
        (self.agreeing, self.numbers) > (other.agreeing, other.numbers)
    }
}

/// Whether a field is a number, with the decimal mark given or with either.
fn is_number(field: &[u8], decimal: Option<Decimal>) -> bool {
    let is = |decimal| matches!(parse_as(trim(field), decimal), Parsed::Number(_));
    decimal.map_or_else(|| is(Decimal::Point) || is(Decimal::Comma), is)
}

/// Whether commas part the digits of a number into groups: 1,234,567.
fn is_grouped(field: &[u8]) -> bool {
    field.iter().filter(|b| **b == b',').count() > 1
        && field.iter().all(|b| b.is_ascii_digit() || b",.+-".contains(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(text: &str) -> Sample<'_> {
        Sample { bytes: text.as_bytes(), is_cut: false }
    }

    fn found(text: &str) -> Option<Delimiter> {
        sample(text).delimiter(Delimiter::COMMA, None)
    }

    #[test]
    fn the_delimiter_that_cuts_all_lines_alike() {
        assert_eq!(found("a,b\n1,2\n"), Some(Delimiter::COMMA));
        assert_eq!(found("a;b\n1;2\n"), Some(Delimiter::SEMICOLON));
        assert_eq!(found("a\tb\n1\t2\n"), Some(Delimiter::TAB));
        assert_eq!(found("a|b\n1|2\n"), Some(Delimiter::PIPE));
        // Commas inside of quotes, and as decimal marks.
        assert_eq!(found("a;b\n\"x, y\";2\n\"p, q, r\";3\n"), Some(Delimiter::SEMICOLON));
        assert_eq!(found("a;b;c\n1,5;2;x\n2,5;3,5;y\n"), Some(Delimiter::SEMICOLON));
        assert_eq!(found("1,5;2,5;3,5\n4,5;5,5;6,5\n"), Some(Delimiter::SEMICOLON));
        // Semicolons inside of the fields of a table with commas.
        assert_eq!(found("id,tags\n1,a;b\n2,c;d\n"), Some(Delimiter::COMMA));
        assert_eq!(found("1,a;b\n2,c;d\n"), Some(Delimiter::COMMA));
        assert_eq!(found("\"a;b\",c\n\"d;e\",f\n"), Some(Delimiter::COMMA));
        // A faulty row does not make it another table.
        assert_eq!(found("a;b\n1;2\n3\n4;5\n"), Some(Delimiter::SEMICOLON));
        assert_eq!(found("\n\na;b\n1;2\n"), Some(Delimiter::SEMICOLON));
    }

    #[test]
    fn one_column_has_no_delimiter() {
        for text in ["", "\n", "y\n1\n2\n", "y\n1,5\n2,5\n", "name\nSmith; John\n", "\"a,b\"\n\"c,d\"\n"] {
            assert_eq!(found(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_end_of_a_cut_sample_does_not_count() {
        let cut = |text: &'static str| Sample { bytes: text.as_bytes(), is_cut: true };
        assert_eq!(cut("a;b;c\n1;2;3\n4;").delimiter(Delimiter::COMMA, None), Some(Delimiter::SEMICOLON));
        let records = cut("a;b;c\n1;2;3\n4;").records(Delimiter::SEMICOLON, COMPARED);
        assert_eq!(records.iter().map(ByteRecord::len).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(cut("a;b;c;d").delimiter(Delimiter::COMMA, None), Some(Delimiter::SEMICOLON));
    }

    #[test]
    fn blanks_unless_another_fits_better() {
        let found = |text| sample(text).delimiter_or_blanks(None);
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

    #[test]
    fn names_in_the_first_line() {
        assert!(sample("a;b\n1,5;x\n").has_names(Delimiter::SEMICOLON, Decimal::Comma));
        assert!(!sample("5.1,x\n4.9,y\n").has_names(Delimiter::COMMA, Decimal::Point));
        assert!(!sample("red,x\nblue,y\n").has_names(Delimiter::COMMA, Decimal::Point));
    }
}
