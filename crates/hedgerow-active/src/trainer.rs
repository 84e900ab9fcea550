//! Models of one kind, trained with the same parameters.

use hedgerow_core::{
    Budget, Dataset, Latent, ModelKind, OnlineModel, Par, Result, SecondOrder, Silent, Training, fit,
};
use ndarray::{Array2, Array3, ArrayView2};

use crate::model::{OfModel, QueryModel, Trainer};

/// Trains models with these parameters, and the seed that each is to have.
#[derive(Debug, Clone, PartialEq)]
pub struct KindTrainer<P>(
    /// The parameters.
    pub P,
);

impl<P: ModelKind + Clone + Send + Sync> Trainer for KindTrainer<P> {
    fn train(&self, data: &Dataset, seed: u64, par: &Par) -> Result<Box<dyn QueryModel>> {
        let mut params = self.0.clone();
        *params.seed() = seed;
        let training = Training { par, budget: &Budget::open(), observer: &Silent };
        Ok(Box::new(Trained(fit(data, &params.check()?, &training)?.model)))
    }
}

/// A trained model of one's own; see [`OfModel`] for one that is borrowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained<M>(
    /// The model: a classifier, or nothing can be asked.
    pub M,
);

impl<M: OnlineModel> QueryModel for Trained<M> {
    fn n_classes(&self) -> usize {
        self.0.predictor().n_classes()
    }

    fn predict_proba(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        OfModel::new(&self.0)?.predict_proba(x, par)
    }

    fn predict_members(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<Array3<f64>>> {
        OfModel::new(&self.0)?.predict_members(x, par)
    }

    fn cells(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<Array2<u32>>> {
        OfModel::new(&self.0)?.cells(x, par)
    }

    fn second_order(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<SecondOrder>> {
        OfModel::new(&self.0)?.second_order(x, par)
    }

    fn latent(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<Latent>> {
        OfModel::new(&self.0)?.latent(x, par)
    }

    fn importances(&self) -> Option<Vec<f64>> {
        OfModel::new(&self.0).ok()?.importances()
    }
}
