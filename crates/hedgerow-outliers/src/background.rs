//! Background rows: what a forest tells the rows of a table from.

use hedgerow_core::background::Background as Even;
use hedgerow_core::rng::Rng;
use hedgerow_core::{Features, Schema};

use crate::params::Background;

/// How far the range of a number is widened on each side, in deviations.
const MARGIN: f64 = 0.1;

/// Draws background rows like those of a table.
pub(crate) enum Sampler<'a> {
    /// Evenly over the space of rows.
    Uniform { background: Even, n_features: usize },
    /// Each value from its column.
    Permuted(&'a Features),
}

impl<'a> Sampler<'a> {
    /// Looks at the columns.
    pub(crate) fn new(background: Background, schema: &Schema, features: &'a Features) -> Self {
        match background {
            Background::Permuted => Self::Permuted(features),
            Background::Uniform => Self::Uniform {
                background: Even::around(schema, features, MARGIN),
                n_features: features.n_features(),
            },
        }
    }

    /// So many rows.
    pub(crate) fn rows(&self, n_rows: usize, rng: &mut Rng) -> Features {
        let n_features = match self {
            Self::Uniform { n_features, .. } => *n_features,
            Self::Permuted(features) => features.n_features(),
        };
        let mut rows = Features::new(n_features);
        let mut row = vec![0.0; n_features];
        for _ in 0..n_rows {
            match self {
                Self::Uniform { background, .. } => background.draw(rng, &mut row),
                Self::Permuted(features) => {
                    for (column, value) in row.iter_mut().enumerate() {
                        *value = features.value(rng.index(features.n_rows()), column);
                    }
                }
            }
            rows.push(&row);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::Purpose;
    use ndarray::Array2;

    use super::*;

    #[test]
    fn permuted_rows_keep_each_column() {
        let x = Array2::from_shape_fn((90, 2), |(row, column)| (column * (row % 10 == 0) as usize) as f32);
        let features = Features::from_view(x.view());
        let sampler = Sampler::new(Background::Permuted, &Schema::unnamed(2), &features);
        let rows = sampler.rows(3_000, &mut Rng::new(1, Purpose::Data, 0));
        let ones = (0..3_000).filter(|&row| rows.value(row, 1) == 1.0).count();
        assert!((ones as f64 / 3_000.0 - 0.1).abs() < 0.02);
    }
}
