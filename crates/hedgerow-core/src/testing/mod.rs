//! The contract that every model keeps, as checks that its tests call: [`check_kind`] runs all of them.
//!
//! The checks panic with a message, as tests do; nothing here is meant for other code.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]

mod contract;

pub use contract::{check_kind, mixed, mixed_numbers};

use ndarray::{Array2, ArrayView2, s};

use crate::budget::Budget;
use crate::data::{ClassId, Dataset, Features, LabelTable, Schema};
use crate::error::Result;
use crate::learn::{Rows, Training};
use crate::online::OnlineModel;
use crate::par::Par;
use crate::rng::{Purpose, Rng};
use crate::saved::{Plan, Saved, StoredArray, Values, read};
use crate::traits::{Classifier, Regressor, Silent};

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

/// Lets a classifier learn all rows in calls of some size, with so many threads; returns their predictions.
pub fn learn_in_calls(
    model: &mut dyn OnlineModel,
    data: &Dataset,
    size: usize,
    threads: usize,
) -> Array2<f64> {
    let par = Par::new(threads).expect("threads can be started");
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let x = data.features.to_array(0..data.n_rows());
    let mut predictions = Array2::zeros((data.n_rows(), data.schema.n_classes()));
    for first in (0..data.n_rows()).step_by(size) {
        let end = data.n_rows().min(first + size);
        let rows = Rows::new(x.slice(s![first..end, ..]), &data.labels()[first..end], None);
        let update = model.learn(&data.schema, rows, &training).expect("the rows fit");
        assert_eq!(update.n_learnt, end - first);
        predictions.slice_mut(s![first..end, ..]).assign(&update.predictions);
    }
    predictions
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

/// The text and the arrays of a model, as a file holds them.
pub fn saved_parts<M: Saved>(model: &M) -> (String, Vec<StoredArray>) {
    let plan = Plan::new(model).unwrap();
    let mut bytes = Vec::new();
    plan.write(&mut bytes).unwrap();
    let mut rest = bytes.as_slice();
    let mut arrays =
        vec![StoredArray { shape: Vec::new(), values: Values::U8(Vec::new()) }; plan.arrays().len()];
    for (number, info) in plan.arrays() {
        let (own, others) = rest.split_at(info.n_bytes() as usize);
        arrays[number] = StoredArray { shape: info.shape.clone(), values: Values::decode(info.dtype, own) };
        rest = others;
    }
    assert!(rest.is_empty(), "more bytes than planned");
    (plan.json().to_string(), arrays)
}

/// A model from its text and arrays.
pub fn from_saved_parts<M: Saved>(json: &str, arrays: Vec<StoredArray>, schema: &Schema) -> Result<M> {
    let mut model: M = read(json, arrays)?;
    model.complete(schema)?;
    Ok(model)
}

/// A model as it comes back from a file.
pub fn saved_copy<M: Saved>(model: &M, schema: &Schema) -> Result<M> {
    let (json, arrays) = saved_parts(model);
    from_saved_parts(&json, arrays, schema)
}

/// Damages each array of a model in several ways: longer, without numbers, of another type, with the largest number, or not there. Each must
/// be refused, unless `may_pass` allows it for an array's number, the damage, and the model that came of it.
pub fn check_damaged_arrays<M: Saved>(
    model: &M,
    schema: &Schema,
    may_pass: impl Fn(usize, &'static str, &M) -> bool,
) {
    let (json, sound) = saved_parts(model);
    assert!(!sound.is_empty(), "nothing to damage");
    for number in 0..sound.len() {
        for damage in ["longer", "empty", "retyped", "largest", "missing"] {
            let mut arrays = sound.clone();
            if damage == "missing" {
                arrays.remove(number);
            } else if !change(&mut arrays[number], damage) {
                continue;
            }
            if let Ok(model) = from_saved_parts::<M>(&json, arrays, schema) {
                let StoredArray { shape, values } = &sound[number];
                let kind = values.dtype();
                assert!(
                    may_pass(number, damage, &model),
                    "{damage} array {number} ({kind:?} {shape:?}) in {json}"
                );
            }
        }
    }
}

/// Damages an array; says whether there was anything to damage.
fn change(array: &mut StoredArray, damage: &str) -> bool {
    fn put<T: Clone>(values: &mut Vec<T>, shape: &mut [usize], damage: &str, largest: T) -> bool {
        match (damage, shape) {
            ("longer", [first, rest @ ..]) => {
                *first += 1;
                let more: usize = rest.iter().product();
                values.extend(vec![largest; more]);
                more > 0
            }
            ("empty", [first, ..]) => {
                *first = 0;
                !std::mem::take(values).is_empty()
            }
            ("largest", _) => {
                let n = values.len();
                values.get_mut(n / 2).map(|value| *value = largest).is_some()
            }
            _ => false,
        }
    }
    let StoredArray { shape, values } = array;
    if damage == "retyped" {
        *values = match values {
            Values::U64(values) => Values::F64(vec![0.0; values.len()]),
            Values::F64(values) => Values::U64(vec![0; values.len()]),
            Values::F32(values) => Values::U32(vec![0; values.len()]),
            Values::U32(values) => Values::F32(vec![0.0; values.len()]),
            Values::U16(values) => Values::F32(vec![0.0; values.len()]),
            Values::U8(values) => Values::U16(vec![0; values.len()]),
        };
        return true;
    }
    match values {
        Values::U8(values) => put(values, shape, damage, u8::MAX),
        Values::U16(values) => put(values, shape, damage, u16::MAX),
        Values::U32(values) => put(values, shape, damage, u32::MAX),
        Values::U64(values) => put(values, shape, damage, u64::MAX),
        Values::F32(values) => put(values, shape, damage, f32::INFINITY),
        Values::F64(values) => put(values, shape, damage, f64::INFINITY),
    }
}
