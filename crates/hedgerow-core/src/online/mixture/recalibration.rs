//! The last step of calibration: the largest probability is moved by what was right of such predictions so far.
//!
//! Power and contrast give a curve its shape; what they cannot describe stays as a bias that the labels show. So the bias is followed at knots of
//! the largest probability, linear in between, and subtracted. Nothing that a forecaster of any kind leaves out of account in its own probability survives
//! this (Foster & Hart, 2023, "Calibeating": beating forecasters at their own game). After a change of concept, while members learn it, the bias of all
//! predictions moves faster than knots can follow: the mean residual of the newest rows is taken off too, shrunk by what chance would make of it
//! (James & Stein, 1961). Where a prediction is calibrated already, all this is noise: how far it is followed depends on what it has gained so far. The
//! predicted class stays the same.

use serde::{Deserialize, Serialize};

use crate::saved::array;
use crate::traits::largest;

/// Intervals between the knots.
const N_INTERVALS: usize = 10;
/// The share of a row's residual that a knot follows: after so many rows at least, and more while there are few.
const LEAST_STEP: f64 = 0.002;
const PRIOR_ROWS: f64 = 20.0;
/// The share of a row's residual in the mean of the newest ones.
const RECENT_STEP: f64 = 0.01;
/// Squares of the mean residual below this multiple of its variance count as chance.
const CHANCE: f64 = 2.0;
/// The most that log-odds are moved by it.
const MOST_ODDS: f64 = 3.0;
/// The gain that is taken for granted, how much a gain counts one row later, and the most that is counted.
const PRIOR_GAIN: f64 = 1.0;
const GAIN_DISCOUNT: f64 = 0.999;
const MOST_GAIN: f64 = 6.0;
/// The most that is left to a class, and the least that the others share.
const MOST: f64 = 1.0 - 1e-4;

/// What is known about the bias of the largest probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Recalibration {
    /// What is added at each knot, and the rows that it has followed.
    #[serde(with = "array")]
    shifts: Vec<f64>,
    #[serde(with = "array")]
    rows: Vec<f64>,
    /// The mean residual of the newest rows at the knots, and the variance that their probabilities imply.
    residual: f64,
    variance: f64,
    /// The discounted log-loss of whether predictions are right without the step less that with all of it.
    gain: f64,
}

/// The most probable class of a prediction, its probability before it was moved, and after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Top {
    class: usize,
    before: f64,
    /// As the knots moved it.
    at_knots: f64,
    /// With all of the step, and with the part of it that is followed.
    moved: f64,
    after: f64,
}

impl Default for Recalibration {
    fn default() -> Self {
        let zeros = || vec![0.0; N_INTERVALS + 1];
        Self { shifts: zeros(), rows: zeros(), residual: 0.0, variance: 0.1, gain: 0.0 }
    }
}

impl Recalibration {
    /// Moves the largest probability. The others keep their proportions, unless it is to fall below the second: then all move towards each other.
    pub(super) fn apply(&self, proba: &mut [f64]) -> Top {
        let Some(class) = largest(&*proba) else { return Top::default() };
        let before = proba[class];
        let rest = 1.0 - before;
        if rest <= 1.0 - MOST {
            return Top { class, before, at_knots: before, moved: before, after: before };
        }
        let shift: f64 = knots(before).into_iter().map(|(knot, share)| share * self.shifts[knot]).sum();
        let at_knots = (before + shift).clamp(1.0 - MOST, MOST);
        let odds = at_knots / (1.0 - at_knots) * libm::exp(self.log_odds());
        let others = proba.iter().enumerate().filter(|(other, _)| *other != class);
        let second = others.map(|(_, p)| *p).fold(0.0, f64::max);
        // Below this another class would be the most probable one.
        let least = second / (rest + second) * (1.0 + 1e-9);
        let even = 1.0 / proba.len() as f64;
        let moved = (odds / (1.0 + odds)).clamp(even.min(before), MOST);
        let wanted = before + (moved - before) / (1.0 + libm::exp(-PRIOR_GAIN - self.gain));
        let alone = wanted.max(least);
        proba.iter_mut().for_each(|p| *p *= (1.0 - alone) / rest);
        proba[class] = alone;
        let share = (alone - wanted.max(even)) / (alone - even);
        if share > 0.0 {
            // Not all the way: one stays the most probable.
            let share = share.min(MOST);
            proba.iter_mut().for_each(|p| *p += share * (even - *p));
        }
        Top { class, before, at_knots, moved, after: proba[class] }
    }

