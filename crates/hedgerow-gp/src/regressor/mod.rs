//! A Gaussian process of all training rows that predicts numbers with their variance.
//!
//! Columns are prepared as for the classifier, targets brought to mean 0 and variance 1. Hyper-parameters that are left open make the log
//! marginal likelihood of some of the rows largest; the exact posterior of all rows follows, and with it leave-one-out predictions of all of them in closed
//! form.

use hedgerow_core::saved::{Saved, require, require_rules};
use hedgerow_core::{
    Checked, Dataset, Error, Normals, OnlineModel, OutOfSample, Par, Predictor, Regressor, Result, Schema,
    Source, StopReason, Summary, Task, Training,
};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::classifier::search::choose_for_values;
use crate::classifier::{FittedGp, GpMethod, GpParams, check_room, some_rows, summary};
use crate::kernel::Kernel;
use crate::prepare::Preparation;
use crate::regression::{GpRegression, Normal};

/// Rows at most, unless parameters say otherwise.
const USUAL_ROWS: usize = 5_000;
/// Rows that hyper-parameters are searched on, at most.
const SEARCH_ROWS: usize = 800;
/// Rows that are learnt when training was interrupted, at most.
const ROWS_IN_HASTE: usize = 400;

/// A regression model that keeps all of its training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpRegressor {
    settings: Settings,
    /// The posterior of prepared rows and scaled targets.
    posterior: GpRegression,
}

/// How rows become the input of the posterior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Settings {
    params: GpParams,
    preparation: Preparation,
    /// Without noise.
    kernel: Kernel,
    noise: f64,
    /// The mean of the targets, and their deviation.
    center: f64,
    scale: f64,
}

impl GpRegressor {
    /// Fits a Gaussian process to a data set of numbers. Row weights are ignored.
    pub fn fit(
        data: &Dataset,
        params: &Checked<GpParams>,
        training: &Training<'_>,
    ) -> Result<FittedGp<Self>> {
        data.check_trainable(Task::Regression)?;
        let params = params.get();
        if params.method != GpMethod::Labels {
            let got = format!("{:?}", params.method).to_lowercase();
            return Err(Error::param("method", "labels for a regression", got));
        }
        let n = data.n_rows();
        params.check_rows(n, USUAL_ROWS, "rvm")?;
        check_room(n, 8 * (n * n) as u64, training, "rvm")?;
        let preparation = Preparation::until(&training.budget.stop, &data.schema, &data.features);
        let x = preparation.map_all(&data.features, training.par);
        let values = Array1::from(data.values().to_vec());
        let (center, scale) = standard(&values);
        let y = (values - center) / scale;
        // A factor of thousands of rows takes seconds: an interrupt does not wait for it, but gives a model of fewer rows.
        let stop = &training.budget.stop;
        let until_stopped = training.par.until(stop);
        let interruptible = Training { par: &until_stopped, ..*training };
        let (some, of_some) = selected(&x, &y, SEARCH_ROWS, params.seed);
        let chosen = choose_for_values(some.view(), of_some.view(), params, &interruptible);
        let noisy = chosen.noisy();
        let learnt = GpRegression::fit(noisy.clone(), 0.0, x.view(), y.view(), interruptible.par);
        let posterior = if stop.is_stopped() {
            let (some, of_some) = selected(&x, &y, ROWS_IN_HASTE, params.seed);
            GpRegression::fit(noisy, 0.0, some.view(), of_some.view(), training.par)?
        } else {
            learnt?
        };
        let is_whole = posterior.rows().nrows() == n;
        let log_evidence = is_whole.then(|| posterior.log_evidence() - n as f64 * libm::log(scale));
        let (kernel, noise) = (chosen.kernel, chosen.noise);
        let settings = Settings { params: params.clone(), preparation, kernel, noise, center, scale };
        let left_out = || settings.in_units(&posterior.without_each(interruptible.par), 0.0);
        let validation = is_whole
            .then(|| OutOfSample::of_numbers(Source::LeaveOneOut, &left_out(), data.values().to_vec()))
            // Half a factor is worth nothing.
            .filter(|_| !stop.is_stopped());
        let stop = training.budget.spent().unwrap_or(StopReason::Done);
        Ok(FittedGp { model: Self { settings, posterior }, stop, log_evidence, validation })
    }

