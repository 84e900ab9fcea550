//! Random numbers by what they are for.

use crate::rng::{Purpose, Rng};

/// What is drawn. Each has random numbers of its own, so that noise and changes of concept leave the features alone.
#[derive(Debug, Clone, Copy)]
pub(super) enum Draw {
    /// Values of the features, and classes where they come first.
    Features,
    /// Errors in labels and features.
    Noise,
    /// Which of two concepts a row follows while they are mixed.
    Mixing,
    /// Slow motion of a concept.
    Motion,
    /// The concept of this number.
    Concept(u64),
}

impl Draw {
    /// Its generator under a user's seed.
    pub(super) fn rng(self, seed: u64) -> Rng {
        let index = match self {
            Self::Features => 100,
            Self::Noise => 101,
            Self::Mixing => 102,
            Self::Motion => 103,
            Self::Concept(number) => number.wrapping_add(1_000),
        };
        Rng::new(seed, Purpose::Data, index)
    }
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