    /// How far the log-odds of all predictions are moved by the mean residual of the newest rows. At first order a step `d` moves each probability by
    /// `d p (1 - p)`, and so their mean by `d` times the variance.
    fn log_odds(&self) -> f64 {
        let square = self.residual * self.residual;
        let chance = CHANCE * self.variance * RECENT_STEP / (2.0 - RECENT_STEP);
        if square <= chance {
            return 0.0;
        }
        let shrunk = self.residual * (1.0 - chance / square);
        (shrunk / self.variance.max(1e-6)).clamp(-MOST_ODDS, MOST_ODDS)
    }

    /// Learns the label of a row that it has predicted. A row of weight 2 counts like two rows.
    pub(super) fn learn(&mut self, top: Top, label: usize, weight: f64) {
        let is_right = top.class == label;
        let (moved, before) =
            if is_right { (top.moved, top.before) } else { (1.0 - top.moved, 1.0 - top.before) };
        let gain = libm::log(moved / before);
        if gain.is_finite() {
            self.gain = (GAIN_DISCOUNT * self.gain + weight * gain).clamp(-MOST_GAIN, MOST_GAIN);
        }
        let residual = f64::from(u8::from(is_right)) - top.at_knots;
        let step = (weight * RECENT_STEP).min(1.0);
        self.residual += step * (residual - self.residual);
        self.variance += step * (top.at_knots * (1.0 - top.at_knots) - self.variance);
        for (knot, share) in knots(top.before) {
            self.rows[knot] += weight * share;
            let step = LEAST_STEP.max(1.0 / (PRIOR_ROWS + self.rows[knot]));
            self.shifts[knot] =
                (self.shifts[knot] + (weight * share * step).min(1.0) * residual).clamp(-1.0, 1.0);
        }
    }

    /// Whether what was read is possible.
    pub(super) fn is_valid(&self) -> bool {
        [&self.shifts, &self.rows].iter().all(|list| list.len() == N_INTERVALS + 1)
            && self.shifts.iter().all(|shift| shift.abs() <= 1.0)
            && self.rows.iter().all(|rows| (0.0..1e18).contains(rows))
            && self.residual.abs() <= 1.0
            && (0.0..=0.25).contains(&self.variance)
            && self.gain.abs() <= MOST_GAIN
    }
}

