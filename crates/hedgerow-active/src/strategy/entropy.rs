//! Uncertainty sampling by entropy (Settles and Craven, 2008, An analysis of active learning strategies for sequence labeling tasks).

use hedgerow_core::Result;

use super::Strategy;
use crate::situation::Situation;

/// Rows whose predicted classes have the largest entropy −Σ p ln p.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entropy;

impl Strategy for Entropy {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        Ok(situation.by_probabilities(|proba| entropy(proba)))
    }
}

/// −Σ p ln p of numbers that sum to 1.
pub(crate) fn entropy<'a>(shares: impl IntoIterator<Item = &'a f64>) -> f64 {
    let of = |&p: &f64| if p > 0.0 { -p * libm::log(p) } else { 0.0 };
    shares.into_iter().map(of).sum::<f64>().max(0.0)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn in_nats() {
        assert_eq!(entropy(&array![1.0, 0.0]), 0.0);
        assert!((entropy(&array![0.25, 0.25, 0.25, 0.25]) - 4.0_f64.ln()).abs() < 1e-15);
    }
}
