//! Kernel density classification with its second-order distribution.
//!
//! The density of each class at a row is a sum of kernels around its rows. As an estimate it has nearly a gamma distribution; with a small
//! constant for what was known before, the shares of the classes then have a Dirichlet distribution (Röder, 2013, Active learning: new approaches,
//! and industrial applications, section 4.5). Its concentrations are the prior and a count of the labels nearby.

mod params;
mod settings;

pub(crate) use params::check_prior;
pub use params::{DensityKernel, KdeParams};
use settings::KdeSettings;

use hedgerow_core::saved::require;
use hedgerow_core::{KindInfo, Renewed, Result, Summary};

use crate::exponential::exp_not_above_zero;
use crate::leave_one_out::{LeaveOneOut, best};
use crate::method::{Common, MOST_EVIDENCE, Method, Near};
use crate::metric::Metric;
use crate::model::NeighborClassifier;
use crate::points::Points;

/// A kernel density classifier.
pub type KdeClassifier = NeighborClassifier<KdeParams>;

/// Times the normal-reference bandwidth that are tried.
const SCALES: [f64; 9] = [0.18, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8];

impl Method for KdeParams {
    type Settings = KdeSettings;

    const INFO: KindInfo = KindInfo {
        name: "kde",
        about: "Kernel density classification, which tells how much evidence there is near a row: for up to tens of thousands of rows",
        noun: "a kernel density classifier",
        work: "choosing a bandwidth",
        params: "KdeParams",
        renewed: Renewed::SETTINGS,
        learns_at_once: true,
        ..KindInfo::LEARNER
    };

    fn common(&self) -> Common {
        Common { metric: Metric::Euclidean, prior: self.prior, max_rows: self.max_rows, seed: self.seed }
    }

    fn choose(&self, rows: &LeaveOneOut<'_>) -> (KdeSettings, usize) {
        let (deviation, dimensions) = rows.points.spread();
        let reference = normal_reference(deviation, dimensions, rows.points.len());
        let of = |bandwidth: f64| KdeSettings { bandwidth, dimensions };
        if self.bandwidth > 0.0 {
            return (of(self.bandwidth), 0);
        }
        if self.bandwidth_scale > 0.0 {
            return (of(self.bandwidth_scale * reference), 0);
        }
        if !rows.has_two_classes() {
            return (of(reference), 0);
        }
        let all = SCALES.map(|scale| of(scale * reference));
        let losses = rows.each(|near, class| {
            let mut evidence = vec![0.0; rows.n_classes()];
            let mut loss = |settings: &KdeSettings| {
                self.evidence(settings, near, &mut evidence);
                rows.loss(&evidence, class)
            };
            all.iter().map(&mut loss).collect()
        });
        (all[best(all.len(), &losses)].clone(), all.len())
    }

    fn evidence(&self, settings: &KdeSettings, near: &Near<'_>, out: &mut [f64]) {
        match self.kernel {
            DensityKernel::Gaussian => gaussian(settings, near, out),
            DensityKernel::Ball => ball(settings, near, out),
        }
    }

    fn complete(&self, settings: &mut KdeSettings, points: &Points) -> Result<()> {
        let is_bandwidth = (1e-30..=1e30).contains(&settings.bandwidth);
        let fits = is_bandwidth && (1..=points.width().max(1)).contains(&settings.dimensions);
        require(fits, || "a bandwidth or a number of dimensions that cannot be")
    }

    fn summarize(settings: &KdeSettings, summary: Summary) -> Summary {
        summary.kernel(vec![("bandwidth".into(), settings.bandwidth)])
    }
}

/// σ (4/((d + 2) n))^(1/(d + 4)), the bandwidth that is best for a normal density (Scott, 1992, Multivariate density estimation, section 6.3), with the mean
/// variance σ² of the columns.
pub(crate) fn normal_reference(deviation: f64, dimensions: usize, n: usize) -> f64 {
    let d = dimensions as f64;
    deviation * libm::pow(4.0 / ((d + 2.0) * n.max(1) as f64), 1.0 / (d + 4.0))
}

/// 2^(d/2) Σ w exp(−r²/2h²) for each class. The nearest row is taken out of the sums, so that they keep their digits however far away
/// all rows are; where there is more evidence than can be told from certainty, its shares stay.
fn gaussian(settings: &KdeSettings, near: &Near<'_>, out: &mut [f64]) {
    const LANES: usize = 16;
    let least = near.distances.iter().copied().fold(f32::INFINITY, f32::min);
    out.fill(0.0);
    if least.is_finite() {
        let factor = -0.5 / (settings.bandwidth * settings.bandwidth);
        let narrow = factor.max(f64::from(f32::MIN)) as f32;
        let mut shares = [0.0_f32; LANES];
        for (block, distances) in near.distances.chunks(LANES).enumerate() {
            for (share, distance) in shares.iter_mut().zip(distances) {
                *share = exp_not_above_zero((distance - least) * narrow);
            }
            for (row, share) in (block * LANES..).zip(&shares[..distances.len()]) {
                out[near.labels[row].index()] += near.weight(row) * f64::from(*share);
            }
        }
        let log_factor =
            0.5 * settings.dimensions as f64 * std::f64::consts::LN_2 + factor * f64::from(least);
        let log_sum = log_factor + libm::log(out.iter().sum::<f64>());
        let excess = (log_sum - libm::log(MOST_EVIDENCE)).max(0.0);
        let times = libm::exp(log_factor - excess);
        out.iter_mut().for_each(|sum| *sum *= times);
    }
}

/// The weights of the rows in a ball whose uniform distribution has the variance of the normal kernel.
fn ball(settings: &KdeSettings, near: &Near<'_>, out: &mut [f64]) {
    let square = settings.bandwidth * settings.bandwidth * (settings.dimensions as f64 + 2.0);
    out.fill(0.0);
    for (row, distance) in near.distances.iter().enumerate() {
        if f64::from(*distance) <= square {
            out[near.labels[row].index()] += near.weight(row);
        }
    }
}

#[cfg(test)]
mod tests;