/// The two knots next to a probability, and how much each counts.
fn knots(p: f64) -> [(usize, f64); 2] {
    let at = p.clamp(0.0, 1.0) * N_INTERVALS as f64;
    let below = (at as usize).min(N_INTERVALS - 1);
    let share = at - below as f64;
    [(below, 1.0 - share), (below + 1, share)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn any_bias_of_the_largest_probability_goes() {
        // What is right of those that are given p is a curve that no power describes.
        let truth = |p: f64| 0.5 + 0.45 * libm::sqrt(2.0 * p - 1.0) * (2.0 - 2.0 * p).max(0.3);
        let (mut found, mut rng) = (Recalibration::default(), Rng::new(3, Purpose::Data, 0));
        let (mut before, mut after, n) = ([[0.0; 2]; 10], [[0.0; 2]; 10], 40_000);
        for row in 0..n {
            let p = 0.5 + 0.5 * rng.unit();
            let label = usize::from(rng.unit() > truth(p));
            let mut proba = [p, 1.0 - p];
            let top = found.apply(&mut proba);
            assert!((proba[0] + proba[1] - 1.0).abs() < 1e-12 && proba[0] >= 0.5 && top.class == 0);
            if row > n / 2 {
                for (bins, p) in [(&mut before, p), (&mut after, proba[0])] {
                    let bin = &mut bins[((p - 0.5) * 20.0).min(9.0) as usize];
                    *bin = [bin[0] + p, bin[1] + f64::from(u8::from(label == 0))];
                }
            }
            found.learn(top, label, 1.0);
            assert!(found.is_valid());
        }
        let ece = |bins: [[f64; 2]; 10]| {
            bins.iter().map(|[sure, right]| (sure - right).abs()).sum::<f64>() / f64::from(n / 2)
        };
        assert!(ece(before) > 0.08 && ece(after) < 0.02, "{} {}", ece(before), ece(after));
    }

    #[test]
    fn a_bias_of_all_predictions_that_comes_and_goes_is_followed() {
        // The bias rises for 300 rows and falls for 300, as when a concept changes and is learnt.
        let (mut n, mut sums) = (0.0, [0.0; 2]);
        for seed in 0..40 {
            let (mut found, mut rng) = (Recalibration::default(), Rng::new(seed, Purpose::Data, 0));
            for row in 0..4000 {
                let p = 0.6 + 0.3 * rng.unit();
                let away = f64::from(row - 3000).abs();
                let bias = if away < 300.0 { -0.3 * (1.0 - away / 300.0) } else { 0.0 };
                let label = usize::from(rng.unit() > p + bias);
                let mut proba = [p, 1.0 - p];
                let top = found.apply(&mut proba);
                if (2950..3050).contains(&row) {
                    n += 1.0;
                    sums[0] += p - (p + bias);
                    sums[1] += top.after - (p + bias);
                }
                found.learn(top, label, 1.0);
                assert!(found.is_valid());
            }
        }
        let [before, after] = sums.map(|sum| sum / n);
        assert!(before > 0.25 && after < 0.13, "{before} {after}");
    }

    #[test]
    fn chance_moves_hardly_anything() {
        let (mut found, mut rng) = (Recalibration::default(), Rng::new(5, Purpose::Data, 0));
        let (mut moved, n) = (0.0, 20_000);
        for _ in 0..n {
            let p = 0.55 + 0.4 * rng.unit();
            let mut proba = [p, 1.0 - p];
            let top = found.apply(&mut proba);
            moved += (top.after - p).powi(2) / f64::from(n);
            found.learn(top, usize::from(rng.unit() > p), 1.0);
        }
        // The variance of the mean residual alone is 0.001.
        assert!(moved > 0.0 && moved < 2e-4, "{moved}");
    }

    #[test]
    fn the_predicted_class_and_the_proportions_of_the_others_stay() {
        let whole = || Recalibration { gain: f64::INFINITY, ..Recalibration::default() };
        let mut down = whole();
        let mut moved = |shift: f64| {
            down.shifts.fill(shift);
            let mut proba = [0.2, 0.5, 0.3];
            let top = down.apply(&mut proba);
            assert_eq!((top.class, largest(&proba), top.after), (1, Some(1), proba[1]));
            assert!((proba.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            proba
        };
        let proba = moved(-0.1);
        assert!((proba[1] - 0.4).abs() < 1e-9 && (proba[2] / proba[0] - 1.5).abs() < 1e-9, "{proba:?}");
        // Below 0.3 of 0.8 it would be less probable than the second: from there on all come closer.
        let proba = moved(-0.14);
        assert!((proba[1] - 0.36).abs() < 1e-9 && (proba[2] - 0.36).abs() < 1e-8, "{proba:?}");
        assert!(proba[0] > 0.25 && proba[0] < 0.36);
        assert!(moved(-0.9).iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-4));
        let mut up = whole();
        up.shifts.fill(0.9);
        let mut proba = [0.2, 0.5, 0.3];
        up.apply(&mut proba);
        assert_eq!(proba[1], MOST);
        // With nothing learnt, nothing changes; what is sure stays, and no classes do no harm.
        let mut proba = [0.2, 0.5, 0.3];
        Recalibration::default().apply(&mut proba);
        assert!(proba.iter().zip([0.2, 0.5, 0.3]).all(|(p, expected)| (p - expected).abs() < 1e-12));
        assert_eq!(up.apply(&mut [1.0, 0.0]).after, 1.0);
        assert_eq!(up.apply(&mut []), Top::default());
    }
}
