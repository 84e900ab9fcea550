//! Outlier scores: how unlike the rows that a model has learnt a row is.

use std::sync::Arc;

use hedgerow_core::error::check_shapes;
use hedgerow_core::{Error, OutlierScore, OutlierScorer, Par, ReferenceRows, Result, Rows, Task};
use ndarray::{ArrayView2, Axis};

use crate::model::Model;

/// A model with what scores rows by those it has learnt.
pub struct ModelOutliers<'a> {
    model: &'a Model,
    scorer: Arc<OutlierScorer>,
}

impl OutlierScore for ModelOutliers<'_> {
    fn n_features(&self) -> usize {
        self.model.n_features()
    }

    fn outlier_score_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<f64>> {
        let predictions = self.model.predict_table(x, par)?;
        self.score_predicted(x, predictions.view(), par)
    }
}

impl ModelOutliers<'_> {
    /// The scores of rows that were predicted already, as [`Model::predict_table`] does it.
    pub fn score_predicted(
        &self,
        x: ArrayView2<'_, f32>,
        predictions: ArrayView2<'_, f64>,
        par: &Par,
    ) -> Result<Vec<f64>> {
        check_shapes([
            ("feature columns", self.model.n_features(), x.ncols()),
            ("rows of the predictions", x.nrows(), predictions.nrows()),
        ])?;
        let proba = (self.model.task() == Task::Classification).then_some(predictions);
        Ok(self.scorer.score(x, proba, par))
    }
}

impl Model {
    /// How unlike the rows that the model has learnt each row is, on all cores: from 0 to 1, larger is stranger. Of rows like those it has
    /// learnt, a share of 1 − s lies above s: rows above 0.95 may be rejected, at the price of one known row in twenty. Rows that are learnt online
    /// count from then on. Fails for a model without its rows; the first scores after learning take a little longer.
    ///
    /// ```
    /// use hedgerow::core::testing::blobs;
    /// use ndarray::array;
    ///
    /// let data = blobs(300, 2, 3, 1);
    /// let mut model = hedgerow::fit(data.features.to_array(0..300).view(), data.labels())?;
    /// let strange = array![[1e3, -1e3]];
    /// assert!(model.outlier_score(strange.view())?[0] > 0.99);
    /// assert!(model.without_rows().outlier_score(strange.view()).is_err());
    /// # Ok::<(), hedgerow::core::Error>(())
    /// ```
    pub fn outlier_score(&self, x: ArrayView2<'_, f32>) -> Result<Vec<f64>> {
        self.outlier_score_par(x, &Par::shared())
    }

    /// The same with threads of the caller's.
    pub fn outlier_score_par(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<f64>> {
        self.outliers(par)?.outlier_score(x, par)
    }

    /// As a model that scores outliers; fails for one without its rows.
    pub fn outliers(&self, par: &Par) -> Result<ModelOutliers<'_>> {
        let rows = self.reference.as_ref().ok_or(Error::NoReferenceRows)?;
        Ok(ModelOutliers { model: self, scorer: rows.scorer(&self.schema, par) })
    }

    /// Takes in rows that were learnt. A model that has learnt nothing before begins to collect them, within a limit on bytes.
    pub(crate) fn note_reference(
        &mut self,
        rows: Rows<'_>,
        predictions: ArrayView2<'_, f64>,
        is_new: bool,
        bytes: Option<u64>,
    ) {
        if is_new && self.reference.is_none() {
            let new = ReferenceRows::new(&self.schema, self.params().seed(), bytes);
            self.reference = Some(Box::new(new));
        }
        let Some(reference) = &mut self.reference else { return };
        let is_classifier = self.schema.task() == Task::Classification;
        for (number, target) in rows.targets.iter().enumerate() {
            if rows.weights.is_some_and(|weights| weights[number] == 0.0) {
                continue;
            }
            let predicted = is_classifier.then(|| predictions.index_axis(Axis(0), number));
            reference.learn(rows.x.row(number), target, predicted);
        }
    }
}

#[cfg(test)]
mod tests;
