//! Fast against slow, and the promises: any batches, any threads, saved and restored.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::testing::{blobs, saved_copy};
use hedgerow_core::traits::largest;
use hedgerow_core::{
    Budget, ClassId, Classifier as _, Column, ColumnKind, Dataset, Features, LabelTable, Par, Params as _,
    Schema, Silent,
};
use ndarray::{Array2, s};

use super::*;

fn params(settings: &[(&str, &str)]) -> Checked<ForestParams> {
    let few = ForestParams { n_trees: 7, ..ForestParams::default() };
    few.with_settings(settings.iter().copied()).unwrap().check().unwrap()
}

/// Learns a data set in pieces of these lengths, over and over.
fn learn(
    online: &mut OnlineForest,
    data: &Dataset,
    from: usize,
    pieces: &[usize],
    threads: usize,
) -> Vec<Update> {
    let par = Par::new(threads).unwrap();
    let budget = Budget::open();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let x = data.features.to_array(0..data.n_rows());
    let (mut at, mut updates) = (from, Vec::new());
    for &len in pieces.iter().cycle() {
        if at == data.n_rows() {
            break;
        }
        let end = (at + len).min(data.n_rows());
        let rows = Rows::new(
            x.slice(s![at..end, ..]),
            &data.labels()[at..end],
            data.weights.as_ref().map(|w| &w[at..end]),
        );
        updates.push(online.learn(&data.schema, rows, &training).unwrap());
        at = end;
    }
    updates
}

fn learnt(data: &Dataset, settings: &[(&str, &str)], pieces: &[usize], threads: usize) -> OnlineForest {
    let mut online = OnlineForest::new(&data.schema, &params(settings)).unwrap();
    learn(&mut online, data, 0, pieces, threads);
    online
}

/// Numbers, categories, missing values, weights, values that fit a byte at first, and noise in the labels.
fn mixed(n: usize, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, Purpose::Data, 1);
    let categories = ["red", "green", "blue"].map(String::from).to_vec();
    let mut schema = Schema::unnamed(4);
    schema.columns[2] = Column { name: "color".into(), kind: ColumnKind::Categorical { categories } };
    schema.labels = LabelTable::from(["a", "b", "c"].map(String::from).to_vec());
    let mut x = Array2::zeros((n, 4));
    let mut labels = Vec::new();
    for r in 0..n {
        let whole = r < n / 3;
        let color = rng.below(3) as f32;
        let (a, b) = (rng.unit() as f32 * 9.0, rng.unit() as f32 * 9.0);
        let round = |v: f32| if whole { v.floor() } else { v };
        x[(r, 0)] = round(a);
        x[(r, 1)] = if !whole && rng.below(10) == 0 { f32::NAN } else { round(b) };
        x[(r, 2)] = color;
        x[(r, 3)] = round(rng.unit() as f32 * 4.0);
        let class =
            if rng.below(12) == 0 { rng.below(3) } else { u32::from(a + color > 5.0) + u32::from(b > 6.0) };
        labels.push(ClassId(class));
    }
    let weights = (0..n).map(|r| if r > n / 2 { 1.0 + (r % 3) as f32 * 0.5 } else { 1.0 }).collect();
    Dataset::new(schema, Features::from_view(x.view()), labels, Some(weights)).unwrap()
}

/// Bytes up to the largest, which stands for a missing value where there are any.
fn bytes(n: usize) -> Dataset {
    let mut data = blobs(n, 6, 3, 5);
    let x = data.features.to_array(0..n).mapv(|v| (v * 400.0 + 128.0).round().clamp(0.0, 255.0) + 0.0);
    data.edit(|data| data.features = Features::from_view(x.view())).unwrap();
    assert!(matches!(data.features, Features::Bytes { .. }) && x.iter().any(|&v| v == 255.0));
    let mut rng = Rng::new(2, Purpose::Data, 3);
    data.edit(|data| {
        data.labels_mut().iter_mut().for_each(|label| {
            if rng.below(8) == 0 {
                *label = ClassId(rng.below(3));
            }
        });
    })
    .unwrap();
    data
}

/// Every row of the pool is on exactly one list of every tree, where a walk with it ends, and leaves count what is on theirs.
fn check_trees(online: &mut OnlineForest) {
    online.take_trees();
    let rows = online.pool.by_class();
    assert_eq!(rows.len(), online.pool.n_rows);
    for live in &online.live {
        with_table!(&online.pool.values, |table| {
            online.with_online_rows(table, |online_rows| check_tree(live, &rows, online_rows));
        });
    }
    online.give_trees();
}

