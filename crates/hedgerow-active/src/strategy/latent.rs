//! Queries by the latent values of a Gaussian process, such as those of the Informative Vector Machine.

use hedgerow_core::Result;
use hedgerow_core::special::normal;

use super::Strategy;
use crate::model::Latent;
use crate::situation::Situation;

/// Rows whose label would lower the entropy of the posterior most, on average over what the label may be (Lawrence, Seeger and Herbrich, 2003, Fast sparse
/// Gaussian process methods: the Informative Vector Machine). By margin, where a model has no latent values.
#[derive(Debug, Clone, Copy, Default)]
pub struct DifferentialEntropy;

/// Rows nearest to the boundary between classes: those whose latent value is nearest 0, or whose two largest ones are nearest each other, times 1/(1 + distance). By
/// margin, where a model has no latent values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Boundary;

impl Strategy for DifferentialEntropy {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        by_latent(situation, |means, variances| {
            means.iter().zip(variances).map(|(mean, variance)| expected_decrease(*mean, *variance)).sum()
        })
    }
}

impl Strategy for Boundary {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        by_latent(situation, |means, _| {
            let mut order = means.to_vec();
            order.sort_by(|a, b| b.total_cmp(a));
            let distance = match order[..] {
                [only] => only.abs(),
                [first, second, ..] => first - second,
                [] => 0.0,
            };
            1.0 / (1.0 + distance)
        })
    }
}

/// Utilities by the means and variances of each candidate.
fn by_latent(situation: &Situation<'_>, utility: impl Fn(&[f64], &[f64]) -> f64) -> Result<Vec<f64>> {
    let known = match situation.model() {
        Some(model) => model.latent(situation.x(), situation.par())?,
        None => None,
    };
    let Some(Latent { mean, variance }) = known.filter(|latent| latent.mean.ncols() > 0) else {
        return Ok(situation.by_probabilities(|proba| 1.0 - situation.margin(proba)));
    };
    let rows = mean.rows().into_iter().zip(variance.rows());
    Ok(rows.map(|(mean, variance)| utility(&mean.to_vec(), &variance.to_vec())).collect())
}

/// The mean decrease −½ ln(1 − νζ) of the entropy of a latent value N(m, ζ) by a label y = ±1 with the likelihood Φ(yf), over the label's own distribution. With
/// u = ym/√(1 + ζ) and α = y φ(u)/Φ(u)/√(1 + ζ), ν is α(α + m/(1 + ζ)).
fn expected_decrease(mean: f64, variance: f64) -> f64 {
    let variance = variance.max(0.0);
    let scale = 1.0 / libm::sqrt(1.0 + variance);
    let of = |label: f64| {
        let u = label * mean * scale;
        let alpha = label * scale * normal::density_ratio(u);
        let shrink = alpha * (alpha + mean * scale * scale);
        -0.5 * normal::cdf(u) * libm::log((1.0 - shrink * variance).clamp(1e-12, 1.0))
    };
    of(1.0) + of(-1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By moments of the tilted density, summed up on a grid.
    #[test]
    fn the_decrease_is_that_of_the_matched_normal() {
        for (mean, variance) in [(0.0, 1.0), (0.7, 0.5), (-2.0, 4.0), (3.0, 0.1)] {
            let mut expected = 0.0;
            for label in [1.0, -1.0] {
                let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
                for i in -20_000..=20_000 {
                    let z = f64::from(i) / 2000.0;
                    let f = mean + z * f64::sqrt(variance);
                    let weight = (-0.5 * z * z).exp() * normal::cdf(label * f);
                    mass += weight;
                    first += weight * f;
                    second += weight * f * f;
                }
                let matched = second / mass - (first / mass).powi(2);
                let probability = normal::cdf(label * mean / f64::sqrt(1.0 + variance));
                expected += probability * 0.5 * (variance / matched).ln();
            }
            let found = expected_decrease(mean, variance);
            assert!((found - expected).abs() < 1e-6, "{mean} {variance}: {found} {expected}");
        }
        assert!(expected_decrease(0.0, 1.0) > expected_decrease(1.0, 1.0));
        assert!(expected_decrease(0.0, 2.0) > expected_decrease(0.0, 1.0));
    }
}
