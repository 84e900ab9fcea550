use super::*;
use crate::params::Params as _;
use crate::synth::{
    Changes, Generator, HyperplaneParams, LabelSwapParams, LedParams, RandomTreeParams, Schedule, SeaParams,
};
use crate::testing::blobs;

/// Streams by their names, seeds and schedules.
fn stream(name: &str, seed: u64, schedule: Schedule) -> Generator {
    match name {
        "sea" => Generator::sea(&SeaParams { seed, ..Default::default() }.check().unwrap(), schedule),
        "hyperplane" => {
            let params = HyperplaneParams { seed, magnitude: 0.0, ..Default::default() };
            Generator::hyperplane(&params.check().unwrap(), schedule)
        }
        "rtg" => {
            let params = RandomTreeParams { seed, ..Default::default() };
            Generator::random_tree(&params.check().unwrap(), schedule)
        }
        "led" => Generator::led(&LedParams { seed, ..Default::default() }.check().unwrap(), schedule),
        _ => {
            let swap = vec![["0", "1"].map(String::from)];
            let params = LabelSwapParams { swap, seed }.check().unwrap();
            Generator::label_swap(blobs(1_000, 5, 4, seed), &params, schedule).unwrap()
        }
    }
}

const STREAMS: [&str; 5] = ["sea", "hyperplane", "rtg", "led", "label-swap"];

fn schedule(drift: &str, n_rows: u64) -> Schedule {
    let changes = Changes::spread(n_rows, 3);
    match drift {
        "abrupt" => Schedule::abrupt(changes),
        "gradual" => Schedule::gradual(changes, n_rows / 20),
        "recurring" => Schedule::recurring(changes),
        _ => Schedule::none(),
    }
}

fn history_of(stream: &mut Generator, n_rows: usize, batch: usize) -> StreamHistory {
    let mut history = StreamHistory::after(0);
    let mut left = n_rows;
    while left > 0 {
        let data = stream.dataset(batch.min(left)).unwrap();
        let x = data.features.to_array(0..data.n_rows());
        history.add(Rows::new(x.view(), data.labels(), None), &[], 0);
        left -= data.n_rows();
    }
    history
}

fn summary_of(name: &str, drift: &str, seed: u64, n_rows: u64) -> StreamSummary {
    let mut stream = stream(name, seed, schedule(drift, n_rows));
    history_of(&mut stream, n_rows as usize, 1_000).summary()
}

