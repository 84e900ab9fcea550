//! What regression models promise: files that come back, never a panic, and words where the task is the wrong one.
#![allow(clippy::unwrap_used)]

mod models;

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::testing::{blobs, check_regressor};
use hedgerow::core::{
    Budget, ClassId, Dataset, Error, Features, Par, Quality, Rows, Schema, Silent, Source, Task, Training,
};
use hedgerow::engine::EngineOptions;
use hedgerow::forest::ForestParams;
use hedgerow::gp::{GpParams, GpRegressor};
use hedgerow::rvm::{RvmParams, RvmRegressor, Variance};
use hedgerow::{Delay, Engine, Fit, Kind, Model, ModelParams};
use models::changed;
use ndarray::Array2;

fn data() -> Dataset {
    let mut rng = Rng::new(1, Purpose::Data, 0);
    let x = Array2::from_shape_fn((120, 2), |_| rng.normal() as f32);
    let targets: Vec<f64> = x.rows().into_iter().map(|r| f64::from(r[0].sin() + 0.5 * r[1])).collect();
    Dataset::new(Schema::unnamed(2), Features::from_view(x.view()), targets, None).unwrap()
}

fn rvm(variance: Variance) -> ModelParams {
    RvmParams { length_scale: 1.0, max_rows: 60, variance, ..Default::default() }.into()
}

fn fitted(params: &ModelParams) -> Model {
    let (par, budget) = (Par::sequential(), Budget::open());
    Model::fit(&data(), params, &Training { par: &par, budget: &budget, observer: &Silent }).unwrap().model
}

fn all() -> [Model; 3] {
    [rvm(Variance::Plain), rvm(Variance::Healed), GpParams::default().into()].map(|params| fitted(&params))
}

#[test]
fn a_loaded_model_is_the_saved_one() {
    for fitted in all() {
        for model in [fitted.clone(), fitted.without_rows()] {
            assert_eq!((model.task(), model.n_classes()), (Task::Regression, 0));
            let bytes = model.to_bytes().unwrap();
            assert_eq!(bytes.len() as u64, model.file_len().unwrap());
            let loaded = Model::from_bytes(&bytes).unwrap();
            assert!(loaded == model && loaded.to_bytes().unwrap() == bytes);
            let is_gp = model.kind() == Kind::Gp;
            assert_eq!(loaded.downcast::<GpRegressor>().is_some(), is_gp);
            assert_eq!(loaded.downcast::<RvmRegressor>().is_some(), !is_gp);
        }
    }
}

#[test]
fn predictions_depend_on_the_row_alone() {
    let x = data().features.to_array(0..120);
    for model in all() {
        check_regressor(model.regressor().unwrap(), x.view());
        let summary = model.summary();
        assert!(summary.values["noise_deviation"].as_f64().unwrap() >= 0.0, "{summary:?}");
    }
}

#[test]
fn a_changed_file_never_panics() {
    let mut rng = Rng::new(5, Purpose::Data, 0);
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    for model in all() {
        let sound = model.to_bytes().unwrap();
        let mut n_loaded = 0;
        for round in 0..500 {
            match Model::from_bytes(&changed(&sound, round, &mut rng)) {
                Ok(mut loaded) => {
                    n_loaded += 1;
                    let x = Array2::<f32>::ones((3, loaded.n_features()));
                    let _ = loaded.predict_values_par(x.view(), &par);
                    if round % 16 == 0 {
                        let schema = loaded.schema().clone();
                        let _ =
                            loaded.learn_rows(&schema, Rows::new(x.view(), &[1.0; 3][..], None), &training);
                    }
                }
                Err(error) => assert!(matches!(error, Error::ModelFile { .. }), "{error:?}"),
            }
        }
        assert!(n_loaded > 10, "{n_loaded}");
    }
}

#[test]
fn the_wrong_task_is_refused_in_words() {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    for &kind in Kind::ALL.iter().filter(|kind| !kind.regresses()) {
        let message = Model::fit(&data(), &ModelParams::new(kind), &training).unwrap_err().to_string();
        assert!(message.contains(kind.name()) && message.ends_with("kinds that can: gp, rvm"), "{message}");
    }
    let x = data().features.to_array(0..120);
    let labels: Vec<bool> = data().values().iter().map(|value| *value > 0.0).collect();
    let mut numbers = fitted(&rvm(Variance::Plain));
    let mut classes = Fit::new(RvmParams::default()).fit(x.view(), &labels).unwrap().model;
    let messages = [
        numbers.predict_proba(x.view()).unwrap_err().to_string(),
        numbers.predict(x.view()).unwrap_err().to_string(),
        numbers.learn(x.view(), &labels).unwrap_err().to_string(),
    ];
    for message in messages {
        assert!(message.contains("regression") && message.contains("classification"), "{message}");
    }
    let options = EngineOptions::default();
    let start = |params: ModelParams| Engine::start(numbers.schema().clone(), &params, &options);
    let message = start(ForestParams::default().into()).err().unwrap().to_string();
    assert_eq!(
        message,
        "models of kind forest cannot be fitted to a numeric target; kinds that can: gp, rvm"
    );
    let engine = start(rvm(Variance::Plain)).unwrap();
    let message =
        engine.append(numbers.schema(), Rows::new(x.view(), &[ClassId(0); 120][..], None)).unwrap_err();
    assert!(message.to_string().contains("classes 0 to"), "{message}");
    let message = classes.predict_values(x.view()).unwrap_err().to_string();
    assert!(message.contains("predicts classes") && message.contains("regression"), "{message}");
    let message = classes.learn_values(x.view(), data().values()).unwrap_err().to_string();
    assert!(message.contains("needs classes"), "{message}");
}

