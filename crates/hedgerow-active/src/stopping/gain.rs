//! What the next labels would gain in accuracy.
//!
//! Probabilities of actively trained models are too poor a measure of accuracy to extrapolate it. What the last labels changed is a better one:
//! predictions that differ between two models some labels apart, less those that differ between two seeds, which no label would have changed.
//! A fixed share of them ([`RIGHT_SHARE`]) becomes right on balance, and accuracy grows with the logarithm of the labels, so that
//!
//! gain(k) = share · excess · ln((n + k)/n) / ln(m/(m − lag)),
//!
//! with n labels now and m the mean number of labels at the comparisons. `docs/math/stopping.md` tells how the share and the uncertainty were measured.

use serde::Serialize;

use super::history::{History, n_different};

/// How much accuracy grows for a prediction that changes beyond what another seed would change.
const RIGHT_SHARE: f64 = 0.4;
/// The standard deviation of the gain over its estimate.
const SPREAD: f64 = 0.7;
/// Half the width, in deviations, of the interval that holds 90 % of a normal distribution.
const NINETY: f64 = 1.644_853_626_951_472_2;

/// What more labels would gain in accuracy, as a share of rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// How many labels more.
    pub labels: usize,
    /// The expected gain.
    pub mean: f64,
    /// Its standard deviation.
    pub deviation: f64,
    /// The lower end of its 90 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Predictions that changed with labels beyond those that change with the seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Excess {
    /// The mean share of changed predictions, less that between seeds.
    pub(super) share: f64,
    /// Its standard deviation by the size of the stop set.
    pub(super) deviation: f64,
    /// The mean of ln(labels/earlier labels).
    pub(super) log_ratio: f64,
}

impl Excess {
    /// Over the comparisons of the last `window` labels, of models `lag` labels apart; none where there is no such comparison.
    pub(super) fn of(history: &History, lag: usize, window: usize) -> Option<Self> {
        let (mut n, mut changed, mut by_seed, mut log_ratio) = (0.0, 0.0, 0.0, 0.0);
        let mut n_rows = 1.0;
        for place in history.recent(window) {
            let now = &history.checkpoints()[place];
            let Some(before) = history.before(place, lag).filter(|before| before.n_labels > 0) else {
                continue;
            };
            n += 1.0;
            n_rows = now.predictions.len() as f64;
            changed += n_different(&before.predictions, &now.predictions) as f64 / n_rows;
            by_seed += now.seeds.map_or(0.0, |[_, differing]| differing);
            log_ratio += libm::log(now.n_labels as f64 / before.n_labels as f64);
        }
        if n == 0.0 {
            return None;
        }
        let [changed, by_seed, log_ratio] = [changed, by_seed, log_ratio].map(|sum| sum / n);
        // Comparisons overlap, so that their mean is hardly less variable than one of them.
        let variance = (changed * (1.0 - changed) + by_seed * (1.0 - by_seed)) / n_rows;
        Some(Self { share: changed - by_seed, deviation: variance.max(0.0).sqrt(), log_ratio })
    }
}

impl Gain {
    /// The gain of `labels` more labels; none before there are comparisons.
    pub fn estimate(history: &History, lag: usize, window: usize, labels: usize) -> Option<Self> {
        let n = history.last()?.n_labels as f64;
        let excess = Excess::of(history, lag, window)?;
        let factor = RIGHT_SHARE * libm::log1p(labels as f64 / n) / excess.log_ratio;
        let mean = factor * excess.share.max(0.0);
        let deviation = libm::hypot(factor * excess.deviation, SPREAD * mean);
        Some(Self {
            labels,
            mean,
            deviation,
            low: mean - NINETY * deviation,
            high: mean + NINETY * deviation,
        })
    }
}
