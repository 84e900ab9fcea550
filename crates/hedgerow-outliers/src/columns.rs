//! Columns on one scale: what trees and distances see of a row.
//!
//! A number is centered and divided by its deviation. A missing number stands in the middle, and has a column of its own that tells
//! so where numbers were missing among the training rows. A column of categories becomes one column for each frequent category and
//! one for all others, scaled so that together they vary as much as a number does. A column that never varies is left out.

use hedgerow_core::saved::require;
use hedgerow_core::{Column, ColumnKind, Features, Result, Schema};
use serde::{Deserialize, Serialize};

/// The most frequent categories have columns of their own, so many at most.
const MOST_CATEGORIES: usize = 32;
/// The largest value on the scale: its square still has room in single precision.
const LARGEST: f64 = 1e9;
/// Rows looked at together.
const BLOCK: usize = 256;

/// How each column is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Coding {
    /// Not at all: it never varies.
    Left,
    /// As a number, with another for the missing ones if there were any.
    Number { mean: f64, factor: f64, missing: Option<f64> },
    /// As one number for each slot; `slots[category]` is its slot, the last slot is for all others.
    Categories { slots: Vec<usize>, n_slots: usize, factor: f64 },
}

impl Coding {
    fn width(&self) -> usize {
        match self {
            Self::Left => 0,
            Self::Number { missing, .. } => 1 + usize::from(missing.is_some()),
            Self::Categories { n_slots, .. } => *n_slots,
        }
    }
}

/// The columns of a table on one scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Columns {
    codings: Vec<Coding>,
    width: usize,
}

/// What is counted of a column.
#[derive(Default, Clone)]
struct Tally {
    n: usize,
    mean: f64,
    squares: f64,
    missing: usize,
    counts: Vec<usize>,
}

impl Tally {
    fn add(&mut self, value: f32) {
        if value.is_nan() {
            self.missing += 1;
            return;
        }
        if let Some(count) = self.counts.get_mut(value as usize) {
            *count += 1;
        }
        // Welford's recurrence.
        self.n += 1;
        let from_mean = f64::from(value) - self.mean;
        self.mean += from_mean / self.n as f64;
        self.squares += from_mean * (f64::from(value) - self.mean);
    }

    fn coding(self, column: &Column) -> Coding {
        let rows = (self.n + self.missing) as f64;
        if let ColumnKind::Categorical { .. } = column.kind {
            return self.categories(rows);
        }
        let deviation = libm::sqrt(self.squares / (self.n as f64).max(1.0));
        let share = self.missing as f64 / rows;
        let varies = deviation > 0.0 && deviation > 1e-12 * self.mean.abs();
        let missing = (self.missing > 0 && self.n > 0).then(|| 1.0 / libm::sqrt(share * (1.0 - share)));
        match (varies, missing) {
            (false, None) => Coding::Left,
            (false, _) => Coding::Number { mean: self.mean, factor: 0.0, missing },
            (true, _) => Coding::Number { mean: self.mean, factor: 1.0 / deviation, missing },
        }
    }

    fn categories(self, rows: f64) -> Coding {
        let mut order: Vec<usize> = (0..self.counts.len()).filter(|&c| self.counts[c] > 0).collect();
        order.sort_by_key(|&c| (std::cmp::Reverse(self.counts[c]), c));
        order.truncate(MOST_CATEGORIES);
        let others = order.len();
        let mut slots = vec![others; self.counts.len()];
        order.iter().enumerate().for_each(|(slot, &category)| slots[category] = slot);
        let mut shares = vec![0.0; others + 1];
        for (category, &count) in self.counts.iter().enumerate() {
            shares[slots[category]] += count as f64 / rows;
        }
        shares[others] += self.missing as f64 / rows;
        let variance: f64 = shares.iter().map(|p| p * (1.0 - p)).sum();
        if variance <= 0.0 {
            return Coding::Left;
        }
        Coding::Categories { slots, n_slots: others + 1, factor: 1.0 / libm::sqrt(variance) }
    }
}

impl Columns {
    /// Looks at all rows.
    pub(crate) fn new(schema: &Schema, features: &Features) -> Self {
        let n_features = features.n_features();
        let empty =
            |column: &Column| Tally { counts: vec![0; column.kind.n_categories()], ..Tally::default() };
        let mut tallies: Vec<Tally> = schema.columns.iter().map(empty).collect();
        let mut block = vec![0.0; BLOCK * n_features];
        for first in (0..features.n_rows()).step_by(BLOCK) {
            let rows = first..(first + BLOCK).min(features.n_rows());
            let values = &mut block[..rows.len() * n_features];
            features.copy_rows(rows, values);
            for row in values.chunks(n_features) {
                tallies.iter_mut().zip(row).for_each(|(tally, &value)| tally.add(value));
            }
        }
        let codings: Vec<Coding> =
            tallies.into_iter().zip(&schema.columns).map(|(tally, column)| tally.coding(column)).collect();
        let width = codings.iter().map(Coding::width).sum();
        Self { codings, width }
    }

