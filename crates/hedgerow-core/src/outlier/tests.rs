use ndarray::{Array2, ArrayView1, ArrayView2, array, s};

use super::*;
use crate::data::{ClassId, Dataset, Features, Schema, Target};
use crate::scores::{OutOfSample, Source};
use crate::testing::{blobs, mixed};

/// Predictions that are more uncertain where two of the first columns are alike; they take any row.
fn predict(x: ArrayView2<'_, f32>, n_classes: usize) -> Array2<f64> {
    let mut proba = Array2::zeros((x.nrows(), n_classes));
    for (row, mut p) in x.rows().into_iter().zip(proba.rows_mut()) {
        let first = f64::from(row[0] - row[1]).clamp(-20.0, 20.0);
        p[0] = if first.is_nan() { 0.5 } else { 1.0 / (1.0 + first.exp()) };
        p[1] = 1.0 - p[0];
    }
    proba
}

fn reference(data: &Dataset) -> ReferenceRows {
    let x = data.features.to_array(0..data.n_rows());
    let rows = (0..data.n_rows()).collect();
    let proba = predict(x.view(), data.schema.n_classes());
    let validation = OutOfSample::of_rows(Source::HeldOut, rows, proba, data.labels());
    ReferenceRows::of_fit(data, Some(&validation), 3, None)
}

fn scores(rows: &ReferenceRows, schema: &Schema, x: ArrayView2<'_, f32>) -> Vec<f64> {
    let par = Par::sequential();
    rows.scorer(schema, &par).score(x, Some(predict(x, schema.n_classes()).view()), &par)
}

#[test]
fn of_known_rows_one_in_twenty_lies_above_its_mark() {
    for (data, others) in
        [(mixed(2_500, 3, 1), mixed(6_000, 3, 2)), (blobs(1_500, 6, 4, 1), blobs(6_000, 6, 4, 1))]
    {
        let rows = reference(&data);
        let n = others.n_rows();
        // The later rows of blobs are new ones.
        let x = others.features.to_array(n - 4_000..n);
        let found = scores(&rows, &data.schema, x.view());
        for (mark, tolerance) in [(0.5, 0.04), (0.9, 0.02), (0.95, 0.013), (0.99, 0.006)] {
            let share = found.iter().filter(|score| **score > mark).count() as f64 / 4_000.0;
            assert!((share - (1.0 - mark)).abs() < tolerance, "{share} above {mark}");
        }
        let far = x.mapv(|v| v + 30.0);
        assert!(scores(&rows, &data.schema, far.view()).iter().all(|score| *score > 0.99 && *score < 1.0));
    }
}

#[test]
fn a_score_depends_on_the_row_alone() {
    let data = mixed(700, 3, 4);
    let rows = reference(&data);
    let x = mixed(150, 3, 5).features.to_array(0..150);
    let all = scores(&rows, &data.schema, x.view());
    for (row, score) in all.iter().enumerate() {
        assert_eq!(scores(&rows, &data.schema, x.slice(s![row..=row, ..])), [*score]);
    }
    let (rows, par) = (reference(&data), Par::new(3).unwrap());
    assert_eq!(rows.scorer(&data.schema, &par).score(x.view(), Some(predict(x.view(), 3).view()), &par), all);
}

#[test]
fn equal_values_of_scores_tell_rows_apart_far_out() {
    let data = blobs(400, 3, 2, 1);
    let rows = reference(&data);
    let x = Array2::from_shape_fn((12, 3), |(row, _)| 30.0 * 3.0_f32.powf(row as f32));
    let found = scores(&rows, &data.schema, x.view());
    assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}");
    let beyond = array![[f32::MAX, f32::MIN, 0.0], [f32::INFINITY, 0.0, 0.0], [f32::NAN, f32::NAN, f32::NAN]];
    let found = scores(&rows, &data.schema, beyond.view());
    assert!(found[..2].iter().all(|score| *score > 0.999) && found.iter().all(|score| score.is_finite()));
}

#[test]
fn few_rows_and_columns_that_never_vary() {
    let schema = blobs(4, 2, 2, 1).schema.clone();
    let x = array![[1.0_f32, 2.0], [9.0, 9.0]];
    let mut rows = ReferenceRows::new(&schema, 0, None);
    assert_eq!(scores(&rows, &schema, x.view()), [0.5, 0.5], "nothing is known");
    let proba = array![0.9, 0.1];
    rows.learn(x.row(0), Target::Class(ClassId(0)), Some(proba.view()));
    assert_eq!(scores(&rows, &schema, x.view()), [0.5, 0.5], "one row has no distance to another");
    for _ in 0..40 {
        rows.learn(x.row(0), Target::Class(ClassId(0)), Some(proba.view()));
    }
    let par = Par::sequential();
    let found = rows.scorer(&schema, &par).score(x.view(), None, &par);
    assert!(found[0] <= 0.5 && found[1] > 0.95, "{found:?}");
    assert!(rows.scorer(&schema, &par).score(Array2::zeros((0, 2)).view(), None, &par).is_empty());
}

