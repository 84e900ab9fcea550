//! The feature matrix, kept as narrow as its values allow.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::saved::{self, Values};

/// Feature rows, one after the other.
///
/// Whole numbers from 0 to 255 without gaps in the data (images, counts, categories) are kept as bytes, a quarter of the
/// memory of floats; the first value that is anything else widens the matrix to `f32`. Missing values are `NaN`. A clone shares the values
/// until one of the two is changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Every value is a whole number from 0 to 255.
    Bytes {
        /// The values, row after row.
        values: Arc<Vec<u8>>,
        /// Columns a row.
        n_features: usize,
    },
    /// Any value.
    Floats {
        /// The values, row after row.
        values: Arc<Vec<f32>>,
        /// Columns a row.
        n_features: usize,
    },
}

impl Features {
    /// No rows yet.
    pub fn new(n_features: usize) -> Self {
        Self::Bytes { values: Arc::default(), n_features }
    }

    /// The rows of a matrix, narrowed to bytes where that loses nothing.
    pub fn from_view(x: ArrayView2<'_, f32>) -> Self {
        let mut features = Self::new(x.ncols());
        features.extend(x);
        features
    }

    /// Columns a row.
    pub fn n_features(&self) -> usize {
        match self {
            Self::Bytes { n_features, .. } | Self::Floats { n_features, .. } => *n_features,
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        let values = match self {
            Self::Bytes { values, .. } => values.len(),
            Self::Floats { values, .. } => values.len(),
        };
        values / self.n_features().max(1)
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Bytes { values, .. } => values.capacity(),
            Self::Floats { values, .. } => values.capacity() * size_of::<f32>(),
        }
    }

    /// One value.
    pub fn value(&self, row: usize, column: usize) -> f32 {
        let at = row * self.n_features() + column;
        match self {
            Self::Bytes { values, .. } => f32::from(values[at]),
            Self::Floats { values, .. } => values[at],
        }
    }

    /// Adds rows at the end.
    pub fn extend(&mut self, x: ArrayView2<'_, f32>) {
        for row in x.rows() {
            match row.as_slice() {
                Some(row) => self.push(row),
                None => self.push(&row.to_vec()),
            }
        }
    }

    /// Adds rows of bytes at the end; `rows` holds whole rows.
    pub fn extend_bytes(&mut self, rows: &[u8]) {
        match self {
            Self::Bytes { values, .. } => Arc::make_mut(values).extend_from_slice(rows),
            Self::Floats { values, .. } => Arc::make_mut(values).extend(rows.iter().map(|&v| f32::from(v))),
        }
    }

    /// Adds one row at the end.
    pub fn push(&mut self, row: &[f32]) {
        if let Self::Bytes { values, n_features } = self {
            // A byte and back is the same number exactly when the value is a whole number in range; NaN becomes 0 and differs.
            if row.iter().all(|&v| f32::from(v as u8) == v && v.is_sign_positive()) {
                Arc::make_mut(values).extend(row.iter().map(|&v| v as u8));
                return;
            }
            let floats = values.iter().map(|&v| f32::from(v)).collect();
            *self = Self::Floats { values: Arc::new(floats), n_features: *n_features };
        }
        if let Self::Floats { values, .. } = self {
            Arc::make_mut(values).extend_from_slice(row);
        }
    }

    /// Puts other values into a row.
    pub fn replace(&mut self, row: usize, values: ArrayView1<'_, f32>) {
        let values = values.to_vec();
        let mut one = Self::new(self.n_features());
        one.push(&values);
        if let (Self::Bytes { values: own, n_features }, Self::Floats { .. }) = (&*self, &one) {
            let floats = own.iter().map(|&v| f32::from(v)).collect();
            *self = Self::Floats { values: Arc::new(floats), n_features: *n_features };
        }
        let span = row * values.len()..(row + 1) * values.len();
        match self {
            Self::Bytes { values: own, .. } => {
                let bytes = values.iter().map(|&v| v as u8);
                Arc::make_mut(own)[span].iter_mut().zip(bytes).for_each(|(to, v)| *to = v);
            }
            Self::Floats { values: own, .. } => Arc::make_mut(own)[span].copy_from_slice(&values),
        }
    }

    /// Whether any value is infinite.
    pub fn has_infinite(&self) -> bool {
        match self {
            Self::Bytes { .. } => false,
            Self::Floats { values, .. } => values.iter().fold(false, |any, value| any | value.is_infinite()),
        }
    }

