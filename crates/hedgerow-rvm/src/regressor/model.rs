//! A fitted RVM of numbers.

use hedgerow_core::saved::array;
use hedgerow_core::{Normals, OutOfSample, Par, Predictor, Result, Source, Task};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use crate::basis::Basis;
use crate::design::Centers;
use crate::params::Variance;
use crate::rvm::{FittedModel, Outcome, Rvm, are_moderate, is_positive};
use crate::state::OnlineState;
use crate::target::{Regression, SparseFit, mean_and_variance, sample};
use crate::train::{Trained, train_or_update, update};
use crate::training_log::TrainingLog;
use crate::training_rows::TrainingRows;

/// Rows that are predicted at once.
const BLOCK: usize = 256;
/// The share of a row's own rest that is left at least when it is fitted: rounding must not make it nothing.
const LEAST_LEFT: f64 = 1e-9;
/// Rows that a healed variance takes for all training rows, at most.
const MOST_SAMPLED: usize = 500;

/// A fitted RVM of numbers. All but `scale` is in units of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegressionModel {
    centers: Centers,
    #[serde(with = "array")]
    alpha: Vec<f64>,
    #[serde(with = "array")]
    mean: Array1<f64>,
    #[serde(with = "array")]
    covariance: Array2<f64>,
    /// Training rows that stand for all; none unless the variance is to be healed.
    #[serde(with = "array")]
    sampled: Array2<f64>,
    noise: f64,
    scale: f64,
    /// The variance of the targets.
    spread: f64,
    /// How many training rows each sampled one stands for.
    weight: f64,
}

impl RegressionModel {
    fn outcome(
        rows: &TrainingRows<'_>,
        basis: &Basis,
        target: &Regression<'_>,
        trained: Trained,
    ) -> Outcome<Self> {
        let (n, fit) = (target.targets.len(), &trained.fit);
        let sampled = if rows.params.variance == Variance::Healed {
            rows.x.select(Axis(0), &sample(n, MOST_SAMPLED, rows.params.seed))
        } else {
            Array2::zeros((0, rows.x.ncols()))
        };
        let SparseFit { alpha, mean, covariance, .. } = fit.clone();
        let model = Self {
            centers: target.context.design.centers(&fit.columns),
            alpha,
            mean,
            covariance,
            noise: fit.noise,
            scale: rows.scale,
            spread: target.variance(),
            weight: n as f64 / sampled.nrows().max(1) as f64,
            sampled,
        };
        Outcome {
            model,
            basis: basis.clone(),
            relevant: fit.columns.iter().copied().filter(|&c| c < n).collect(),
            log_evidence: fit.log_evidence,
            stop: trained.stop,
            log: TrainingLog::new(&[trained], n),
            validation: None,
        }
    }

    /// The target, and the model as a fit to it whose relevance vectors are at given places.
    pub(super) fn start<'a>(
        &self,
        rows: &TrainingRows<'a>,
        basis: &'a Basis,
        relevant: &[usize],
    ) -> (Regression<'a>, SparseFit) {
        let target = Regression { context: rows.context(&basis.kernel), targets: rows.targets };
        let bias = self.centers.bias.map(|_| target.context.design.bias());
        let columns = relevant.iter().copied().chain(bias).collect();
        let known = SparseFit::known(&target.context, columns, &self.alpha, self.mean.clone());
        (target, SparseFit { noise: self.noise, ..known })
    }

    /// Means and variances of rows as the kernel sees them.
    pub(super) fn predict(&self, basis: &Basis, x: ArrayView2<'_, f64>) -> Normals {
        let phi = self.centers.values(&basis.kernel, x, &Par::sequential());
        let known = phi.dot(&self.covariance);
        let own: Array1<f64> = phi.rows().into_iter().zip(known.rows()).map(|(a, b)| a.dot(&b)).collect();
        let mut variance = own.mapv(|v| v.max(0.0) + self.noise);
        if self.sampled.nrows() > 0 {
            variance += &self.healing(basis, x, &phi);
        }
        Normals {
            mean: phi.dot(&self.mean).iter().map(|m| m * self.scale).collect(),
            variance: variance.iter().map(|v| v * self.scale * self.scale).collect(),
        }
    }

    /// What would be predicted of each training row without its own target, under the same precisions and noise: with `h = φᵀΣφ/σ²` and the rest `r` of the
    /// row, the mean `t − r/(1 − h)` and the variance `σ²/(1 − h)` (equations 5.10 to 5.12 of Rasmussen & Williams, 2006, for the covariance
    /// `σ²I + ΦA⁻¹Φᵀ` of the targets).
    fn without_each(&self, rows: &TrainingRows<'_>, basis: &Basis) -> Normals {
        let blocks = rows.x.nrows().div_ceil(BLOCK);
        let parts = rows.par.map(blocks, |block| {
            let range = block * BLOCK..((block + 1) * BLOCK).min(rows.x.nrows());
            let phi =
                self.centers.values(&basis.kernel, rows.x.slice(s![range.clone(), ..]), &Par::sequential());
            let known = phi.dot(&self.covariance);
            let of_row = |(place, row): (usize, usize)| {
                let h = phi.row(place).dot(&known.row(place)) / self.noise;
                let left = (1.0 - h).clamp(LEAST_LEFT, 1.0);
                let rest = rows.targets[row] - phi.row(place).dot(&self.mean);
                [rows.targets[row] - rest / left, self.noise / left]
            };
            range.enumerate().map(of_row).collect::<Vec<[f64; 2]>>()
        });
        let all: Vec<[f64; 2]> = parts.into_iter().flatten().collect();
        Normals {
            mean: all.iter().map(|[mean, _]| mean * self.scale).collect(),
            variance: all.iter().map(|[_, variance]| variance * self.scale * self.scale).collect(),
        }
    }

    /// What a column around each row itself would add to its variance: `(k** − φᵀv)²/(α* + S)`, with `v = βΣΦᵀφ*` (Rasmussen and
    /// Quiñonero-Candela 2005).
    fn healing(&self, basis: &Basis, x: ArrayView2<'_, f64>, phi: &Array2<f64>) -> Array1<f64> {
        let (par, kernel) = (Par::sequential(), &basis.kernel);
        let weight = self.weight / self.noise;
        let own = kernel.cross(x, self.sampled.view(), &par);
        let at_sampled = self.centers.values(kernel, self.sampled.view(), &par);
        let moments = own.dot(&at_sampled) * weight;
        let v = moments.dot(&self.covariance);
        let diagonal = kernel.diagonal(x);
        let signal = (self.spread - self.noise).max(1e-6 * self.spread);
        (0..x.nrows())
            .map(|i| {
                let explained = moments.row(i).dot(&v.row(i));
                let sparsity = (weight * own.row(i).dot(&own.row(i)) - explained).max(0.0);
                let rest = diagonal[i] - phi.row(i).dot(&v.row(i));
                // Far from all rows the variance is that of the targets.
                let alpha = diagonal[i] * diagonal[i] / signal;
                rest * rest / (alpha + sparsity)
            })
            .collect()
    }
}

