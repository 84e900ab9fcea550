//! Relative evidence: how much the training rows near a row support its prediction.

use std::sync::{Arc, OnceLock};

use hedgerow_core::error::check_shapes;
use hedgerow_core::{
    Classifier, ModelProblem, NearbyRows, Par, RelativeEvidence, Result, SecondOrder, Supported,
};
use ndarray::{ArrayView2, ArrayViewMut2};

use crate::model::Model;

/// The rows that evidence is counted from. They follow from the rest of a model: they are made when they are first asked for, and neither saved nor
/// compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nearby(OnceLock<Arc<NearbyRows>>);

impl PartialEq for Nearby {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// How a model tells its evidence.
enum Evidence<'a> {
    Own(&'a dyn RelativeEvidence),
    Nearby(Supported<'a>),
}

macro_rules! either {
    ($of:expr, $model:ident => $work:expr) => {
        match $of {
            Evidence::Own($model) => $work,
            Evidence::Nearby($model) => $work,
        }
    };
}

impl Classifier for Evidence<'_> {
    fn n_features(&self) -> usize {
        either!(self, model => model.n_features())
    }

    fn n_classes(&self) -> usize {
        either!(self, model => model.n_classes())
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>) {
        either!(self, model => model.predict_proba_impl(x, par, out));
    }
}

impl RelativeEvidence for Evidence<'_> {
    fn predict_evidence_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder> {
        either!(self, model => model.predict_evidence_impl(x, par))
    }
}

impl Model {
    /// A distribution over the class probabilities of every row that tells how much evidence there is for them
    /// ([`About::RelativeEvidence`](hedgerow_core::About)), on all cores. It compares rows and claims no coverage.
    ///
    /// Kernel densities, nearest neighbours and confidence forests count labels of their own, and the mean is their estimate before calibration. Of other
    /// kinds, evidence is the number of training rows near a row, shared by the probabilities that the model predicts: it is far away from all rows
    /// that these count for nothing. The rows are looked at when evidence is first asked for. Fails for a regression, and for a model that was saved
    /// without its rows.
    ///
    /// ```
    /// use hedgerow::neighbors::KdeParams;
    /// use hedgerow::{Fit, core::testing::blobs};
    /// use ndarray::array;
    ///
    /// let data = blobs(200, 2, 2, 1);
    /// let model = Fit::new(KdeParams::default()).fit(data.features.to_array(0..200).view(), data.labels())?.model;
    /// let far = model.predict_evidence(array![[1e4, 1e4]].view())?;
    /// assert!((far.variance()[(0, 0)] - 0.125).abs() < 1e-6, "that of the prior");
    /// # Ok::<(), hedgerow::core::Error>(())
    /// ```
    pub fn predict_evidence(&self, x: ArrayView2<'_, f32>) -> Result<SecondOrder> {
        self.predict_evidence_par(x, &Par::shared())
    }

    /// The same with threads of the caller's.
    pub fn predict_evidence_par(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder> {
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        self.evidence(par)?.predict_evidence(x, par)
    }

    /// As a classifier that tells its evidence, see [`Self::predict_evidence`].
    pub fn relative_evidence(&self) -> Result<impl RelativeEvidence + '_> {
        self.evidence(&Par::shared())
    }

    fn evidence(&self, par: &Par) -> Result<Evidence<'_>> {
        let classifier = self.classifier()?;
        if let Some(own) = self.learner.get().relative_evidence() {
            return Ok(Evidence::Own(own));
        }
        if let Some(nearby) = self.nearby.0.get() {
            return Supported::new(classifier, Arc::clone(nearby)).map(Evidence::Nearby);
        }
        let found = self.learner.get().nearby_rows(&self.schema, par)?;
        let kind = self.kind().name();
        let rows = found.ok_or_else(|| hedgerow_core::Error::model(ModelProblem::WithoutRows { kind }))?;
        // Of two threads that came here at once, both have made the same.
        let nearby = Arc::clone(self.nearby.0.get_or_init(|| Arc::new(rows)));
        Supported::new(classifier, nearby).map(Evidence::Nearby)
    }
}
