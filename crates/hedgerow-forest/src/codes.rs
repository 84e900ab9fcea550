//! The training matrix as small integers whose order is the values' order.
//!
//! A tree only asks which of two values is larger, so a column's distinct values can be numbered in order. Up to 255 of
//! them fit a byte, up to 65,535 two bytes: nothing is lost until a column has more, and then its values are grouped
//! into 16,383 equally full bins. A matrix that is already bytes is used as it stands, without a copy.

use std::sync::Arc;

use hedgerow_core::rng::Rng;
use hedgerow_core::{Column, Dataset, Features, Par, Schema};

use crate::grow::Matrix;
use crate::real::Real;
use crate::tree::Value;

/// A number that stands for a value, in the order of the values; the largest one stands for a missing value.
pub(crate) trait Code: Value + Ord + Default + Send + Sync + 'static {
    const MISSING: Self;
    fn narrow(code: usize) -> Self;
    fn wide(self) -> usize;

    /// A random cut: `low` or more and below `high`. What is up to it goes left.
    fn between(low: Self, high: Self, rng: &mut Rng) -> Self;

    /// The cut between two neighbors.
    fn middle(low: Self, high: Self) -> Self;

    /// The threshold `t` with `x < t` exactly for the values up to this one.
    fn threshold(self, column: &ColumnCodes) -> f32;
}

macro_rules! whole_number_codes {
    ($($type:ty),*) => {$(
        impl Code for $type {
            const MISSING: Self = Self::MAX;

            fn narrow(code: usize) -> Self {
                code as Self
            }

            #[inline]
            fn wide(self) -> usize {
                self as usize
            }

            #[inline]
            fn between(low: Self, high: Self, rng: &mut Rng) -> Self {
                low + rng.below(u32::from(high - low)) as Self
            }

            fn middle(low: Self, _: Self) -> Self {
                low
            }

            fn threshold(self, column: &ColumnCodes) -> f32 {
                column.threshold_above(self.wide())
            }
        }
    )*};
}

whole_number_codes!(u8, u16);

/// What the codes of a column mean.
#[derive(Debug, Clone)]
pub(crate) struct ColumnCodes {
    pub(crate) meaning: Meaning,
    pub(crate) has_missing: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Meaning {
    /// The code is the value.
    Value,
    /// The codes number these values in rising order.
    Rank(Vec<f32>),
    /// The codes number bins whose largest values are these, in rising order.
    Bin(Vec<f32>),
    /// The code is a category; there are so many.
    Category(usize),
}

impl ColumnCodes {
    /// Columns whose codes are their values or categories, none of which is missing.
    pub(crate) fn of_schema(schema: &Schema) -> Vec<Self> {
        let meaning = |column: &Column| match column.kind.n_categories() {
            0 => Meaning::Value,
            n => Meaning::Category(n),
        };
        let of_column = |column| Self { meaning: meaning(column), has_missing: false };
        schema.columns.iter().map(of_column).collect()
    }