/// The drift of a stream that was made so. The third concept of a label swap is the first again.
fn true_word(name: &str, drift: &'static str) -> &'static str {
    if name == "label-swap" && drift != "stationary" { "recurring" } else { drift }
}

#[test]
fn stationary_streams_are_called_so() {
    for (seed, name) in (1..=8).flat_map(|seed| STREAMS.map(|name| (seed, name))) {
        let summary = summary_of(name, "stationary", seed, 5_000 + 2_000 * seed);
        assert_eq!((summary.drift(), &summary.changes[..]), ("stationary", &[][..]), "{name} {seed}");
    }
}

#[test]
fn most_drifts_of_short_streams_and_all_of_long_ones_are_called_right() {
    // Of 20 each. Of a gradual change in few rows not even this many rows show that it was one.
    for (n_rows, least) in [(10_000, [18, 9, 15]), (20_000, [18, 16, 17]), (50_000, [20, 18, 20])] {
        for (drift, least) in ["abrupt", "gradual", "recurring"].into_iter().zip(least) {
            let of_seed = |seed| STREAMS.map(|name| (name, seed, summary_of(name, drift, seed, n_rows)));
            let all: Vec<_> = (11..=14).flat_map(of_seed).collect();
            let right = all.iter().filter(|(name, _, summary)| summary.drift() == true_word(name, drift));
            println!("{drift} {n_rows}: {} of 20", right.clone().count());
            let wrong = || all.iter().map(|(name, seed, summary)| (name, seed, summary.text()));
            assert!(right.count() >= least, "{drift} {n_rows}: {:#?}", wrong().collect::<Vec<_>>());
        }
    }
}

#[test]
fn changes_are_placed_where_they_are() {
    for name in ["hyperplane", "rtg", "led", "label-swap"] {
        for (drift, most_off) in [("abrupt", 400), ("gradual", 1_200)] {
            let summary = summary_of(name, drift, 7, 40_000);
            let middles: Vec<u64> =
                summary.changes.iter().map(|change| (change.row + change.end) / 2).collect();
            let is_near = |(found, place): (&u64, u64)| found.abs_diff(place) <= most_off;
            let are_near = middles.iter().zip([10_000, 20_000, 30_000]).all(is_near);
            assert!(middles.len() == 3 && are_near, "{name} {drift}: {middles:?}");
            // Twelve to 88 % of a sigmoid of a width lie within it.
            let widths = summary.changes.iter().map(|change| change.end - change.row);
            let wanted = if drift == "gradual" { 1_000..4_000 } else { 0..1 };
            assert!(widths.clone().all(|width| wanted.contains(&width)), "{name} {drift}: {summary:?}");
        }
    }
}

#[test]
fn a_plane_that_turns_all_the_time_is_a_gradual_drift() {
    for seed in 1..=3 {
        let params = HyperplaneParams { seed, n_drifting: 10, ..Default::default() }.check().unwrap();
        let summary =
            history_of(&mut Generator::hyperplane(&params, Schedule::none()), 40_000, 1_000).summary();
        assert_eq!(summary.drift(), "gradual", "{}", summary.text());
    }
}

#[test]
fn what_only_a_detector_sees_is_told_as_it_says() {
    // Two classes in the corners of a square, which trade places: no mean changes.
    let mut stream = stream("label-swap", 3, Schedule::none());
    let mut history = history_of(&mut stream, 6_400, 640);
    let data = stream.dataset(1).unwrap();
    let drift = Drift { noticed_at: 5_100, since: 5_003, error_before: 0.1, error_after: 0.9 };
    let x = data.features.to_array(0..1);
    history.add(Rows::new(x.view(), data.labels(), None), &[drift], 0);
    assert_eq!(
        history.summary().changes,
        [ConceptChange { pace: Pace::Abrupt, row: 5_003, end: 5_003, returns_to: None }]
    );
    history.add(Rows::new(x.view(), data.labels(), None), &[], 5_000);
    assert_eq!(history.summary().drift(), "continual");
}

#[test]
fn rows_that_come_sorted_by_their_class_are_no_drift() {
    let data = blobs(4_000, 4, 3, 2);
    let mut order: Vec<usize> = (0..4_000).collect();
    order.sort_by_key(|&row| data.labels()[row]);
    // Twice, so that there is something to compare.
    let rows = data.select(&[order.clone(), order].concat());
    let x = rows.features.to_array(0..8_000);
    let mut history = StreamHistory::after(0);
    history.add(Rows::new(x.view(), rows.labels(), None), &[], 0);
    assert_eq!(history.summary().text(), "stationary: no concept drift was found");
}

#[test]
fn how_rows_are_cut_changes_nothing() {
    let of = |batch| history_of(&mut stream("led", 5, schedule("abrupt", 9_000)), 9_000, batch);
    let whole = of(9_000);
    for batch in [1, 7, 640, 4_096] {
        assert!(of(batch) == whole, "{batch} rows at a time");
    }
    assert_eq!(whole.n_rows(), 9_000);
}

#[test]
fn figures_are_those_of_all_rows_and_take_bounded_memory() {
    let mut stream = stream("hyperplane", 2, Schedule::none());
    let history = history_of(&mut stream, 40_000, 5_000);
    assert!(history.segments.len() <= MOST_SEGMENTS && history.segments.len() > MOST_SEGMENTS / 2 - 1);
    let whole = segment::joined(&history.segments);
    // By definition, from the same rows.
    let data = self::stream("hyperplane", 2, Schedule::none()).dataset(40_000).unwrap();
    for class in 0..2 {
        let rows: Vec<usize> = (0..40_000).filter(|&row| data.labels()[row].index() == class).collect();
        for figure in [0, 9] {
            let values = || rows.iter().map(|&row| f64::from(data.features.value(row, figure)));
            let mean = values().sum::<f64>() / rows.len() as f64;
            let scatter: f64 = values().map(|value| (value - mean) * (value - mean)).sum();
            let own = whole.at(segment::Place { class, figure: Some(figure) });
            assert_eq!(own.n, rows.len() as f64);
            assert!((own.value - mean).abs() < 1e-9 && (own.scatter / scatter - 1.0).abs() < 1e-9);
        }
        let own = whole.at(segment::Place { class, figure: None });
        assert_eq!((own.n, own.value), (40_000.0, rows.len() as f64 / 40_000.0));
    }
}

#[test]
fn columns_without_figures_of_their_own_are_added_up_and_missing_values_left_out() {
    let mut history = StreamHistory::after(0);
    let mut row = vec![0.0_f32; 40];
    (row[3], row[19], row[35], row[5]) = (1.0, 2.0, 4.0, f32::NAN);
    let x = ndarray::Array2::from_shape_vec((1, 40), row).unwrap();
    history.add(Rows::new(x.view(), &[ClassId(1)][..], None), &[], 0);
    let figures = (0..16).map(|i| history.segments[0].at(segment::Place { class: 1, figure: Some(i) }).value);
    assert_eq!(figures.enumerate().filter(|(_, value)| *value != 0.0).collect::<Vec<_>>(), [(3, 7.0)]);
}

#[test]
fn a_sentence_tells_it() {
    let change = |pace, row, end, returns_to| ConceptChange { pace, row, end, returns_to };
    let changes = vec![
        change(Pace::Abrupt, 1_000, 1_000, None),
        change(Pace::Gradual, 2_000, 2_500, None),
        change(Pace::Abrupt, 4_000, 4_000, Some(0)),
    ];
    let summary = StreamSummary { rows: 5_000, never_stops: false, changes };
    assert_eq!(
        summary.text(),
        "abrupt drifts at rows 1,000, 4,000; gradual drift at row 2,000 to 2,500; recurring concepts: at row 4,000 that of row 0"
    );
    let mut summary = StreamSummary { changes: vec![change(Pace::Abrupt, 7, 7, None); 11], ..summary };
    assert_eq!(summary.text(), "abrupt drifts at rows 7, 7, 7, 7, 7, 7, 7, 7 and 3 more");
    summary.never_stops = true;
    assert!(summary.drift() == "continual" && summary.text().starts_with("drift that never stops"));
}

#[test]
fn impossible_figures_are_refused() {
    let history = history_of(&mut stream("sea", 1, Schedule::none()), 700, 700);
    assert!(history.is_valid() && StreamHistory::default().is_valid());
    let damaged: [fn(&mut StreamHistory); 6] = [
        |history| history.n_figures = 17,
        |history| history.n_figures = 2,
        |history| history.len = u64::MAX,
        |history| history.n_current = 65,
        |history| history.alarms = vec![u64::MAX],
        |history| history.segments[0].counts[0] = -1.0,
    ];
    for damage in damaged {
        let mut history = history.clone();
        damage(&mut history);
        assert!(!history.is_valid());
    }
}
