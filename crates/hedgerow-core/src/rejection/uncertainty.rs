//! How uncertain a prediction is, as a number to reject rows by.

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use crate::metrics::normalized_entropy;

/// A measure of uncertainty of class probabilities: 0 for certainty, at most 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Uncertainty {
    /// 1 − max p: the probability of being wrong, as the model sees it. It is the best there is where errors cost the same (Chow, 1970).
    #[default]
    Error,
    /// 1 − (p₁ − p₂), of the two most probable classes.
    Margin,
    /// The entropy to base "number of classes".
    Entropy,
}

impl Uncertainty {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Error, Self::Margin, Self::Entropy];

    /// How uncertain a prediction is.
    pub fn of(self, proba: ArrayView1<'_, f64>) -> f64 {
        let mut top = [0.0_f64; 2];
        for &p in proba {
            if p > top[0] {
                top = [p, top[0]];
            } else if p > top[1] {
                top[1] = p;
            }
        }
        match self {
            Self::Error => 1.0 - top[0],
            Self::Margin => 1.0 - (top[0] - top[1]),
            Self::Entropy => normalized_entropy(proba),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn measures_by_hand() {
        let p = array![0.25, 0.5, 0.25];
        let found = Uncertainty::ALL.map(|measure| measure.of(p.view()));
        assert_eq!(found[..2], [0.5, 0.75]);
        assert!((found[2] - 1.5 * 2.0_f64.ln() / 3.0_f64.ln()).abs() < 1e-12);
        for measure in Uncertainty::ALL {
            assert_eq!(measure.of(array![0.0, 1.0].view()), 0.0);
            assert!(
                (measure.of(array![0.5, 0.5].view()) - if measure == Uncertainty::Error { 0.5 } else { 1.0 })
                    .abs()
                    < 1e-12
            );
        }
    }
}
