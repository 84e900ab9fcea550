//! Ranks the rows of batches.
//!
//! Of each batch, the labels of the most uncertain rows are asked for, as many as the rate allows and as lie above a threshold, and of some drawn at random.
//! With an Informative Vector Machine that forgets the rows which tell it least, this is an active IVM for streams.

use hedgerow_core::Checked;
use hedgerow_core::rng::{Purpose, Rng};
use serde::{Deserialize, Serialize};

use super::allowance::Allowance;
use super::params::StreamQueryParams;
use super::querier::Because;

/// Asks for the labels of some rows of each batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchQuerier {
    params: StreamQueryParams,
    allowance: Allowance,
    n_random: u64,
    rng: Rng,
}

impl BatchQuerier {
    /// For a stream that begins.
    pub fn new(params: Checked<StreamQueryParams>) -> Self {
        let params = params.get().clone();
        let rng = Rng::new(params.seed, Purpose::Query, 1 << 42);
        Self { params, allowance: Allowance::default(), n_random: 0, rng }
    }

    /// Which rows of a batch should be labelled, and why, the most uncertain first; `uncertainty` is that of each row.
    pub fn query(&mut self, uncertainty: &[f64]) -> Vec<(usize, Because)> {
        let StreamQueryParams { rate, random_share, window, threshold, .. } = self.params;
        self.allowance.add(uncertainty.len(), rate, window.max(uncertainty.len()));
        // Rows of equal uncertainty come in random order.
        let mut order: Vec<usize> = (0..uncertainty.len()).collect();
        self.rng.shuffle(&mut order);
        let is_drawn: Vec<bool> = uncertainty.iter().map(|_| self.rng.unit() < rate * random_share).collect();
        let mut left = self.allowance.left(rate) as usize;
        let mut chosen: Vec<(usize, Because)> =
            order.iter().filter(|row| is_drawn[**row]).map(|row| (*row, Because::Random)).collect();
        chosen.truncate(left);
        left -= chosen.len();
        self.n_random += chosen.len() as u64;
        order.retain(|row| !is_drawn[*row] && random_share < 1.0 && uncertainty[*row] >= threshold);
        order.sort_by(|a, b| uncertainty[*b].total_cmp(&uncertainty[*a]));
        // What the random share did not draw is left to it.
        let n_uncertain = left.min((rate * (1.0 - random_share) * uncertainty.len() as f64).ceil() as usize);
        chosen.extend(order.into_iter().take(n_uncertain).map(|row| (row, Because::Uncertain)));
        chosen.sort_by(|a, b| uncertainty[b.0].total_cmp(&uncertainty[a.0]));
        self.allowance.spend(chosen.len());
        chosen
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
}
