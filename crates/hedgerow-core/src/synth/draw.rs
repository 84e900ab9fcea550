//! Random numbers by what they are for.

use crate::rng::{Purpose, Rng};

/// What is drawn. Each has random numbers of its own, so that noise and changes of concept leave the features alone.
#[derive(Debug, Clone, Copy)]
pub(super) enum Draw {
    /// Values of the features, and classes where they come first.
    Features = 100,
    /// Errors in labels and features.
    Noise = 101,
    /// Which of two concepts a row follows while they are mixed.
    Mixing = 102,
    /// Slow motion of a concept.
    Motion = 103,
}

impl Draw {
    /// Its generator under a user's seed.
    pub(super) fn rng(self, seed: u64) -> Rng {
        Rng::new(seed, Purpose::Data, self as u64)
    }
}

/// The generator of the concept of this number.
pub(super) fn concept_rng(seed: u64, number: u64) -> Rng {
    Rng::new(seed, Purpose::Data, number.wrapping_add(1_000))
}

/// A number from 0 up to but not including 1 that is the same in 32 bits: labels are made from what the row holds.
#[inline]
pub(super) fn unit_f32(rng: &mut Rng) -> f32 {
    (rng.next_u64() >> 40) as f32 * (1.0 / (1_u32 << 24) as f32)
}

/// True with probability `p`. It takes one draw whatever `p` is.
#[inline]
pub(super) fn chance(rng: &mut Rng, p: f64) -> bool {
    rng.unit() < p
}
