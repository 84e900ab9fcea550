//! Values of known rows, and how large another value is among them.

/// Values of known rows in rising order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    sorted: Vec<f64>,
    /// The mean excess of the largest values over their threshold: how fast the tail falls.
    unit: f64,
}

/// The share of the values that the tail is fitted to.
const TAIL: f64 = 0.05;
/// Values of the tail at least.
const LEAST_TAIL: usize = 5;

impl Known {
    /// Of some values, which must not be NaN; differences below `least_unit` hardly count, however alike the values are.
    pub(super) fn new(mut values: Vec<f64>, least_unit: f64) -> Self {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let n_tail = ((TAIL * n as f64) as usize).max(LEAST_TAIL).min(n.saturating_sub(1));
        let threshold = values.get(n.saturating_sub(n_tail + 1)).copied().unwrap_or(0.0);
        let excess: f64 = values.iter().rev().take(n_tail).map(|value| value - threshold).sum();
        let mean = excess / n_tail.max(1) as f64;
        Self { sorted: values, unit: mean.max(least_unit) }
    }

    /// How many known values there are.
    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The share of known values above this one: ties count half, between two known values it falls in a straight line, and above the largest, where
    /// it is `1/(n + 1)`, the second value says how far above, in units of the tail.
    fn above(&self, value: f64) -> (f64, f64) {
        let n = self.sorted.len();
        let below = self.sorted.partition_point(|known| *known < value);
        let upto = self.sorted.partition_point(|known| *known <= value);
        // The place among n known values, from 0 below the smallest to n + 1 above the largest.
        let place = if upto > below {
            // Among ties, the middle.
            (below + 1 + upto) as f64 / 2.0
        } else if below == 0 {
            0.5
        } else if below == n {
            n as f64
        } else {
            let (low, high) = (self.sorted[below - 1], self.sorted[below]);
            let first = self.sorted.partition_point(|known| *known < low);
            let last = self.sorted.partition_point(|known| *known <= high);
            let [from, to] = [(first + 1 + below) as f64 / 2.0, (below + 1 + last) as f64 / 2.0];
            from + (to - from) * ((value - low) / (high - low)).clamp(0.0, 1.0)
        };
        let far = self.sorted.last().map_or(0.0, |largest| ((value - largest) / self.unit).max(0.0));
        ((n as f64 + 1.0 - place) / (n as f64 + 1.0), far)
    }

    /// How surprising a value is: the negative logarithm of the share of known values above it, with an exponential tail above the largest.
    pub(super) fn surprise(&self, value: f64) -> f64 {
        let (above, far) = self.above(value);
        far - libm::log(above)
    }

    /// The share of known values below this one, from 0 to 1. It keeps rising above the largest: slowly, so that rounding leaves no two values alike.
    pub(super) fn share_below(&self, value: f64) -> f64 {
        let (above, far) = self.above(value);
        1.0 - above / (1.0 + far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_by_hand() {
        let known = Known::new(vec![3.0, 1.0, 2.0, 2.0], 0.1);
        let near = |value: f64, expected: f64| {
            assert!(
                (known.share_below(value) - expected).abs() < 1e-12,
                "{value}: {}",
                known.share_below(value)
            );
        };
        // Places 1, 2.5, 2.5 and 4 of 5.
        near(1.0, 0.2);
        near(2.0, 0.5);
        near(1.5, 0.35);
        near(2.5, 0.65);
        near(3.0, 0.8);
        near(-9.0, 0.1);
        assert!((known.surprise(3.0) - 5.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn both_rise_without_end() {
        let known = Known::new((0..200).map(|i| f64::from(i % 50)).collect(), 0.1);
        let values: Vec<f64> = (0..400).map(|i| f64::from(i) * 0.7).chain([1e4, 1e6, 1e9]).collect();
        for pair in values.windows(2) {
            assert!(known.share_below(pair[0]) < known.share_below(pair[1]), "{pair:?}");
            assert!(known.surprise(pair[0]) < known.surprise(pair[1]), "{pair:?}");
        }
        assert!(known.share_below(1e9) < 1.0);
        // All alike: whatever is larger stands out.
        let alike = Known::new(vec![0.0; 30], 0.01);
        assert!(alike.share_below(0.0) == 0.5 && alike.share_below(0.1) > 0.95);
    }
}
