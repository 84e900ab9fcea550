//! A plane that turns slowly (Hulten, Spencer and Domingos 2001).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draw::{Draw, chance, concept_rng, unit_f32};
use super::generator::{Draws, Source, numeric_columns, schema};
use super::recent::Recent;
use super::{Generator, Schedule};
use crate::data::{ClassId, MAX_FEATURES};
use crate::error::Result;
use crate::params::{Checked, Params, within};
use crate::rng::Rng;

/// How [`Generator::hyperplane`] makes its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HyperplaneParams {
    /// Number of columns, 1 or more.
    pub n_features: usize,
    /// How many of the plane's weights drift; those of the first columns do.
    pub n_drifting: usize,
    /// How much a drifting weight changes with each row, 0 to 1; 0 keeps the plane in place.
    pub magnitude: f64,
    /// Probability that a drifting weight turns round after a row, 0 to 1.
    pub reversal: f64,
    /// Share of rows with the wrong label, 0 to 1.
    pub noise: f64,
    /// Seed of all random choices: same seed, same rows.
    pub seed: u64,
}

impl Default for HyperplaneParams {
    fn default() -> Self {
        Self { n_features: 10, n_drifting: 2, magnitude: 0.001, reversal: 0.1, noise: 0.05, seed: 0 }
    }
}

impl Params for HyperplaneParams {
    fn rules(&self) -> Result<()> {
        within("n_features", self.n_features, 1..=MAX_FEATURES)?;
        within("n_drifting", self.n_drifting, 0..=self.n_features)?;
        within("magnitude", self.magnitude, 0.0..=1.0)?;
        within("reversal", self.reversal, 0.0..=1.0)?;
        within("noise", self.noise, 0.0..=1.0)
    }
}

impl Generator {
    /// Columns uniform from 0 to 1; the label is 1 where the weighted sum of the columns is at least half the sum of the weights.
    ///
    /// Each concept has weights of its own, uniform from 0 to 1. The drift of the weights is added to them: it is the same path
    /// whatever the concept, so a concept that returns is the same plane as before, but for the drift since.
    pub fn hyperplane(params: &Checked<HyperplaneParams>, schedule: Schedule) -> Self {
        let params = params.get();
        let schema = schema(numeric_columns(params.n_features), 2);
        Self::new(schema, params.seed, schedule, Hyperplane::new(params))
    }
}

struct Hyperplane {
    params: HyperplaneParams,
    motion: Rng,
    planes: Recent<Vec<f64>>,
    /// What has been added to each drifting weight.
    shifts: Vec<f64>,
    /// What the next row adds.
    steps: Vec<f64>,
}

impl Hyperplane {
    fn new(params: &HyperplaneParams) -> Self {
        let mut motion = Draw::Motion.rng(params.seed);
        let directions = (0..params.n_drifting).map(|_| if chance(&mut motion, 0.5) { 1.0 } else { -1.0 });
        Self {
            planes: Recent::new(),
            shifts: vec![0.0; params.n_drifting],
            steps: directions.map(|direction| direction * params.magnitude).collect(),
            motion,
            params: params.clone(),
        }
    }
}

