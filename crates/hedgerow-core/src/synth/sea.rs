//! SEA: a line in two of three columns (Street and Kim 2001).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draw::{chance, unit_f32};
use super::generator::{Draws, Source, numeric_columns, schema};
use super::{Generator, Schedule};
use crate::data::ClassId;
use crate::error::Result;
use crate::params::{Checked, Params, within};

const N_FEATURES: usize = 3;

/// The threshold of each concept.
const THETAS: [f64; 4] = [8.0, 9.0, 7.0, 9.5];

/// How [`Generator::sea`] makes its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SeaParams {
    /// Share of rows with the wrong label, 0 to 1.
    pub noise: f64,
    /// Seed of all random choices: same seed, same rows.
    pub seed: u64,
}

impl Default for SeaParams {
    fn default() -> Self {
        Self { noise: 0.1, seed: 0 }
    }
}

impl Params for SeaParams {
    fn rules(&self) -> Result<()> {
        within("noise", self.noise, 0.0..=1.0)
    }
}

impl Generator {
    /// Three columns, uniform from 0 to 10; the label is 1 where x0 + x1 ≤ θ and 0 elsewhere, and x2 says nothing. The four
    /// concepts have θ = 8, 9, 7 and 9.5; a fifth is the first again.
    pub fn sea(params: &Checked<SeaParams>, schedule: Schedule) -> Self {
        let params = params.get().clone();
        Self::new(schema(numeric_columns(N_FEATURES), 2), params.seed, schedule, params)
    }
}

impl Source for SeaParams {
    fn next_into(&mut self, concept: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId {
        let theta = THETAS[(concept % THETAS.len() as u64) as usize];
        row.extend((0..N_FEATURES).map(|_| 10.0 * unit_f32(&mut draws.features)));
        let is_below = f64::from(row[0]) + f64::from(row[1]) <= theta;
        let is_wrong = chance(&mut draws.errors, self.noise);
        ClassId(u32::from(is_below != is_wrong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::Changes;

    fn sea(noise: f64, schedule: Schedule) -> Generator {
        Generator::sea(&SeaParams { noise, seed: 3 }.check().unwrap(), schedule)
    }

    /// The share of `n_rows` rows whose label says x0 + x1 ≤ θ rightly.
    fn share_right(sea: &mut Generator, n_rows: usize, theta: f32) -> f64 {
        let mut row = Vec::new();
        let is_right = |_: &usize| {
            let class = sea.next_into(&mut row);
            assert!(row.iter().all(|x| (0.0..10.0).contains(x)));
            (row[0] + row[1] <= theta) == (class == ClassId(1))
        };
        (0..n_rows).filter(is_right).count() as f64 / n_rows as f64
    }

    #[test]
    fn labels_follow_the_four_thresholds_and_begin_again() {
        let mut sea = sea(0.0, Schedule::abrupt(Changes::every(2_000).unwrap()));
        for theta in [8.0, 9.0, 7.0, 9.5, 8.0] {
            assert_eq!(share_right(&mut sea, 2_000, theta), 1.0, "{theta}");
        }
    }

    #[test]
    fn a_tenth_of_the_labels_is_wrong() {
        // The standard error is 0.0013.
        let share = share_right(&mut sea(0.1, Schedule::none()), 50_000, 8.0);
        assert!((share - 0.9).abs() < 0.005, "{share}");
    }

    #[test]
    fn classes_are_as_frequent_as_the_line_says() {
        // The corner below x0 + x1 = 8 is 32 of 100; the standard error is 0.002.
        let counts = sea(0.0, Schedule::none()).dataset(50_000).unwrap().class_counts();
        let share = counts[1] as f64 / 50_000.0;
        assert!((share - 0.32).abs() < 0.008, "{share}");
    }

    #[test]
    fn two_concepts_recur() {
        let mut sea = sea(0.0, Schedule::recurring(Changes::every(1_000).unwrap()));
        for theta in [8.0, 9.0, 8.0, 9.0, 8.0] {
            assert_eq!(share_right(&mut sea, 1_000, theta), 1.0);
        }
    }

    #[test]
    fn half_of_the_rows_in_the_middle_of_a_gradual_change_are_new() {
        let mut sea = sea(0.0, Schedule::gradual(Changes::at(vec![20_000]).unwrap(), 4_000));
        let mut row = Vec::new();
        // Rows between the two lines tell which one was followed; an eighth of the width about the middle is near 1/2.
        let (mut old, mut new) = ([0.0; 3], [0.0; 3]);
        for i in 0..40_000 {
            let class = sea.next_into(&mut row);
            let part = match i {
                0..10_000 => 0,
                19_750..20_250 => 1,
                30_000.. => 2,
                _ => continue,
            };
            let sum = row[0] + row[1];
            if sum > 8.0 && sum <= 9.0 {
                *(if class == ClassId(1) { &mut new[part] } else { &mut old[part] }) += 1.0;
            }
        }
        let share: Vec<f64> = (0..3).map(|part| new[part] / (old[part] + new[part])).collect();
        assert!(share[0] < 0.01 && share[2] > 0.99, "{share:?}");
        assert!((share[1] - 0.5).abs() < 0.2, "{share:?} of {} rows", old[1] + new[1]);
    }

    #[test]
    fn noise_must_be_a_share() {
        let message = SeaParams { noise: 1.5, seed: 0 }.check().unwrap_err().to_string();
        assert_eq!(message, "parameter noise: expected 0 to 1, got 1.5");
        assert!(SeaParams { noise: f64::NAN, seed: 0 }.check().is_err());
    }
}