fn check_tree<C: Code>(live: &LiveTree, rows: &[u32], online_rows: &OnlineRows<'_, C>) {
    let mut listed: Vec<u32> = Vec::new();
    for spot in 0..=2 * live.tree.splits.len() {
        listed.extend(live.lists.rows(spot));
    }
    let mut expected = rows.to_vec();
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected, "rows on lists");
    let mut attached = LiveTree::new(live.tree.clone(), live.birth);
    attached.attach(rows, online_rows);
    for spot in 0..=2 * live.tree.splits.len() {
        let sorted = |live: &LiveTree| {
            let mut rows: Vec<u32> = live.lists.rows(spot).collect();
            rows.sort_unstable();
            rows
        };
        assert_eq!(sorted(live), sorted(&attached), "spot {spot}");
    }
    assert!(live.is_consistent(online_rows), "leaves count their rows");
    // Children come after their parents, or a file of this tree could not be trusted.
    for (index, split) in live.tree.splits.iter().enumerate() {
        assert!(split.links.iter().all(|link| link.as_split().is_none_or(|child| child > index)));
    }
}

#[test]
fn leaves_count_the_rows_of_the_pool() {
    for settings in [
        &[][..],
        &[("pool_rows", "300")],
        &[("pool_rows", "50"), ("replace", "0")],
        &[("class_weights", "balanced"), ("pool_rows", "400")],
        &[("min_leaf_rows", "4"), ("max_height", "6")],
        &[("splits", "best"), ("pool_rows", "200")],
    ] {
        for data in [mixed(1500, 3), blobs(1500, 5, 3, 2), bytes(1500)] {
            let mut online = OnlineForest::new(&data.schema, &params(settings)).unwrap();
            learn(&mut online, &data, 0, &[700, 1, 333], 2);
            check_trees(&mut online);
            online.put_in_order();
            check_trees(&mut online);
        }
    }
}

