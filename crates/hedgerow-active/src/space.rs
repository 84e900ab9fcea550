//! Where distances between rows are taken: on the ranks of columns.
//!
//! A number counts by its share of smaller values in its column, so that no scale and no long tail matters; categories and missing values are alike
//! or not. Two rows differ in a column by a number from 0 to 1, and distances are sums of squared differences, each column times its weight.

use hedgerow_core::{Features, Par, Schema};
use ndarray::{Array2, ArrayView1};

/// Rows that ranks are taken from.
const MOST_ROWS: usize = 5_000;
/// The squared difference of two categories: that of two halves of a column of numbers.
const MISMATCH: f32 = 0.25;
/// The squared difference of a missing value and any other: the mean over columns of numbers is a sixth.
const MISSING: f32 = 0.125;

/// The ranks of columns.
#[derive(Debug, Clone, PartialEq)]
pub struct RankSpace {
    columns: Vec<Ranks>,
}

#[derive(Debug, Clone, PartialEq)]
enum Ranks {
    /// Values in order.
    Numbers(Vec<f32>),
    Categories,
}

impl Ranks {
    /// The rank of a value among those of its column, from 0 to 1: the share of smaller ones, and half of those alike. Categories stay as they are.
    fn of(&self, value: f32) -> f32 {
        match self {
            Self::Numbers(sorted) if !value.is_nan() && !sorted.is_empty() => {
                let smaller = sorted.partition_point(|other| *other < value);
                let not_larger = sorted.partition_point(|other| *other <= value);
                (smaller + not_larger) as f32 / (2 * sorted.len()) as f32
            }
            Self::Numbers(_) => f32::NAN,
            Self::Categories => value,
        }
    }
}

impl RankSpace {
    /// Of a table.
    pub fn new(schema: &Schema, features: &Features) -> Self {
        let n = features.n_rows();
        let step = n.div_ceil(MOST_ROWS).max(1);
        let column = |c: usize| {
            if schema.columns[c].kind.n_categories() > 0 {
                return Ranks::Categories;
            }
            let values = (0..n).step_by(step).map(|r| features.value(r, c));
            let mut sorted: Vec<f32> = values.filter(|v| !v.is_nan()).collect();
            sorted.sort_by(f32::total_cmp);
            Ranks::Numbers(sorted)
        };
        Self { columns: (0..features.n_features()).map(column).collect() }
    }

    /// Columns a row.
    pub fn n_features(&self) -> usize {
        self.columns.len()
    }

    /// Rows to measure distances from, by their ranks.
    pub fn place(&self, features: &Features, rows: &[usize], par: &Par) -> Targets {
        let mut by_column = Array2::zeros((self.columns.len(), rows.len()));
        if let Some(values) = by_column.as_slice_mut() {
            par.for_chunks(values, rows.len().max(1), |c, out| {
                let ranks = &self.columns[c];
                out.iter_mut().zip(rows).for_each(|(to, &row)| *to = ranks.of(features.value(row, c)));
            });
        }
        let is_category = self.columns.iter().map(|ranks| matches!(ranks, Ranks::Categories)).collect();
        let has_missing =
            by_column.rows().into_iter().map(|column| column.iter().any(|v: &f32| v.is_nan())).collect();
        Targets { by_column, is_category, has_missing }
    }
}

/// Rows in a [`RankSpace`], to measure distances from.
#[derive(Debug, Clone)]
pub struct Targets {
    /// A row for each column of the table.
    by_column: Array2<f32>,
    is_category: Vec<bool>,
    has_missing: Vec<bool>,
}

impl Targets {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.by_column.ncols()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ranks of one row.
    pub fn row(&self, place: usize) -> Vec<f32> {
        self.by_column.column(place).to_vec()
    }

    /// The squared distance of each of these rows to another, each column times its weight.
    pub fn squared_distances(&self, from: &[f32], weights: &[f32]) -> Vec<f32> {
        let mut sums = vec![0.0_f32; self.len()];
        for (c, column) in self.by_column.rows().into_iter().enumerate() {
            let (from, weight) = (from[c], weights[c]);
            if weight == 0.0 {
                continue;
            }
            match column.as_slice() {
                Some(column) if !(self.is_category[c] || self.has_missing[c] || from.is_nan()) => {
                    // Most columns are such: a loop without branches.
                    sums.iter_mut().zip(column).for_each(|(sum, value)| {
                        let difference = value - from;
                        *sum += weight * (difference * difference);
                    });
                }
                _ => add_differences(column, from, self.is_category[c], weight, &mut sums),
            }
        }
        sums
    }

    /// The squared distances of all of these rows to others: a row for each of the others.
    pub fn distance_table(&self, from: &Self, weights: &[f32], par: &Par) -> Array2<f32> {
        let mut out = Array2::zeros((from.len(), self.len()));
        if let Some(values) = out.as_slice_mut() {
            par.for_chunks(values, self.len().max(1), |place, out| {
                out.copy_from_slice(&self.squared_distances(&from.row(place), weights));
            });
        }
        out
    }
}

/// Adds the squared differences of one column.
fn add_differences(column: ArrayView1<'_, f32>, from: f32, is_category: bool, weight: f32, sums: &mut [f32]) {
    let missing = MISSING * weight;
    if from.is_nan() {
        sums.iter_mut().for_each(|sum| *sum += missing);
        return;
    }
    let Some(column) = column.as_slice() else { return };
    let of = |value: f32| {
        let difference = value - from;
        let square = if is_category {
            if difference == 0.0 { 0.0 } else { MISMATCH }
        } else {
            difference * difference
        };
        if value.is_nan() { missing } else { weight * square }
    };
    sums.iter_mut().zip(column).for_each(|(sum, value)| *sum += of(*value));
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{Column, ColumnKind};
    use ndarray::array;

    use super::*;

    #[test]
    fn ranks_categories_and_missing_values() {
        let x = array![[10.0, 0.0], [20.0, 1.0], [20.0, f32::NAN], [1e9, 0.0], [f32::NAN, 1.0]];
        let categories = ["red", "green"].map(String::from).to_vec();
        let color = Column { name: "color".into(), kind: ColumnKind::Categorical { categories } };
        let schema = Schema { columns: vec![Column::numeric("size"), color], ..Schema::unnamed(0) };
        let features = Features::from_view(x.view());
        let space = RankSpace::new(&schema, &features);
        let rows = space.place(&features, &[0, 1, 2, 3, 4], &Par::sequential());
        assert_eq!(rows.row(0), [0.125, 0.0]);
        assert_eq!(rows.row(1), [0.5, 1.0], "half of those alike");
        let distances = rows.squared_distances(&rows.row(0), &[1.0, 2.0]);
        let expected = [0.0, 0.375 * 0.375 + 0.5, 0.375 * 0.375 + 0.25, 0.75 * 0.75, 0.125 + 0.5];
        assert_eq!(distances, expected);
        let table = rows.distance_table(&rows, &[1.0, 2.0], &Par::new(2).unwrap());
        assert_eq!(table.row(0).to_vec(), distances);
        assert_eq!(table.column(0).to_vec(), distances, "symmetric");
        assert!((0..5).all(|i| table[(i, i)] == 0.0 || x.row(i).iter().any(|v| v.is_nan())));
    }
}
