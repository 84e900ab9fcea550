//! Models of any kind in active learning: what query strategies ask them, and how they are trained.

use hedgerow_active::{Latent, OfModel, QueryModel, Trainer};
use hedgerow_core::{Budget, Dataset, Par, Result, SecondOrder, Silent, Training};
use ndarray::{Array2, Array3, ArrayView2};

use crate::kinds::ModelParams;
use crate::model::Model;

impl QueryModel for Model {
    fn n_classes(&self) -> usize {
        self.schema.n_classes()
    }

    fn predict_proba(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        self.predict_proba_par(x, par)
    }

    fn predict_members(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<Array3<f64>>> {
        OfModel::new(self.learner.get())?.predict_members(x, par)
    }

    fn cells(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<Array2<u32>>> {
        OfModel::new(self.learner.get())?.cells(x, par)
    }

    fn second_order(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<SecondOrder>> {
        OfModel::new(self.learner.get())?.second_order(x, par)
    }

    fn latent(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<Latent>> {
        OfModel::new(self.learner.get())?.latent(x, par)
    }

    fn importances(&self) -> Option<Vec<f64>> {
        self.summary().importances
    }
}

impl Trainer for ModelParams {
    fn train(&self, data: &Dataset, seed: u64, par: &Par) -> Result<Box<dyn QueryModel>> {
        let training = Training { par, budget: &Budget::open(), observer: &Silent };
        Ok(Box::new(Model::fit(data, &self.clone().with_seed(seed), &training)?.model))
    }
}
