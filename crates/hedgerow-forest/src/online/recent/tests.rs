//! Short memories at work: what they hold, what they gain, and the promises.

use std::collections::BTreeMap;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::testing::{blobs, saved_copy};
use hedgerow_core::traits::largest;
use hedgerow_core::{Budget, ClassId, Dataset, Params as _, Silent, Training, Update};
use ndarray::s;

use super::*;
use crate::online::OnlineForest;
use crate::online::table::with_table;
use crate::params::ForestParams;

/// Rows of three classes whose labels trade places every so many rows.
fn turning(n: usize, every: usize) -> Dataset {
    let mut data = blobs(n, 3, 3, 6);
    let mut rng = Rng::new(9, Purpose::Data, 1);
    data.edit(|data| {
        for (row, label) in data.labels_mut().iter_mut().enumerate() {
            let noise = u32::from(rng.below(20) == 0);
            *label = ClassId((label.0 + (row / every) as u32 + noise) % 3);
        }
    })
    .unwrap();
    data
}

fn online(data: &Dataset, settings: &[(&str, &str)]) -> OnlineForest {
    let params = ForestParams { n_trees: 10, ..ForestParams::default() };
    let params = params.with_settings(settings.iter().copied()).unwrap().check().unwrap();
    OnlineForest::new(&data.schema, &params).unwrap()
}

/// Learns the rows of a data set from `from` on, so many at a time.
fn learn(
    online: &mut OnlineForest,
    data: &Dataset,
    rows: Range<usize>,
    size: usize,
    bytes: Option<u64>,
) -> Update {
    let par = Par::new(if size > 100 { 2 } else { 1 }).unwrap();
    let budget = bytes.map_or(Budget::open(), |bytes| Budget::open().with_bytes(bytes));
    let training = Training { par: &par, budget: &budget, observer: &Silent };
    let x = data.features.to_array(0..data.n_rows());
    let mut all = Update::default();
    let mut predictions = Vec::new();
    for first in rows.clone().step_by(size) {
        let part = first..rows.end.min(first + size);
        let given = Rows::new(x.slice(s![part.clone(), ..]), &data.labels()[part], None);
        let update = online.learn(&data.schema, given, &training).unwrap();
        predictions.push(update.predictions);
        all.n_learnt += update.n_learnt;
    }
    let views: Vec<_> = predictions.iter().map(|p| p.view()).collect();
    all.predictions = ndarray::concatenate(ndarray::Axis(0), &views).unwrap();
    all
}