    /// The threshold `t` with `x < t` exactly for the values coded up to `code`.
    pub(crate) fn threshold_above(&self, code: usize) -> f32 {
        match &self.meaning {
            Meaning::Value | Meaning::Category(_) => code as f32 + 0.5,
            Meaning::Rank(values) => match (values.get(code), values.get(code + 1)) {
                (Some(&low), Some(&high)) => {
                    // Halved first: the sum of two large values may overflow.
                    let middle = low * 0.5 + high * 0.5;
                    if middle > low && middle <= high { middle } else { high }
                }
                _ => f32::INFINITY,
            },
            Meaning::Bin(ends) => ends.get(code).map_or(f32::INFINITY, |end| end.next_up()),
        }
    }
}

/// Bytes up to which a matrix stays in the cache anyway, so that a copy by column does not pay.
pub(crate) const SMALL_MATRIX: usize = 4 << 20;

/// The same codes column after column, with room for so many rows in each.
pub(crate) fn turn<C: Code>(matrix: &[C], width: usize, room: usize, par: &Par) -> Vec<C> {
    /// Rows and columns turned at a time, so that both sides stay in the cache.
    const BLOCK: usize = 64;
    let n_rows = matrix.len() / width;
    let mut turned = vec![C::default(); room * width];
    par.for_chunks(&mut turned, BLOCK * room, |chunk, out| {
        let first = chunk * BLOCK;
        for rows in (0..n_rows).step_by(BLOCK) {
            for (column, out) in out.chunks_mut(room).enumerate() {
                for (row, out) in out[rows..n_rows].iter_mut().take(BLOCK).enumerate() {
                    *out = matrix[(rows + row) * width + first + column];
                }
            }
        }
    });
    turned
}

/// A training matrix in codes.
pub(crate) struct Codes {
    pub(crate) matrix: CodeMatrix,
    pub(crate) columns: Vec<ColumnCodes>,
    /// Columns in which all rows have the same code, in rising order.
    pub(crate) constant: Vec<u32>,
}

/// The codes, of one byte or two.
pub(crate) enum CodeMatrix {
    Bytes(Table<u8>),
    Words(Table<u16>),
}

/// Codes row after row and, for passes over one column of many rows, once more column after column; empty where that would not pay.
pub(crate) struct Table<C> {
    by_row: Arc<Vec<C>>,
    by_column: Vec<C>,
    n_rows: usize,
}

impl<C> Table<C> {
    pub(crate) fn matrix(&self) -> Matrix<'_, C> {
        Matrix { by_row: &self.by_row, by_column: &self.by_column, room: self.n_rows }
    }
}

impl Codes {
    /// Encodes the features of a data set. `may_turn` allows the copy by column.
    pub(crate) fn new(data: &Dataset, may_turn: bool, par: &Par) -> Self {
        let features = &data.features;
        let n_categories = |column: &Column| column.kind.n_categories();
        let most_categories = data.schema.columns.iter().map(n_categories).max().unwrap_or(0);
        let mut columns = ColumnCodes::of_schema(&data.schema);
        if let Features::Bytes { values, .. } = features
            && most_categories <= 256
        {
            return Self::of_rows(Arc::clone(values), columns, CodeMatrix::Bytes, may_turn, par);
        }
        par.for_chunks(&mut columns, 1, |f, column| match column[0].meaning {
            Meaning::Category(_) => {
                column[0].has_missing = (0..features.n_rows()).any(|r| features.value(r, f).is_nan());
            }
            _ => column[0] = ranks(features, f),
        });
        let most_codes = columns.iter().map(|c| match &c.meaning {
            Meaning::Rank(values) | Meaning::Bin(values) => values.len(),
            Meaning::Category(n) => *n,
            Meaning::Value => 256,
        });
        if most_codes.max().unwrap_or(0) <= usize::from(u8::MISSING) {
            let codes = Arc::new(encode(features, &columns, par));
            Self::of_rows(codes, columns, CodeMatrix::Bytes, may_turn, par)
        } else {
            let codes = Arc::new(encode(features, &columns, par));
            Self::of_rows(codes, columns, CodeMatrix::Words, may_turn, par)
        }
    }

    fn of_rows<C: Code>(
        by_row: Arc<Vec<C>>,
        columns: Vec<ColumnCodes>,
        matrix: fn(Table<C>) -> CodeMatrix,
        may_turn: bool,
        par: &Par,
    ) -> Self {
        let (width, n_rows) = (columns.len(), by_row.len() / columns.len());
        let is_turned = may_turn && size_of_val(&by_row[..]) > SMALL_MATRIX;
        let by_column = if is_turned { turn(&by_row, width, n_rows, par) } else { Vec::new() };
        let constant = constant_columns(&by_row, width);
        Self { matrix: matrix(Table { by_row, by_column, n_rows }), columns, constant }
    }
}

