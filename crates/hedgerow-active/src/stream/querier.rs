//! Decides about each row when it comes.
//!
//! A label is asked for if the prediction is more uncertain than a threshold θ that follows the stream: with rate r and step s, a query multiplies θ by
//! exp(s(1 − r)), and any other row by exp(−s·r), so that in the long run a share r of the rows lies above it, whatever the model and however uncertain it is.
//! Žliobaitė et al. (2014) let θ change by equal factors; then half of the rows lie above it, and which of them are chosen is mostly left to what the
//! budget happens to allow.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Checked, Params as _, Result};
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use super::allowance::Allowance;
use super::params::StreamQueryParams;

/// The lowest threshold: predictions that are more certain differ by rounding.
const LEAST: f64 = 1e-6;

/// Why a label is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// The prediction is uncertain.
    Uncertain,
    /// It was drawn at random.
    Random,
}

/// Asks for the labels of some rows of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamQuerier {
    params: StreamQueryParams,
    allowance: Allowance,
    threshold: f64,
    n_random: u64,
    rng: Rng,
}

impl StreamQuerier {
    /// For a stream that begins.
    pub fn new(params: Checked<StreamQueryParams>) -> Self {
        let params = params.get().clone();
        let rng = Rng::new(params.seed, Purpose::Query, 1 << 41);
        Self { params, allowance: Allowance::default(), threshold: LEAST, n_random: 0, rng }
    }

    /// Whether the label of the next row is asked for, and why, by the probabilities that are predicted for it.
    pub fn query(&mut self, proba: ArrayView1<'_, f64>) -> Option<Because> {
        let StreamQueryParams { rate, random_share, step, window, .. } = self.params;
        self.allowance.add(1, rate, window);
        // Drawn for every row, so that which rows are drawn does not depend on the model.
        let is_drawn = self.rng.unit() < rate * random_share;
        let is_uncertain = random_share < 1.0 && uncertainty(proba) >= self.threshold;
        let by_threshold = rate * (1.0 - random_share);
        let change = if is_uncertain { 1.0 - by_threshold } else { -by_threshold };
        self.threshold = (self.threshold * libm::exp(step * change)).clamp(LEAST, 1.0);
        if self.allowance.left(rate) == 0 {
            return None;
        }
        let because = match (is_drawn, is_uncertain) {
            (true, _) => Because::Random,
            (false, true) => Because::Uncertain,
            (false, false) => return None,
        };
        self.allowance.spend(1);
        self.n_random += u64::from(because == Because::Random);
        Some(because)
    }

    /// The parameters.
    pub fn params(&self) -> &StreamQueryParams {
        &self.params
    }

    /// Rows so far.
    pub fn n_seen(&self) -> u64 {
        self.allowance.n_seen()
    }

    /// Labels asked for so far.
    pub fn n_queried(&self) -> u64 {
        self.allowance.n_queried()
    }

    /// How many of them were drawn at random.
    pub fn n_random(&self) -> u64 {
        self.n_random
    }

    /// The uncertainty from which on a label is asked for.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Fails unless what was read is possible.
    pub fn check(&self) -> Result<()> {
        self.params.rules()
    }
}

/// How uncertain a prediction is, from 0 to 1: 1 less the difference of the two largest probabilities. With fewer than two classes nothing is known: 1.
pub fn uncertainty(proba: ArrayView1<'_, f64>) -> f64 {
    if proba.len() < 2 {
        return 1.0;
    }
    let (mut first, mut second) = (0.0_f64, 0.0_f64);
    for &p in proba {
        if p > first {
            (first, second) = (p, first);
        } else if p > second {
            second = p;
        }
    }
    (1.0 - (first - second)).clamp(0.0, 1.0)
}
