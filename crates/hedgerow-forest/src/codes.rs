//! The training matrix as small integers whose order is the values' order.
//!
//! A tree only asks which of two values is larger, so a column's distinct values can be numbered in order. Up to 255 of
//! them fit a byte, up to 65,535 two bytes: nothing is lost until a column has more, and then its values are grouped
//! into that many equally full bins. A matrix that is already bytes is used as it stands, without a copy.

use std::borrow::Cow;

use hedgerow_core::{ColumnKind, Dataset, Features, Par};

/// A number that stands for a value; the largest one stands for a missing value.
pub(crate) trait Code: Copy + Ord + Default + Send + Sync + 'static {
    const MISSING: Self;
    fn narrow(code: usize) -> Self;
    fn wide(self) -> usize;
}

impl Code for u8 {
    const MISSING: Self = Self::MAX;
    fn narrow(code: usize) -> Self {
        code as Self
    }
    #[inline]
    fn wide(self) -> usize {
        self as usize
    }
}

impl Code for u16 {
    const MISSING: Self = Self::MAX;
    fn narrow(code: usize) -> Self {
        code as Self
    }
    #[inline]
    fn wide(self) -> usize {
        self as usize
    }
}

/// The codes, row after row.
pub(crate) enum CodeMatrix<'a> {
    Bytes(Cow<'a, [u8]>),
    Words(Vec<u16>),
}

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
    /// The codes number these values (or the upper ends of these bins) in rising order.
    Rank(Vec<f32>),
    /// The code is a category; there are so many.
    Category(usize),
}

impl ColumnCodes {
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
        }
    }
}

/// A training matrix in codes.
pub(crate) struct Codes<'a> {
    pub(crate) matrix: CodeMatrix<'a>,
    pub(crate) columns: Vec<ColumnCodes>,
}

impl<'a> Codes<'a> {
    /// Encodes the features of a data set.
    pub(crate) fn new(data: &'a Dataset, par: &Par) -> Self {
        let kinds: Vec<&ColumnKind> = data.schema.columns.iter().map(|c| &c.kind).collect();
        let most_categories = kinds.iter().map(|k| k.n_categories()).max().unwrap_or(0);
        match &data.features {
            Features::Bytes { values, .. } if most_categories <= 256 => Self {
                matrix: CodeMatrix::Bytes(Cow::Borrowed(values)),
                columns: kinds
                    .iter()
                    .map(|kind| ColumnCodes {
                        meaning: match kind {
                            ColumnKind::Categorical { categories } => Meaning::Category(categories.len()),
                            _ => Meaning::Value,
                        },
                        has_missing: false,
                    })
                    .collect(),
            },
            features => Self::ranked(features, &kinds, par),
        }
    }

    /// Columns in which all rows have the same code, in rising order.
    pub(crate) fn constant_columns(&self) -> Vec<u32> {
        match &self.matrix {
            CodeMatrix::Bytes(matrix) => constant_columns(matrix, self.columns.len()),
            CodeMatrix::Words(matrix) => constant_columns(matrix, self.columns.len()),
        }
    }

    fn ranked(features: &Features, kinds: &[&ColumnKind], par: &Par) -> Codes<'static> {
        let columns: Vec<ColumnCodes> = par.map(kinds.len(), |f| match kinds[f] {
            ColumnKind::Categorical { categories } => ColumnCodes {
                meaning: Meaning::Category(categories.len()),
                has_missing: (0..features.n_rows()).any(|r| features.value(r, f).is_nan()),
            },
            _ => ranks(features, f),
        });
        let most_codes = columns.iter().map(|c| match &c.meaning {
            Meaning::Rank(values) => values.len(),
            Meaning::Category(n) => *n,
            Meaning::Value => 256,
        });
        let fits_bytes = most_codes.max().unwrap_or(0) <= usize::from(u8::MISSING);
        let matrix = if fits_bytes {
            CodeMatrix::Bytes(Cow::Owned(encode::<u8>(features, &columns, par)))
        } else {
            CodeMatrix::Words(encode::<u16>(features, &columns, par))
        };
        Codes { matrix, columns }
    }
}

/// The distinct values of a column in order, or as many bin ends as two bytes can number.
fn ranks(features: &Features, column: usize) -> ColumnCodes {
    const MOST: usize = u16::MAX as usize;
    let n_rows = features.n_rows();
    let mut values: Vec<f32> =
        (0..n_rows).map(|r| features.value(r, column) + 0.0).filter(|v| !v.is_nan()).collect();
    let has_missing = values.len() < n_rows;
    values.sort_unstable_by(f32::total_cmp);
    let all = values.len();
    let mut distinct = values.clone();
    distinct.dedup();
    if distinct.len() > MOST {
        distinct = (1..=MOST).map(|i| values[i * all / MOST - 1]).collect();
        distinct.dedup();
    }
    ColumnCodes { meaning: Meaning::Rank(distinct), has_missing }
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
    const ROWS: usize = 256;
    let width = columns.len();
    let mut codes = vec![C::default(); features.n_rows() * width];
    par.for_chunks(&mut codes, ROWS * width, |chunk, out| {
        for (i, out) in out.chunks_mut(width).enumerate() {
            for (f, (code, column)) in out.iter_mut().zip(columns).enumerate() {
                let value = features.value(chunk * ROWS + i, f);
                *code = match &column.meaning {
                    _ if value.is_nan() => C::MISSING,
                    Meaning::Value | Meaning::Category(_) => C::narrow(value as usize),
                    Meaning::Rank(values) => {
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
    use hedgerow_core::{ClassId, LabelTable, Schema};
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
        let codes = Codes::new(&data, &Par::sequential());
        assert!(matches!(codes.matrix, CodeMatrix::Bytes(Cow::Borrowed(_))));
        assert_eq!(codes.columns[0].threshold_above(3), 3.5);
    }

    #[test]
    fn values_are_numbered_in_order_and_thresholds_separate_them() {
        let values = [-1.5_f32, 0.0, 1e-30, 3.0e38, 3.1e38];
        let data = dataset(&array![[3.1e38_f32], [1e-30], [f32::NAN], [-1.5], [0.0], [3.0e38], [-0.0]]);
        let codes = Codes::new(&data, &Par::sequential());
        let CodeMatrix::Bytes(matrix) = &codes.matrix else { panic!("five values fit a byte") };
        assert_eq!(matrix[..], [4, 2, 255, 0, 1, 3, 1]);
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
        let codes = Codes::new(&data, &Par::new(2).unwrap());
        let CodeMatrix::Words(matrix) = &codes.matrix else { panic!("needs two bytes") };
        assert!(matrix.windows(2).all(|w| w[0] <= w[1]));
        let mut sizes = vec![0_usize; 65_535];
        matrix.iter().for_each(|&c| sizes[usize::from(c)] += 1);
        assert!(sizes.iter().all(|s| (3..=4).contains(s)));
    }
}
