//! Random numbers that are the same on every computer, for every number of threads.
//!
//! Each tree, each bag, each anything has a generator of its own, seeded from (seed, purpose, index). No generator is
//! shared, so the order in which jobs run cannot matter, and no two jobs share a stream.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

/// What a generator is for; part of its seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Growing a tree.
    Tree = 1,
    /// Choosing the rows of a tree.
    Bag = 2,
    /// Shuffling a column to see what it was worth.
    Permutation = 3,
    /// Choosing the height at which the forest kernel compares.
    KernelHeight = 4,
    /// Choosing rows for an estimate.
    Sample = 5,
    /// Making data for tests and demonstrations.
    Data = 6,
    /// Splitting a leaf of a tree that learns.
    Leaf = 7,
    /// Choosing held-out rows and folds.
    Validation = 8,
    /// Drawing from second-order distributions.
    SecondOrder = 9,
    /// Choosing rows to be labelled.
    Query = 14,
    /// Choosing rows that outlier scores compare others with.
    Reference = 20,
}

/// The project's generator: xoshiro256++.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The generator for job number `index` of a purpose under a user's seed.
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        let key = mix(mix(mix(seed).wrapping_add(purpose as u64)).wrapping_add(index));
        Self(Xoshiro256PlusPlus::seed_from_u64(key))
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number from 0 to `n - 1` (0 if `n` is 0), by the upper bits of a product: the bias is below n / 2^32.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.0.next_u64() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// An index into something of length `n`.
    #[inline]
    pub fn index(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// A number from 0 up to but not including 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A draw from the standard normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }

    /// At most so many of `n` places, drawn at random, in rising order; none if they are all.
    pub fn sample(&mut self, n: usize, most: usize) -> Option<Vec<usize>> {
        if n <= most {
            return None;
        }
        let mut places: Vec<usize> = (0..n).collect();
        self.shuffle(&mut places);
        places.truncate(most);
        places.sort_unstable();
        Some(places)
    }

    /// Puts a slice into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.index(i + 1));
        }
    }
}

/// The finaliser of splitmix64: every input bit reaches every output bit.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_do_not_share_a_stream() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..20 {
            for purpose in [Purpose::Tree, Purpose::Bag] {
                for index in 0..50 {
                    assert!(seen.insert(Rng::new(seed, purpose, index).next_u64()));
                }
            }
        }
    }

    #[test]
    fn the_stream_is_the_one_it_has_always_been() {
        let mut rng = Rng::new(7, Purpose::Tree, 3);
        let first: Vec<u32> = (0..4).map(|_| rng.below(1000)).collect();
        assert_eq!(first, FIRST_DRAWS, "a changed stream would change every model");
    }

    const FIRST_DRAWS: [u32; 4] = [871, 594, 35, 593];
}
