//! A GP whose kernel is a forest: the similarity of two rows is the share of trees in which they fall into the same leaf.
//!
//! Breiman, 2000, Some infinity theory for predictor ensembles; Davies & Ghahramani, 2014, The random forest kernel and other kernels for big data from
//! random partitions. The trees find the features that matter; the GP weighs all rows together instead of leaf by leaf.
//!
//! `leaves` numbers the leaves of rows, `matches` has the kernel of some rows, `product` products with the kernel matrix as sums over leaves.
//! `conjugate_gradients` is the GP regression with all rows, `sparse` the one through the active sets of IVMs, `training` either of them in slices;
//! both end in the scores of leaves (`scores`). `validation` chooses noise variance, calibration and blend by out-of-fold predictions, `run` is the
//! training run, `online` goes on learning, `limits` divides the budget. Without a GP the forest predicts alone.

mod conjugate_gradients;
mod leaves;
mod limits;
mod matches;
mod online;
mod params;
mod product;
mod run;
mod saved;
mod scores;
mod sparse;
#[cfg(test)]
mod tests;
mod training;
mod validation;

use hedgerow_core::{
    Blend, BoxedRun, Checked, Classifier, KindInfo, ModelKind, Par, Params as _, Renewed, Result, RunStart,
    Schema,
};
use hedgerow_forest::{Forest, ForestModel, ForestParams};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use online::OnlineState;
pub use params::{ForestKernelParams, KernelLearner};
pub use run::ForestKernelRun;
use scores::LeafScores;
use validation::KernelChoice;

/// A GP classifier with the kernel of a forest.
///
/// Row weights count in the forest, not in the GP. A prediction costs a walk down each tree. Training on n rows costs a few dozen passes over n rows, trees and classes beside growing about two forests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForestKernelClassifier {
    params: ForestKernelParams,
    n_classes: usize,
    forest: ForestModel,
    /// What out-of-fold predictions have chosen; none before that.
    choice: Option<KernelChoice>,
    /// The scores of the GP; none if the forest predicts alone.
    scores: Option<LeafScores>,
    /// What learning more needs; none if it was left out.
    online: Option<OnlineState>,
}

impl ForestKernelClassifier {
    /// The forest.
    pub fn forest(&self) -> &Forest {
        self.forest.forest()
    }

    /// Rows that the scores of leaves come from; 0 if the forest predicts alone.
    pub fn n_active(&self) -> usize {
        self.scores.as_ref().map_or(0, |scores| scores.n_rows)
    }

    /// The noise variance; none before it was chosen.
    pub fn noise_variance(&self) -> Option<f64> {
        self.choice.as_ref().map(|choice| choice.noise)
    }

    /// How far forest and GP are trusted; none if one of them predicts alone.
    pub fn blend(&self) -> Option<Blend> {
        self.choice.as_ref().filter(|_| self.scores.is_some()).and_then(|choice| choice.blend)
    }

    /// The scores of rows by the GP, a column a class; none if the forest predicts alone.
    fn scored(&self, x: ArrayView2<'_, f32>, par: &Par) -> Option<Array2<f64>> {
        let scores = self.scores.as_ref()?;
        scores.of(self.forest.forest(), x, par).ok()
    }

    /// Predicts rows whose scores, if there is a GP, are known.
    fn predict_scored(
        &self,
        x: ArrayView2<'_, f32>,
        scores: Option<&Array2<f64>>,
        par: &Par,
        mut out: ArrayViewMut2<'_, f64>,
    ) {
        let (Some(choice), Some(scores)) = (&self.choice, scores) else {
            return self.forest.forest().predict_proba_impl(x, par, out);
        };
        if choice.blend.is_some() {
            self.forest.forest().predict_proba_impl(x, par, out.view_mut());
        }
        let mut proba = vec![0.0; self.n_classes];
        for (row, mut out) in scores.rows().into_iter().zip(out.rows_mut()) {
            proba.fill(f64::NEG_INFINITY);
            proba.iter_mut().zip(row).for_each(|(to, score)| *to = *score);
            choice.apply(&mut proba, &out.to_vec());
            out.iter_mut().zip(&proba).for_each(|(to, p)| *to = *p);
        }
    }
}

impl Classifier for ForestKernelClassifier {
    fn n_features(&self) -> usize {
        self.forest.forest().n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>) {
        self.predict_scored(x, self.scored(x, par).as_ref(), par, out);
    }
}

impl ModelKind for ForestKernelParams {
    type Model = ForestKernelClassifier;

    const INFO: KindInfo = KindInfo {
        name: "forest-kernel",
        about: "A Gaussian process whose kernel is a forest: the share of trees in which rows share a leaf",
        noun: "a Gaussian process whose kernel is a forest",
        work: "growing trees, then a Gaussian process",
        params: "ForestKernelParams",
        renewed: Renewed::TREES,
        ..KindInfo::LEARNER
    };

    fn new_model(schema: &Schema, params: &Checked<Self>) -> Result<ForestKernelClassifier> {
        let params = params.get().clone();
        Ok(ForestKernelClassifier {
            n_classes: schema.n_classes(),
            forest: ForestParams::new_model(schema, &params.forest_params().check()?)?,
            choice: None,
            scores: None,
            online: Some(OnlineState::new(0, schema.n_features())),
            params,
        })
    }

    fn start_run(start: &RunStart<'_, Self>) -> Result<BoxedRun<ForestKernelClassifier>> {
        Ok(Box::new(ForestKernelRun::new(start.data, start.params, start.lanes, start.training)?))
    }

    as_its_forest!();
}
