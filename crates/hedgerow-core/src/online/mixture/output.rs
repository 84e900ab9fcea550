//! One way to calibrate a prediction: `q_c ∝ exp(a · ln p_c + b · p_c + Σ_m v_m · ln p_mc)`.
//!
//! The power `a` is a temperature. The contrast `b` sharpens what is undecided more than what is nearly sure, as label noise asks for: there no
//! prediction should be surer than the labels are. The exponents `v_m` let members correct the pool, negative ones too. The log-loss is convex in
//! all of them; they follow its gradient, a small step with every row.

use super::{FLOOR, MOST_LOSS};

/// Steps of power and contrast, and where they stay. A contrast below minus the power would turn predictions round.
const STEP_OF_POWER: f64 = 0.01;
const POWERS: [f64; 2] = [0.1, 3.0];
const STEP_OF_CONTRAST: f64 = 0.1;
const MOST_CONTRAST: f64 = 12.0;
/// The largest exponent of a member.
const MOST_EXPONENT: f64 = 4.0;

/// What an output has learnt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Output {
    /// The discounted log-loss.
    pub(super) loss: f64,
    pub(super) power: f64,
    pub(super) contrast: f64,
    /// The exponent of each member; none where members have none.
    pub(super) exponents: Vec<f64>,
}

crate::columns! {
    OutputColumns of Output {
        all numbers: f64 = |output| [output.loss, output.power, output.contrast],
        lists exponents: f64 = |output| output.exponents.iter().copied(),
    }
    |OutputColumns { numbers, exponents }| {
        let (numbers, rest) = numbers.0.as_chunks();
        let output = |(&[loss, power, contrast], exponents): (&[f64; 3], &[f64])| {
            Output { loss, power, contrast, exponents: exponents.to_vec() }
        };
        let fits = rest.is_empty() && numbers.len() == exponents.n_lists();
        fits.then(|| numbers.iter().zip(exponents.iter()).map(output).collect())
    }
}

impl Output {
    pub(super) fn new(n_exponents: usize) -> Self {
        Self { loss: 0.0, power: 1.0, contrast: 0.0, exponents: vec![0.0; n_exponents] }
    }

    /// Forgets what it knows about the members.
    pub(super) fn restart(&mut self, loss: f64) {
        self.loss = loss;
        self.exponents.fill(0.0);
    }

    /// The prediction from probabilities with their logarithms, and those of each member.
    pub(super) fn predict(&self, [p, logs]: [&[f64]; 2], members: &[f64]) -> Vec<f64> {
        let mut scores: Vec<f64> =
            p.iter().zip(logs).map(|(p, log)| self.power * log + self.contrast * p).collect();
        for (exponent, logs) in self.exponents.iter().zip(members.chunks(p.len())) {
            scores.iter_mut().zip(logs).for_each(|(score, log)| *score += exponent * log);
        }
        soft_max(&mut scores);
        scores
    }

    /// Learns the label of a row that it has predicted: how much the row counts, and the step of the exponents.
    pub(super) fn learn(
        &mut self,
        predicted: &[f64],
        [p, logs]: [&[f64]; 2],
        members: &[f64],
        [weight, step]: [f64; 2],
        label: usize,
    ) {
        let slope = |feature: &[f64]| {
            feature.iter().zip(predicted).map(|(value, p)| value * p).sum::<f64>() - feature[label]
        };
        let follow = |at: f64, step: f64, feature: &[f64], [least, most]: [f64; 2]| {
            (at - weight * step * slope(feature)).clamp(least, most)
        };
        self.power = follow(self.power, STEP_OF_POWER, logs, POWERS);
        self.contrast = follow(self.contrast, STEP_OF_CONTRAST, p, [-self.power, MOST_CONTRAST]);
        for (exponent, logs) in self.exponents.iter_mut().zip(members.chunks(p.len())) {
            *exponent = follow(*exponent, step, logs, [-MOST_EXPONENT, MOST_EXPONENT]);
        }
    }

    /// Whether what was read is possible, and has the form of another.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let within = |[least, most]: [f64; 2], value: f64| (least..=most).contains(&value);
        self.exponents.len() == other.exponents.len()
            && within([0.0, MOST_LOSS], self.loss)
            && within(POWERS, self.power)
            && within([-self.power, MOST_CONTRAST], self.contrast)
            && self.exponents.iter().all(|exponent| exponent.abs() <= MOST_EXPONENT)
    }
}

/// Turns scores into probabilities, none of them 0.
pub(super) fn soft_max(scores: &mut [f64]) {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|score| *score = libm::exp(*score - most).max(FLOOR * FLOOR));
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
}
