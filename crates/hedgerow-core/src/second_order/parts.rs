//! Uncertainty in two parts.

/// How uncertain the prediction of each row is, and how much of that more labels could take away.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// All of it: what predictions leave open.
    pub total: Vec<f64>,
    /// What stays when the class probabilities are known: classes that overlap.
    pub aleatoric: Vec<f64>,
    /// What comes from not knowing them: too few labels nearby.
    pub epistemic: Vec<f64>,
}

impl Parts {
    /// Of a total and what is epistemic of it.
    pub(super) fn new(total: Vec<f64>, epistemic: Vec<f64>) -> Self {
        // Rounding must not make more of a part than there is of the whole.
        let epistemic: Vec<f64> =
            epistemic.iter().zip(&total).map(|(part, all)| part.clamp(0.0, *all)).collect();
        let aleatoric = total.iter().zip(&epistemic).map(|(all, part)| all - part).collect();
        Self { total, aleatoric, epistemic }
    }
}

/// The entropy of a distribution, in nats.
pub(super) fn entropy<'a>(probabilities: impl IntoIterator<Item = &'a f64>) -> f64 {
    let sum: f64 = probabilities.into_iter().map(|&p| if p > 0.0 { -p * libm::log(p) } else { 0.0 }).sum();
    sum.max(0.0)
}