fn accuracy(update: &Update, data: &Dataset, rows: Range<usize>) -> f64 {
    let labels = &data.labels()[rows.clone()];
    let right = |(row, label): (ArrayView1<'_, f64>, &ClassId)| largest(row) == Some(label.index());
    let predicted = update.predictions.slice(s![rows.clone(), ..]);
    predicted.rows().into_iter().zip(labels).filter(|p| right((p.0, p.1))).count() as f64 / rows.len() as f64
}

/// The rows that a memory must hold: kept one by one by the rule of the pool, the oldest of a class above its floor goes.
fn kept_by_definition(labels: &[ClassId], len: usize) -> Vec<u64> {
    let mut by_class: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (number, label) in labels.iter().enumerate() {
        by_class.entry(label.0).or_default().push(number as u64);
        let n: usize = by_class.values().map(Vec::len).sum();
        if n > len {
            let present = by_class.values().filter(|rows| !rows.is_empty()).count();
            let floor = n / (4 * present);
            let oldest = by_class.values_mut().filter(|rows| rows.len() > floor).min_by_key(|rows| rows[0]);
            oldest.unwrap().remove(0);
        }
    }
    let mut kept: Vec<u64> = by_class.into_values().flatten().collect();
    kept.sort_unstable();
    kept
}

/// Every tree of every memory holds exactly the rows of its pool.
fn check_memories(online: &mut OnlineForest, labels: &[ClassId]) {
    let par = Par::sequential();
    online.with_recent(|recent, horizons, input| {
        recent.take_trees(horizons, input, &par);
        for (memory, &len) in recent.memories.iter().zip(&MEMORIES) {
            let mut ages: Vec<u64> =
                memory.pool.by_class().iter().map(|&slot| memory.pool.ages[slot as usize]).collect();
            ages.sort_unstable();
            assert_eq!(ages, kept_by_definition(labels, len as usize), "memory of {len}");
            let mut expected = memory.pool.by_class();
            expected.sort_unstable();
            assert_eq!(memory.live.len(), N_TREES);
            for live in &memory.live {
                let spots = 0..=2 * live.tree.splits.len();
                let mut listed: Vec<u32> =
                    spots.flat_map(|spot| live.lists.rows(spot).collect::<Vec<_>>()).collect();
                listed.sort_unstable();
                assert_eq!(listed, expected, "memory of {len}");
                with_table!(&memory.pool.values, |table| {
                    input.with_rows(&memory.pool, table, &memory.scales, usize::MAX, |online_rows| {
                        assert!(live.is_consistent(online_rows), "leaves count their rows");
                    });
                });
            }
        }
        recent.give_trees(horizons);
    });
}

#[test]
fn memories_hold_the_newest_rows_and_a_few_of_each_class() {
    let data = turning(1_500, 100);
    let mut online = online(&data, &[]);
    for rows in [0..700, 700..1_500] {
        learn(&mut online, &data, rows.clone(), 150, None);
        check_memories(&mut online, &data.labels()[..rows.end]);
    }
}

#[test]
fn short_memories_follow_what_the_forest_cannot() {
    let data = turning(6_000, 150);
    let [with, without] = ["true", "false"].map(|horizons| {
        let update = learn(&mut online(&data, &[("horizons", horizons)]), &data, 0..6_000, 500, None);
        accuracy(&update, &data, 1_000..6_000)
    });
    assert!(with > without + 0.15, "{with} {without}");
}

#[test]
fn where_nothing_changes_they_rest_and_nothing_is_lost() {
    let data = turning(6_000, usize::MAX);
    let mut resting = online(&data, &[("n_trees", "50")]);
    let with = learn(&mut resting, &data, 0..6_000, 500, None);
    let without = [("n_trees", "50"), ("horizons", "false")];
    let without = learn(&mut online(&data, &without), &data, 0..6_000, 500, None);
    let [with, without] = [with, without].map(|update| accuracy(&update, &data, 1_000..6_000));
    assert!(with > without - 0.004, "{with} {without}");
    assert!(resting.forest.horizons.unwrap().trees.is_empty());
}

#[test]
fn cut_saved_and_restored_they_go_on() {
    let data = turning(1_300, 120);
    let mut whole = online(&data, &[]);
    let all = learn(&mut whole, &data, 0..1_300, 1_300, None);
    assert!(!whole.forest.horizons.as_ref().unwrap().trees.is_empty(), "they are at work");
    for size in [1, 33, 400] {
        let mut other = online(&data, &[]);
        let update = learn(&mut other, &data, 0..1_300, size, None);
        assert!(other == whole && update.predictions == all.predictions, "{size} at a time");
    }
    for stop in [333, 777, 1_001] {
        let mut first = online(&data, &[]);
        learn(&mut first, &data, 0..stop, 100, None);
        let mut restored = saved_copy(&first, &data.schema).unwrap();
        assert!(restored == first, "restored at {stop}");
        let x = data.features.to_array(0..50);
        let predict = |online: &OnlineForest| {
            hedgerow_core::Classifier::predict_proba(online.forest(), x.view(), &Par::sequential()).unwrap()
        };
        assert_eq!(predict(&first), predict(&restored));
        learn(&mut restored, &data, stop..1_300, 90, None);
        assert!(restored == whole, "went on from {stop}");
    }
}

#[test]
fn the_longest_go_where_memory_is_limited() {
    let data = turning(1_500, 100);
    let n_memories = |bytes| {
        let mut online = online(&data, &[]);
        learn(&mut online, &data, 0..1_500, 250, Some(bytes));
        assert!(online.bytes() as u64 <= bytes, "{} of {bytes}", online.bytes());
        online.recent.map(|recent| recent.memories.len())
    };
    assert_eq!([100 << 20, 8 << 20, 1 << 20].map(n_memories), [Some(4), Some(3), Some(1)]);
}

#[test]
fn a_forgotten_row_is_in_no_memory() {
    let data = turning(600, 100);
    let mut online = online(&data, &[]);
    learn(&mut online, &data, 0..600, 100, None);
    let x = data.features.to_array(0..600);
    assert!(online.forget(x.row(595), data.labels()[595], &Par::sequential()));
    for memory in &online.recent.as_ref().unwrap().memories {
        assert!(!memory.pool.by_class().iter().any(|&slot| memory.pool.ages[slot as usize] == 595));
    }
    // Lists and leaves are as they should be, or learning would go wrong.
    learn(&mut online, &data, 0..600, 100, None);
}

#[test]
fn rows_sorted_by_label_are_learnt_as_well_as_before() {
    let mut data = turning(1_500, usize::MAX);
    let mut order: Vec<usize> = (0..1_500).collect();
    order.sort_by_key(|&row| data.labels()[row]);
    data = data.select(&order);
    let x = data.features.to_array(0..1_500);
    let [with, without] = ["true", "false"].map(|horizons| {
        let mut online = online(&data, &[("horizons", horizons)]);
        learn(&mut online, &data, 0..1_500, 250, None);
        let found =
            hedgerow_core::Classifier::predict(online.forest(), x.view(), &Par::sequential()).unwrap();
        found.iter().zip(data.labels()).filter(|(a, b)| a == b).count()
    });
    assert!(with + 5 >= without, "{with} {without}");
}

#[test]
fn most_trees_rest_while_the_forest_does_not_count_and_come_back() {
    // Labels trade places all the time, and then no more.
    let turns = turning(4_000, 60);
    let settled = turning(12_000, usize::MAX);
    let begun = || online(&turns, &[("n_trees", "40")]);
    let mut whole = begun();
    learn(&mut whole, &turns, 0..4_000, 4_000, None);
    assert_eq!((whole.forest.trees.len(), whole.n_resting), (24, 16));
    assert!(whole.forest.horizons.as_ref().unwrap().is_forest_idle);
    let mut restored = saved_copy(&whole, &turns.schema).unwrap();
    assert!(restored == whole, "restored");
    let update = learn(&mut whole, &settled, 0..12_000, 12_000, None);
    learn(&mut restored, &settled, 0..12_000, 70, None);
    assert!(restored == whole, "cut and restored");
    assert_eq!((whole.forest.trees.len(), whole.n_resting), (40, 0));
    let mut fresh = begun();
    let expected = learn(&mut fresh, &settled, 0..12_000, 12_000, None);
    let [found, expected] = [update, expected].map(|update| accuracy(&update, &settled, 9_000..12_000));
    assert!(found > expected - 0.01, "{found} {expected}");
}
