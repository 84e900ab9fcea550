//! An axis: which values it spans and where its ticks are.

/// Most ticks that are ever drawn.
const MOST_TICKS: i64 = 12;

/// From 0 to 1 with ticks at fifths.
pub(super) const UNIT: Axis = Axis { low: 0.0, high: 1.0, step: 0.2 };

/// A span of values with ticks at round numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// From 0 to the largest of the values, with about `n_ticks` ticks.
    pub(super) fn from_zero(values: impl Iterator<Item = f64>, n_ticks: usize) -> Self {
        let high = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        let high = if high > 1e-12 { high } else { 1.0 };
        Self { low: 0.0, high, step: round_step(high / n_ticks as f64) }
    }

    /// The same, ending at a tick.
    pub(super) fn up_to_tick(self) -> Self {
        Self { high: (self.high / self.step - 1e-9).ceil() * self.step, ..self }
    }

    /// Around shares, from a tick to a tick and never beyond 0 and 1.
    pub(super) fn around_shares(values: impl Iterator<Item = f64>, n_ticks: usize) -> Self {
        const LEAST_SPAN: f64 = 0.02;
        let [low, high] = ends(values).map(|v| v.clamp(0.0, 1.0));
        let missing = (LEAST_SPAN - (high - low)).max(0.0);
        let (low, high) = ((low - missing / 2.0).max(0.0), (high + missing / 2.0).min(1.0));
        let step = round_step((high - low) / n_ticks as f64);
        let low = ((low / step + 1e-9).floor() * step).max(0.0);
        let high = ((high / step - 1e-9).ceil() * step).min(1.0);
        Self { low, high, step }
    }

    /// From one value to a larger one, with about `n_ticks` ticks.
    pub(super) fn between([low, high]: [f64; 2], n_ticks: usize) -> Self {
        let is_span = low.is_finite() && high.is_finite() && high > low;
        let [low, high] = if is_span { [low, high] } else { [0.0, 1.0] };
        Self { low, high, step: round_step((high - low) / n_ticks as f64) }
    }

    /// Where a value lies, as a share of the axis.
    pub(super) fn share(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// The values of the ticks.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let first = (self.low / self.step - 1e-6).ceil() as i64;
        let last = (self.high / self.step + 1e-6).floor() as i64;
        (first..=last.min(first.saturating_add(MOST_TICKS))).map(|k| k as f64 * self.step).collect()
    }

    /// Decimals that tell neighboring ticks apart after multiplying with `factor`.
    pub(super) fn decimals(&self, factor: f64) -> usize {
        (-(self.step * factor).log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize
    }
}

/// The smallest and the largest of the values that are finite; 0 and 1 where there are none.
pub(super) fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let finite = values.filter(|v| v.is_finite());
    let ends = finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)]);
    if ends[0] > ends[1] { [0.0, 1.0] } else { ends }
}

/// The smallest of 1, 2, 5, 10, … that is not below a step.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powi(least.log10().floor() as i32);
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|m| m * power)
        .find(|&s| s >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: &[f64], want: &[f64]) {
        assert_eq!(got.len(), want.len(), "{got:?}");
        assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())), "{got:?}");
    }

    #[test]
    fn ticks_are_round_and_inside() {
        close(&Axis::from_zero([1797.0].into_iter(), 6).ticks(), &[0.0, 500.0, 1000.0, 1500.0]);
        close(&Axis::from_zero([1e9].into_iter(), 5).ticks(), &[0.0, 2e8, 4e8, 6e8, 8e8, 1e9]);
        close(&Axis::from_zero([0.31].into_iter(), 3).up_to_tick().ticks(), &[0.0, 0.2, 0.4]);
    }

    #[test]
    fn shares_stay_between_0_and_1() {
        let axis = Axis::around_shares([0.912, 0.978].into_iter(), 4);
        close(&axis.ticks(), &[0.9, 0.92, 0.94, 0.96, 0.98]);
        assert_eq!(axis.decimals(100.0), 0);
        for same in [0.0, 0.5, 1.0] {
            let axis = Axis::around_shares([same].into_iter(), 4);
            assert!((0.0..=1.0).contains(&axis.share(same)));
            assert!(axis.low >= 0.0 && axis.high <= 1.0 && axis.low < axis.high);
            assert!(axis.ticks().len() >= 2, "{axis:?}");
        }
    }

    #[test]
    fn an_axis_of_nothing_is_still_an_axis() {
        for axis in [
            Axis::from_zero([].into_iter(), 5),
            Axis::from_zero([f64::NAN, -1.0].into_iter(), 5),
            Axis::from_zero([1e-320].into_iter(), 5).up_to_tick(),
            Axis::from_zero([1e300].into_iter(), 5).up_to_tick(),
            Axis::around_shares([].into_iter(), 5),
            Axis::between([f64::NAN, 1.0], 5),
            Axis::between([-1e30, 1e30], 5),
        ] {
            assert!(axis.ticks().len() >= 2);
            assert!(axis.share(0.5).is_finite());
        }
    }
}
