//! Numbers: one RVM, whose noise is estimated, and the variance of its predictions.

mod model;
#[cfg(test)]
mod tests;

use hedgerow_core::{
    Budget, Checked, Error, Features, Normals, Par, Regressor, Result, Schema, Silent, Training, ValueData,
};
use ndarray::{ArrayView2, s};

use crate::params::RvmParams;
use crate::rvm::{FittedRvm, Rvm};
use crate::train::gains;
pub use model::RegressionModel;

/// A Relevance Vector Machine for numbers.
pub type RvmRegressor = Rvm<RegressionModel>;

/// What came of learning some numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueUpdate {
    /// The prequential predictions: those of each row before it was learnt.
    pub predictions: Normals,
    /// Rows learnt; fewer than given only if the work was interrupted.
    pub n_learnt: usize,
    /// Rows that became candidates.
    pub n_tried: usize,
    /// Those of them that became relevant.
    pub n_taken: usize,
    /// Retained rows that were forgotten.
    pub n_forgotten: usize,
}

impl Rvm<RegressionModel> {
    /// Fits rows with numbers.
    pub fn fit(
        data: &ValueData,
        params: &Checked<RvmParams>,
        training: &Training<'_>,
    ) -> Result<FittedRvm<RegressionModel>> {
        data.check_trainable()?;
        Self::fit_rows(&data.schema, &data.features, data.targets.clone(), params, training)
    }

    /// Predicts rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is that of earlier
    /// calls, grown by the categories that have come since.
    pub fn learn(
        &mut self,
        schema: &Schema,
        x: ArrayView2<'_, f32>,
        targets: &[f64],
        training: &Training<'_>,
    ) -> Result<ValueUpdate> {
        if !self.can_learn() {
            return Err(Error::Frozen);
        }
        self.check(schema, x, targets)?;
        let mut predictions = Normals::default();
        let update = self.learn_rows(schema, x, targets, training, |rvm, range| {
            let found = rvm.predict_values_impl(x.slice(s![range, ..]), training.par);
            predictions.mean.extend(found.mean);
            predictions.variance.extend(found.variance);
        })?;
        Ok(ValueUpdate {
            predictions,
            n_learnt: update.n_learnt,
            n_tried: update.n_tried,
            n_taken: update.n_replaced,
            n_forgotten: update.n_forgotten,
        })
    }

    /// The standard deviation of the noise, in units of the target.
    pub fn noise_deviation(&self) -> Option<f64> {
        self.fit.as_ref().map(|fit| fit.model.noise_deviation())
    }

    /// What each retained row that is not relevant would gain in log evidence if it were taken in (Tipping and Faul 2003), the best first;
    /// empty if no rows are retained.
    pub fn reinsertion_gains(&self, par: &Par) -> Result<Vec<f64>> {
        let training = Training { par, budget: &Budget::open(), observer: &Silent };
        let (Some(retained), Some(_)) = (&self.retained, &self.fit) else { return Ok(Vec::new()) };
        self.with_retained(retained, &training, |fit, rows| {
            let (target, from) = fit.model.start(rows, &fit.basis, &retained.relevant(), par);
            Ok(gains(&target, &from, par)?.into_iter().map(|(_, gain)| gain).collect())
        })
    }

    /// Fails unless rows and numbers fit the model.
    fn check(&self, schema: &Schema, x: ArrayView2<'_, f32>, targets: &[f64]) -> Result<()> {
        let shapes = [
            ("feature columns", self.n_features(), x.ncols()),
            ("feature columns of the schema", self.n_features(), schema.n_features()),
            ("values", x.nrows(), targets.len()),
        ];
        for (what, expected, got) in shapes {
            if expected != got {
                return Err(Error::Shape { what, expected, got });
            }
        }
        ValueData::new(schema.clone(), Features::from_view(x), targets.to_vec()).map(|_| ())
    }
}

impl Regressor for Rvm<RegressionModel> {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn predict_values_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Normals {
        let n = x.nrows();
        let Some(fit) = &self.fit else {
            // All that is known are the targets.
            let targets = self.retained.as_ref().map_or(&[][..], |retained| &retained.targets);
            let count = targets.len().max(1) as f64;
            let mean = targets.iter().sum::<f64>() / count;
            let variance = targets.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / count;
            let variance = if targets.len() > 1 { variance.max(1e-12) } else { 1.0 };
            return Normals { mean: vec![mean; n], variance: vec![variance; n] };
        };
        let mut predictions = Normals::default();
        for block in self.predict_blocks(fit, x, par, RegressionModel::predict) {
            predictions.mean.extend(block.mean);
            predictions.variance.extend(block.variance);
        }
        predictions
    }
}
