//! Columns of dates, which are categories to a model unless they are made numbers first.

use hedgerow_core::{ColumnKind, Schema};

use crate::options::ReadOptions;

/// A note for each column of text whose values look like dates: a model takes them as categories, without order or distance.
///
/// Columns that `options` name as categorical are meant to be so, and get no note.
pub fn date_notes(schema: &Schema, options: &ReadOptions) -> Vec<String> {
    let is_meant = |name: &str| options.categorical.iter().any(|column| column.to_string() == name);
    let columns = schema.columns.iter().filter(|column| !is_meant(&column.name));
    let notes = columns.filter_map(|column| match &column.kind {
        ColumnKind::Categorical { categories } if are_dates(categories) => Some(format!(
            "column {:?} looks like dates and is treated as {} categories; convert it to numbers (for example days) to use it as a \
             quantity",
            column.name,
            categories.len()
        )),
        _ => None,
    });
    notes.collect()
}

/// Whether at least nine of ten are dates, and two at least.
fn are_dates(categories: &[String]) -> bool {
    let n_dates = categories.iter().filter(|text| is_date(text)).count();
    n_dates >= 2 && n_dates * 10 >= categories.len() * 9
}

/// Whether a text is a date such as 2024-12-24, 24/12/2024 or 24.12.2024, alone or with a time of day behind it.
fn is_date(text: &str) -> bool {
    match text.split_once(['T', ' ']) {
        Some((date, time)) => is_day(date) && is_time(time.trim()),
        None => is_day(text),
    }
}

/// Year, month and day, or day and month in either order and the year, with one mark between them.
fn is_day(text: &str) -> bool {
    let Some(mark) = text.chars().find(|c| !c.is_ascii_digit()).filter(|c| "-/.".contains(*c)) else {
        return false;
    };
    let parts: Vec<&str> = text.split(mark).collect();
    let [first, second, third] = parts[..] else { return false };
    let [is_year_first, is_year_last] = [first, third].map(|part| number(part, 4..=4).is_some());
    let (Some(a), Some(b)) =
        (number(if is_year_first { third } else { first }, 1..=2), number(second, 1..=2))
    else {
        return false;
    };
    let is_pair = |day: u32, month: u32| (1..=31).contains(&day) && (1..=12).contains(&month);
    is_year_first != is_year_last && (is_pair(a, b) || (is_year_last && is_pair(b, a)))
}

/// Hours and minutes, also with seconds and with a time zone.
fn is_time(text: &str) -> bool {
    let local =
        text.strip_suffix('Z').unwrap_or_else(|| text.split(['+', '-']).next().unwrap_or(text)).trim();
    let mut parts = local.split(':');
    let below = |part: Option<&str>, limit: u32| {
        let whole = part.and_then(|text| text.split(['.', ',']).next());
        whole.and_then(|text| number(text, 1..=2)).is_some_and(|value| value < limit)
    };
    let has_minutes = below(parts.next(), 24) && below(parts.next(), 60);
    let seconds = parts.next();
    has_minutes && (seconds.is_none() || below(seconds, 61)) && parts.next().is_none()
}

/// A number of so many digits and nothing else.
fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let is_number = digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use hedgerow_core::Column;

    use super::*;

    #[test]
    fn dates_as_people_write_them() {
        for text in [
            "2024-12-24",
            "2024/1/5",
            "24/12/2024",
            "12/24/2024",
            "24.12.2024",
            "1.2.2024",
            "24-12-2024",
            "2024-12-24T13:45",
            "2024-12-24 13:45:10",
            "2024-12-24T13:45:10.123Z",
            "2024-12-24T13:45:10+01:00",
            "24.12.2024 7:05",
        ] {
            assert!(is_date(text), "{text}");
        }
        for text in [
            "",
            "2024",
            "2024-12",
            "2024-13-24",
            "2024-24-12",
            "32.12.2024",
            "0.1.2024",
            "13/13/2024",
            "1.2.10",
            "1-2-3",
            "2024-12-2024",
            "2024-12.24",
            "24.12.2024 x",
            "2024-12-24T25:00",
            "2024-12-24T13",
            "2024-12-24 13:45:10:11",
            "192.168.0.1",
            "a-b-c",
            "T",
            "-",
        ] {
            assert!(!is_date(text), "{text}");
        }
    }

    #[test]
    fn only_columns_of_dates_get_a_note() {
        let column = |name: &str, categories: &[&str]| Column {
            name: name.into(),
            kind: ColumnKind::Categorical {
                categories: categories.iter().map(ToString::to_string).collect(),
            },
        };
        let days: Vec<String> = (1..=28).map(|day| format!("2024-02-{day:02}")).collect();
        let days: Vec<&str> = days.iter().map(String::as_str).collect();
        let columns = vec![
            Column::numeric("x"),
            column("when", &days),
            column("color", &["red", "2024-02-01"]),
            column("meant", &days),
            column("once", &["2024-02-01"]),
        ];
        let schema = Schema { columns, ..Schema::default() };
        let options = ReadOptions { categorical: vec!["meant".parse().unwrap()], ..ReadOptions::default() };
        let notes = date_notes(&schema, &options);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("\"when\"") && notes[0].contains("28 categories"), "{}", notes[0]);
    }
}
