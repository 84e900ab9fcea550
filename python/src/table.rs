//! numpy arrays of any number type, order and stride as feature rows.

use std::ops::Range;

use hedgerow::core::{Features, Par};
use ndarray::{Array2, ArrayView2, s};
use numpy::{PyArray2, PyArrayMethods as _, PyReadonlyArray2, PyUntypedArrayMethods as _};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Rows converted at a time: a block of them stays in the cache.
const BLOCK: usize = 256;

/// A number that can be a feature.
trait Number: numpy::Element + Copy + Send + Sync {
    fn to_f32(self) -> f32;
}

macro_rules! numbers {
    ($($variant:ident $number:ty),+) => {
        $(impl Number for $number {
            fn to_f32(self) -> f32 {
                self as f32
            }
        })+

        /// A two-dimensional array, borrowed from numpy for reading.
        pub(crate) enum Table<'py> {
            $($variant(PyReadonlyArray2<'py, $number>)),+
        }

        /// The same without ties to the interpreter.
        #[derive(Clone, Copy)]
        pub(crate) enum View<'a> {
            $($variant(ArrayView2<'a, $number>)),+
        }

        impl<'py> Table<'py> {
            /// Borrows an array; fails for anything else.
            pub(crate) fn new(array: &Bound<'py, PyAny>) -> PyResult<Self> {
                $(if let Ok(array) = array.cast::<PyArray2<$number>>() {
                    return Ok(Self::$variant(array.try_readonly()?));
                })+
                Err(PyTypeError::new_err("expected a two-dimensional numpy array of numbers"))
            }

            /// Looks at it.
            pub(crate) fn view(&self) -> View<'_> {
                match self {
                    $(Self::$variant(array) => View::$variant(array.as_array())),+
                }
            }

            /// Rows and columns.
            pub(crate) fn shape(&self) -> [usize; 2] {
                let shape = match self {
                    $(Self::$variant(array) => array.shape()),+
                };
                [shape[0], shape[1]]
            }
        }

        impl View<'_> {
            /// Copies rows into a row-major buffer.
            fn copy(self, rows: Range<usize>, out: &mut [f32]) {
                match self {
                    $(Self::$variant(x) => copy(x.slice(s![rows, ..]), out)),+
                }
            }

            fn dim(self) -> (usize, usize) {
                match self {
                    $(Self::$variant(x) => x.dim()),+
                }
            }
        }
    };
}

numbers! { F32 f32, F64 f64, U8 u8, I64 i64, I32 i32, U32 u32, U64 u64, I16 i16, U16 u16, I8 i8 }

impl View<'_> {
    /// The rows as features, in one copy, narrowed to bytes where that loses nothing.
    pub(crate) fn features(self) -> Features {
        let (n_rows, n_features) = self.dim();
        let mut features = Features::new(n_features);
        if let Self::U8(x) = self
            && let Some(values) = x.as_slice()
        {
            features.extend_bytes(values);
            return features;
        }
        if let Self::F32(x) = self
            && x.is_standard_layout()
        {
            features.extend(x);
            return features;
        }
        let mut block = vec![0.0; BLOCK.min(n_rows) * n_features];
        for from in (0..n_rows).step_by(BLOCK) {
            let rows = from..(from + BLOCK).min(n_rows);
            let block = &mut block[..rows.len() * n_features];
            self.copy(rows, block);
            block.chunks_exact(n_features).for_each(|row| features.push(row));
        }
        features
    }

    /// Some rows as a matrix of `f32`, in place where they are one already.
    pub(crate) fn with_rows<T>(
        self,
        rows: Range<usize>,
        use_them: impl FnOnce(ArrayView2<'_, f32>) -> T,
    ) -> T {
        if let Self::F32(x) = self
            && x.is_standard_layout()
        {
            return use_them(x.slice(s![rows, ..]));
        }
        let n_features = self.dim().1;
        let mut copied = Array2::zeros((rows.len(), n_features));
        if let Some(values) = copied.as_slice_mut() {
            for (i, block) in values.chunks_mut((BLOCK * n_features).max(1)).enumerate() {
                let from = rows.start + i * BLOCK;
                self.copy(from..(from + BLOCK).min(rows.end), block);
            }
        }
        use_them(copied.view())
    }
}

/// Copies a block in the order in which it lies in memory.
fn copy<T: Number>(x: ArrayView2<'_, T>, out: &mut [f32]) {
    let n_features = x.ncols();
    let by_column = x.strides()[0].abs() < x.strides()[1].abs();
    if by_column {
        for (c, column) in x.columns().into_iter().enumerate() {
            for (to, from) in out[c..].iter_mut().step_by(n_features).zip(column) {
                *to = from.to_f32();
            }
        }
    } else {
        for (to, from) in out.iter_mut().zip(x) {
            *to = from.to_f32();
        }
    }
}

/// The place of the first infinite value. Runs as fast as memory is read: models are asked many times a second.
pub(crate) fn first_infinite(x: ArrayView2<'_, f32>, par: &Par) -> Option<(usize, usize)> {
    /// Values looked at together.
    const PART: usize = 1 << 18;
    const INFINITE: u32 = f32::INFINITY.to_bits();
    const SIGN: u32 = 1 << 31;
    let has_infinite =
        |values: &[f32]| values.iter().fold(false, |any, v| any | (v.to_bits() & !SIGN == INFINITE));
    match x.as_slice() {
        Some(values)
            if !par
                .map(values.len().div_ceil(PART), |part| {
                    values[part * PART..values.len().min((part + 1) * PART)].chunks(4096).any(has_infinite)
                })
                .contains(&true) =>
        {
            None
        }
        _ => x.indexed_iter().find(|(_, v)| v.is_infinite()).map(|(place, _)| place),
    }
}
