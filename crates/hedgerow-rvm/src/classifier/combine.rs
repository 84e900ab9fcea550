//! From the scores of binary RVMs to probabilities of classes.

use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::params::MultiClass;
use crate::target::sigmoid;
use crate::training_rows::{TrainingRows, counts};

/// Probabilities below this are raised to it.
const LEAST: f64 = 1e-9;

/// How scores become probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Combination {
    pub(crate) how: MultiClass,
    /// The classes that have rows, in order. With two of them there is one binary RVM, for the second.
    pub(crate) known: Vec<usize>,
    /// The probability of a class without rows.
    pub(crate) unknown: f64,
}

impl Combination {
    /// Of the classes of some rows.
    pub(crate) fn new(rows: &TrainingRows<'_>) -> Self {
        let counts = counts(rows.targets, rows.n_classes);
        let known: Vec<usize> = (0..rows.n_classes).filter(|c| counts[*c] > 0).collect();
        let n = rows.targets.len();
        let how = rows.params.multi_class.with(n, known.len());
        Self { how, known, unknown: 1.0 / (n as f64 + 2.0) }
    }

    /// Binary RVMs that there must be.
    pub(crate) fn n_binaries(&self) -> usize {
        match (self.known.len(), self.how) {
            (2, _) => 1,
            (0 | 1, _) | (_, MultiClass::Shared) => 0,
            (n, MultiClass::Pairs) => n * (n - 1) / 2,
            (n, _) => n,
        }
    }

    /// Whether it fits so many classes.
    pub(crate) fn is_valid(&self, n_classes: usize) -> bool {
        let is_sorted = self.known.windows(2).all(|pair| pair[0] < pair[1]);
        is_sorted && self.known.iter().all(|c| *c < n_classes) && (0.0..=1.0).contains(&self.unknown)
    }

    /// A row of probabilities for each row of scores.
    pub(crate) fn probabilities(&self, scores: &Array2<f64>, n_classes: usize) -> Array2<f64> {
        let mut out = Array2::zeros((scores.nrows(), n_classes));
        for (from, mut to) in scores.rows().into_iter().zip(out.rows_mut()) {
            let mut shares = self.shares(from);
            let sum: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|p| *p = (*p / sum).max(LEAST));
            to.fill(self.unknown.max(LEAST));
            self.known.iter().zip(&shares).for_each(|(&class, share)| to[class] = *share);
            let sum = to.sum();
            to /= sum;
        }
        out
    }

    /// Unnormalised probabilities of the classes that have rows.
    fn shares(&self, scores: ArrayView1<'_, f64>) -> Vec<f64> {
        let n = self.known.len();
        if n < 2 {
            return vec![1.0; n];
        }
        if n == 2 {
            return vec![sigmoid(-scores[0]).max(LEAST), sigmoid(scores[0]).max(LEAST)];
        }
        match self.how {
            MultiClass::Rest | MultiClass::Shared => scores.iter().map(|y| sigmoid(*y).max(LEAST)).collect(),
            MultiClass::Softmax => {
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                scores.iter().map(|y| libm::exp(y - most).max(LEAST)).collect()
            }
            MultiClass::Pairs => coupled(scores, n),
        }
    }
}

/// Probabilities of classes from those of pairs: `p_k = 1/(Σ_j 1/r_kj − (K − 2))` (Price and others 1995). The score of a pair
/// is the log odds of its second class.
fn coupled(scores: ArrayView1<'_, f64>, n: usize) -> Vec<f64> {
    let mut sums = vec![2.0 - n as f64; n];
    let mut at = 0;
    for a in 0..n {
        for b in a + 1..n {
            let p = sigmoid(scores[at]).clamp(LEAST, 1.0 - LEAST);
            sums[b] += 1.0 / p;
            sums[a] += 1.0 / (1.0 - p);
            at += 1;
        }
    }
    sums.iter().map(|sum| 1.0 / sum.max(1.0)).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn pairs_that_agree_give_back_their_probabilities() {
        let p: [f64; 3] = [0.5, 0.3, 0.2];
        let score = |a: usize, b: usize| (p[b] / p[a]).ln();
        let scores = array![[score(0, 1), score(0, 2), score(1, 2)]];
        let how = |how| Combination { how, known: vec![0, 1, 3], unknown: 0.0 };
        let pairs = how(MultiClass::Pairs).probabilities(&scores, 4);
        assert!([0, 1, 3].iter().zip(p).all(|(&class, p)| (pairs[(0, class)] - p).abs() < 1e-8), "{pairs}");
        let softmax = how(MultiClass::Softmax).probabilities(&array![[p[0].ln(), p[1].ln(), p[2].ln()]], 4);
        assert!((softmax[(0, 3)] - 0.2).abs() < 1e-8 && softmax[(0, 2)] < 1e-8);
        let rest = how(MultiClass::Rest).probabilities(&array![[800.0, -800.0, -800.0]], 4);
        assert!((rest[(0, 0)] - 1.0).abs() < 1e-8 && (rest.sum() - 1.0).abs() < 1e-12);
        assert_eq!([MultiClass::Rest, MultiClass::Pairs].map(|h| how(h).n_binaries()), [3, 3]);
        assert_eq!(Combination { how: MultiClass::Pairs, known: vec![1, 2], unknown: 0.1 }.n_binaries(), 1);
    }
}
