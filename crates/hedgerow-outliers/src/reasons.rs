//! Why a row is strange, in words.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Column, ColumnKind, Features, Schema};

use crate::scale::quantile;

/// Rows looked at to tell what is usual.
const MOST_ROWS: usize = 10_000;
/// Columns named at most.
const MOST_COLUMNS: usize = 3;
/// A column is named from this share of the contributions on.
const LEAST_SHARE: f64 = 0.15;
/// Between these shares of the values lies what most rows have.
const MOST: [f64; 2] = [0.05, 0.95];

/// What is usual in a column.
enum Usual {
    /// Numbers from 5 % to 95 % of the values.
    Range { low: f64, high: f64 },
    /// The share of each value.
    Shares(Vec<f64>),
}

/// What is usual in a table.
pub struct Reasons<'a> {
    columns: &'a [Column],
    usual: Vec<Usual>,
    missing: Vec<f64>,
}

impl<'a> Reasons<'a> {
    /// Looks at the rows of a table, or some of them if there are many.
    pub fn new(schema: &'a Schema, features: &Features, seed: u64) -> Self {
        let n_rows = features.n_rows();
        let sample = Rng::new(seed, Purpose::Sample, 0).sample(n_rows, MOST_ROWS);
        let rows = sample.unwrap_or_else(|| (0..n_rows).collect());
        let look = |(at, column): (usize, &Column)| {
            let values: Vec<f64> = rows.iter().map(|&row| f64::from(features.value(row, at))).collect();
            let present: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
            let share_of = |n: usize| n as f64 / values.len().max(1) as f64;
            let usual = match &column.kind {
                ColumnKind::Numeric => {
                    let [low, high] = MOST.map(|share| quantile(&present, share));
                    Usual::Range { low, high }
                }
                kind => {
                    let mut counts = vec![0; kind.n_categories().max(2)];
                    for value in present.iter().map(|value| *value as usize) {
                        if let Some(count) = counts.get_mut(value) {
                            *count += 1;
                        }
                    }
                    Usual::Shares(counts.into_iter().map(share_of).collect())
                }
            };
            (usual, share_of(values.len() - present.len()))
        };
        let (usual, missing) = schema.columns.iter().enumerate().map(look).unzip();
        Self { columns: &schema.columns, usual, missing }
    }

    /// The columns that contributed most to the strangeness of a row, with its values and what is usual. Empty where none did.
    pub fn words(&self, row: &[f32], shares: &[f64]) -> String {
        let mut order: Vec<usize> = (0..shares.len().min(row.len())).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
        let named = order.into_iter().filter(|&c| shares[c] > 0.0).take(MOST_COLUMNS).enumerate();
        // At least one is named, however evenly the contributions are spread.
        let named = named.filter(|&(place, c)| place == 0 || shares[c] >= LEAST_SHARE);
        named.map(|(_, c)| self.column(c, row[c])).collect::<Vec<_>>().join("; ")
    }

    fn column(&self, at: usize, value: f32) -> String {
        let Column { name, kind } = &self.columns[at];
        if value.is_nan() {
            return format!("{name} missing ({} of rows)", percent(self.missing[at]));
        }
        match (&self.usual[at], kind) {
            (Usual::Range { low, high }, _) => {
                format!(
                    "{name} = {} (most {} to {})",
                    number(value),
                    number(*low as f32),
                    number(*high as f32)
                )
            }
            (Usual::Shares(shares), kind) => {
                let share = shares.get(value as usize).copied().unwrap_or(0.0);
                format!("{name} = {} ({} of rows)", word(kind, value), percent(share))
            }
        }
    }
}

/// How a value of a column of words is written.
fn word(kind: &ColumnKind, value: f32) -> String {
    let name = match kind {
        ColumnKind::Boolean { no, yes } => Some(if value == 0.0 { no } else { yes }),
        ColumnKind::Categorical { categories } => categories.get(value as usize),
        ColumnKind::Numeric => None,
    };
    name.cloned().unwrap_or_else(|| number(value))
}

/// A number with four digits that count, and no more than it has.
fn number(value: f32) -> String {
    let magnitude = value.abs();
    if value == 0.0 || (1e4..1e9).contains(&magnitude) {
        return format!("{value:.0}");
    }
    if !(1e-4..1e9).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let digits = (3 - magnitude.log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "none".into(),
        p if p < 0.1 => "less than 0.1 %".into(),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn reasons_name_values_and_what_is_usual() {
        let mut schema = Schema::unnamed(2);
        schema.columns[0].name = "size".into();
        schema.columns[1].name = "color".into();
        schema.columns[1].kind =
            ColumnKind::Categorical { categories: ["red", "blue"].map(String::from).to_vec() };
        let x =
            Array2::from_shape_fn(
                (101, 2),
                |(row, c)| if c == 0 { row as f32 / 2.0 } else { (row == 7) as u8 as f32 },
            );
        let reasons = Reasons::new(&schema, &Features::from_view(x.view()), 0);
        assert_eq!(reasons.words(&[99.5, 0.0], &[0.9, 0.1]), "size = 99.5 (most 2.5 to 47.5)");
        let both = reasons.words(&[99.5, 1.0], &[0.4, 0.6]);
        assert_eq!(both, "color = blue (1.0 % of rows); size = 99.5 (most 2.5 to 47.5)");
        assert_eq!(reasons.words(&[f32::NAN, 0.0], &[1.0, 0.0]), "size missing (none of rows)");
        assert_eq!(reasons.words(&[1.0, 0.0], &[0.0, 0.0]), "");
    }

    #[test]
    fn numbers_are_short() {
        let values = [0.0, 1.0, 0.123_456, 12_345.6, 1e-9, -2.5, 123.456, 3e12];
        let texts = ["0", "1", "0.1235", "12346", "1.000e-9", "-2.5", "123.5", "3.000e12"];
        assert_eq!(values.map(number), texts);
    }
}