    /// Gives memory back that no value uses.
    pub fn shrink_to_fit(&mut self) {
        match self {
            Self::Bytes { values, .. } => Arc::make_mut(values).shrink_to_fit(),
            Self::Floats { values, .. } => Arc::make_mut(values).shrink_to_fit(),
        }
    }

    /// Copies rows into a row-major buffer that has room for them.
    pub fn copy_rows(&self, rows: Range<usize>, out: &mut [f32]) {
        let span = rows.start * self.n_features()..rows.end * self.n_features();
        match self {
            Self::Bytes { values, .. } => {
                for (to, &from) in out.iter_mut().zip(&values[span]) {
                    *to = f32::from(from);
                }
            }
            Self::Floats { values, .. } => out[..span.len()].copy_from_slice(&values[span]),
        }
    }

    /// The rows as a matrix of floats.
    pub fn to_array(&self, rows: Range<usize>) -> Array2<f32> {
        let mut out = Array2::zeros((rows.len(), self.n_features()));
        if let Some(slice) = out.as_slice_mut() {
            self.copy_rows(rows, slice);
        }
        out
    }

    /// The chosen rows, in the order given.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        fn chosen<T: Copy>(values: &[T], width: usize, rows: &[usize]) -> Arc<Vec<T>> {
            let mut chosen = Vec::with_capacity(rows.len() * width);
            rows.iter().for_each(|row| chosen.extend_from_slice(&values[row * width..(row + 1) * width]));
            Arc::new(chosen)
        }
        let n_features = self.n_features();
        match self {
            Self::Bytes { values, .. } => {
                Self::Bytes { values: chosen(values, n_features, rows), n_features }
            }
            Self::Floats { values, .. } => {
                Self::Floats { values: chosen(values, n_features, rows), n_features }
            }
        }
    }
}

/// As an array of bytes or floats, rows × columns.
impl Serialize for Features {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shape = || vec![self.n_rows(), self.n_features()];
        match self {
            Self::Bytes { values, .. } => saved::put(serializer, shape, values.iter().copied()),
            Self::Floats { values, .. } => saved::put(serializer, shape, values.iter().copied()),
        }
    }
}

impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = usize::deserialize(deserializer)?;
        let array = saved::take::<D::Error>(number)?;
        match (array.shape.as_slice(), array.values) {
            (&[_, n_features], Values::U8(values)) => Ok(Self::Bytes { values: values.into(), n_features }),
            (&[_, n_features], Values::F32(values)) => Ok(Self::Floats { values: values.into(), n_features }),
            _ => Err(D::Error::custom(format!("array {number}: expected rows of U8 or F32"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn stays_narrow_until_a_value_needs_more() {
        let mut features = Features::from_view(array![[0.0_f32, 255.0], [1.0, 2.0]].view());
        assert!(matches!(features, Features::Bytes { .. }));
        features.push(&[0.5, 1.0]);
        assert!(matches!(features, Features::Floats { .. }));
        assert_eq!(features.to_array(0..3), array![[0.0, 255.0], [1.0, 2.0], [0.5, 1.0]]);
        assert_eq!(features.select(&[2, 0]).to_array(0..2), array![[0.5, 1.0], [0.0, 255.0]]);
    }

    #[test]
    fn replaced_rows_widen_where_they_need_to() {
        let mut features = Features::from_view(array![[0.0_f32, 255.0], [1.0, 2.0]].view());
        let before = features.clone();
        features.replace(1, array![7.0, 8.0].view());
        assert!(matches!(features, Features::Bytes { .. }));
        features.replace(0, array![0.5, f32::NAN].view());
        assert!(features.value(0, 1).is_nan() && features.value(0, 0) == 0.5 && features.value(1, 1) == 8.0);
        features.replace(0, array![3.0, 4.0].view());
        assert_eq!(features.to_array(0..2), array![[3.0, 4.0], [7.0, 8.0]]);
        assert_eq!(before.value(1, 0), 1.0, "a clone keeps its values");
    }

    #[test]
    fn missing_negative_and_large_values_widen() {
        for value in [f32::NAN, -1.0, 256.0, 0.25, -0.0] {
            let features = Features::from_view(array![[value]].view());
            assert!(matches!(features, Features::Floats { .. }), "{value}");
            assert_eq!(features.value(0, 0).to_bits(), value.to_bits());
        }
    }
}
