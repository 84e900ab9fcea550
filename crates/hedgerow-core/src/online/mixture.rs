//! A mixture of predictions, weighted and calibrated by how well each has predicted the rows before their labels were known.
//!
//! The members of an ensemble predict a row; its label comes; what the mixture knows about the members moves with the loss of each. Nothing is ever
//! fitted to rows that a member has learnt, so the mixture stays calibrated where a concept drift makes older calibrations wrong.
//! With one member it is a calibration alone. `docs/math/horizons.md` has the formulae and what the mixture can lose against its best member.

mod output;
mod recalibration;

use serde::{Deserialize, Serialize};

use crate::saved::{array, columns};
use output::Output;
use recalibration::{Recalibration, Top};

/// Smallest probability that is taken from a member: a member that excludes a class must not be able to rule it out.
const FLOOR: f64 = 1e-4;
/// Smallest probability of which a log-loss is told.
const LEAST: f64 = 1e-15;
/// How much a loss counts one row later.
const DISCOUNT: f64 = 0.98;
/// The same for the frequencies of the newest labels.
const LABEL_DISCOUNT: f64 = 0.8;
/// The prior weight of the first member, where the others have 1.
const PRIOR_OF_FIRST: f64 = 3.0;
/// The share of the weight that always follows the prior, so that a member can come back (fixed share: Herbster & Warmuth, 1998).
const SHARE_OF_MEMBERS: f64 = 0.01;
const SHARE_OF_OUTPUTS: f64 = 0.02;
/// How fast power and contrast move in each output of the first member alone: not at all where it is calibrated already, slow where nothing changes,
/// fast after a change.
const PACES: [f64; 4] = [0.0, 0.2, 1.0, 5.0];
/// Steps of the exponents of members in each output that mixes them. With step 0 there are none: the output is the calibrated pool.
const STEPS: [f64; 3] = [0.0, 0.002, 0.02];

/// What is known about the members of an ensemble: weights by their discounted losses, and how to calibrate them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// The discounted Brier loss of each member.
    #[serde(with = "array")]
    losses: Vec<f64>,
    /// The discounted log-loss of each member but the first.
    #[serde(with = "array")]
    log_losses: Vec<f64>,
    /// The first member alone at each pace, then what mixes all.
    #[serde(with = "columns")]
    outputs: Vec<Output>,
    /// The last step of what is predicted, for the first member alone and for all.
    last: [Recalibration; 2],
    /// Discounted counts of the newest labels.
    #[serde(with = "array")]
    labels: Vec<f64>,
    /// Labels so far.
    n_learnt: u64,
    /// What calibration has changed so far.
    gain: CalibrationGain,
}

/// Log-losses of the rows learnt: of the first member as it came, and of what was predicted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibrationGain {
    /// Rows that count.
    pub rows: u64,
    /// Their mean log-loss without the mixture.
    pub log_loss_before: f64,
    /// Their mean log-loss with it.
    pub log_loss_after: f64,
}

impl CalibrationGain {
    fn add(&mut self, before: f64, after: f64) {
        self.rows += 1;
        for (mean, p) in [(&mut self.log_loss_before, before), (&mut self.log_loss_after, after)] {
            *mean += (-libm::log(p.max(LEAST)) - *mean) / self.rows as f64;
        }
    }

    fn is_valid(&self) -> bool {
        [self.log_loss_before, self.log_loss_after]
            .iter()
            .all(|loss| (0.0..=-libm::log(LEAST)).contains(loss))
    }
}

/// What a mixture predicts for a row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Mixed {
    /// The probability of each class.
    pub proba: Vec<f64>,
    /// The same by the first member alone, calibrated.
    pub first: Vec<f64>,
    /// The prediction of the first member as it came.
    pub raw: Vec<f64>,
    /// The pool of the members, neither calibrated nor corrected.
    pub pool: Vec<f64>,
    /// Discounted counts of the newest labels, as far as they had come.
    pub labels: Vec<f64>,
    /// Labels that had come.
    pub n_learnt: u64,
    /// The weight of the first member in the pool.
    pub weight_of_first: f64,
    /// What was predicted in the end, where that is kept; see [`Rows::earlier`](crate::Rows::earlier).
    #[serde(default)]
    pub told: Vec<f64>,
    /// The probabilities of each member and their logarithms, and those of the pool.
    members: [Vec<f64>; 2],
    pool_logs: Vec<f64>,
    outputs: Vec<Vec<f64>>,
    /// What the last step has done, for the first member alone and for all.
    tops: [Top; 2],
}

impl Mixed {
    /// The same, kept with what was predicted in the end.
    #[must_use]
    pub fn with_told(self, told: &[f64]) -> Self {
        Self { told: told.to_vec(), ..self }
    }

    /// Members that have predicted the row.
    pub fn n_members(&self) -> usize {
        self.members[0].len() / self.proba.len().max(1)
    }

