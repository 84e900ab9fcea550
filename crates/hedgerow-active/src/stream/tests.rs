use hedgerow_core::Params as _;
use hedgerow_core::rng::{Purpose, Rng};
use ndarray::{Array1, array};

use super::*;

fn params(rate: f64) -> StreamQueryParams {
    StreamQueryParams { rate, ..StreamQueryParams::default() }
}

fn querier(params: &StreamQueryParams) -> StreamQuerier {
    StreamQuerier::new(params.clone().check().unwrap())
}

/// Two probabilities that are so uncertain.
fn proba(uncertainty: f64) -> Array1<f64> {
    array![1.0 - uncertainty / 2.0, uncertainty / 2.0]
}

#[test]
fn uncertainty_is_that_of_the_two_largest_probabilities() {
    let of = |p: Array1<f64>| uncertainty(p.view());
    assert!((of(array![0.2, 0.5, 0.3]) - 0.8).abs() < 1e-15);
    assert_eq!(
        [of(array![0.5, 0.5]), of(array![1.0, 0.0]), of(array![]), of(array![1.0])],
        [1.0, 0.0, 1.0, 1.0]
    );
    assert!((of(proba(0.3)) - 0.3).abs() < 1e-15);
}

#[test]
fn there_are_never_more_labels_than_the_rate_allows() {
    let mut rng = Rng::new(1, Purpose::Data, 0);
    for rate in [0.01, 0.05, 0.3, 1.0] {
        for level in [0.0, 0.5, 1.0] {
            let mut querier = querier(&params(rate));
            for row in 1..=3_000_u32 {
                querier.query(proba(level * rng.unit()).view());
                assert!(querier.n_queried() as f64 <= rate * f64::from(row) + 1e-9, "{rate} {level} {row}");
            }
            // Constant uncertainty of 0 leaves the random share.
            let least = if level == 0.0 { 0.1 } else { 0.75 };
            let share = querier.n_queried() as f64 / (3_000.0 * rate);
            assert!(share > least, "rate {rate}, up to {level}: {share:.2} of the labels were asked for");
            assert_eq!(querier.n_seen(), 3_000);
        }
    }
}

#[test]
fn the_threshold_follows_the_stream() {
    // A model that grows a hundred times as certain half way: the most uncertain tenth is still found.
    let mut rng = Rng::new(2, Purpose::Data, 0);
    let mut querier = querier(&StreamQueryParams { random_share: 0.0, ..params(0.1) });
    let (mut hits, mut asked) = (0, 0);
    for row in 0..20_000 {
        let scale = if row < 10_000 { 1.0 } else { 0.01 };
        let level = rng.unit();
        let is_asked = querier.query(proba(scale * level).view()).is_some();
        let counts = (2_000..10_000).contains(&row) || row > 12_000;
        asked += usize::from(is_asked && counts);
        hits += usize::from(is_asked && counts && level > 0.8);
    }
    assert!(asked > 1_200 && hits as f64 > 0.85 * f64::from(asked as u32), "{hits} of {asked}");
}

#[test]
fn random_queries_do_not_depend_on_the_model() {
    let params = StreamQueryParams { random_share: 0.5, ..params(0.2) };
    let random = |level: f64| {
        let mut querier = querier(&params);
        let rows = (0..2_000).filter(|_| querier.query(proba(level).view()) == Some(Because::Random));
        let rows: Vec<i32> = rows.collect();
        assert_eq!(rows.len() as u64, querier.n_random());
        rows
    };
    let (certain, uncertain) = (random(0.0), random(1.0));
    assert!((150..250).contains(&certain.len()), "{}", certain.len());
    // Some of those that were drawn are not allowed, where others have spent the labels.
    assert!(uncertain.iter().filter(|row| certain.contains(row)).count() == uncertain.len());
    let mut all_random = querier(&StreamQueryParams { random_share: 1.0, ..params.clone() });
    assert!((0..500).all(|_| all_random.query(proba(1.0).view()) != Some(Because::Uncertain)));
}

#[test]
fn what_was_kept_goes_on_as_what_was_not() {
    let mut rng = Rng::new(3, Purpose::Data, 0);
    let mut straight = querier(&params(0.1));
    let mut kept = straight.clone();
    for _ in 0..500 {
        let proba = proba(rng.unit());
        kept = serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
        assert_eq!(straight.query(proba.view()), kept.query(proba.view()));
    }
    kept.check().unwrap();
    assert!(kept == straight);
}

#[test]
fn of_a_batch_the_most_uncertain_rows_are_chosen() {
    let params = StreamQueryParams { random_share: 0.0, batch: 20, ..params(0.2) };
    let mut querier = BatchQuerier::new(params.clone().check().unwrap());
    let batch: Vec<f64> = (0..20).map(|row| f64::from(row * 7 % 20) / 20.0).collect();
    let rows: Vec<usize> = querier.query(&batch).into_iter().map(|(row, _)| row).collect();
    assert_eq!(rows.iter().map(|row| row * 7 % 20).collect::<Vec<_>>(), [19, 18, 17, 16]);
    let above = StreamQueryParams { threshold: 0.87, ..params.clone() };
    assert_eq!(BatchQuerier::new(above.check().unwrap()).query(&batch).len(), 2);
    // With a random share, and batches of any size, never more than the rate allows.
    let mixed = StreamQueryParams { random_share: 0.3, ..params };
    let mut querier = BatchQuerier::new(mixed.check().unwrap());
    let mut rng = Rng::new(4, Purpose::Data, 0);
    for size in (1..60).cycle().take(600) {
        let uncertainty: Vec<f64> = (0..size).map(|_| rng.unit()).collect();
        let chosen = querier.query(&uncertainty);
        assert!(chosen.iter().all(|(row, _)| *row < size));
        assert!(querier.n_queried() as f64 <= 0.2 * querier.n_seen() as f64 + 1e-9);
    }
    let [asked, random] = [querier.n_queried() as f64, querier.n_random() as f64];
    assert!(asked > 0.17 * querier.n_seen() as f64, "{asked}");
    assert!((0.2..0.4).contains(&(random / asked)), "{random} of {asked}");
}

#[test]
fn parameters_have_ranges() {
    let wrong = |params: StreamQueryParams| params.check().unwrap_err().to_string();
    assert!(wrong(params(0.0)).contains("rate") && wrong(params(1.5)).contains("up to 1"));
    assert!(wrong(params(f64::NAN)).contains("rate"));
    assert!(wrong(StreamQueryParams { step: 0.0, ..params(0.1) }).contains("step"));
    assert!(wrong(StreamQueryParams { batch: 0, ..params(0.1) }).contains("batch"));
    assert!(wrong(StreamQueryParams { random_share: 1.1, ..params(0.1) }).contains("random_share"));
}
