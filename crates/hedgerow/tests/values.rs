//! What models of values promise: files that come back, and never a panic.
#![allow(clippy::unwrap_used)]

mod models;

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{Budget, Dataset, Error, Features, Par, Regressor as _, Rows, Schema, Silent, Training};
use hedgerow::rvm::{RvmParams, Variance};
use hedgerow::{AnyModel, Kind, Model, ModelParams, ValueModel};
use models::changed;
use ndarray::Array2;

fn data() -> Dataset {
    let mut rng = Rng::new(1, Purpose::Data, 0);
    let x = Array2::from_shape_fn((120, 2), |_| rng.normal() as f32);
    let targets: Vec<f64> = x.rows().into_iter().map(|r| f64::from(r[0].sin() + 0.5 * r[1])).collect();
    Dataset::new(Schema::unnamed(2), Features::from_view(x.view()), targets, None).unwrap()
}

fn fitted(variance: Variance) -> ValueModel {
    let params: ModelParams =
        RvmParams { length_scale: 1.0, max_rows: 60, variance, ..Default::default() }.into();
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    ValueModel::fit(&data(), &params, &training).unwrap().model
}

#[test]
fn a_loaded_model_is_the_saved_one() {
    for variance in [Variance::Plain, Variance::Healed] {
        for model in [fitted(variance), fitted(variance).without_rows()] {
            let bytes = model.to_bytes().unwrap();
            assert_eq!(bytes.len() as u64, model.file_len().unwrap());
            let AnyModel::Values(loaded) = AnyModel::from_bytes(&bytes).unwrap() else { panic!("classes") };
            assert!(loaded == model && loaded.to_bytes().unwrap() == bytes);
            let error = Model::from_bytes(&bytes).unwrap_err().to_string();
            assert!(error.contains("regression model"), "{error}");
        }
    }
}

#[test]
fn a_changed_file_never_panics() {
    let model = fitted(Variance::Healed);
    let sound = model.to_bytes().unwrap();
    let mut rng = Rng::new(5, Purpose::Data, 0);
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut n_loaded = 0;
    for round in 0..1_000 {
        match AnyModel::from_bytes(&changed(&sound, round, &mut rng)) {
            Ok(AnyModel::Values(mut loaded)) => {
                n_loaded += 1;
                let x = Array2::<f32>::ones((3, loaded.n_features()));
                let _ = loaded.predict_values(x.view(), &par);
                if round % 16 == 0 {
                    let _ = loaded.learn(Rows::new(x.view(), &[1.0; 3][..], None), &training);
                }
            }
            Ok(AnyModel::Classes(_)) => {}
            Err(error) => assert!(matches!(error, Error::ModelFile { .. }), "{error:?}"),
        }
    }
    assert!(n_loaded > 30, "{n_loaded}");
}

#[test]
fn kinds_that_only_know_classes_say_so() {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let message =
        ValueModel::fit(&data(), &ModelParams::new(Kind::Forest), &training).unwrap_err().to_string();
    assert!(message.contains("forest") && message.contains("rvm"), "{message}");
    let model = fitted(Variance::Plain);
    let x = data().features.to_array(0..120);
    let whole = model.predict_values(x.view(), &par).unwrap();
    let threads = model.predict_values(x.view(), &Par::new(3).unwrap()).unwrap();
    assert_eq!(whole, threads);
    let one = model.predict_values(x.slice(ndarray::s![7..8, ..]), &par).unwrap();
    assert!((one.mean[0] - whole.mean[7]).abs() < 1e-12);
    assert!(model.predict_values(Array2::zeros((1, 5)).view(), &par).is_err());
}