    /// What one of these members predicted, no probability below a floor.
    pub fn member(&self, number: usize) -> &[f64] {
        self.members[0].chunks(self.proba.len().max(1)).nth(number).unwrap_or_default()
    }

    /// What the first of two members predicted, and what both did.
    pub fn of_two(first: Vec<f64>, proba: Vec<f64>) -> Self {
        let members = [[&first[..], &proba].concat(), Vec::new()];
        Self { proba, first, members, ..Self::default() }
    }
}

impl Mixture {
    /// Of so many members, one or more. The first one is what is predicted until others have shown that they do better.
    pub fn new(n_members: usize) -> Self {
        let mut outputs = vec![Output::new(0); PACES.len()];
        if n_members > 1 {
            outputs.extend(STEPS.map(|step| Output::new(if step > 0.0 { n_members } else { 0 })));
        }
        Self {
            losses: vec![0.0; n_members],
            log_losses: vec![0.0; n_members - 1],
            outputs,
            last: Default::default(),
            labels: Vec::new(),
            n_learnt: 0,
            gain: CalibrationGain::default(),
        }
    }

    /// What calibration has changed so far.
    pub fn gain(&self) -> CalibrationGain {
        self.gain
    }

    /// Members, whether they predict at present or not.
    pub fn n_members(&self) -> usize {
        self.losses.len()
    }

    /// Begins anew with all members but the first, `behind` it by so much loss.
    pub fn restart(&mut self, behind: f64) {
        let (first, others) = self.losses.split_at_mut(1);
        others.fill(first[0] + behind);
        let (alone, all) = self.outputs.split_at_mut(PACES.len());
        let loss = alone.iter().map(|output| output.loss).fold(f64::INFINITY, f64::min) + behind;
        all.iter_mut().for_each(|output| output.restart(loss));
        self.last[1] = self.last[0].clone();
        self.log_losses.fill(loss);
    }

    /// The weight of each of the first so many members in the pool.
    pub fn weights(&self, n_members: usize) -> Vec<f64> {
        let prior = |member: usize| if member == 0 { PRIOR_OF_FIRST } else { 1.0 };
        shared_weights(&self.losses[..n_members], prior, SHARE_OF_MEMBERS)
    }

    /// Which of the first so many members has the least loss.
    pub fn leader(&self, n_members: usize) -> usize {
        (0..n_members).min_by(|&a, &b| self.losses[a].total_cmp(&self.losses[b])).unwrap_or(0)
    }

    /// Mixes the predictions of a row: `members` has `n_classes` probabilities for each member; of the first alone, or of all.
    pub fn predict(&self, members: &[f64], n_classes: usize) -> Mixed {
        let n_members = members.len() / n_classes.max(1);
        if n_members == 0 {
            return Mixed::default();
        }
        let mut clipped = members.to_vec();
        clipped.chunks_mut(n_classes).for_each(clip);
        let logs: Vec<f64> = clipped.iter().map(|p| libm::log(*p)).collect();
        let first = [&clipped[..n_classes], &logs[..n_classes]];
        let (alone, all) = self.outputs.split_at(PACES.len());
        let mut outputs: Vec<Vec<f64>> = alone.iter().map(|output| output.predict(first, &[])).collect();
        let mut of_first =
            mean_by(&shared_weights(&losses(alone), |_| 1.0, SHARE_OF_OUTPUTS), rows(&outputs));
        let mut tops = [self.last[0].apply(&mut of_first); 2];
        let (mut pool, mut pool_logs, mut proba) = (first[0].to_vec(), Vec::new(), of_first.clone());
        let weights = self.weights(n_members);
        if n_members > 1 {
            pool = mean_by(&weights, clipped.chunks(n_classes));
            pool_logs = pool.iter().map(|p| libm::log(*p)).collect();
            outputs.extend(all.iter().map(|output| output.predict([&pool, &pool_logs], &logs)));
            let losses = [losses(&self.outputs), self.log_losses[..n_members - 1].to_vec()].concat();
            // The paces of the first member count as one.
            let prior = |number: usize| if number < PACES.len() { 1.0 / PACES.len() as f64 } else { 1.0 };
            let weights = shared_weights(&losses, prior, SHARE_OF_OUTPUTS);
            proba = mean_by(&weights, rows(&outputs).chain(clipped.chunks(n_classes).skip(1)));
            tops[1] = self.last[1].apply(&mut proba);
        }
        Mixed {
            proba,
            first: of_first,
            raw: members[..n_classes].to_vec(),
            pool,
            labels: self.labels.clone(),
            n_learnt: self.n_learnt,
            weight_of_first: weights[0],
            told: Vec::new(),
            members: [clipped, logs],
            pool_logs,
            outputs,
            tops,
        }
    }

