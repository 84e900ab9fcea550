use hedgerow_core::testing::{blobs, mixed, mixed_numbers};
use hedgerow_core::{Budget, ClassId, Dataset, Par, Rows, Silent, Training};
use ndarray::{Array2, s};

use super::*;
use crate::kinds::{Kind, ModelParams};

fn fit(data: &Dataset, params: &ModelParams, threads: usize) -> Model {
    let (par, budget) = (Par::new(threads).unwrap(), Budget::open());
    Model::fit(data, params, &Training { par: &par, budget: &budget, observer: &Silent }).unwrap().model
}

fn learn(model: &mut Model, data: &Dataset, batch: usize) {
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    for first in (0..data.n_rows()).step_by(batch) {
        let rows = first..(first + batch).min(data.n_rows());
        let x = data.features.to_array(rows.clone());
        model
            .learn_rows(&data.schema, Rows::new(x.view(), data.targets.view().slice(rows), None), &training)
            .unwrap();
    }
}

fn all_rows(data: &Dataset) -> Array2<f32> {
    data.features.to_array(0..data.n_rows())
}

fn small(kind: Kind) -> ModelParams {
    let settings: &[(&str, &str)] = match kind.name() {
        "forest" | "leaf-gp" => &[("n_trees", "10")],
        _ => &[],
    };
    ModelParams::new(kind).with_settings(settings.iter().copied()).unwrap()
}

#[test]
fn every_kind_scores_outliers() {
    let data = blobs(240, 3, 3, 1);
    let known = blobs(900, 3, 3, 1).features.to_array(240..900);
    let far = known.mapv(|v| 40.0 - v);
    for &kind in Kind::ALL {
        let model = fit(&data, &small(kind), 1);
        let scores = model.outlier_score(known.view()).unwrap();
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
        let share = scores.iter().filter(|score| **score > 0.95).count() as f64 / scores.len() as f64;
        assert!((0.01..0.11).contains(&share), "{kind}: {share} of known rows above 0.95");
        assert!(model.outlier_score(far.view()).unwrap().iter().all(|score| *score > 0.95), "{kind}");
        let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(again.outlier_score(known.view()).unwrap(), scores, "{kind}: saved and loaded");
        let alone = model.outlier_score(known.slice(s![5..6, ..])).unwrap();
        assert_eq!(alone, scores[5..6], "{kind}");
        assert!(model.outlier_score(known.slice(s![.., ..2])).is_err());
        let message = model.without_rows().outlier_score(known.view()).unwrap_err().to_string();
        assert!(message.contains("reference rows") && message.contains("--frozen"), "{message}");
    }
}

#[test]
fn tables_of_all_sorts_have_scores() {
    // Categories and missing values, then numbers as targets.
    for (kind, data) in
        [("forest", mixed(400, 3, 1)), ("rvm", mixed_numbers(300, 1)), ("gp", mixed_numbers(150, 1))]
    {
        let model = fit(&data, &small(kind.parse().unwrap()), 1);
        let mut x = mixed(200, 3, 2).features.to_array(0..200);
        let scores = model.outlier_score(x.view()).unwrap();
        assert!(scores.iter().filter(|score| **score > 0.95).count() < 40, "{kind}");
        x.slice_mut(s![.., 0]).fill(500.0);
        assert!(model.outlier_score(x.view()).unwrap().iter().all(|score| *score > 0.98), "{kind}");
        x.fill(f32::NAN);
        assert!(model.outlier_score(x.view()).unwrap().iter().all(|score| (0.0..=1.0).contains(score)));
    }
}

#[test]
fn threads_batches_and_files_change_nothing() {
    let (data, more) = (mixed(500, 3, 1), mixed(300, 3, 2));
    let x = all_rows(&mixed(60, 3, 3));
    let params = small("forest".parse().unwrap());
    let (mut model, mut other) = (fit(&data, &params, 1), fit(&data, &params, 3));
    assert_eq!(model, other);
    learn(&mut model, &more, 300);
    learn(&mut other, &more.select(&(0..100).collect::<Vec<_>>()), 7);
    let before = other.outlier_score(x.view()).unwrap();
    other = Model::from_bytes(&other.to_bytes().unwrap()).unwrap();
    assert_eq!(other.outlier_score(x.view()).unwrap(), before);
    learn(&mut other, &more.select(&(100..300).collect::<Vec<_>>()), 50);
    let after = model.outlier_score(x.view()).unwrap();
    assert_eq!(other.outlier_score(x.view()).unwrap(), after);
    assert_ne!(before, after);
}

