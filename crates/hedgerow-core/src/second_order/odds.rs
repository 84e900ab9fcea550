//! From evidence to the scores that are calibrated.

/// What the prior of a class is in predictions: the concentrations of all classes, shared by class frequencies, of which each class has one row more.
/// So a row that has no others near it is predicted by frequencies, while its evidence is that of the prior.
pub fn shared_prior(prior: f64, counts: &[f64]) -> Vec<f64> {
    let n_classes = counts.len() as f64;
    let sum = counts.iter().sum::<f64>() + n_classes;
    counts.iter().map(|count| prior * n_classes * (count + 1.0) / sum).collect()
}

/// The log odds of each class, by its evidence and its prior.
pub fn log_odds(evidence: &[f64], prior: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = evidence.iter().zip(prior).map(|(evidence, prior)| evidence + prior).collect();
    let of = |class: usize| {
        let others: f64 =
            weights.iter().enumerate().filter(|(other, _)| *other != class).map(|(_, a)| a).sum();
        libm::log(weights[class]) - libm::log(others.max(f64::MIN_POSITIVE))
    };
    (0..weights.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priors_follow_frequencies_and_odds_their_sum() {
        assert_eq!(shared_prior(0.5, &[5.0, 1.0]), [0.75, 0.25]);
        let odds = log_odds(&[2.0, 1.0], &[1.0, 0.0]);
        assert!((odds[0] - 3f64.ln()).abs() < 1e-12 && (odds[1] + 3f64.ln()).abs() < 1e-12);
    }
}
