//! Waveforms: a class is a random mixture of two of three triangles, with noise (Breiman, Friedman, Olshen and Stone, 1984, Classification and
//! regression trees).

use super::{Draws, Truth, shares};
use crate::data::ClassId;
use crate::special::normal::cdf;

const N_POINTS: usize = 21;

/// 21 points of waves, and columns of noise behind them.
pub(super) struct Waveform {
    n_features: usize,
}

impl Waveform {
    pub(super) fn new(n_features: usize) -> Self {
        Self { n_features }
    }
}

/// The height of a triangle at a point from 1 on.
fn triangle(number: usize, point: usize) -> f64 {
    let middle = [11, 7, 15][number];
    6.0 - f64::min((point as f64 - f64::from(middle)).abs(), 6.0)
}

/// The triangles that a class mixes.
const PAIRS: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

impl Truth for Waveform {
    fn n_classes(&self) -> usize {
        PAIRS.len()
    }

    fn draw(&self, _n_made: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId {
        let class = draws.features.index(PAIRS.len());
        let share = draws.features.unit();
        let [a, b] = PAIRS[class];
        let wave = |point: usize| share * triangle(a, point) + (1.0 - share) * triangle(b, point);
        for column in 0..self.n_features {
            let height = if column < N_POINTS { wave(column + 1) } else { 0.0 };
            row.push((height + draws.features.normal()) as f32);
        }
        ClassId(class as u32)
    }

    /// The density of a class is an integral over the share u of its first triangle. With b the second, g = a − b and r = x − b,
    /// |r − ug|² = |g|² (u − r·g/|g|²)² + |r|² − (r·g)²/|g|², so it is a difference of normal distribution functions.
    fn probabilities(&self, row: &[f32]) -> Vec<f64> {
        let log_density = |[a, b]: [usize; 2]| {
            let (mut gg, mut rg, mut rr) = (0.0, 0.0, 0.0);
            for (column, x) in row.iter().take(N_POINTS).enumerate() {
                let base = triangle(b, column + 1);
                let (g, r) = (triangle(a, column + 1) - base, f64::from(*x) - base);
                gg += g * g;
                rg += r * g;
                rr += r * r;
            }
            let (middle, length) = (rg / gg, libm::sqrt(gg));
            let (mut low, mut high) = (-middle * length, (1.0 - middle) * length);
            // Both in the lower tail, where differences keep their digits.
            if low > 0.0 {
                (low, high) = (-high, -low);
            }
            let mass = f64::max(cdf(high) - cdf(low), f64::MIN_POSITIVE);
            libm::log(mass) - libm::log(length) - 0.5 * (rr - rg * rg / gg)
        };
        shares(&PAIRS.map(log_density))
    }
}
