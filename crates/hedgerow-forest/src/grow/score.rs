//! How good a split is, from the class weights on its two sides.
//!
//! Impurity times weight (Breiman et al., 1984), so that the cost of a split is the sum over its sides:
//! Gini W − Σ w²/W, entropy W ln W − Σ w ln w, misclassification W − max w.

use crate::params::Criterion;

/// Adds up class weights on one side.
#[derive(Default)]
pub(crate) struct Scorer {
    criterion: Criterion,
    /// n ln n for the whole numbers that a sample can count to.
    table: Vec<f64>,
}

impl Scorer {
    pub(crate) fn new(criterion: Criterion, most: usize) -> Self {
        let most = if criterion == Criterion::Entropy { most.min(4096) } else { 0 };
        Self { criterion, table: (0..=most).map(|n| exact_n_ln_n(n as f64)).collect() }
    }

    /// Impurity times weight of one side.
    #[inline]
    pub(crate) fn cost(&self, weights: impl Iterator<Item = f64>) -> f64 {
        match self.criterion {
            Criterion::Gini => {
                let (mut sum, mut squares) = (0.0, 0.0);
                for w in weights {
                    sum += w;
                    squares += w * w;
                }
                if sum > 0.0 { sum - squares / sum } else { 0.0 }
            }
            Criterion::Entropy => {
                let (mut sum, mut terms) = (0.0, 0.0);
                for w in weights {
                    sum += w;
                    terms += self.n_ln_n(w);
                }
                self.n_ln_n(sum) - terms
            }
            Criterion::Misclassification => {
                let (mut sum, mut most) = (0.0, 0.0_f64);
                for w in weights {
                    sum += w;
                    most = most.max(w);
                }
                sum - most
            }
        }
    }

    #[inline]
    fn n_ln_n(&self, n: f64) -> f64 {
        match self.table.get(n as usize) {
            Some(&value) if n.fract() == 0.0 => value,
            _ => exact_n_ln_n(n),
        }
    }
}

fn exact_n_ln_n(n: f64) -> f64 {
    if n > 0.0 { n * libm::log(n) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The textbook formulae of the impurities.
    fn naive(criterion: Criterion, weights: &[f64]) -> f64 {
        let n: f64 = weights.iter().sum();
        let shares = weights.iter().map(|w| w / n);
        n * match criterion {
            Criterion::Gini => shares.map(|p| p * (1.0 - p)).sum::<f64>(),
            Criterion::Entropy => shares.filter(|&p| p > 0.0).map(|p| -p * p.ln()).sum::<f64>(),
            Criterion::Misclassification => 1.0 - shares.fold(0.0, f64::max),
        }
    }

    #[test]
    fn agrees_with_the_formulae() {
        for criterion in [Criterion::Gini, Criterion::Entropy, Criterion::Misclassification] {
            let scorer = Scorer::new(criterion, 20);
            for weights in [&[3.0, 5.0, 0.0][..], &[1.0], &[0.5, 0.25, 7.5], &[100.0, 300.0]] {
                let cost = scorer.cost(weights.iter().copied());
                assert!((cost - naive(criterion, weights)).abs() < 1e-10, "{criterion:?} {weights:?} {cost}");
            }
            assert_eq!(scorer.cost([].into_iter()), 0.0);
        }
    }
}
