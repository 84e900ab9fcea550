//! What the tests of all hybrids need.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::testing::blobs;
use hedgerow_core::traits::most_probable;
use hedgerow_core::{Budget, ClassId, Dataset, Features, ModelKind, Par, Silent, Training};
use ndarray::Array2;

/// Three classes in stripes of some width that lie across the axes, which trees follow badly and Gaussian processes well.
pub(crate) fn stripes(n: usize, width: f32, seed: u64) -> Dataset {
    let mut data = blobs(n, 2, 3, seed);
    let mut rng = Rng::new(seed, Purpose::Data, 9);
    let x = Array2::from_shape_fn((n, 2), |_| 4.0 * rng.unit() as f32);
    let class = |row: ndarray::ArrayView1<'_, f32>| ClassId(((row[0] + row[1]) / width).floor() as u32 % 3);
    let labels: Vec<ClassId> = x.rows().into_iter().map(class).collect();
    data.edit(|data| (data.features, data.targets) = (Features::from_view(x.view()), labels.into())).unwrap();
    data
}

/// A fitted model.
pub(crate) fn fit<P: ModelKind>(data: &Dataset, params: P, threads: usize) -> P::Model {
    let par = Par::new(threads).unwrap();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    hedgerow_core::fit(data, &params.check().unwrap(), &training).unwrap().model
}

/// How many rows have the most probable class.
pub(crate) fn right(proba: &Array2<f64>, labels: &[ClassId]) -> usize {
    most_probable(proba.view()).iter().zip(labels).filter(|(a, b)| a == b).count()
}
