//! Measures stopping advice on tables: `stopping [--seeds N] [--price P] TABLE:TARGET ...`.
//!
//! For each seed, a third of the rows (2,000 at most) is for testing, a quarter of the rest (1,000 at most) is the stop set, and of the rest 2,000
//! at most are the pool: margin queries of five rows, a forest of 50 trees, up to 400 labels. A stop is right if accuracy is within a point of that
//! at the end; a curve is flat if it stays within a point of its end from 60 % of the labels on. With prices of an error relative to a label
//! (horizon included), the cost rule is compared with the best stop in hindsight.

use hedgerow_active::stopping::{Observed, RuleName, Stopper, StoppingParams};
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::traits::most_probable;
use hedgerow_core::{Budget, Classifier as _, Dataset, Error, Par, Params as _, Result, Silent, Training};
use hedgerow_forest::{Forest, ForestParams};
use hedgerow_io::{ColumnRef, ReadOptions, read_dataset};
use ndarray::Array2;

const MOST_LABELS: usize = 400;
const BATCH: usize = 5;
/// Horizon times the price of an error over the price of a label.
const STAKES: [u64; 4] = [1_000, 3_000, 10_000, 30_000];

/// Accuracy by labels, where the rules stop.
struct Run {
    curve: Vec<(usize, f64)>,
    stops: Vec<Option<usize>>,
}

#[allow(clippy::print_stdout)]
fn main() -> Result<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let mut n_seeds = 6;
    if args.first().is_some_and(|arg| arg == "--seeds") {
        n_seeds = args[1].parse().map_err(|_| Error::param("--seeds", "a number", &args[1]))?;
        args.drain(..2);
    }
    let mut all = Vec::new();
    println!("set              runs  stops  right  flat  flat stopped  mean labels");
    for arg in &args {
        let (file, target) = arg.rsplit_once(':').ok_or_else(|| Error::param("table", "FILE:TARGET", arg))?;
        let options =
            ReadOptions { target: Some(ColumnRef::Name(target.to_owned())), ..ReadOptions::default() };
        let data = read_dataset(file.as_ref(), &options, None)?;
        let runs = (0..n_seeds).map(|seed| run(&data, seed)).collect::<Result<Vec<_>>>()?;
        let name = file.rsplit('/').next().unwrap_or(file);
        println!("{:16} {}", name.split('.').next().unwrap_or(name), stability(&runs));
        all.extend(runs);
    }
    println!("{:16} {}", "all", stability(&all));
    for (place, stakes) in STAKES.iter().enumerate() {
        let regrets: Vec<f64> =
            all.iter().map(|run| regret(run, run.stops[place + 1], *stakes as f64)).collect();
        let never: Vec<f64> = all.iter().map(|run| regret(run, None, *stakes as f64)).collect();
        let mean = |values: &[f64]| 100.0 * values.iter().sum::<f64>() / values.len() as f64;
        println!(
            "cost, stakes {stakes}: mean regret {:.1} %, without a stop {:.1} %",
            mean(&regrets),
            mean(&never)
        );
    }
    Ok(())
}

/// How often, and how often rightly, relative stability stops.
fn stability(runs: &[Run]) -> String {
    let (mut stops, mut right, mut flat, mut flat_stopped, mut labels) = (0, 0, 0, 0, 0);
    for run in runs {
        let n = run.curve.len();
        let end = mean_around(&run.curve, n - 1, 4);
        let is_flat = (0..n)
            .filter(|i| run.curve[*i].0 * 10 >= run.curve[n - 1].0 * 6)
            .all(|i| (mean_around(&run.curve, i, 2) - end).abs() <= 0.01);
        let stop = run.stops[0].filter(|i| *i + 1 < n);
        stops += usize::from(stop.is_some());
        flat += usize::from(is_flat);
        flat_stopped += usize::from(is_flat && stop.is_some());
        right += usize::from(stop.is_some_and(|i| mean_around(&run.curve, i, 2) >= end - 0.01));
        labels += stop.map_or(0, |i| run.curve[i].0);
    }
    let per = |n: usize| labels.checked_div(n).map_or("-".into(), |mean| mean.to_string());
    format!("{:4}  {stops:5}  {right:5}  {flat:4}  {flat_stopped:12}  {:>11}", runs.len(), per(stops))
}

