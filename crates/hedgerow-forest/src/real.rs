//! A value as it is, in an order that all values have.
//!
//! Rows that come one at a time cannot be numbered by rank: the values to come are not known. A tree that learns online
//! therefore works on the values themselves. There is one missing value and one zero, so equal values have equal bits.

use std::cmp::Ordering;

use hedgerow_core::rng::Rng;
use hedgerow_core::saved::Number;

use crate::codes::{Code, ColumnCodes};
use crate::tree::Value;

/// A 32-bit float with one `NaN`, above all others, and no negative zero.
#[derive(Debug, Clone, Copy, Default)]
#[repr(transparent)]
pub(crate) struct Real(f32);

impl Real {
    pub(crate) fn new(value: f32) -> Self {
        // Adding zero turns -0 into 0.
        Self(if value.is_nan() { f32::NAN } else { value + 0.0 })
    }
}

impl From<Real> for f32 {
    #[inline]
    fn from(real: Real) -> Self {
        real.0
    }
}

impl Value for Real {}

impl Number for Real {
    type Raw = f32;

    fn raw(self) -> f32 {
        self.0
    }

    fn from_raw(raw: f32) -> Option<Self> {
        Some(Self::new(raw))
    }
}

impl PartialEq for Real {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Real {}

impl PartialOrd for Real {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // Plain comparisons, which the compiler can do for many values at once. A missing value is never below anything.
    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.0 < other.0
    }

    #[inline]
    fn gt(&self, other: &Self) -> bool {
        self.0 > other.0
    }

    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.0 <= other.0
    }
}

impl Ord for Real {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }

    #[inline]
    fn min(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }

    #[inline]
    fn max(self, other: Self) -> Self {
        if other.0 > self.0 { other } else { self }
    }
}

impl Code for Real {
    const MISSING: Self = Self(f32::NAN);

    fn narrow(code: usize) -> Self {
        Self(code as f32)
    }

    #[inline]
    fn wide(self) -> usize {
        self.0 as usize
    }

    #[inline]
    fn between(low: Self, high: Self, rng: &mut Rng) -> Self {
        let (low, high) = (low.0, high.0);
        // Halved, because the distance of two large values may overflow.
        let cut = low + 2.0 * ((high * 0.5 - low * 0.5) * rng.unit() as f32);
        Self::new(if cut >= low && cut < high { cut } else { low })
    }

    fn middle(low: Self, high: Self) -> Self {
        let middle = low.0 * 0.5 + high.0 * 0.5;
        Self::new(if middle >= low.0 && middle < high.0 { middle } else { low.0 })
    }

    fn threshold(self, _: &ColumnCodes) -> f32 {
        self.0.next_up()
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::Purpose;

    use super::*;

    #[test]
    fn cuts_always_separate() {
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let pairs =
            [(0.0, 1.0), (-3e38, 3e38), (1.0, 1.0_f32.next_up()), (0.0, f32::MIN_POSITIVE), (-1e-40, 1e-40)];
        let column = ColumnCodes { meaning: crate::codes::Meaning::Value, has_missing: false };
        for (low, high) in pairs.map(|(low, high)| (Real::new(low), Real::new(high))) {
            for _ in 0..1000 {
                for cut in [Real::between(low, high, &mut rng), Real::middle(low, high)] {
                    assert!(low <= cut && cut < high, "{low:?} {cut:?} {high:?}");
                    let threshold = cut.threshold(&column);
                    assert!(low.0 < threshold && high.0 >= threshold, "{low:?} {threshold} {high:?}");
                }
            }
        }
    }

    #[test]
    fn missing_values_and_zeros_are_one() {
        assert_eq!(Real::new(-0.0), Real::new(0.0));
        assert_eq!(Real::new(-f32::NAN), Real::MISSING);
        assert!(
            Real::MISSING > Real::new(f32::MAX)
                || Real::MISSING.cmp(&Real::new(f32::MAX)) == Ordering::Greater
        );
        let is_below = Real::MISSING <= Real::new(0.0);
        assert!(!is_below, "a missing value is below nothing");
    }
}
