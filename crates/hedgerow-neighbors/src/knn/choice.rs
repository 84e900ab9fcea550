//! The choice of neighbors, reach, radius and artificial rows.
//!
//! The number of neighbors is chosen without artificial rows, since these can only take places; then they get as much room as the accuracy
//! allows, or as the distances of training rows suggest (Röder, 2013, section 3.6).

use hedgerow_core::ClassId;
use hedgerow_core::traits::largest;

use super::background::Background;
use super::settings::KnnSettings;
use super::{KnnMethod, KnnParams, weights, within_radius};
use crate::leave_one_out::{LeaveOneOut, best};
use crate::method::{Method as _, Near};
use crate::nearest::{Neighbor, nearest};

/// Numbers of neighbors that are tried.
const NUMBERS: [usize; 10] = [2, 3, 5, 8, 12, 18, 27, 40, 60, 90];
/// Neighbors where there is nothing to choose by.
const USUAL: usize = 10;
/// Artificial rows that are tried, for each training row.
const SHARES: [f64; 6] = [0.0, 0.125, 0.25, 0.5, 1.0, 2.0];
/// The least distance that is told from none.
const LEAST: f64 = 1e-6;

/// What leave-one-out predictions are made of.
struct Seen {
    neighbors: Vec<Neighbor>,
    /// The log-loss for each number of neighbors.
    losses: Vec<f64>,
}

/// Chooses what the parameters leave open; says how many settings were tried.
pub(super) fn choose(params: &KnnParams, rows: &LeaveOneOut<'_>) -> (KnnSettings, usize) {
    let (_, dimensions) = rows.points.spread();
    let most = rows.points.len().saturating_sub(1).max(1);
    let is_open = params.k == 0 && rows.has_two_classes();
    let numbers: Vec<usize> = match (params.k, is_open) {
        (0, true) => NUMBERS.iter().copied().filter(|k| *k <= most.max(NUMBERS[0])).collect(),
        (0, false) => vec![USUAL],
        (k, _) => vec![k],
    };
    let seen = rows.each(|near, class| see(rows, near, class, &numbers));
    let losses: Vec<_> = seen.iter().map(|seen| seen.losses.clone()).collect();
    let k = numbers[best(numbers.len(), &losses)];
    let mut settings = KnnSettings {
        k,
        dimensions,
        // As many artificial rows as neighbors up to there: fewer could not take the places of many neighbors, however far away these are.
        log_reach: libm::log(reach(params, &seen, k)) - libm::log(k as f64) / dimensions as f64,
        radius: 0.0,
        background: None,
    };
    let mut n_tried = if numbers.len() > 1 { numbers.len() } else { 0 };
    match params.method {
        KnnMethod::Probabilistic => {}
        KnnMethod::DataDriven => n_tried += choose_background(params, rows, &mut settings),
        KnnMethod::Epsilon => n_tried += choose_radius(params, rows, &seen, &numbers, &mut settings),
    }
    (settings, n_tried)
}

fn see(rows: &LeaveOneOut<'_>, near: &Near<'_>, class: ClassId, numbers: &[usize]) -> Seen {
    let most = numbers.iter().copied().max().unwrap_or(1);
    let neighbors = nearest(near.distances, most);
    let loss = |k: &usize| {
        let mut evidence = vec![0.0; rows.n_classes()];
        weights::each_weight(&neighbors, weights::plain(*k), |row, weight| {
            evidence[near.labels[row].index()] += weight * near.weight(row);
        });
        rows.loss(&evidence, class)
    };
    let losses = numbers.iter().map(loss).collect();
    Seen { neighbors, losses }
}

/// The distance of each row's k-th neighbor.
fn distances(params: &KnnParams, seen: &[Seen], k: usize) -> Vec<f64> {
    let of = |seen: &Seen| seen.neighbors.get(k - 1).or(seen.neighbors.last()).map(|neighbor| neighbor.0);
    seen.iter().filter_map(of).map(|measured| params.metric.distance(measured)).collect()
}

/// The mean distance of the k-th neighbor and some deviations more.
fn reach(params: &KnnParams, seen: &[Seen], k: usize) -> f64 {
    let distances = distances(params, seen, k);
    let n = distances.len().max(1) as f64;
    let mean = distances.iter().sum::<f64>() / n;
    let variance = distances.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / n;
    (mean + params.reach * libm::sqrt(variance)).max(LEAST)
}

/// The most artificial rows with which the accuracy is within a standard error of the best.
fn choose_background(params: &KnnParams, rows: &LeaveOneOut<'_>, settings: &mut KnnSettings) -> usize {
    let n = rows.points.len();
    let numbers: Vec<usize> = match params.n_artificial {
        0 if rows.has_two_classes() => SHARES.iter().map(|share| (share * n as f64) as usize).collect(),
        0 => vec![n],
        given => vec![given],
    };
    let seed = params.seed;
    if numbers.len() == 1 {
        settings.background = Some(Background::new(rows.points, numbers[0], seed));
        return 0;
    }
    let mut accuracies = Vec::with_capacity(numbers.len());
    for number in &numbers {
        settings.background = Some(Background::new(rows.points, *number, seed));
        let right = rows.each(|near, class| {
            let mut evidence = vec![0.0; rows.n_classes()];
            params.evidence(settings, near, &mut evidence);
            evidence.iter_mut().zip(&rows.prior).for_each(|(sum, prior)| *sum += prior);
            largest(&evidence) == Some(class.index())
        });
        accuracies.push(right.iter().filter(|right| **right).count() as f64 / right.len().max(1) as f64);
    }
    let highest = accuracies.iter().copied().fold(0.0, f64::max);
    let error = libm::sqrt(highest * (1.0 - highest) / rows.rows.len().max(1) as f64);
    let place = accuracies.iter().rposition(|accuracy| *accuracy >= highest - error).unwrap_or(0);
    settings.background = Some(Background::new(rows.points, numbers[place], seed));
    numbers.len()
}

/// The radius of least log-loss, of those that hold as many rows on average as there are neighbors to choose among.
fn choose_radius(
    params: &KnnParams,
    rows: &LeaveOneOut<'_>,
    seen: &[Seen],
    numbers: &[usize],
    settings: &mut KnnSettings,
) -> usize {
    if params.radius > 0.0 {
        settings.radius = params.radius;
        return 0;
    }
    let mean = |k: &usize| {
        let distances = distances(params, seen, *k);
        (distances.iter().sum::<f64>() / distances.len().max(1) as f64).max(LEAST)
    };
    let radii: Vec<f64> = numbers.iter().map(mean).collect();
    let losses = rows.each(|near, class| {
        let mut evidence = vec![0.0; rows.n_classes()];
        let mut loss = |radius: &f64| {
            within_radius(*radius, params.metric, near, &mut evidence);
            rows.loss(&evidence, class)
        };
        radii.iter().map(&mut loss).collect()
    });
    settings.radius = radii[best(radii.len(), &losses)];
    radii.len()
}