impl Source for Hyperplane {
    fn next_into(&mut self, concept: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId {
        let HyperplaneParams { n_features, seed, noise, reversal, .. } = self.params;
        let plane = self.planes.get(concept, || {
            let mut rng = concept_rng(seed, concept);
            (0..n_features).map(|_| rng.unit()).collect()
        });
        row.extend((0..n_features).map(|_| unit_f32(&mut draws.features)));
        let shifts = self.shifts.iter().copied().chain(std::iter::repeat(0.0));
        // Σ w x ≥ ½ Σ w, as one sum.
        let side: f64 =
            row.iter().zip(plane).zip(shifts).map(|((&x, w), s)| (w + s) * (f64::from(x) - 0.5)).sum();
        for (shift, step) in self.shifts.iter_mut().zip(&mut self.steps) {
            *shift += *step;
            if chance(&mut self.motion, reversal) {
                *step = -*step;
            }
        }
        let is_wrong = chance(&mut draws.errors, noise);
        ClassId(u32::from((side >= 0.0) != is_wrong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::synth::Changes;

    fn still() -> HyperplaneParams {
        HyperplaneParams { magnitude: 0.0, noise: 0.0, seed: 5, ..HyperplaneParams::default() }
    }

    fn hyperplane(params: HyperplaneParams, schedule: Schedule) -> Generator {
        Generator::hyperplane(&params.check().unwrap(), schedule)
    }

    /// The share of rows from `start` on whose label the plane with these weights gives.
    fn agreement(data: &Dataset, rows: std::ops::Range<usize>, weights: &[f64]) -> f64 {
        let half = weights.iter().sum::<f64>() / 2.0;
        let agrees = |&row: &usize| {
            let sum: f64 =
                weights.iter().enumerate().map(|(j, w)| w * f64::from(data.features.value(row, j))).sum();
            (sum >= half) == (data.labels()[row] == ClassId(1))
        };
        rows.clone().filter(agrees).count() as f64 / rows.len() as f64
    }

    /// What makes the rows, after so many of them.
    fn after(params: &HyperplaneParams, n_rows: usize) -> Hyperplane {
        let (mut source, mut draws) = (Hyperplane::new(params), Draws::new(params.seed));
        for _ in 0..n_rows {
            source.next_into(0, &mut draws, &mut Vec::new());
        }
        source
    }

    /// The weights of the first concept.
    fn weights_of(params: &HyperplaneParams) -> Vec<f64> {
        after(params, 1).planes.get(0, Vec::new).clone()
    }

    #[test]
    fn labels_follow_the_formula_but_for_the_noise() {
        let data = hyperplane(still(), Schedule::none()).dataset(5_000).unwrap();
        let weights = weights_of(&still());
        assert_eq!(weights.len(), 10);
        assert!(weights.iter().all(|w| (0.0..1.0).contains(w)));
        assert_eq!(agreement(&data, 0..5_000, &weights), 1.0);
        let noisy = hyperplane(HyperplaneParams { noise: 0.05, ..still() }, Schedule::none()).dataset(50_000);
        // The standard error is 0.001.
        let share = agreement(&noisy.unwrap(), 0..50_000, &weights);
        assert!((share - 0.95).abs() < 0.004, "{share}");
    }

    #[test]
    fn classes_are_equally_frequent_even_as_the_plane_turns() {
        let params = HyperplaneParams { n_features: 20, n_drifting: 20, magnitude: 0.01, ..still() };
        let counts = hyperplane(params, Schedule::none()).dataset(50_000).unwrap().class_counts();
        assert!(counts[0].abs_diff(counts[1]) < 1_500, "{counts:?}");
    }

    #[test]
    fn the_plane_turns_by_the_magnitude_given() {
        let params = HyperplaneParams { n_drifting: 10, magnitude: 0.001, reversal: 0.0, ..still() };
        let data = hyperplane(params.clone(), Schedule::none()).dataset(4_000).unwrap();
        let (start, turning) = (weights_of(&params), after(&params, 4_000));
        let end: Vec<f64> = start.iter().zip(&turning.steps).map(|(w, step)| w + 4_000.0 * step).collect();
        assert!(turning.steps.iter().all(|step| step.abs() == 0.001));
        assert!(turning.shifts.iter().all(|shift| (shift.abs() - 4.0).abs() < 1e-9));
        assert!(agreement(&data, 0..50, &start) > 0.9);
        assert!(agreement(&data, 3_950..4_000, &end) > 0.9);
        assert!(agreement(&data, 3_000..4_000, &start) < 0.8);
    }

    #[test]
    fn drifting_weights_turn_round_as_often_as_they_should() {
        let params = HyperplaneParams { n_drifting: 1, magnitude: 0.001, reversal: 0.1, ..still() };
        let (mut turning, mut draws) = (Hyperplane::new(&params), Draws::new(params.seed));
        let mut turns = 0;
        for _ in 0..20_000 {
            let before = turning.steps[0];
            turning.next_into(0, &mut draws, &mut Vec::new());
            turns += usize::from(turning.steps[0] != before);
        }
        // The standard error is 42.
        assert!(turns.abs_diff(2_000) < 170, "{turns}");
    }

    #[test]
    fn a_concept_that_returns_is_the_same_plane() {
        let mut recurring = hyperplane(still(), Schedule::recurring(Changes::every(1_000).unwrap()));
        let data = recurring.dataset(3_000).unwrap();
        let first = weights_of(&still());
        assert_eq!(agreement(&data, 0..1_000, &first), 1.0);
        assert!(agreement(&data, 1_000..2_000, &first) < 0.95);
        assert_eq!(agreement(&data, 2_000..3_000, &first), 1.0);
    }
}
