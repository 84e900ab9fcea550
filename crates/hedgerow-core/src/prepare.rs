//! From the columns of a table to numbers that distances can be taken of.
//!
//! Missing numbers become the mean of their column, categories become one column each, and numbers are brought to one scale:
//! that of each column, or one for all where all columns are alike, as the pixels of a picture are. A column with a few numbers far from
//! all others is bent first (asinh: straight near its middle, a logarithm far out), or these few would be all that distances
//! see of it. What was found on the training rows is kept with the model.

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, LinalgScalar};
use serde::{Deserialize, Serialize};

use crate::budget::StopFlag;
use crate::data::{Dataset, Features, Schema};
use crate::error::Result;
use crate::par::Par;
use crate::rng::{Purpose, Rng};
use crate::saved::require;
use crate::traits::Normals;

/// What is done with each column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    parts: Vec<PreparedColumn>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PreparedColumn {
    /// (value − center)/scale, `fill` instead of a missing value. Where there is a bend, the value is bent first.
    Number { fill: f64, center: f64, scale: f64, bend: Option<Bend> },
    /// A column for each category; all 0 for a missing or unknown one.
    Categories(usize),
}

/// asinh((value − middle)/unit).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Bend {
    middle: f64,
    unit: f64,
}

impl Bend {
    fn apply(self, value: f64) -> f64 {
        libm::asinh((value - self.middle) / self.unit)
    }
}

/// A column whose fourth moment is so many times the square of its second is bent; a normal one has 3.
const HEAVY: f64 = 12.0;
/// Rows that are looked at to find out how a column is bent.
const MOST_ROWS: usize = 5_000;
/// Rows that are looked at in haste.
const FEW_ROWS: usize = 200;
/// Rows prepared together.
const BLOCK: usize = 512;
/// Rows predicted together.
const PREDICTED: usize = 256;

/// What a column of numbers looks like.
#[derive(Clone, Copy)]
struct Spread {
    n: f64,
    sum: f64,
    squares: f64,
    low: f64,
    high: f64,
}

impl Spread {
    const EMPTY: Self = Self { n: 0.0, sum: 0.0, squares: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY };

    fn add(&mut self, value: f64) {
        self.n += 1.0;
        self.sum += value;
        self.squares += value * value;
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
    }
}

impl Preparation {
    /// Prepares rows and predicts their classes in blocks of one size, so that a prediction does not depend on the other rows.
    pub fn predict_classes(
        &self,
        x: ArrayView2<'_, f32>,
        par: &Par,
        mut out: ArrayViewMut2<'_, f64>,
        predict: impl Fn(Array2<f64>) -> Array2<f64> + Send + Sync,
    ) {
        let blocks = self.predict_blocks(x, par, predict);
        for (predictions, mut out) in blocks.into_iter().zip(out.axis_chunks_iter_mut(Axis(0), PREDICTED)) {
            out.assign(&predictions);
        }
    }

    /// The same for numbers.
    pub fn predict_values(
        &self,
        x: ArrayView2<'_, f32>,
        par: &Par,
        predict: impl Fn(Array2<f64>) -> Normals + Send + Sync,
    ) -> Normals {
        let mut all = Normals::default();
        for Normals { mean, variance } in self.predict_blocks(x, par, predict) {
            all.mean.extend(mean);
            all.variance.extend(variance);
        }
        all
    }

    fn predict_blocks<P: Send>(
        &self,
        x: ArrayView2<'_, f32>,
        par: &Par,
        predict: impl Fn(Array2<f64>) -> P + Send + Sync,
    ) -> Vec<P> {
        let parts: Vec<_> = x.axis_chunks_iter(Axis(0), PREDICTED).collect();
        par.map(parts.len(), |block| predict(self.map(parts[block])))
    }

    /// Looks at the training rows.
    pub fn new(data: &Dataset) -> Self {
        Self::of(&data.schema, &data.features)
    }

    /// The same for rows that may have values instead of classes.
    pub fn of(schema: &Schema, features: &Features) -> Self {
        Self::until(&StopFlag::default(), schema, features)
    }

