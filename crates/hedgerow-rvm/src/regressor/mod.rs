//! Numbers: one RVM, whose noise is estimated, and the variance of its predictions.

mod model;
#[cfg(test)]
mod tests;

use hedgerow_core::{Budget, Normals, Par, Regressor, Result, Silent, Training};
use ndarray::ArrayView2;

use crate::rvm::{Fit, FittedModel as _, Rvm};
use crate::target::mean_and_variance;
use crate::train::gains;
pub use model::RegressionModel;

/// A Relevance Vector Machine for numbers.
pub type RvmRegressor = Rvm<RegressionModel>;

impl Rvm<RegressionModel> {
    /// The standard deviation of the noise, in units of the target.
    pub fn noise_deviation(&self) -> Option<f64> {
        self.fit.as_ref().and_then(|fit| fit.model.noise_deviation())
    }

    /// What each retained row that is not relevant would gain in log evidence if it were taken in (Tipping and Faul 2003), the best first;
    /// empty if no rows are retained.
    pub fn reinsertion_gains(&self, par: &Par) -> Result<Vec<f64>> {
        let training = Training { par, budget: &Budget::open(), observer: &Silent };
        let (Some(online), Some(fit)) = (&self.online, &self.fit) else { return Ok(Vec::new()) };
        self.with_retained(fit, online, &training, |rows| {
            let (target, from) = fit.model.start(rows, &fit.basis, &online.relevant());
            Ok(gains(&target, &from)?.into_iter().map(|(_, gain)| gain).collect())
        })
    }
}

impl Regressor for Rvm<RegressionModel> {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn predict_values_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Normals {
        let n = x.nrows();
        let Some(fit) = &self.fit else {
            // All that is known are the targets. Those that have come since the last update do not count yet: batches must change nothing.
            let targets = match &self.online {
                Some(online) => online.rows.targets().slice(0..online.first_new()).values(),
                None => &[],
            };
            let (mean, variance) = mean_and_variance(targets);
            let variance = if targets.len() > 1 { variance.max(1e-12) } else { 1.0 };
            return Normals { mean: vec![mean; n], variance: vec![variance; n] };
        };
        let Fit { basis, model, .. } = fit;
        self.preparation.predict_values(x, par, |x| model.predict(basis, basis.map(x).view()))
    }
}