#[cfg(test)]
impl RegressionModel {
    /// The design matrix of prepared rows, the precisions of its columns, the noise variance, and the unit of the targets.
    pub(super) fn design(&self, basis: &Basis, prepared: Array2<f64>) -> (Array2<f64>, Vec<f64>, f64, f64) {
        let phi = self.centers.values(&basis.kernel, basis.map(prepared).view(), &Par::sequential());
        (phi, self.alpha.clone(), self.noise, self.scale)
    }
}

impl FittedModel for RegressionModel {
    const TASK: Task = Task::Regression;

    fn predictor(rvm: &Rvm<Self>) -> Predictor<'_> {
        Predictor::Regressor(rvm)
    }

    fn noise_deviation(&self) -> Option<f64> {
        Some(self.scale * libm::sqrt(self.noise))
    }

    /// The standard deviation of the targets, or their size if they do not vary.
    fn unit(targets: &[f64]) -> f64 {
        let (_, variance) = mean_and_variance(targets);
        let largest = targets.iter().fold(0.0_f64, |most, t| most.max(t.abs()));
        match libm::sqrt(variance) {
            deviation if deviation > 1e-12 * largest && deviation > 0.0 => deviation,
            _ if largest > 0.0 => largest,
            _ => 1.0,
        }
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn fit(rows: &TrainingRows<'_>, basis: &Basis) -> Result<Outcome<Self>> {
        let target = Regression { context: rows.context(&basis.kernel), targets: rows.targets };
        let trained = train_or_update(&target, None, None)?;
        let outcome = Self::outcome(rows, basis, &target, trained);
        if rows.is_trial {
            return Ok(outcome);
        }
        let left_out = outcome.model.without_each(rows, basis);
        let numbers = rows.targets.iter().map(|target| target * rows.scale).collect();
        let validation = OutOfSample::of_numbers(Source::LeaveOneOut, &left_out, numbers);
        Ok(Outcome { validation: Some(validation), ..outcome })
    }

    fn update(&self, rows: &TrainingRows<'_>, basis: &Basis, online: &OnlineState) -> Result<Outcome<Self>> {
        let (target, from) = self.start(rows, basis, &online.relevant());
        let trained = update(&target, &from, online.first_new())?;
        Ok(Self::outcome(rows, basis, &target, trained))
    }

    /// Minus the squared error.
    fn score(&self, basis: &Basis, x: ArrayView2<'_, f64>, targets: &[f64], _: usize) -> f64 {
        let mean = self.centers.values(&basis.kernel, x, &Par::sequential()).dot(&self.mean);
        -targets.iter().zip(&mean).map(|(t, y)| (t - y).powi(2)).sum::<f64>()
    }

    fn centers(&self) -> &Array2<f64> {
        &self.centers.rows
    }

    fn bytes(&self) -> usize {
        8 * (self.covariance.len() + self.sampled.len() + 2 * self.mean.len())
    }

    fn is_valid(&self, _: usize) -> bool {
        let Centers { rows, bias } = &self.centers;
        let n = rows.nrows() + usize::from(bias.is_some());
        [self.noise, self.scale, self.spread, self.weight].into_iter().all(is_positive)
            && [self.alpha.len(), self.mean.len()] == [n, n]
            && self.alpha.iter().copied().all(is_positive)
            && self.covariance.dim() == (n, n)
            && self.sampled.ncols() == rows.ncols()
            && [&self.covariance, &self.sampled].iter().all(|table| are_moderate(*table))
            && are_moderate(&self.mean)
            && bias.is_none_or(|place| place + 1 == n)
    }
}