fn learn(rows: &mut ReferenceRows, x: ArrayView1<'_, f32>, class: u32) {
    rows.learn(x, Target::Class(ClassId(class)), Some(array![0.8, 0.2].view()));
}

#[test]
fn a_class_that_was_learnt_is_no_outlier_any_more() {
    let data = blobs(1_500, 4, 2, 1);
    let mut rows = reference(&data);
    let new =
        Array2::from_shape_fn((60, 4), |(row, column)| 40.0 + ((row * 7 + column * 3) % 11) as f32 / 3.0);
    let mean = |rows: &ReferenceRows| scores(rows, &data.schema, new.view()).iter().sum::<f64>() / 60.0;
    assert!(mean(&rows) > 0.99);
    new.rows().into_iter().take(30).for_each(|row| learn(&mut rows, row, 1));
    assert!(mean(&rows) < 0.8, "{}", mean(&rows));
    // A label that is taken back takes its row away.
    let n = rows.len();
    rows.forget(new.row(0), ClassId(0));
    assert_eq!(rows.len(), n, "of another class");
    rows.forget(new.row(0), ClassId(1));
    assert_eq!(rows.len(), n - 1);
}

#[test]
fn rows_are_bounded_and_follow_the_stream() {
    let data = blobs(6_000, 2, 2, 1);
    let mut rows = reference(&data);
    let bound = rows.len();
    assert!((1_000..6_000).contains(&bound));
    // A rare class, then many rows of the other one.
    let old: Vec<ClassId> = rows.labels().to_vec();
    for number in 0..3 * bound {
        learn(&mut rows, array![5.0, number as f32].view(), 1);
    }
    assert_eq!(rows.len(), bound);
    let of_other = rows.labels().iter().filter(|class| class.0 == 0).count();
    assert!(of_other >= bound / 10 && of_other < old.len() / 3, "{of_other}: old classes keep some rows");
    // However the rows came, the sample is the same.
    let mut again = reference(&data);
    (0..3 * bound).for_each(|number| learn(&mut again, array![5.0, number as f32].view(), 1));
    assert_eq!(rows, again);
    let small = ReferenceRows::of_fit(&data, None, 3, Some(32 * 24 * 50));
    assert_eq!(small.len(), 50);
    assert!(small.bytes() < 24 * 100);
    assert!(small.check(&data.schema).is_ok() && small.check(&Schema::unnamed(3)).is_err());
}

#[test]
fn rows_predicted_out_of_sample_come_first_and_those_without_weight_not_at_all() {
    let mut data = blobs(5_000, 2, 2, 1);
    data.edit(|data| data.weights = Some((0..5_000).map(|row| f32::from(u8::from(row % 2 == 0))).collect()))
        .unwrap();
    let predicted: Vec<usize> = (0..400).collect();
    let proba = Array2::from_elem((400, 2), 0.5);
    let validation = OutOfSample::of_rows(Source::OutOfFold, predicted, proba, data.labels());
    let rows = ReferenceRows::of_fit(&data, Some(&validation), 1, None);
    assert_eq!(rows.uncertainties().filter(|(u, _)| !u.is_nan()).count(), 200);
    assert!(rows.len() > 1_000);
    let same = |place: usize, row: usize| {
        (0..2).all(|c| rows.features().value(place, c) == data.features.value(row, c))
    };
    assert!((0..200).all(|place| same(place, 2 * place)), "in the order they came");
}

#[test]
fn predictions_by_a_part_of_the_model_count_less_among_known_rows() {
    let data = blobs(900, 3, 2, 1);
    let x = blobs(3_000, 3, 2, 1).features.to_array(900..3_000);
    let proba = predict(data.features.to_array(0..900).view(), 2);
    let above = |source: Source| {
        let validation = OutOfSample::of_rows(source, (0..900).collect(), proba.clone(), data.labels());
        let rows = ReferenceRows::of_fit(&data, Some(&validation), 3, None);
        scores(&rows, &data.schema, x.view()).iter().filter(|score| **score > 0.95).count()
    };
    assert!(above(Source::OutOfBag) > above(Source::OutOfFold));
}

#[test]
fn rows_of_several_models_become_one() {
    let data = blobs(600, 2, 2, 1);
    let [first, second] = [0..300, 300..600].map(|rows| reference(&data.select(&rows.collect::<Vec<_>>())));
    let both =
        ReferenceRows::merge(&[(&data.schema, &first), (&data.schema, &second)], &data.schema).unwrap();
    let both = both.unwrap();
    assert_eq!((both.len(), both.features().n_rows()), (600, 600));
    both.check(&data.schema).unwrap();
    assert!(ReferenceRows::merge(&[], &data.schema).unwrap().is_none());
    let empty = ReferenceRows::of_fit(
        &Dataset::new(data.schema.clone(), Features::new(2), Vec::<ClassId>::new(), None).unwrap(),
        None,
        0,
        None,
    );
    assert!(empty.is_empty());
}
