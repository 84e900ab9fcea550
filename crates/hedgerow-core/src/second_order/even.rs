//! Evidence whose epistemic part does not depend on the labels that it is made of.
//!
//! The mutual information of class and probabilities falls with the smallest concentrations. So of two places with as many labels, the one where all
//! are of one class would look better known than the one where they are mixed: noise would be taken for a lack of rows.

use crate::special::gamma::digamma_above_log;

/// Steps of a search for a number of labels, and how close they must come.
const STEPS: usize = 60;
const TOLERANCE: f64 = 1e-13;

/// How many labels of classes with these shares leave as much to know about their probabilities as so many of classes that are all alike, beside
/// a prior of each class: at most as many. With that many, the epistemic part of the uncertainty, by entropy, depends on the count alone.
pub fn labels_like(count: f64, shares: impl Iterator<Item = f64> + Clone, prior: f64) -> f64 {
    let even = shares.clone().count() as f64;
    if even < 2.0 || count <= 0.0 {
        return count.max(0.0);
    }
    let all_alike = prior + count / even;
    let wanted = digamma_above_log(all_alike) - digamma_above_log(even * all_alike);
    let excess = |labels: f64| {
        let sum = even * prior + labels;
        let of = |p: f64| (prior + labels * p) / sum * digamma_above_log(prior + labels * p);
        wanted / (shares.clone().map(of).sum::<f64>() - digamma_above_log(sum)) - 1.0
    };
    // What is left is nearly (K − 1)/2A, so that its inverse is nearly a straight line: false positions, the Illinois way.
    let (mut low, mut high) = (0.0, count);
    let (mut at_low, mut at_high) = (excess(low), excess(high));
    let mut was_above = None;
    for _ in 0..STEPS {
        if !(at_low < 0.0 && at_high > TOLERANCE) {
            break;
        }
        let middle = high - at_high * (high - low) / (at_high - at_low);
        let at_middle = excess(middle);
        if at_middle.abs() < TOLERANCE {
            return middle;
        }
        let is_above = at_middle > 0.0;
        // The end that stays a second time counts half, or it would stay forever.
        let factor = if was_above == Some(is_above) { 0.5 } else { 1.0 };
        if is_above {
            (high, at_high, at_low) = (middle, at_middle, factor * at_low);
        } else {
            (low, at_low, at_high) = (middle, at_middle, factor * at_high);
        }
        was_above = Some(is_above);
    }
    high
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::{About, SecondOrder};
    use super::*;

    fn epistemic(count: f64, shares: &[f64], prior: f64) -> f64 {
        let row = Array2::from_shape_fn((1, shares.len()), |(_, class)| prior + count * shares[class]);
        SecondOrder::dirichlet(About::RelativeEvidence, row, prior).unwrap().entropies().epistemic[0]
    }

    #[test]
    fn as_much_is_left_to_know() {
        for (shares, prior) in [(&[0.98, 0.02][..], 0.5), (&[1.0, 0.0], 0.5), (&[0.8, 0.1, 0.1, 0.0], 0.25)] {
            let even = vec![1.0 / shares.len() as f64; shares.len()];
            for count in [1e-9, 0.01, 1.0, 30.0, 1e4, 1e9] {
                assert!((labels_like(count, even.iter().copied(), prior) - count).abs() <= 1e-6 * count);
                let labels = labels_like(count, shares.iter().copied(), prior);
                assert!(labels <= count && labels >= 0.3 * count, "{count} {labels}");
                let (found, wanted) = (epistemic(labels, shares, prior), epistemic(count, &even, prior));
                assert!((found / wanted - 1.0).abs() < 1e-9, "{count} {shares:?}: {found} {wanted}");
            }
        }
        assert_eq!(labels_like(7.0, [1.0].into_iter(), 1.0), 7.0);
        assert_eq!(labels_like(0.0, [0.5, 0.5].into_iter(), 0.5), 0.0);
    }
}