#[test]
fn a_model_that_has_only_learnt_online_scores_too() {
    let data = blobs(700, 3, 2, 1);
    let mut model = Model::new(data.schema.clone(), &small("forest".parse().unwrap())).unwrap();
    let x = all_rows(&data);
    let message = model.outlier_score(x.view()).unwrap_err().to_string();
    assert!(message.contains("learnt"), "{message}");
    // One class only.
    let first: Vec<usize> = (0..600).filter(|row| row % 2 == 0).collect();
    learn(&mut model, &data.select(&first), 50);
    let mean = |model: &Model, class: u32| {
        let rows: Vec<usize> = (600..700).filter(|row| data.labels()[*row] == ClassId(class)).collect();
        let scores = model.outlier_score(data.select(&rows).features.to_array(0..rows.len()).view()).unwrap();
        scores.iter().sum::<f64>() / scores.len() as f64
    };
    assert!(mean(&model, 0) < 0.6 && mean(&model, 1) > 0.95, "{} {}", mean(&model, 0), mean(&model, 1));
    let second: Vec<usize> = (0..120).filter(|row| row % 2 == 1).collect();
    learn(&mut model, &data.select(&second), 50);
    assert!(mean(&model, 1) < 0.88, "{}: its class has been learnt", mean(&model, 1));
}

#[cfg(feature = "io")]
#[test]
fn a_digit_that_was_left_out_is_rejected_until_it_is_learnt() {
    use hedgerow_core::metrics::binary_auc;
    use hedgerow_io::{ColumnRef, ReadOptions, read_dataset};

    let options = ReadOptions { target: Some(ColumnRef::Name("digit".into())), ..ReadOptions::default() };
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/digits.csv.gz");
    let data = read_dataset(&path, &options, None).unwrap();
    let five = data.schema.labels.get("5").unwrap();
    let rows = |is_test: bool, is_five: bool| {
        let rows = (0..data.n_rows()).filter(|row| (row % 3 == 0) == is_test);
        data.select(&rows.filter(|&row| (data.labels()[row] == five) == is_five).collect::<Vec<_>>())
    };
    let mut model = fit(&rows(false, false), &ModelParams::new("forest".parse().unwrap()), 2);
    let [known, fives] = [rows(true, false), rows(true, true)].map(|data| all_rows(&data));
    let scores = |model: &Model, x: &Array2<f32>| model.outlier_score(x.view()).unwrap();
    let rejected = |scores: &[f64]| scores.iter().filter(|s| **s > 0.95).count() as f64 / scores.len() as f64;
    let [of_known, of_fives] = [&known, &fives].map(|x| scores(&model, x));
    let hits: Vec<bool> = (0..known.nrows() + fives.nrows()).map(|row| row >= known.nrows()).collect();
    let area = binary_auc(&[&of_known[..], &of_fives].concat(), &hits).unwrap();
    // Mean of fives that are rejected and other digits that are not.
    let accuracy = (rejected(&of_fives) + 1.0 - rejected(&of_known)) / 2.0;
    println!(
        "AUROC {area:.4}, accuracy of rejecting {accuracy:.4}, known digits rejected {:.4}",
        rejected(&of_known)
    );
    assert!(area > 0.98, "{area}");
    assert!(accuracy > 0.93, "{accuracy}");
    assert!((0.02..0.08).contains(&rejected(&of_known)), "{}", rejected(&of_known));
    learn(&mut model, &rows(false, true), 20);
    let left = rejected(&scores(&model, &fives));
    assert!(left < 0.25, "{left} of the fives are still rejected");
}