    /// Columns of a row as it is given.
    pub(crate) fn n_features(&self) -> usize {
        self.codings.len()
    }

    /// Columns of a prepared row; 0 where no column varies.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Fails unless columns that were read are as wide as they tell.
    pub(crate) fn check(&self) -> Result<()> {
        let fits = |coding: &Coding| match coding {
            Coding::Categories { slots, n_slots, .. } => *n_slots > 0 && slots.iter().all(|s| s < n_slots),
            _ => true,
        };
        let width: usize = self.codings.iter().map(Coding::width).sum();
        require(width == self.width && self.codings.iter().all(fits), || "columns of another width")
    }

    /// Writes one row on the common scale.
    pub(crate) fn prepare(&self, row: &[f32], out: &mut [f32]) {
        let mut at = 0;
        for (coding, &value) in self.codings.iter().zip(row) {
            let out = &mut out[at..at + coding.width()];
            at += out.len();
            match coding {
                Coding::Left => {}
                Coding::Number { mean, factor, missing } => {
                    let scaled = (f64::from(value) - mean) * factor;
                    out[0] = if value.is_nan() { 0.0 } else { scaled.clamp(-LARGEST, LARGEST) as f32 };
                    if let Some(missing) = missing {
                        out[1] = if value.is_nan() { *missing as f32 } else { 0.0 };
                    }
                }
                Coding::Categories { slots, n_slots, factor } => {
                    out.fill(0.0);
                    let known = (!value.is_nan()).then(|| slots.get(value as usize)).flatten();
                    out[known.copied().unwrap_or(n_slots - 1)] = *factor as f32;
                }
            }
        }
    }

    /// Writes many rows on the common scale.
    pub(crate) fn prepare_rows(&self, rows: &[f32], out: &mut [f32]) {
        if self.width == 0 {
            return;
        }
        for (row, out) in rows.chunks(self.n_features()).zip(out.chunks_mut(self.width)) {
            self.prepare(row, out);
        }
    }

    /// Chosen rows of a table on the common scale.
    pub(crate) fn gather(&self, features: &Features, rows: &[u32]) -> Vec<f32> {
        let mut out = vec![0.0; rows.len() * self.width];
        if self.width == 0 {
            return out;
        }
        let mut values = vec![0.0; self.n_features()];
        for (&row, out) in rows.iter().zip(out.chunks_mut(self.width)) {
            features.copy_rows(row as usize..row as usize + 1, &mut values);
            self.prepare(&values, out);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn columns_vary_alike_whatever_they_hold() {
        let nan = f32::NAN;
        let x = array![[1.0, 0.0, 5.0], [3.0, 1.0, 5.0], [nan, 0.0, 5.0], [5.0, 2.0, 5.0]];
        let mut schema = Schema::unnamed(3);
        schema.columns[1].kind =
            ColumnKind::Categorical { categories: ["a", "b", "c", "d"].map(String::from).to_vec() };
        let columns = Columns::new(&schema, &Features::from_view(x.view()));
        // A number and its gap, three categories and the others; the constant column is left out.
        assert_eq!((columns.n_features(), columns.width()), (3, 6));
        let prepared = columns.gather(&Features::from_view(x.view()), &[0, 1, 2, 3]);
        let column = |k: usize| -> Vec<f64> { prepared.chunks(6).map(|row| f64::from(row[k])).collect() };
        let variance = |v: Vec<f64>| {
            let mean = v.iter().sum::<f64>() / v.len() as f64;
            v.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / v.len() as f64
        };
        // Without the gap the number has variance 1 over three rows; in the middle the missing one adds nothing.
        assert!((variance(column(0)) - 0.75).abs() < 1e-6);
        assert!((variance(column(1)) - 1.0).abs() < 1e-6);
        let categories: f64 = (2..6).map(|k| variance(column(k))).sum();
        assert!((categories - 1.0).abs() < 1e-6, "{categories}");
        // A category that never came, and a missing one, are among the others.
        let mut out = [0.0; 6];
        for value in [3.0, nan] {
            columns.prepare(&[1.0, value, 9.0], &mut out);
            assert!(out[5] > 0.0 && out[2..5].iter().all(|v| *v == 0.0), "{out:?}");
        }
    }

    #[test]
    fn a_table_that_never_varies_has_no_columns() {
        let x = array![[1.0, f32::NAN], [1.0, f32::NAN]];
        let columns = Columns::new(&Schema::unnamed(2), &Features::from_view(x.view()));
        assert_eq!(columns.width(), 0);
        assert!(columns.gather(&Features::from_view(x.view()), &[0, 1]).is_empty());
    }
}