/// Distinct values that two bytes can number, beside the code for missing ones.
const MOST_VALUES: usize = u16::MAX as usize;
/// Bins of a column that has more: few enough for their ends to stay in the cache while rows are coded.
const N_BINS: usize = (1 << 14) - 1;
/// Rows from which the bins are found.
const BIN_ROWS: usize = 1 << 18;

/// The distinct values of a column in order, or the ends of equally full bins.
fn ranks(features: &Features, column: usize) -> ColumnCodes {
    let n_rows = features.n_rows();
    let mut values: Vec<f32> =
        (0..n_rows).map(|r| features.value(r, column) + 0.0).filter(|v| !v.is_nan()).collect();
    let has_missing = values.len() < n_rows;
    let is_long = values.len() > BIN_ROWS;
    if is_long {
        // So many rows hardly ever have few enough values, and a part of them tells where the bins end.
        if let Some(few) = distinct_if_few(&values) {
            return ColumnCodes { meaning: Meaning::Rank(few), has_missing };
        }
        let step = values.len().div_ceil(BIN_ROWS);
        values = values.into_iter().step_by(step).collect();
    }
    values.sort_unstable_by(f32::total_cmp);
    let n_distinct = 1 + values.windows(2).filter(|w| w[0] != w[1]).count();
    let meaning = if is_long || n_distinct > MOST_VALUES {
        Meaning::Bin(bin_ends(&values))
    } else {
        values.dedup();
        values.shrink_to_fit();
        Meaning::Rank(values)
    };
    ColumnCodes { meaning, has_missing }
}

/// The distinct values in order, unless there are more than a small table holds.
fn distinct_if_few(values: &[f32]) -> Option<Vec<f32>> {
    const FEW: usize = 4096;
    let mut seen = std::collections::BTreeSet::new();
    for &value in values {
        if seen.insert(Real::new(value)) && seen.len() > FEW {
            return None;
        }
    }
    Some(seen.into_iter().map(f32::from).collect())
}

/// The largest values of equally full bins of sorted values.
fn bin_ends(values: &[f32]) -> Vec<f32> {
    let mut ends: Vec<f32> = (1..=N_BINS).map(|i| values[i * values.len() / N_BINS - 1]).collect();
    ends.dedup();
    ends
}

fn constant_columns<C: Code>(matrix: &[C], width: usize) -> Vec<u32> {
    let mut varies = vec![false; width];
    let first = &matrix[..width];
    for row in matrix.chunks_exact(width) {
        for ((varies, a), b) in varies.iter_mut().zip(row).zip(first) {
            *varies |= a != b;
        }
    }
    (0..width as u32).filter(|&column| !varies[column as usize]).collect()
}

