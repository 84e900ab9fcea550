//! What a strategy may ask of a model, whatever model it is.

pub use hedgerow_core::Latent;
use hedgerow_core::{Dataset, OnlineModel, Par, Predictor, Result, SecondOrder};
use ndarray::{Array2, Array3, ArrayView2};

/// A classifier that a query strategy asks. Only class probabilities are needed; what a model cannot tell is none.
pub trait QueryModel: Send + Sync {
    /// Classes, which are the columns of the predictions.
    fn n_classes(&self) -> usize;

    /// A probability for every class of every row.
    fn predict_proba(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>>;

    /// What each member of a committee predicts: member, row, class.
    fn predict_members(&self, _x: ArrayView2<'_, f32>, _par: &Par) -> Result<Option<Array3<f64>>> {
        Ok(None)
    }

    /// The cell of every row in the partition that each member of a committee makes, as the leaves of trees are: a row each, a column for each member.
    fn cells(&self, _x: ArrayView2<'_, f32>, _par: &Par) -> Result<Option<Array2<u32>>> {
        Ok(None)
    }

    /// A distribution over the class probabilities of every row.
    fn second_order(&self, _x: ArrayView2<'_, f32>, _par: &Par) -> Result<Option<SecondOrder>> {
        Ok(None)
    }

    /// The latent values of every row.
    fn latent(&self, _x: ArrayView2<'_, f32>, _par: &Par) -> Result<Option<Latent>> {
        Ok(None)
    }

    /// How much each column of the table matters to its predictions.
    fn importances(&self) -> Option<Vec<f64>> {
        None
    }
}

/// Trains a model on labelled rows.
pub trait Trainer: Send + Sync {
    /// A model of these rows, of two classes at least.
    fn train(&self, data: &Dataset, seed: u64, par: &Par) -> Result<Box<dyn QueryModel>>;
}

/// A trained model, asked for what its kind can tell.
#[derive(Clone, Copy)]
pub struct OfModel<'a>(&'a dyn OnlineModel);

impl<'a> OfModel<'a> {
    /// Fails for a regression model.
    pub fn new(model: &'a dyn OnlineModel) -> Result<Self> {
        use hedgerow_core::{DataProblem, Task};
        match model.predictor() {
            Predictor::Classifier(_) => Ok(Self(model)),
            Predictor::Regressor(_) => {
                let (expected, got) = (Task::Classification, Task::Regression);
                Err(DataProblem::WrongTask { expected, got }.into())
            }
        }
    }
}

impl QueryModel for OfModel<'_> {
    fn n_classes(&self) -> usize {
        self.0.predictor().n_classes()
    }

    fn predict_proba(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        match self.0.predictor() {
            Predictor::Classifier(classifier) => classifier.predict_proba(x, par),
            Predictor::Regressor(_) => Ok(Array2::zeros((x.nrows(), 0))),
        }
    }

    fn predict_members(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<Array3<f64>>> {
        self.0.committee().map(|committee| committee.predict_members(x, par)).transpose()
    }

    fn cells(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<Array2<u32>>> {
        self.0.committee().map_or(Ok(None), |committee| committee.cells(x, par))
    }

    fn second_order(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<SecondOrder>> {
        self.0.relative_evidence().map(|model| model.predict_evidence(x, par)).transpose()
    }

    fn latent(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<Latent>> {
        self.0.latent_process().map(|model| model.predict_latent(x, par)).transpose()
    }

    fn importances(&self) -> Option<Vec<f64>> {
        self.0.summary(&[]).importances
    }
}
