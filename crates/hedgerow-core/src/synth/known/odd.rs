//! Rows of which a few are odd, where others never are (Röder, 2013, table 5.1).

use super::{Draws, Truth};
use crate::data::ClassId;

/// Uniform or normal rows, and every so many rows an odd one. Class 1 are odd rows.
pub(super) struct Odd {
    n_features: usize,
    shape: Shape,
    /// The first of so many rows is odd.
    period: u64,
}

enum Shape {
    Cube,
    Normal,
    Square,
    Hole,
}

impl Odd {
    /// Uniform on a unit cube; the first column of odd rows lies one higher.
    pub(super) fn cube(n_features: usize) -> Self {
        Self { n_features, shape: Shape::Cube, period: 200 }
    }

    /// The first column like that; the others are standard normal.
    pub(super) fn normal(n_features: usize) -> Self {
        Self { n_features, shape: Shape::Normal, period: 200 }
    }

    /// Two columns uniform on the four unit squares beside the unit square in which odd rows lie; the others are uniform from 0 to 1.
    pub(super) fn square(n_features: usize) -> Self {
        Self { n_features, shape: Shape::Square, period: 1_000 }
    }

    /// Two columns uniform where a number lies from −2 to 2 but not both from −1 to 1, where odd rows lie; the others are uniform from 0 to 1.
    pub(super) fn hole(n_features: usize) -> Self {
        Self { n_features, shape: Shape::Hole, period: 1_000 }
    }

    fn is_odd(&self, row: &[f32]) -> bool {
        match self.shape {
            Shape::Cube | Shape::Normal => row[0] >= 1.0,
            Shape::Square => row[..2].iter().all(|x| (0.0..1.0).contains(x)),
            Shape::Hole => row[..2].iter().all(|x| (-1.0..1.0).contains(x)),
        }
    }
}

impl Truth for Odd {
    fn n_classes(&self) -> usize {
        2
    }

    fn draw(&self, n_made: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId {
        use crate::synth::draw::unit_f32;

        let is_odd = n_made.is_multiple_of(self.period);
        let rng = &mut draws.features;
        match self.shape {
            Shape::Cube | Shape::Normal => row.push(unit_f32(rng) + f32::from(u8::from(is_odd))),
            Shape::Square => {
                let mut at = [unit_f32(rng), unit_f32(rng)];
                let side = rng.index(4);
                if !is_odd {
                    // One step in one of two directions along one of two columns; rounding must not lead back into the middle.
                    let moved = at[side / 2] + [1.0, -1.0][side % 2];
                    at[side / 2] = if moved == 0.0 { -f32::EPSILON } else { moved };
                }
                row.extend(at);
            }
            Shape::Hole if is_odd => row.extend([0, 1].map(|_| 2.0 * unit_f32(rng) - 1.0)),
            Shape::Hole => loop {
                let at = [0, 1].map(|_| 4.0 * unit_f32(rng) - 2.0);
                if !self.is_odd(&at) {
                    row.extend(at);
                    break;
                }
            },
        }
        while row.len() < self.n_features {
            row.push(match self.shape {
                Shape::Normal => rng.normal() as f32,
                _ => unit_f32(rng),
            });
        }
        ClassId(u32::from(is_odd))
    }

    /// Certain: odd rows lie where no others do.
    fn probabilities(&self, row: &[f32]) -> Vec<f64> {
        let odd = f64::from(u8::from(self.is_odd(row)));
        vec![1.0 - odd, odd]
    }
}