fn encode<C: Code>(features: &Features, columns: &[ColumnCodes], par: &Par) -> Vec<C> {
    // Columns one after the other within some rows, so that one column's table stays in the cache.
    const ROWS: usize = 1024;
    let width = columns.len();
    let mut codes = vec![C::default(); features.n_rows() * width];
    par.for_chunks(&mut codes, ROWS * width, |chunk, out| {
        for (f, column) in columns.iter().enumerate() {
            for (i, code) in out[f..].iter_mut().step_by(width).enumerate() {
                let value = features.value(chunk * ROWS + i, f);
                *code = match &column.meaning {
                    _ if value.is_nan() => C::MISSING,
                    Meaning::Value | Meaning::Category(_) => C::narrow(value as usize),
                    Meaning::Rank(values) | Meaning::Bin(values) => {
                        C::narrow(values.partition_point(|&v| v < value).min(values.len() - 1))
                    }
                };
            }
        }
    });
    codes
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{ClassId, LabelTable};
    use ndarray::array;

    use super::*;

    fn dataset(x: &ndarray::Array2<f32>) -> Dataset {
        let mut schema = Schema::unnamed(x.ncols());
        schema.labels = LabelTable::from(vec!["a".to_string()]);
        Dataset::new(schema, Features::from_view(x.view()), vec![ClassId(0); x.nrows()], None).unwrap()
    }

    #[test]
    fn bytes_are_taken_as_they_are() {
        let data = dataset(&array![[0.0, 255.0], [7.0, 1.0]]);
        let codes = Codes::new(&data, true, &Par::sequential());
        let (CodeMatrix::Bytes(table), Features::Bytes { values, .. }) = (&codes.matrix, &data.features)
        else {
            panic!("bytes")
        };
        assert!(Arc::ptr_eq(&table.by_row, values), "used in place");
        assert!(table.by_column.is_empty(), "too small for a copy by column");
        assert_eq!(codes.columns[0].threshold_above(3), 3.5);
    }

    #[test]
    fn values_are_numbered_in_order_and_thresholds_separate_them() {
        let values = [-1.5_f32, 0.0, 1e-30, 3.0e38, 3.1e38];
        let data = dataset(&array![[3.1e38_f32], [1e-30], [f32::NAN], [-1.5], [0.0], [3.0e38], [-0.0]]);
        let codes = Codes::new(&data, true, &Par::sequential());
        let CodeMatrix::Bytes(table) = &codes.matrix else { panic!("five values fit a byte") };
        assert_eq!(table.by_row[..], [4, 2, 255, 0, 1, 3, 1]);
        assert!(codes.columns[0].has_missing);
        for code in 0..4 {
            let threshold = codes.columns[0].threshold_above(code);
            for (i, &value) in values.iter().enumerate() {
                assert_eq!(value < threshold, i <= code, "{value} {threshold}");
            }
        }
    }

    #[test]
    fn many_values_are_binned_evenly() {
        let n = 200_000;
        let x = ndarray::Array2::from_shape_fn((n, 1), |(i, _)| (i as f32) * 0.5 - 3.0);
        let data = dataset(&x);
        let codes = Codes::new(&data, true, &Par::new(2).unwrap());
        let CodeMatrix::Words(table) = &codes.matrix else { panic!("needs two bytes") };
        let matrix = &table.by_row;
        assert!(matrix.windows(2).all(|w| w[0] <= w[1]));
        let mut sizes = vec![0_usize; N_BINS];
        matrix.iter().for_each(|&c| sizes[usize::from(c)] += 1);
        assert!(sizes.iter().all(|s| (12..=13).contains(s)));
        // What training puts on the left of a threshold, prediction must too.
        for code in [0, 1, 777, N_BINS - 2] {
            let threshold = codes.columns[0].threshold_above(code);
            for (row, &c) in matrix.iter().enumerate() {
                assert_eq!(x[(row, 0)] < threshold, usize::from(c) <= code);
            }
        }
    }

    #[test]
    fn turning_a_matrix_keeps_every_code() {
        let (n_rows, width) = (70_001, 67);
        let matrix: Vec<u8> = (0..n_rows * width).map(|i| (i * 31 % 251) as u8).collect();
        let turned = turn(&matrix, width, n_rows, &Par::new(2).unwrap());
        assert!(
            (0..n_rows)
                .step_by(997)
                .all(|r| (0..width).all(|c| turned[c * n_rows + r] == matrix[r * width + c]))
        );
    }

    #[test]
    fn many_rows_of_few_values_stay_exact() {
        let x = ndarray::Array2::from_shape_fn((300_000, 1), |(i, _)| ((i % 1000) as f32 - 500.0) * 0.25);
        let data = dataset(&x);
        let codes = Codes::new(&data, true, &Par::sequential());
        let Meaning::Rank(values) = &codes.columns[0].meaning else {
            panic!("a thousand values need no bins")
        };
        assert_eq!(values.len(), 1000);
        assert!(values.windows(2).all(|w| w[0] < w[1]));
        assert_eq!((values[0], values[999]), (-125.0, 124.75));
    }
}