    /// The same in haste once a switch is thrown: from then on it looks at a few rows only, spread over the rest.
    pub fn until(stop: &StopFlag, schema: &Schema, features: &Features) -> Self {
        let kinds = &schema.columns;
        let n_rows = features.n_rows();
        let mut spreads = vec![Spread::EMPTY; kinds.len()];
        let mut row = vec![0.0; kinds.len()];
        let mut r = 0;
        while r < n_rows {
            features.copy_rows(r..r + 1, &mut row);
            for (spread, value) in spreads.iter_mut().zip(&row).filter(|(_, v)| !v.is_nan()) {
                spread.add(f64::from(*value));
            }
            r += if stop.is_stopped() { n_rows.div_ceil(FEW_ROWS) } else { 1 };
        }
        let common = common_scale(schema, &spreads);
        let most = if stop.is_stopped() { FEW_ROWS } else { MOST_ROWS };
        let step = n_rows.div_ceil(most).max(1);
        let mut sample = Array2::zeros((n_rows.div_ceil(step), kinds.len()));
        for (r, mut to) in sample.rows_mut().into_iter().enumerate() {
            to.as_slice_mut().into_iter().for_each(|to| features.copy_rows(r * step..r * step + 1, to));
        }
        let part = |(column, spread): (usize, &Spread)| match kinds[column].kind.n_categories() {
            0 if common.is_none() => match bend(sample.column(column), spread) {
                Some((bend, bent)) => bent.part(None, Some(bend)),
                None => spread.part(None, None),
            },
            0 => spread.part(common, None),
            n => PreparedColumn::Categories(n),
        };
        Self { parts: spreads.iter().enumerate().map(part).collect() }
    }

    /// Fails if any number in it is impossible.
    pub fn check(&self) -> Result<()> {
        let is_good = |part: &PreparedColumn| match part {
            PreparedColumn::Categories(n) => *n <= 1 << 20,
            PreparedColumn::Number { fill, center, scale, bend } => {
                let is_scale = |v: f64| v > 0.0 && v.is_finite();
                let is_bend = bend.is_none_or(|b| is_scale(b.unit) && b.middle.is_finite());
                fill.is_finite() && center.is_finite() && is_scale(*scale) && is_bend
            }
        };
        let wrong = self.parts.iter().position(|part| !is_good(part));
        require(wrong.is_none(), || {
            format!("column {} is prepared by impossible numbers", wrong.unwrap_or(0))
        })
    }

    /// Columns before.
    pub fn n_features(&self) -> usize {
        self.parts.len()
    }

    /// Columns after.
    pub fn width(&self) -> usize {
        self.parts.iter().map(|part| if let PreparedColumn::Categories(n) = part { *n } else { 1 }).sum()
    }

    /// Rows as numbers.
    pub fn map(&self, x: ArrayView2<'_, f32>) -> Array2<f64> {
        let mut out = Array2::zeros((x.nrows(), self.width()));
        self.map_into(x, out.view_mut(), |v| v);
        out
    }

    /// Rows as numbers of single precision.
    pub fn map_narrow(&self, x: ArrayView2<'_, f32>) -> Array2<f32> {
        let mut out = Array2::zeros((x.nrows(), self.width()));
        self.map_into(x, out.view_mut(), |v| v as f32);
        out
    }

    /// All rows as numbers, without a copy of them all in between. Rows that the threads left undone are 0.
    pub fn map_all(&self, features: &Features, par: &Par) -> Array2<f64> {
        self.mapped(features, par, |v| v)
    }

    /// The same in single precision.
    pub fn map_all_narrow(&self, features: &Features, par: &Par) -> Array2<f32> {
        self.mapped(features, par, |v| v as f32)
    }

    fn mapped<T: LinalgScalar + Send>(
        &self,
        features: &Features,
        par: &Par,
        number: impl Fn(f64) -> T + Copy + Send + Sync,
    ) -> Array2<T> {
        let (n, width) = (features.n_rows(), self.width().max(1));
        let mut out = Array2::zeros((n, self.width()));
        par.for_chunks(out.as_slice_mut().unwrap_or_default(), BLOCK * width, |block, values| {
            let first = block * BLOCK;
            let rows = features.to_array(first..first + values.len() / width);
            if let Ok(out) = ArrayViewMut2::from_shape((rows.nrows(), width), values) {
                self.map_into(rows.view(), out, number);
            }
        });
        out
    }

