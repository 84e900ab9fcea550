//! Uncertainty sampling by margin (Scheffer, Decomain and Wrobel, 2001, Active hidden Markov models for information extraction).

use hedgerow_core::Result;
use ndarray::ArrayView1;

use super::Strategy;
use crate::situation::Situation;

/// Rows whose two most probable classes are nearly equal: 1 − (p₁ − p₂). Where classes have losses, those whose two best decisions cost nearly the same: for two
/// classes, rows nearest to the threshold.
#[derive(Debug, Clone, Copy, Default)]
pub struct Margin;

impl Strategy for Margin {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        Ok(situation.by_probabilities(|proba| 1.0 - situation.margin(proba)))
    }
}

/// The difference of the two largest probabilities; 1 where there is but one class.
pub(crate) fn margin(proba: ArrayView1<'_, f64>) -> f64 {
    let mut largest = [0.0_f64; 2];
    for &p in proba {
        if p > largest[0] {
            largest = [p, largest[0]];
        } else if p > largest[1] {
            largest[1] = p;
        }
    }
    largest[0] - largest[1]
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn the_two_largest_probabilities() {
        assert_eq!(margin(array![0.2, 0.5, 0.3].view()), 0.2);
        assert_eq!(margin(array![0.5, 0.5].view()), 0.0);
        assert_eq!(margin(array![1.0].view()), 1.0);
    }
}