/// The engine trains a regression as `fit` does, and goes on with rows that come.
#[test]
fn an_engine_trains_a_regression() {
    let (data, params) = (data(), rvm(Variance::Plain));
    let x = data.features.to_array(0..120);
    let engine = Engine::start(data.schema.clone(), &params, &EngineOptions::default()).unwrap();
    assert_eq!(engine.predict_values(x.view()).unwrap().mean, [0.0; 120]);
    assert!(engine.snapshot().validation.is_none(), "nothing is known yet");
    engine.append_data(data.select(&(0..100).collect::<Vec<_>>())).unwrap();
    engine.wait();
    assert_eq!(engine.snapshot().model.n_seen(), Some(100));
    let rows = Rows::new(x.slice(ndarray::s![100.., ..]), &data.values()[100..], None);
    engine.append(&data.schema, rows).unwrap();
    engine.wait();
    assert!(engine.relabel(&data.schema, &[(0, ClassId(0))]).is_err());
    let of_engine = engine.predict_values(x.view()).unwrap();
    let message = engine.predict_proba(x.view()).unwrap_err().to_string();
    assert!(message.contains("is a regression model") && message.contains("classification"), "{message}");
    let finished = engine.finish().unwrap();
    let of = |model: &Model| model.predict_values(x.view()).unwrap();
    assert_eq!((finished.n_rows, of(&finished.model)), (120, of(&fitted(&params))));
    assert_eq!(of_engine, of(&finished.model));
    let quality = finished.validation.unwrap();
    let Quality::Values(values) = &quality else { panic!("{quality:?}") };
    assert!(values.rows == 120 && values.r2.unwrap() > 0.9, "{quality:?}");
    let par = Par::sequential();
    let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
    let own = Model::fit(&data, &params, &training).unwrap().validation.unwrap();
    assert_eq!((own.source, own.quality()), (Source::LeaveOneOut, quality));
    // A classifier has no numbers to predict.
    let classes = Engine::start(
        blobs(20, 1, 2, 1).schema.clone(),
        &ForestParams::default().into(),
        &EngineOptions::default(),
    )
    .unwrap();
    let message = classes.predict_values(x.view()).unwrap_err().to_string();
    assert!(message.contains("predicts classes") && message.contains("regression"), "{message}");
}

/// A row whose number comes later is predicted by a model that has not learnt it yet.
#[test]
fn numbers_may_come_late() {
    let (data, params) = (data(), rvm(Variance::Plain));
    let x = data.features.to_array(0..120);
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let mut naive = Model::new(data.schema.clone(), &params).unwrap();
    let mut expected = Vec::new();
    for t in 0..120_usize {
        let row = |t: usize| x.slice(ndarray::s![t..=t, ..]);
        expected.extend(naive.predict_values(row(t)).unwrap().mean);
        if t >= 5 {
            let late = Rows::new(row(t - 5), &data.values()[t - 5..=t - 5], None);
            naive.learn_rows(&data.schema, late, &training).unwrap();
        }
    }
    let (mut model, mut delay) = (Model::new(data.schema.clone(), &params).unwrap(), Delay::new(5));
    let rows = Rows::new(x.view(), data.values(), None);
    let update = delay.learn(&mut model, &data.schema, rows, &training).unwrap();
    assert_eq!(update.predictions.column(0).to_vec(), expected);
    assert!(model == naive && delay.n_waiting() == 5);
}

#[test]
fn numbers_are_learnt_on_from_arrays() {
    let x = data().features.to_array(0..120);
    let model = Fit::new(RvmParams { length_scale: 1.0, ..Default::default() });
    let mut model = model.fit_values(x.view(), data().values()).unwrap().model;
    let update = model.learn_values(x.view(), data().values()).unwrap();
    assert_eq!((update.n_learnt, update.predictions.dim(), model.n_seen()), (120, (120, 2), Some(240)));
    let means = update.predictions.column(0);
    assert!(means.iter().zip(data().values()).all(|(mean, value)| (mean - value).abs() < 0.5));
    assert_eq!(model.retained_rows().unwrap().unwrap().task(), Task::Regression);
}

#[test]
fn rows_that_are_refused_change_nothing() {
    let mut model = fitted(&rvm(Variance::Plain));
    let before = model.clone();
    let mut grown = model.schema().clone();
    grown.target = Some("y".into());
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let x = Array2::<f32>::from_elem((1, 2), f32::INFINITY);
    assert!(model.learn_rows(&grown, Rows::new(x.view(), &[1.0][..], None), &training).is_err());
    let x = Array2::<f32>::zeros((1, 2));
    assert!(model.learn_rows(&grown, Rows::new(x.view(), &[f64::NAN][..], None), &training).is_err());
    assert!(model == before);
}
