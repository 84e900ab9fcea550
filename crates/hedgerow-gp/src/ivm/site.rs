//! The site of one label, by moment matching with the probit likelihood (Rasmussen & Williams, 2006, section 3.6): the core of IVM and EP.

use crate::special::{density_ratio, log_normal_cdf};

/// The Gaussian site that moves a normal belief to the moments it has after a label is seen, with likelihood Φ(y (f + b)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Site {
    /// The change of the mean is this times the covariance.
    pub(crate) gain: f64,
    /// The change of the variance is minus this times the squared covariance.
    pub(crate) shrink: f64,
    /// By how much the entropy goes down.
    pub(crate) entropy: f64,
    pub(crate) mean: f64,
    pub(crate) precision: f64,
    /// The logarithm of the probability of the label.
    pub(crate) log_z: f64,
}

impl Site {
    /// For label `y` and a latent value of this mean and variance; none where the label has no information.
    pub(crate) fn new(y: f64, mean: f64, variance: f64, bias: f64) -> Option<Self> {
        let variance = variance.max(1e-9);
        let c = y / libm::sqrt(1.0 + variance);
        let u = c * (mean + bias);
        let gain = c * density_ratio(u);
        let shrink = gain * (gain + u * c);
        let left = (1.0 - shrink * variance).max(1e-12);
        (shrink > 0.0 && shrink.is_finite()).then(|| Self {
            gain,
            shrink,
            entropy: -0.5 * libm::log(left),
            mean: gain / shrink + mean,
            precision: shrink / left,
            log_z: log_normal_cdf(u),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_1_PI, LN_2};

    use super::*;

    /// Reference values, for slope 1.
    #[test]
    fn sites_are_those_of_the_reference_table() {
        let table = [
            ([1.0, 0.0, 1.0, 0.0], [0.564_190, FRAC_1_PI, 0.191_590, 1.772_454, 0.466_942, -LN_2]),
            (
                [1.0, -1.0, 2.0, -1.281_551_6],
                [1.030_402, 0.278_090, 0.406_168, 2.705_285, 0.626_582, -2.365_773],
            ),
            ([1.0, -6.0, 4.0, 0.0], [1.337_353, 0.183_689, 0.663_556, 1.280_510, 0.692_535, -5.614_350]),
        ];
        for ([y, mean, variance, bias], expected) in table {
            let site = Site::new(y, mean, variance, bias).unwrap();
            let got = [site.gain, site.shrink, site.entropy, site.mean, site.precision, site.log_z];
            for (got, expected) in got.into_iter().zip(expected) {
                assert!((got - expected).abs() < 2e-6, "{site:?}");
            }
        }
    }

    /// A slope of λ is a kernel λ² and a bias λ as large: the fourth row of the table has λ = 2.
    #[test]
    fn a_slope_is_a_scale_of_the_latent_value() {
        let site = Site::new(-1.0, 4.0, 2.0, -2.0).unwrap();
        assert!((2.0 * site.gain + 1.905_703).abs() < 2e-6 && (site.entropy - 0.394_150).abs() < 2e-6);
        assert!(
            (site.mean / 2.0 - 0.252_876).abs() < 2e-6 && (4.0 * site.precision - 2.399_305).abs() < 4e-6
        );
    }

    #[test]
    fn moments_are_those_of_the_posterior() {
        for (y, mean, variance, bias) in [(1.0, 0.3, 2.0, -0.4), (-1.0, 1.0, 0.5, 0.2), (1.0, -3.0, 5.0, 0.0)]
        {
            let site = Site::new(y, mean, variance, bias).unwrap();
            let (mut z, mut first, mut second) = (0.0, 0.0, 0.0);
            let n = 200_000;
            for i in 0..n {
                let t = -12.0 + 24.0 * (f64::from(i) + 0.5) / f64::from(n);
                let f = mean + f64::sqrt(variance) * t;
                let weight = (-0.5 * t * t).exp() * crate::special::normal_cdf(y * (f + bias));
                (z, first, second) = (z + weight, first + weight * f, second + weight * f * f);
            }
            let (m, v) = (first / z, second / z - (first / z).powi(2));
            assert!((mean + site.gain * variance - m).abs() < 1e-6);
            assert!((variance - site.shrink * variance * variance - v).abs() < 1e-6);
        }
    }

    #[test]
    fn extreme_beliefs_do_no_harm() {
        for (mean, variance) in [(-1e8, 1.0), (1e8, 1.0), (0.0, 1e12), (0.0, 0.0), (-40.0, 1e-3)] {
            if let Some(site) = Site::new(1.0, mean, variance, 0.0) {
                assert!(
                    site.precision.is_finite() && site.mean.is_finite() && site.entropy >= 0.0,
                    "{site:?}"
                );
            }
        }
    }
}