    /// Into a table of zeros.
    fn map_into<T>(
        &self,
        x: ArrayView2<'_, f32>,
        mut out: ArrayViewMut2<'_, T>,
        number: impl Fn(f64) -> T + Copy,
    ) {
        for (from, mut to) in x.rows().into_iter().zip(out.rows_mut()) {
            let mut at = 0;
            for (part, &value) in self.parts.iter().zip(from) {
                match part {
                    PreparedColumn::Number { fill, center, scale, bend } => {
                        let bent = |value: f64| bend.map_or(value, |bend| bend.apply(value));
                        let value = if value.is_nan() { *fill } else { bent(f64::from(value)) };
                        to[at] = number((value - center) / scale);
                        at += 1;
                    }
                    PreparedColumn::Categories(n) => {
                        if value >= 0.0 && (value as usize) < *n {
                            // Two different categories are as far apart as a number and one a deviation away.
                            to[at + value as usize] = number(std::f64::consts::FRAC_1_SQRT_2);
                        }
                        at += n;
                    }
                }
            }
        }
    }
}

impl Spread {
    fn part(&self, common: Option<f64>, bend: Option<Bend>) -> PreparedColumn {
        if self.n == 0.0 {
            return PreparedColumn::Number { fill: 0.0, center: 0.0, scale: 1.0, bend };
        }
        let mean = self.sum / self.n;
        let deviation = libm::sqrt((self.squares / self.n - mean * mean).max(0.0));
        let own = if deviation > 1e-12 * (self.high - self.low).max(mean.abs()) && deviation > 0.0 {
            deviation
        } else {
            1.0
        };
        PreparedColumn::Number { fill: mean, center: mean, scale: common.unwrap_or(own), bend }
    }
}

