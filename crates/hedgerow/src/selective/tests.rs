use hedgerow_core::testing::blobs;
use hedgerow_core::{Budget, ClassId, Dataset, Params as _, Silent};

use super::*;
use crate::kinds::{Kind, ModelParams};

fn params(kind: Kind) -> ModelParams {
    let settings: &[(&str, &str)] = match kind.name() {
        "forest" | "forest-kernel" => &[("n_trees", "5")],
        "leaf-gp" => &[("n_trees", "3")],
        "forest-ivm" => &[("n_trees", "5"), ("n_active", "10")],
        "ivm" => &[("n_active", "10")],
        _ => &[],
    };
    ModelParams::new(kind).with_settings(settings.iter().copied()).unwrap()
}

/// Learns a stream in calls of some size; returns model, predictions, and why labels were asked for.
fn run(
    data: &Dataset,
    kind: Kind,
    query: &StreamQueryParams,
    size: usize,
    threads: usize,
) -> (Model, Vec<Vec<f64>>, Vec<Option<Because>>) {
    let mut model = Model::new(data.schema.clone(), &params(kind)).unwrap();
    let mut stream = Selective::new(query.clone().check().unwrap());
    let (par, budget) = (Par::new(threads).unwrap(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let (n, mut predicted, mut asked) = (data.n_rows(), Vec::new(), Vec::new());
    let x = data.features.to_array(0..n);
    for first in (0..n).step_by(size) {
        let end = n.min(first + size);
        let rows = Rows::new(x.slice(s![first..end, ..]), &data.labels()[first..end], None);
        let (update, because) = stream.learn(&mut model, &data.schema, rows, &training).unwrap();
        assert_eq!(
            (update.n_learnt, update.sets.len(), because.len()),
            (end - first, end - first, end - first)
        );
        predicted.extend(update.predictions.rows().into_iter().map(|row| row.to_vec()));
        asked.extend(because);
        // It can be saved in between.
        stream = serde_json::from_str(&serde_json::to_string(&stream).unwrap()).unwrap();
        assert!(stream.n_queried() as f64 <= query.rate * stream.n_seen() as f64 + 1e-9);
    }
    assert_eq!((stream.n_seen(), model.n_seen()), (n as u64, Some(stream.n_queried())));
    (model, predicted, asked)
}

#[test]
fn a_row_is_predicted_by_the_labels_asked_for_before_it() {
    let data = blobs(300, 2, 2, 3);
    let query = StreamQueryParams { rate: 0.1, ..StreamQueryParams::default() };
    // By definition: row by row, predict, decide, learn.
    let mut naive = Model::new(data.schema.clone(), &params(Kind::Forest)).unwrap();
    let mut querier = StreamQuerier::new(query.clone().check().unwrap());
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let x = data.features.to_array(0..300);
    let (mut expected, mut expected_asked) = (Vec::new(), Vec::new());
    for row in 0..300 {
        let one = x.slice(s![row..=row, ..]);
        let proba = naive.predict_proba_par(one, &par).unwrap();
        let because = querier.query(proba.row(0));
        let mut full = vec![if proba.ncols() == 0 { 0.5 } else { 0.0 }; 2];
        full.iter_mut().zip(proba.row(0)).for_each(|(to, p)| *to = *p);
        expected.push(full);
        if because.is_some() {
            naive
                .learn_rows(&data.schema, Rows::new(one, &data.labels()[row..=row], None), &training)
                .unwrap();
        }
        expected_asked.push(because);
    }
    assert!(expected_asked.iter().flatten().count() > 20);
    for (size, threads) in [(1, 1), (37, 2), (300, 1)] {
        let (model, predicted, asked) = run(&data, Kind::Forest, &query, size, threads);
        assert_eq!((&predicted, &asked), (&expected, &expected_asked), "{size} rows at a time");
        assert!(model == naive);
    }
}

#[test]
fn every_kind_that_learns_learns_a_tenth_of_the_labels() {
    let data = blobs(600, 2, 3, 4);
    for batch in [1, 50] {
        let query = StreamQueryParams { rate: 0.1, batch, ..StreamQueryParams::default() };
        for &kind in Kind::ALL.iter().filter(|kind| kind.learns()) {
            let whole = run(&data, kind, &query, 600, 1);
            let parts = run(&data, kind, &query, 71, 2);
            assert!(whole.0 == parts.0 && whole.1 == parts.1, "{kind}, batches of {batch}");
            let right = |(proba, class): &(&Vec<f64>, &ClassId)| {
                let best = (0..3).max_by(|a, b| proba[*a].total_cmp(&proba[*b])).unwrap();
                best == class.index()
            };
            let last = whole.1.iter().zip(data.labels()).skip(400);
            let n_right = last.filter(right).count();
            assert!(n_right > 170, "{kind}, batches of {batch}: {n_right} of 200");
            // Fewer than 60, where hardly any prediction is uncertain.
            let n_learnt = whole.0.n_seen().unwrap();
            assert!((30..=60).contains(&n_learnt), "{kind}: {n_learnt}");
        }
    }
}

#[test]
fn a_model_may_only_retain_so_many_of_the_labels() {
    let data = blobs(4_000, 2, 2, 5);
    let settings = [("n_active", "20"), ("max_rows", "60"), ("forget", "rating"), ("refit", "false")];
    let params = ModelParams::new(Kind::Ivm).with_settings(settings).unwrap();
    let mut model = Model::new(data.schema.clone(), &params).unwrap();
    let query = StreamQueryParams { rate: 0.1, batch: 100, threshold: 0.01, ..StreamQueryParams::default() };
    let mut stream = Selective::new(query.check().unwrap());
    let (par, budget) = (Par::sequential(), Budget::open());
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let x = data.features.to_array(0..4_000);
    for first in (0..4_000).step_by(500) {
        let rows = Rows::new(x.slice(s![first..first + 500, ..]), &data.labels()[first..first + 500], None);
        stream.learn(&mut model, &data.schema, rows, &training).unwrap();
        // Those above the cap are forgotten at the next training, which comes after 16 labels.
        assert!(model.n_retained().unwrap() <= 60 + 128, "{:?}", model.n_retained());
    }
    assert!(stream.n_queried() > 100);
}

#[test]
fn a_drift_is_placed_in_the_rows_of_the_stream() {
    let drift = Drift { noticed_at: 100, since: 80, error_before: 0.1, error_after: 0.5 };
    let placed = in_stream(drift, 100, 2_000);
    assert_eq!((placed.noticed_at, placed.since), (2_000, 1_600));
}

#[test]
fn numbers_cannot_be_asked_for() {
    let data = blobs(20, 2, 2, 3);
    let mut model = Model::new(data.schema.clone(), &params(Kind::Forest)).unwrap();
    let mut stream = Selective::new(StreamQueryParams::default().check().unwrap());
    let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
    let x = data.features.to_array(0..20);
    let rows = Rows::new(x.view(), &[0.5; 20][..], None);
    assert!(stream.learn(&mut model, &data.schema, rows, &training).is_err());
}
