//! Leaf weights: the vote of a leaf counts as much as a power of the number of its rows.
//!
//! ```text
//! s_c = Σ_t n_t^γ · v_tc        n_t: weight of the rows in the leaf of tree t, v_tc: frequency of class c among them
//! ```
//!
//! With γ = 0 all trees count the same. Without label noise a small leaf lies near a class boundary, where its frequencies tell more than
//! those of a large leaf: γ below 0 is better. With label noise small leaves hold noise, and γ above 0 is better. Out-of-sample
//! predictions decide ([`Calibration::choose`]).
//!
//! [`Calibration::choose`]: crate::Calibration

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::params::{ForestParams, LeafPower, Probabilities};

/// The powers tried where none is given, the plain one first.
const POWERS: [f64; 3] = [0.0, -0.3, 0.3];

/// Bits of a size's fraction that count: sizes up to 63 are exact, others to one part in 32.
const FRACTION_BITS: u32 = 5;
const SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - FRACTION_BITS;
/// Sizes below and beyond these count as these.
const SMALLEST: f32 = 1.0 / 65_536.0;
const LARGEST: f32 = 16_777_216.0;

/// Leaf weights: a power of the size of leaves, from a table.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub(crate) struct LeafWeight {
    pub(crate) power: f64,
    table: Box<[f64]>,
}

impl LeafWeight {
    pub(crate) fn new(power: f64) -> Self {
        let value = |i: u32| f64::from(f32::from_bits((i + place(SMALLEST)) << SHIFT));
        let n = place(LARGEST) - place(SMALLEST) + 1;
        let table = (0..n).map(|i| if power == 0.0 { 1.0 } else { libm::pow(value(i), power) }).collect();
        Self { power, table }
    }

    /// The weight of a leaf of this size.
    #[inline]
    pub(crate) fn of(&self, size: f32) -> f64 {
        let at = place(size.clamp(SMALLEST, LARGEST)) - place(SMALLEST);
        self.table[at as usize]
    }

    /// The powers that a forest of these parameters may use, the one to use without out-of-sample predictions first: one where it is
    /// given, otherwise those that are tried.
    pub(crate) fn powers(params: &ForestParams) -> Vec<f64> {
        match (params.leaf_power, params.probabilities) {
            (LeafPower::Fixed(power), _) => vec![power],
            (LeafPower::Auto, Probabilities::Votes) => vec![0.0],
            (LeafPower::Auto, Probabilities::Leaf) => POWERS.to_vec(),
        }
    }

    /// All leaf weights that a forest of these parameters may use.
    pub(crate) fn candidates(params: &ForestParams) -> Vec<Self> {
        Self::powers(params).into_iter().map(Self::new).collect()
    }
}

impl From<f64> for LeafWeight {
    fn from(power: f64) -> Self {
        Self::new(power)
    }
}

impl From<LeafWeight> for f64 {
    fn from(leaf_weight: LeafWeight) -> Self {
        leaf_weight.power
    }
}

/// The place of a size among all sizes that are told apart.
#[inline]
fn place(size: f32) -> u32 {
    size.to_bits() >> SHIFT
}

impl fmt::Debug for LeafWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeafWeight({})", self.power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sizes_are_exact_and_large_ones_nearly_so() {
        for power in [-0.3, 0.3, 1.0] {
            let leaf_weight = LeafWeight::new(power);
            for n in 1..64_u16 {
                assert_eq!(leaf_weight.of(f32::from(n)), libm::pow(f64::from(n), power));
            }
            for size in [1e-4_f32, 0.37, 64.9, 1234.5, 1e6] {
                let exact = libm::pow(f64::from(size), power);
                assert!((leaf_weight.of(size) / exact - 1.0).abs() < 1.0 / 32.0, "{size} {power}");
            }
        }
    }

    #[test]
    fn impossible_sizes_do_no_harm() {
        for size in [0.0, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY] {
            assert!(LeafWeight::new(-0.3).of(size).is_finite());
        }
    }
}