/// How a column is bent, if it needs it, and what it looks like then.
fn bend(column: ArrayView1<'_, f32>, spread: &Spread) -> Option<(Bend, Spread)> {
    let mean = spread.sum / spread.n;
    let mut values: Vec<f64> = column.iter().filter(|v| !v.is_nan()).map(|v| f64::from(*v)).collect();
    let moment =
        |power: i32| values.iter().map(|v| (v - mean).powi(power)).sum::<f64>() / values.len() as f64;
    if values.is_empty() || moment(4) <= HEAVY * moment(2).powi(2) {
        return None;
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let middle = median(&mut values)?;
    let mut distances: Vec<f64> = values.iter().map(|v| (v - middle).abs()).filter(|d| *d > 0.0).collect();
    let bend = Bend { middle, unit: median(&mut distances).filter(|unit| unit.is_finite())? };
    let mut bent = Spread::EMPTY;
    values.iter().for_each(|value| bent.add(bend.apply(*value)));
    Some((bend, bent))
}

/// The range of all columns, if they are numbers and most of them have nearly that range each.
fn common_scale(schema: &Schema, spreads: &[Spread]) -> Option<f64> {
    let is_plain = schema.columns.iter().all(|column| column.kind.n_categories() == 0);
    let ranges: Vec<f64> =
        spreads.iter().map(|s| s.high - s.low).filter(|r| *r > 0.0 && r.is_finite()).collect();
    let largest = ranges.iter().copied().fold(0.0, f64::max);
    let alike = ranges.iter().filter(|range| **range > 0.9 * largest).count();
    (is_plain && ranges.len() > 2 && 2 * alike > ranges.len()).then_some(largest)
}

/// The median distance of pairs of rows drawn at random; 1 where all are alike.
pub fn typical_distance<T: Copy + Into<f64>>(x: ArrayView2<'_, T>, seed: u64) -> f64 {
    const PAIRS: usize = 1000;
    let mut rng = Rng::new(seed, Purpose::Sample, 2);
    let n = x.nrows();
    let mut squares: Vec<f64> = (0..if n > 0 { PAIRS } else { 0 })
        .map(|_| {
            let (a, b) = (x.row(rng.index(n)), x.row(rng.index(n)));
            a.iter().zip(b).map(|(&a, &b)| (a.into() - b.into()).powi(2)).sum::<f64>()
        })
        .filter(|square| *square > 0.0 && square.is_finite())
        .collect();
    squares.sort_by(f64::total_cmp);
    squares.get(squares.len() / 2).map_or(1.0, |square| libm::sqrt(*square))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::data::{ClassId, Column, ColumnKind, LabelTable};

    fn data(x: &Array2<f32>, kinds: Vec<Column>) -> Dataset {
        let labels = LabelTable::from(vec!["a".to_string(), "b".to_string()]);
        let schema = Schema { columns: kinds, labels, ..Schema::unnamed(0) };
        let classes: Vec<ClassId> = (0..x.nrows()).map(|r| ClassId((r % 2) as u32)).collect();
        Dataset::new(schema, Features::from_view(x.view()), classes, None).unwrap()
    }

    #[test]
    fn numbers_gaps_constants_and_categories() {
        let categories = ["red", "green"].map(String::from).to_vec();
        let kinds = vec![
            Column::numeric("size"),
            Column::numeric("constant"),
            Column { name: "color".into(), kind: ColumnKind::Categorical { categories } },
        ];
        let x = array![[1.0, 5.0, 0.0], [3.0, 5.0, 1.0], [f32::NAN, 5.0, f32::NAN]];
        let preparation = Preparation::new(&data(&x, kinds));
        assert_eq!((preparation.n_features(), preparation.width()), (3, 4));
        let root = std::f64::consts::FRAC_1_SQRT_2;
        let expected = array![[-1.0, 0.0, root, 0.0], [1.0, 0.0, 0.0, root], [0.0, 0.0, 0.0, 0.0]];
        assert_eq!(preparation.map(x.view()), expected);
        let (features, par) = (Features::from_view(x.view()), Par::sequential());
        assert_eq!(preparation.map_all(&features, &par), expected);
        assert_eq!(preparation.map_all_narrow(&features, &par), expected.mapv(|v| v as f32));
    }

    #[test]
    fn a_column_with_a_long_tail_is_bent() {
        let long = |i: usize| if i.is_multiple_of(10) { 1000.0 + i as f32 } else { (i % 7) as f32 };
        let x = Array2::from_shape_fn(
            (500, 2),
            |(i, c)| if c == 0 { long(i * i % 101 * 3) } else { (i % 9) as f32 },
        );
        let x = Array2::from_shape_fn((500, 2), |(i, c)| if c == 0 && i == 3 { 1e6 } else { x[(i, c)] });
        let kinds = ["long", "plain"].map(Column::numeric).to_vec();
        let mapped = Preparation::new(&data(&x, kinds)).map(x.view());
        let largest = |c: usize| mapped.column(c).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!(largest(0) < 8.0 && largest(1) < 3.0, "{} {}", largest(0), largest(1));
        let mean = mapped.column(0).sum() / 500.0;
        assert!(mean.abs() < 1e-9 && (mapped.column(0).dot(&mapped.column(0)) / 500.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn in_haste_a_few_rows_say_nearly_the_same() {
        let x = Array2::from_shape_fn((9_000, 2), |(i, c)| (i * 7919 % 9_000) as f32 * (1 + c) as f32);
        let data = data(&x, ["a", "b"].map(Column::numeric).to_vec());
        let stop = StopFlag::default();
        let mapped = |stop: &StopFlag| Preparation::until(stop, &data.schema, &data.features).map(x.view());
        let all = mapped(&stop);
        assert_eq!(all, Preparation::new(&data).map(x.view()));
        stop.stop();
        assert!(mapped(&stop).iter().zip(&all).all(|(few, all)| (few - all).abs() < 0.3));
    }

    #[test]
    fn columns_that_are_alike_keep_their_proportions() {
        let x = array![[0.0, 0.0, 0.0, 0.0], [255.0, 255.0, 251.0, 2.0]];
        let kinds = (0..4).map(|i| Column::numeric(i.to_string())).collect();
        let mapped = Preparation::new(&data(&x, kinds)).map(x.view());
        assert!((mapped[(1, 0)] - mapped[(0, 0)] - 1.0).abs() < 1e-12);
        assert!((mapped[(1, 3)] - mapped[(0, 3)] - 2.0 / 255.0).abs() < 1e-12);
    }
}