    /// The parameters it was fitted with.
    pub fn params(&self) -> &GpParams {
        &self.settings.params
    }

    /// The kernel on prepared columns and scaled targets, noise included.
    pub fn kernel(&self) -> &Kernel {
        self.posterior.kernel()
    }

    /// The standard deviation of the noise, in units of the target.
    pub fn noise_deviation(&self) -> f64 {
        self.settings.scale * libm::sqrt(self.settings.noise)
    }

    /// Training rows.
    pub fn n_rows(&self) -> usize {
        self.posterior.rows().nrows()
    }
}

impl Settings {
    /// What is known about scaled targets, with so much noise added, in units of the target.
    fn in_units(&self, known: &Normal, noise: f64) -> Normals {
        let Self { center, scale, .. } = self;
        Normals {
            mean: known.mean.iter().map(|m| center + scale * m).collect(),
            variance: known.variance.iter().map(|v| scale * scale * (v + noise)).collect(),
        }
    }
}

impl Regressor for GpRegressor {
    fn n_features(&self) -> usize {
        self.settings.preparation.n_features()
    }

    fn predict_values_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Normals {
        let Settings { kernel, noise, preparation, .. } = &self.settings;
        preparation.predict_values(x, par, |x| {
            // The prior, for rows that no kernel can see.
            let prior = |_| Normal { mean: Array1::zeros(x.nrows()), variance: kernel.diagonal(x.view()) };
            let known = self.posterior.predict(x.view(), &Par::sequential()).unwrap_or_else(prior);
            self.settings.in_units(&known, *noise)
        })
    }
}

impl OnlineModel for GpRegressor {
    fn predictor(&self) -> Predictor<'_> {
        Predictor::Regressor(self)
    }

    fn bytes(&self) -> usize {
        let (n, width) = self.posterior.rows().dim();
        size_of::<Self>() + 8 * n * (n + width + 2)
    }

    fn summary(&self, _classes: &[String]) -> Summary {
        summary(self.n_rows(), self.kernel()).noise(self.noise_deviation())
    }
}

impl Saved for GpRegressor {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        let settings = &self.settings;
        require_rules(&settings.params)?;
        settings.preparation.check()?;
        let (got, expected) = (settings.preparation.n_features(), schema.n_features());
        require(got == expected, || format!("{got} columns, where the schema has {expected}"))?;
        let ((n, width), expected) = (self.posterior.rows().dim(), settings.preparation.width());
        let targets = &self.posterior.rest();
        let fits = width == expected && n > 0 && targets.len() == n;
        require(fits, || format!("{n} rows of {width} columns, where columns become {expected}"))?;
        let is_positive = |v: f64| v > 0.0 && v < 1e150;
        let is_sound = |v: &f64| v.is_finite() && v.abs() < 1e150;
        let are_sound = self.posterior.rows().iter().chain(targets).chain([&settings.center]).all(is_sound);
        let fits = are_sound && is_positive(settings.scale) && is_positive(settings.noise);
        require(fits, || "rows, targets and variances that are not finite")?;
        let noisy = settings.kernel.clone() + Kernel::white(settings.noise);
        require(*self.posterior.kernel() == noisy, || "the posterior has another kernel")?;
        self.posterior.complete(&Par::sequential())
    }
}

/// The mean of some numbers and their deviation; if they do not vary, their size.
fn standard(values: &Array1<f64>) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let center = values.sum() / n;
    let deviation = libm::sqrt(values.iter().map(|v| (v - center) * (v - center)).sum::<f64>() / n);
    let largest = values.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    match deviation {
        deviation if deviation > 1e-12 * largest && deviation > 0.0 => (center, deviation),
        _ if largest > 0.0 => (center, largest),
        _ => (center, 1.0),
    }
}

/// Rows and targets drawn at random, at most so many.
fn selected(x: &Array2<f64>, y: &Array1<f64>, most: usize, seed: u64) -> (Array2<f64>, Array1<f64>) {
    let rows = some_rows(y.len(), most, seed);
    (x.select(Axis(0), &rows), y.select(Axis(0), &rows))
}

#[cfg(test)]
mod tests;