    /// Learns the label of a row that was predicted, just now or some labels ago. A row of weight 2 counts like two rows; where labels come late, each
    /// counts less and for longer: what followed the newest of them closely would be out of date when the next prediction is made.
    pub fn learn(&mut self, mixed: &Mixed, label: usize, weight: f64) {
        let (n_classes, weight) = (mixed.proba.len(), weight.clamp(0.0, MOST_WEIGHT));
        let n_late = self.n_learnt.saturating_sub(mixed.n_learnt);
        self.n_learnt += 1;
        self.labels.resize(n_classes.max(label + 1).max(self.labels.len()), 0.0);
        self.labels.iter_mut().for_each(|count| *count *= LABEL_DISCOUNT);
        self.labels[label] += 1.0;
        if label >= n_classes {
            return;
        }
        self.gain.add(mixed.raw[label], mixed.proba[label]);
        let share = 1.0 / libm::sqrt(1.0 + n_late as f64);
        let discount = 1.0 - (1.0 - DISCOUNT) * share;
        let [members, logs] = &mixed.members;
        for (loss, p) in self.losses.iter_mut().zip(members.chunks(n_classes)) {
            *loss = discount * *loss + weight * brier(p.iter().copied(), label);
        }
        for (loss, p) in self.log_losses.iter_mut().zip(members.chunks(n_classes).skip(1)) {
            *loss = discount * *loss - weight * libm::log(p[label]);
        }
        // With one member there is nothing else to learn about all.
        let n_last = if mixed.n_members() > 1 { 2 } else { 1 };
        for (last, top) in self.last.iter_mut().zip(mixed.tops).take(n_last) {
            last.learn(top, label, weight * share);
        }
        for (number, (output, predicted)) in self.outputs.iter_mut().zip(&mixed.outputs).enumerate() {
            let (own, pace, step) = match number.checked_sub(PACES.len()) {
                None => ([&members[..n_classes], &logs[..n_classes]], PACES[number], 0.0),
                Some(number) => ([&mixed.pool[..], &mixed.pool_logs], 1.0, STEPS[number]),
            };
            output.loss = discount * output.loss - weight * libm::log(predicted[label]);
            output.learn(predicted, own, logs, [weight * share * pace, step], label);
        }
    }

    /// Whether what was read is of so many members.
    pub fn is_valid(&self, n_members: usize) -> bool {
        let expected = Self::new(n_members.max(1));
        n_members == self.n_members()
            && self.outputs.len() == expected.outputs.len()
            && self.log_losses.len() + 1 == n_members
            && self.gain.is_valid()
            && self.last.iter().all(Recalibration::is_valid)
            && self.losses.iter().chain(&self.log_losses).all(|loss| (0.0..=MOST_LOSS).contains(loss))
            && self.outputs.iter().zip(&expected.outputs).all(|(output, expected)| output.is_like(expected))
            && self.labels.iter().all(|count| (0.0..=1.0 / (1.0 - LABEL_DISCOUNT) + 1e-9).contains(count))
    }
}

/// No row counts more.
const MOST_WEIGHT: f64 = 10.0;
/// No discounted loss is larger, however late labels come.
const MOST_LOSS: f64 = 1e12;

/// Weights that fall with the losses as they count for the next row, with a share that follows the prior alone.
fn shared_weights(losses: &[f64], prior: impl Fn(usize) -> f64, share: f64) -> Vec<f64> {
    let of_prior: f64 = (0..losses.len()).map(&prior).sum();
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let weight = |(i, loss): (usize, &f64)| prior(i) * libm::exp(DISCOUNT * (least - loss));
    let mut weights: Vec<f64> = losses.iter().enumerate().map(weight).collect();
    let sum: f64 = weights.iter().sum();
    for (i, weight) in weights.iter_mut().enumerate() {
        *weight = (1.0 - share) * *weight / sum + share * prior(i) / of_prior;
    }
    weights
}

/// The discounted losses of outputs.
fn losses(outputs: &[Output]) -> Vec<f64> {
    outputs.iter().map(|output| output.loss).collect()
}

fn rows(outputs: &[Vec<f64>]) -> impl Iterator<Item = &[f64]> {
    outputs.iter().map(Vec::as_slice)
}

/// The weighted mean of predictions.
fn mean_by<'a>(weights: &[f64], mut predictions: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    let first = predictions.next().unwrap_or(&[]);
    let mut mean: Vec<f64> = first.iter().map(|p| weights[0] * p).collect();
    for (weight, p) in weights[1..].iter().zip(predictions) {
        mean.iter_mut().zip(p).for_each(|(sum, p)| *sum += weight * p);
    }
    mean
}

/// Gives every class a small probability at least.
fn clip(proba: &mut [f64]) {
    proba.iter_mut().for_each(|p| *p = p.max(FLOOR));
    let sum: f64 = proba.iter().sum();
    proba.iter_mut().for_each(|p| *p /= sum);
}

/// The Brier loss of a row: the squared distance between probabilities and label.
pub fn brier(proba: impl IntoIterator<Item = f64>, label: usize) -> f64 {
    let error = |(class, p): (usize, f64)| if class == label { p - 1.0 } else { p };
    proba.into_iter().enumerate().map(error).map(|error| error * error).sum()
}

#[cfg(test)]
mod tests;
