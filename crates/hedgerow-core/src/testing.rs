//! The contract every classifier keeps, as checks that its tests call.
//!
//! The checks panic with a message, as tests do; nothing here is meant for other code.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]

use ndarray::{ArrayView2, s};

use crate::data::{ClassId, Dataset, Features, LabelTable, Schema};
use crate::par::Par;
use crate::rng::{Purpose, Rng};
use crate::traits::{Classifier, Regressor};

/// Every prediction is a distribution: finite, not negative, summing to 1.
pub fn check_distributions(model: &dyn Classifier, x: ArrayView2<'_, f32>) {
    let proba = model.predict_proba(x, &Par::sequential()).expect("rows of the right width are predicted");
    for row in proba.rows() {
        assert!(row.iter().all(|p| p.is_finite() && *p >= 0.0), "not a distribution: {row}");
        assert!((row.sum() - 1.0).abs() < 1e-9, "sums to {}", row.sum());
    }
}

/// Predictions do not depend on threads or batches, nor on earlier predictions.
pub fn check_prediction_is_pure(model: &dyn Classifier, x: ArrayView2<'_, f32>) {
    let whole = model.predict_proba(x, &Par::sequential()).unwrap();
    let threads = model.predict_proba(x, &Par::new(3).unwrap()).unwrap();
    assert_eq!(whole, threads, "the number of threads changed the prediction");
    for size in [1, 7] {
        for start in (0..x.nrows()).step_by(size) {
            let end = (start + size).min(x.nrows());
            let part = model.predict_proba(x.slice(s![start..end, ..]), &Par::sequential()).unwrap();
            assert_eq!(part, whole.slice(s![start..end, ..]), "the batch split changed the prediction");
        }
    }
}

/// A row of the wrong width is an error, no rows are no error.
pub fn check_shapes(model: &dyn Classifier) {
    let par = Par::sequential();
    let wide = ndarray::Array2::<f32>::zeros((1, model.n_features() + 1));
    assert!(model.predict_proba(wide.view(), &par).is_err());
    let none = ndarray::Array2::<f32>::zeros((0, model.n_features()));
    assert_eq!(model.predict_proba(none.view(), &par).unwrap().nrows(), 0);
}

/// Predicted numbers are finite with variances above 0, depend on nothing but the row, and need rows of the right width.
pub fn check_regressor(model: &dyn Regressor, x: ArrayView2<'_, f32>) {
    let par = Par::sequential();
    let whole = model.predict_values(x, &par).expect("rows of the right width are predicted");
    assert_eq!((whole.mean.len(), whole.variance.len()), (x.nrows(), x.nrows()));
    assert!(whole.mean.iter().all(|mean| mean.is_finite()));
    assert!(whole.variance.iter().all(|variance| variance.is_finite() && *variance > 0.0));
    let threads = model.predict_values(x, &Par::new(3).unwrap()).unwrap();
    assert_eq!(whole, threads, "the number of threads changed the prediction");
    for start in (0..x.nrows()).step_by(7) {
        let end = (start + 7).min(x.nrows());
        let part = model.predict_values(x.slice(s![start..end, ..]), &par).unwrap();
        assert_eq!(part.mean, whole.mean[start..end], "the batch split changed the prediction");
        assert_eq!(part.variance, whole.variance[start..end], "the batch split changed the prediction");
    }
    let wide = ndarray::Array2::<f32>::zeros((1, model.n_features() + 1));
    assert!(model.predict_values(wide.view(), &par).is_err());
}

/// Gaussian blobs, one a class, around random centres: an easy task for tests.
pub fn blobs(n_rows: usize, n_features: usize, n_classes: usize, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    let centres: Vec<f64> = (0..n_classes * n_features).map(|_| 4.0 * rng.normal()).collect();
    let mut features = Features::new(n_features);
    let mut labels = Vec::with_capacity(n_rows);
    for i in 0..n_rows {
        let class = i % n_classes;
        let row: Vec<f32> =
            (0..n_features).map(|f| (centres[class * n_features + f] + rng.normal()) as f32).collect();
        features.push(&row);
        labels.push(ClassId(class as u32));
    }
    let mut schema = Schema::unnamed(n_features);
    schema.labels = LabelTable::from((0..n_classes).map(|c| c.to_string()).collect::<Vec<_>>());
    Dataset::new(schema, features, labels, None).expect("the parts fit")
}
