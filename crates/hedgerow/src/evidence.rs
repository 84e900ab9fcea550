//! Relative evidence: how much the training rows near a row support its prediction.

use hedgerow_core::error::check_shapes;
use hedgerow_core::{Par, RelativeEvidence, Result, SecondOrder};
use ndarray::ArrayView2;

use crate::kinds::Kind;
use crate::model::Model;

impl Model {
    /// A distribution over the class probabilities of every row that tells how much evidence there is for them
    /// ([`About::RelativeEvidence`](hedgerow_core::About)), on all cores. It compares rows and claims no coverage; its mean is the model's estimate before
    /// calibration. Fails for kinds that cannot tell.
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
        self.relative_evidence()?.predict_evidence(x, par)
    }

    /// As a classifier that tells its evidence; fails, and names the kinds that can, where it is of another kind.
    pub fn relative_evidence(&self) -> Result<&dyn RelativeEvidence> {
        let unable = || self.kind().unable("tell the evidence for their predictions", Kind::tells_evidence);
        self.learner.get().relative_evidence().ok_or_else(unable)
    }
}