/// What stopping cost over the best stop in hindsight, from the minimum of labels on.
fn regret(run: &Run, stop: Option<usize>, stakes: f64) -> f64 {
    let cost = |i: usize| run.curve[i].0 as f64 + stakes * (1.0 - mean_around(&run.curve, i, 3));
    let open = (0..run.curve.len()).filter(|i| run.curve[*i].0 >= 50);
    let best = open.map(cost).fold(f64::INFINITY, f64::min);
    cost(stop.unwrap_or(run.curve.len() - 1)) / best - 1.0
}

/// Accuracy, smoothed over neighbors.
fn mean_around(curve: &[(usize, f64)], at: usize, reach: usize) -> f64 {
    let near = &curve[at.saturating_sub(reach)..(at + reach + 1).min(curve.len())];
    near.iter().map(|point| point.1).sum::<f64>() / near.len() as f64
}

fn run(data: &Dataset, seed: u64) -> Result<Run> {
    let par = Par::sequential();
    let mut order: Vec<usize> = (0..data.n_rows()).collect();
    Rng::new(seed, Purpose::Sample, 0).shuffle(&mut order);
    let n_test = (order.len() / 3).min(2_000);
    let n_stop = ((order.len() - n_test) / 4).min(1_000);
    let (test, stop) = (data.select(&order[..n_test]), data.select(&order[n_test..n_test + n_stop]));
    let mut pool: Vec<usize> = order.into_iter().skip(n_test + n_stop).take(2_000).collect();
    let mut labelled = pool.split_off(pool.len().saturating_sub(10));
    let rows = |data: &Dataset| data.features.to_array(0..data.n_rows());
    let (test_x, stop_x) = (rows(&test), rows(&stop));
    let mut stoppers = vec![Stopper::new(StoppingParams::default().check()?)];
    for horizon in STAKES {
        let params = StoppingParams { rule: RuleName::Cost, horizon, ..StoppingParams::default() };
        stoppers.push(Stopper::new(params.check()?));
    }
    let mut run = Run { curve: Vec::new(), stops: vec![None; stoppers.len()] };
    while labelled.len() <= MOST_LABELS {
        let training_rows = data.select(&labelled);
        let classes = training_rows.labels();
        if classes.iter().all(|class| *class == classes[0]) {
            labelled.extend(pool.split_off(pool.len().saturating_sub(BATCH)));
            continue;
        }
        let forest = |seed: u64| -> Result<Forest> {
            let params = ForestParams { n_trees: 50, seed, ..ForestParams::default() }.check()?;
            let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
            Ok(Forest::fit(&training_rows, &params, &training)?.forest)
        };
        let n_labels = labelled.len();
        let [main, other] = [forest(2 * n_labels as u64)?, forest(2 * n_labels as u64 + 1)?];
        let predictions = most_probable(main.predict_proba(test_x.view(), &par)?.view());
        let n_right = predictions.into_iter().zip(test.labels()).filter(|(a, b)| a == *b).count();
        let [proba, other]: [Array2<f64>; 2] =
            [main.predict_proba(stop_x.view(), &par)?, other.predict_proba(stop_x.view(), &par)?];
        for (stopper, stop) in stoppers.iter_mut().zip(&mut run.stops) {
            let observed =
                Observed { other_seed: Some(other.view()), ..Observed::new(n_labels, proba.view()) };
            if stopper.observe(&observed)?.stop && stop.is_none() {
                *stop = Some(run.curve.len());
            }
        }
        run.curve.push((n_labels, n_right as f64 / n_test as f64));
        if pool.is_empty() {
            break;
        }
        let proba = main.predict_proba(rows(&data.select(&pool)).view(), &par)?;
        let margin = |place: usize| {
            let mut row = proba.row(place).to_vec();
            row.sort_by(|a, b| b.total_cmp(a));
            row[0] - row.get(1).copied().unwrap_or(0.0)
        };
        let mut places: Vec<(f64, usize)> = (0..pool.len()).map(|place| (margin(place), place)).collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut chosen: Vec<usize> = places.into_iter().take(BATCH).map(|(_, place)| place).collect();
        chosen.sort_unstable();
        labelled.extend(chosen.into_iter().rev().map(|place| pool.remove(place)));
    }
    Ok(run)
}
