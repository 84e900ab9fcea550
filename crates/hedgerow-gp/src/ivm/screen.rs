//! Approximate information gains: most are small, and need not be computed exactly.
//!
//! A label lowers the entropy by `−½ log(1 − q)` with `q = ζ/(1 + ζ) · h(u)`, `h(u) = r (r + u)`, `r = φ(u)/Φ(u)`, which falls from 1
//! to 0. `h` is read from a table here.

use crate::special::density_ratio;

const LOW: f32 = -30.0;
const HIGH: f32 = 8.0;
const STEPS_PER_UNIT: f32 = 64.0;
/// An approximate value is off by less than this share of the exact one, or by less than 1e-9.
pub(super) const TOLERANCE: f32 = 2e-3;

/// The table.
pub(super) struct Screen {
    values: Vec<f32>,
    bias: f32,
}

impl Screen {
    pub(super) fn new(bias: f64) -> Self {
        let n = ((HIGH - LOW) * STEPS_PER_UNIT) as usize + 2;
        let value = |i: usize| {
            let u = f64::from(LOW) + i as f64 / f64::from(STEPS_PER_UNIT);
            let r = density_ratio(u);
            (r * (r + u)).clamp(0.0, 1.0) as f32
        };
        Self { values: (0..n).map(value).collect(), bias: bias as f32 }
    }

    /// q, nearly, for a label and a belief.
    #[inline]
    pub(super) fn share(&self, y: f32, mean: f32, variance: f32) -> f32 {
        let variance = variance.max(1e-9);
        let u = y * (mean + self.bias) / (1.0 + variance).sqrt();
        let most = variance / (1.0 + variance);
        if u >= HIGH {
            return 0.0;
        }
        if u <= LOW {
            return most;
        }
        let at = (u - LOW) * STEPS_PER_UNIT;
        let below = at as usize;
        let part = at - below as f32;
        most * (self.values[below] + part * (self.values[below + 1] - self.values[below]))
    }
}

/// What a row must look like at least if it could have some score.
pub(super) struct Bar {
    share: f32,
    /// The u beyond which `h` alone is too small, times its own size: `u² sign(u)`.
    signed_square: f32,
}

impl Screen {
    /// The bar for a score.
    pub(super) fn bar(&self, score: f64) -> Bar {
        let share = 1.0 - libm::exp(-2.0 * score.max(0.0));
        let share = (share * (1.0 - 2.0 * f64::from(TOLERANCE)) - 1e-8) as f32;
        // The table falls; beyond the first entry below the bar all are.
        let beyond = self.values.partition_point(|value| *value >= share);
        let u = LOW + (beyond + 1) as f32 / STEPS_PER_UNIT;
        Bar { share, signed_square: if beyond == 0 { f32::MAX } else { u * u.abs() } }
    }

    /// Whether a row is surely below a bar. Most are, and for most that takes neither a root nor a division.
    #[inline]
    pub(super) fn is_below(&self, y: f32, mean: f32, variance: f32, bar: &Bar) -> bool {
        let at = y * (mean + self.bias);
        at * at.abs() > bar.signed_square * (1.0 + variance.max(1e-9))
            || self.share(y, mean, variance) < bar.share
    }
}

#[cfg(test)]
mod tests {
    use super::super::site::Site;
    use super::*;

    #[test]
    fn no_row_that_could_have_a_score_is_below_its_bar() {
        let screen = Screen::new(0.4);
        let mut n_below = 0;
        for score in [1e-5, 0.01, 0.2, 0.7, 1.5] {
            let bar = screen.bar(score);
            for i in 0..2000 {
                let mean = -20.0 + 0.02 * f64::from(i);
                for (y, variance) in [(1.0, 0.2), (-1.0, 3.0), (1.0, 40.0)] {
                    let entropy = Site::new(y, mean, variance, 0.4).map_or(0.0, |site| site.entropy);
                    let is_below = screen.is_below(y as f32, mean as f32, variance as f32, &bar);
                    assert!(!is_below || entropy < score, "{mean} {y} {variance} {score}: {entropy}");
                    n_below += usize::from(is_below);
                }
            }
        }
        assert!(n_below > 10_000, "{n_below}");
    }

    #[test]
    fn the_quick_look_sees_what_a_close_one_does() {
        let screen = Screen::new(-0.7);
        for i in 0..4000 {
            let mean = -30.0 + 0.015 * f64::from(i);
            for (y, variance) in [(1.0, 0.3), (-1.0, 4.0), (1.0, 25.0)] {
                let exact =
                    Site::new(y, mean, variance, -0.7).map_or(0.0, |site| 1.0 - (-2.0 * site.entropy).exp());
                let quick = f64::from(screen.share(y as f32, mean as f32, variance as f32));
                let off = (quick - exact).abs();
                assert!(
                    off < 1e-7 || off < f64::from(TOLERANCE) * exact,
                    "{mean} {y} {variance}: {quick} {exact}"
                );
            }
        }
    }
}