#[test]
fn a_batch_is_its_rows_in_order() {
    for (data, settings) in [
        (mixed(900, 1), &[][..]),
        (mixed(900, 2), &[("pool_rows", "9000"), ("class_weights", r#"{"b": 2}"#)]),
        (blobs(1400, 6, 4, 3), &[("pool_rows", "10000")]),
        (blobs(900, 6, 4, 3), &[("keep", "uncertain")]),
        (blobs(900, 3, 2, 5), &[("pool_rows", "100"), ("probabilities", "votes")]),
    ] {
        let whole = learnt(&data, settings, &[usize::MAX / 2], 2);
        for pieces in [&[1][..], &[128], &[7, 300, 1, 64]] {
            let other = learnt(&data, settings, pieces, 1);
            assert!(whole == other, "{settings:?} {pieces:?}");
        }
    }
}

#[test]
fn a_full_pool_of_long_blocks_is_its_rows_in_order() {
    // Large enough for blocks to be learnt tree by tree while rows leave.
    let data = blobs(12_000, 2, 3, 9);
    let settings = [("pool_rows", "8192"), ("n_trees", "2"), ("min_leaf_rows", "1"), ("forget", "false")];
    let whole = learnt(&data, &settings, &[usize::MAX / 2], 2);
    assert_eq!(whole.pool.n_rows, 8192);
    let mut other = learnt(&data, &settings, &[1000, 77], 1);
    assert!(whole == other);
    check_trees(&mut other);
}

#[test]
fn saved_and_restored_it_goes_on_as_if_nothing_had_happened() {
    for (data, settings) in [
        (mixed(1200, 4), &[("pool_rows", "300")][..]),
        (blobs(1200, 6, 4, 3), &[]),
        (blobs(1200, 6, 4, 3), &[("class_weights", "balanced")]),
    ] {
        let all = learnt(&data, settings, &[usize::MAX / 2], 2);
        for stop in [1, 130, 500, 701] {
            let mut online = OnlineForest::new(&data.schema, &params(settings)).unwrap();
            learn(&mut online, &data.select(&(0..stop).collect::<Vec<_>>()), 0, &[stop], 1);
            let mut restored = saved_copy(&online, &data.schema).unwrap();
            assert!(restored == online, "restored at {stop}");
            learn(&mut restored, &data, stop, &[usize::MAX / 2], 1);
            assert!(restored == all, "went on from {stop} with {settings:?}");
        }
    }
}

#[test]
fn a_fitted_forest_goes_on() {
    let data = blobs(1000, 5, 3, 8);
    let first = data.select(&(0..600).collect::<Vec<_>>());
    for settings in [&[][..], &[("bagging", "bootstrap")], &[("learn_left_out", "false")]] {
        let params = params(settings);
        let par = Par::sequential();
        let budget = Budget::open();
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let fitted = Forest::fit(&first, &params, &training).unwrap();
        let mut online = OnlineForest::from_fitted(fitted.forest, crate::FittedRows::new(first.clone()));
        learn(&mut online, &data, 600, &[100], 1);
        check_trees(&mut online);
        assert_eq!((online.seen, online.pool.n_rows), (1000, 1000));
    }
}

#[test]
fn the_pool_keeps_to_its_size_and_forgets_no_class() {
    // Class 2 comes only at the beginning; nine tenths of what follows is class 0.
    let mut data = blobs(4000, 3, 3, 1);
    data.edit(|data| {
        for (row, label) in data.labels_mut().iter_mut().enumerate() {
            *label = ClassId(if row < 60 { (row % 3) as u32 } else { u32::from(row % 10 == 0) });
        }
    })
    .unwrap();
    let online = learnt(&data, &[("pool_rows", "240"), ("forget", "false")], &[100], 1);
    let counts = online.pool.class_counts().collect::<Vec<_>>();
    assert_eq!(counts.iter().sum::<usize>(), 240);
    assert_eq!(counts[2], 20, "a class within its floor keeps its rows: {counts:?}");
    assert!(counts[0] > 150 && counts[1] >= 20, "{counts:?}");
}

#[test]
fn bytes_are_kept_within_their_limit() {
    let data = blobs(6000, 8, 5, 4);
    let mut online = OnlineForest::new(&data.schema, &params(&[])).unwrap();
    let par = Par::sequential();
    let limit = 400_000;
    let budget = Budget::open().with_bytes(limit);
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let x = data.features.to_array(0..data.n_rows());
    for at in (0..6000).step_by(500) {
        let rows = Rows::new(x.slice(s![at..at + 500, ..]), &data.labels()[at..at + 500], None);
        online.learn(&data.schema, rows, &training).unwrap();
        assert!(online.bytes() as u64 <= limit, "{} bytes after {at} rows", online.bytes());
    }
    check_trees(&mut online);
    assert!(online.pool.n_rows > 1000);
}

#[test]
fn predictions_come_before_learning() {
    // Labels that nothing predicts: predictions must be no better than guessing, though every row is learnt by heart.
    let mut data = blobs(3000, 4, 2, 7);
    let mut rng = Rng::new(5, Purpose::Data, 9);
    data.edit(|data| data.labels_mut().iter_mut().for_each(|label| *label = ClassId(rng.below(2)))).unwrap();
    let mut online = OnlineForest::new(&data.schema, &params(&[("n_trees", "20")])).unwrap();
    let updates = learn(&mut online, &data, 0, &[500], 2);
    let (mut right, mut at) = (0, 0);
    for update in &updates {
        for prediction in update.predictions.rows() {
            assert!((prediction.sum() - 1.0).abs() < 1e-9);
            right += usize::from(largest(prediction) == Some(data.labels()[at].index()));
            at += 1;
        }
    }
    let share = right as f64 / 3000.0;
    assert!((0.45..0.55).contains(&share), "{share}");
    let proba =
        online.forest.predict_proba(data.features.to_array(0..3000).view(), &Par::sequential()).unwrap();
    let known =
        proba.rows().into_iter().zip(data.labels()).filter(|(p, l)| largest(*p) == Some(l.index())).count();
    assert!(known as f64 > 0.97 * 3000.0, "{known} of 3000 rows known by heart");
}

#[test]
fn a_class_may_come_late() {
    let data = blobs(2400, 4, 4, 6);
    let early: Vec<usize> = (0..1200).filter(|&r| data.labels()[r].index() < 3).collect();
    let order: Vec<usize> = early.iter().copied().chain(1200..2400).collect();
    let data = data.select(&order);
    let labels = LabelTable::from(data.schema.labels.names()[..3].to_vec());
    let known = Schema { labels, ..data.schema.clone() };
    let mut online = OnlineForest::new(&known, &params(&[])).unwrap();
    let part = |rows: std::ops::Range<usize>, schema: &Schema| {
        let rows: Vec<usize> = rows.collect();
        data.select(&rows).under(schema).unwrap()
    };
    learn(&mut online, &part(0..early.len(), &known), 0, &[100], 1);
    assert_eq!(online.forest.n_classes, 3);
    learn(&mut online, &part(early.len()..data.n_rows(), &data.schema), 0, &[100], 1);
    assert_eq!(online.forest.n_classes, 4);
    let proba = online
        .forest
        .predict_proba(data.features.to_array(0..data.n_rows()).view(), &Par::sequential())
        .unwrap();
    let of_late = |r: &usize| data.labels()[*r].index() == 3;
    let late: Vec<usize> = (0..data.n_rows()).filter(of_late).collect();
    let right = late.iter().filter(|&&r| largest(proba.row(r)) == Some(3)).count();
    assert!(right as f64 > 0.9 * late.len() as f64, "{right} of {}", late.len());
}

#[test]
fn an_abrupt_change_is_noticed_and_overcome() {
    let mut data = blobs(6000, 4, 2, 11);
    data.edit(|data| {
        for label in &mut data.labels_mut()[3000..] {
            *label = ClassId(1 - label.0);
        }
    })
    .unwrap();
    let mut online = OnlineForest::new(&data.schema, &params(&[("n_trees", "20")])).unwrap();
    let updates = learn(&mut online, &data, 0, &[500], 2);
    let drifts: Vec<hedgerow_core::Drift> = updates.iter().flat_map(|l| l.drifts.clone()).collect();
    assert_eq!(drifts.len(), 1, "{drifts:?}");
    assert!((2950..3100).contains(&drifts[0].since) && drifts[0].noticed_at < 3500, "{drifts:?}");
    let wrong = |update: &Update, first: usize| {
        let rows = update.predictions.rows().into_iter().zip(&data.labels()[first..]);
        rows.filter(|(prediction, label)| largest(*prediction) != Some(label.index())).count()
    };
    assert!(wrong(&updates[5], 2500) < 25, "before the change");
    assert!(wrong(&updates[8], 4000) < 25, "a thousand rows after it");
    assert!(
        online.pool.class_counts().collect::<Vec<_>>().iter().sum::<usize>() < 3500,
        "what was out of date is gone"
    );
}

#[test]
fn nothing_and_next_to_nothing() {
    let data = blobs(3, 2, 2, 1);
    let mut online = OnlineForest::new(&data.schema, &params(&[])).unwrap();
    let ask = |online: &OnlineForest| {
        online.forest.predict_proba(data.features.to_array(0..1).view(), &Par::sequential())
    };
    assert_eq!(ask(&online).unwrap().row(0).to_vec(), [0.5, 0.5], "a prior before any training");
    learn(&mut online, &data, 0, &[1], 1);
    assert!(ask(&online).unwrap().iter().all(|p| p.is_finite()));
    assert!(OnlineForest::new(&data.schema, &params(&[("n_trees", "0")])).is_err());
}

#[test]
fn rows_that_do_not_fit_are_refused_and_change_nothing() {
    let data = blobs(200, 3, 2, 1);
    let mut online = learnt(&data, &[], &[50], 1);
    let before = online.clone();
    let par = Par::sequential();
    let budget = Budget::open();
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let x = Array2::from_elem((1, 3), f32::INFINITY);
    let rows = Rows::new(x.view(), &[ClassId(0)][..], None);
    assert!(online.learn(&data.schema, rows, &training).is_err());
    let x = Array2::zeros((1, 3));
    let rows = Rows::new(x.view(), &[ClassId(2)][..], None);
    assert!(online.learn(&data.schema, rows, &training).is_err());
    assert!(online == before);
}

#[test]
fn rows_sorted_by_class_do_not_drive_out_the_other_classes() {
    let mixed = blobs(3000, 4, 3, 6);
    let mut order: Vec<usize> = (0..3000).collect();
    order.sort_by_key(|&row| mixed.labels()[row]);
    let labels: Vec<_> = order.iter().map(|&row| mixed.labels()[row]).collect();
    let sorted = Dataset::new(mixed.schema.clone(), mixed.features.select(&order), labels, None).unwrap();
    let mut online = learnt(&mixed, &[("n_trees", "20")], &[500], 2);
    learn(&mut online, &sorted, 0, &[500], 2);
    let x = mixed.features.to_array(0..3000);
    let predicted = online.forest.predict(x.view(), &Par::sequential()).unwrap();
    let right = predicted.iter().zip(mixed.labels()).filter(|(a, b)| a == b).count();
    assert!(right > 2900, "{right} of 3000; retained {:?}", online.pool.class_counts().collect::<Vec<_>>());
}

#[test]
fn a_row_is_forgotten_exactly_and_only_once() {
    let data = mixed(300, 5);
    let mut online = learnt(&data, &[], &[40], 1);
    let par = Par::new(2).unwrap();
    let x = data.features.to_array(0..data.n_rows());
    for row in [299, 0, 17, 250] {
        let (before, class) = (online.pool.n_rows, data.labels()[row]);
        let by_class = online.pool.class_counts().collect::<Vec<_>>()[class.index()];
        assert!(online.forget(x.row(row), class, &par), "{row}");
        assert_eq!(online.pool.n_rows, before - 1);
        assert_eq!(online.pool.class_counts().collect::<Vec<_>>()[class.index()], by_class - 1);
        assert!(!online.forget(x.row(row), class, &par), "{row} twice");
    }
    // Saving checks that the leaves of every tree count exactly the rows that are left; so does learning on.
    let mut loaded = saved_copy(&online, &data.schema).unwrap();
    assert!(
        loaded.forget(x.row(100), data.labels()[100], &par)
            && online.forget(x.row(100), data.labels()[100], &par)
    );
    let more = mixed(400, 6);
    learn(&mut online, &more, 0, &[64], 1);
    learn(&mut loaded, &more, 0, &[400], 2);
    assert!(online == loaded);
}
