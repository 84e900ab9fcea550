//! What holds for every generator.

use super::*;
use crate::data::Dataset;
use crate::params::Params as _;
use crate::testing::blobs;

/// Every generator under a seed and a schedule, by name.
fn all(seed: u64, schedule: &Schedule) -> Vec<(&'static str, Generator)> {
    let sea = SeaParams { seed, ..Default::default() }.check().unwrap();
    let hyperplane = HyperplaneParams { seed, ..Default::default() }.check().unwrap();
    let random_tree = RandomTreeParams { seed, noise: 0.05, ..Default::default() }.check().unwrap();
    let led = LedParams { seed, ..Default::default() }.check().unwrap();
    let swap = vec![["0".to_string(), "1".to_string()]];
    let label_swap = LabelSwapParams { swap, seed }.check().unwrap();
    let label_swap = Generator::label_swap(blobs(70, 4, 3, 1), &label_swap, schedule.clone()).unwrap();
    vec![
        ("sea", Generator::sea(&sea, schedule.clone())),
        ("hyperplane", Generator::hyperplane(&hyperplane, schedule.clone())),
        ("random tree", Generator::random_tree(&random_tree, schedule.clone())),
        ("led", Generator::led(&led, schedule.clone())),
        ("label swap", label_swap),
    ]
}

fn schedules() -> Vec<Schedule> {
    let changes = || Changes::at(vec![100, 250, 300]).unwrap();
    vec![
        Schedule::none(),
        Schedule::abrupt(changes()),
        Schedule::gradual(changes(), 40),
        Schedule::recurring(Changes::every(90).unwrap()),
        Schedule { width: 30, ..Schedule::recurring(Changes::every(90).unwrap()) },
    ]
}

fn datasets(seed: u64, schedule: &Schedule, n_rows: usize) -> Vec<(&'static str, Dataset)> {
    all(seed, schedule).into_iter().map(|(name, mut g)| (name, g.dataset(n_rows).unwrap())).collect()
}

#[test]
fn the_same_seed_makes_the_same_rows_and_another_seed_others() {
    for schedule in schedules() {
        let (first, second) = (datasets(5, &schedule, 400), datasets(5, &schedule, 400));
        assert_eq!(first, second);
        for ((name, a), (_, b)) in first.iter().zip(&datasets(6, &schedule, 400)) {
            assert_ne!(a.features, b.features, "{name}");
        }
    }
}

#[test]
fn a_row_does_not_depend_on_how_many_are_asked_for() {
    for schedule in schedules() {
        let whole = datasets(1, &schedule, 400);
        for ((name, whole), (_, mut generator)) in whole.iter().zip(all(1, &schedule)) {
            let (mut row, mut at) = (vec![9.0; 50], 0);
            for size in [1, 2, 97, 200, 100] {
                let part = generator.dataset(size - 1).unwrap();
                assert_eq!(part.labels(), &whole.labels()[at..at + size - 1], "{name}");
                assert_eq!(part.features.to_array(0..size - 1), whole.features.to_array(at..at + size - 1));
                let class = generator.next_into(&mut row);
                at += size;
                assert_eq!(class, whole.labels()[at - 1], "{name}");
                let same: Vec<f32> = whole.features.to_array(at - 1..at).into_iter().collect();
                assert_eq!(row, same, "{name}");
            }
        }
    }
}

#[test]
fn rows_fit_their_schema_and_changes_are_told() {
    for (name, mut generator) in all(3, &Schedule::abrupt(Changes::every(300).unwrap())) {
        // Making a data set checks classes and categories against the schema.
        let data = generator.dataset(1_000).unwrap();
        let present = data.class_counts().iter().filter(|&&n| n > 0).count();
        assert_eq!(present, data.schema.n_classes(), "{name}: a class never comes");
        assert_eq!(data.schema.target.as_deref(), Some("class"), "{name}");
        // They count from the start of the stream, whatever has been read.
        assert_eq!(generator.changes(901), [300, 600, 900], "{name}");
    }
}

#[test]
fn labels_differ_only_where_the_concept_does() {
    let still = datasets(3, &Schedule::none(), 1_500);
    let changed = datasets(3, &Schedule::abrupt(Changes::at(vec![500]).unwrap()), 1_500);
    for ((name, a), (_, b)) in still.iter().zip(&changed) {
        let differ = |row: usize| {
            a.labels()[row] != b.labels()[row]
                || a.features.to_array(row..row + 1) != b.features.to_array(row..row + 1)
        };
        assert!((0..500).all(|row| !differ(row)), "{name} changes too early");
        let n = (500..1_500).filter(|&row| differ(row)).count();
        assert!(n > 40, "{name}: only {n} of 1,000 rows are affected by the change");
    }
}

#[test]
fn streams_are_the_ones_they_have_always_been() {
    let schedule = Schedule::gradual(Changes::at(vec![250]).unwrap(), 100);
    let sums: Vec<u64> = datasets(7, &schedule, 500).iter().map(|(_, data)| sum_of(data)).collect();
    assert_eq!(sums, KNOWN_SUMS, "the same seed no longer makes the same rows");
}

/// A number that changes with any bit of any row.
fn sum_of(data: &Dataset) -> u64 {
    let values = data.features.to_array(0..data.n_rows()).into_iter().map(f32::to_bits);
    let labels = data.labels().iter().map(|class| class.0);
    values.chain(labels).fold(0, |sum: u64, bits| sum.wrapping_mul(0x0100_0000_01b3) ^ u64::from(bits))
}

const KNOWN_SUMS: [u64; 5] = [
    7_369_274_049_536_454_488,
    7_710_848_244_954_353_324,
    13_919_375_484_197_787_250,
    841_741_244_683_895_284,
    12_640_768_797_870_325_320,
];
