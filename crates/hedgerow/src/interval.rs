//! Sampling intervals: where the true probabilities of the classes lie.

use std::sync::{Arc, OnceLock};

use hedgerow_core::error::check_shapes;
use hedgerow_core::params::require;
use hedgerow_core::saved::Saved as _;
use hedgerow_core::{Dataset, Error, Par, Result, Schema, SecondOrder, TrueProbability as _};
use hedgerow_hybrid::IntervalEnsemble;
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::kinds::Kind;
use crate::model::Model;

/// What intervals are read from: made when it is first asked for, and saved with the model only if that was wished.
#[derive(Debug, Clone, Default)]
pub(crate) struct Intervals {
    made: OnceLock<Arc<IntervalEnsemble>>,
    is_kept: bool,
}

impl Intervals {
    /// Whether there is nothing to be saved.
    pub(crate) fn is_not_kept(&self) -> bool {
        self.kept().is_none()
    }

    fn kept(&self) -> Option<&IntervalEnsemble> {
        self.made.get().filter(|_| self.is_kept).map(|made| &**made)
    }

    /// Fails unless what was read fits the schema.
    pub(crate) fn complete(&mut self, schema: &Schema) -> Result<()> {
        let Some(made) = self.made.take() else { return Ok(()) };
        let mut made = Arc::unwrap_or_clone(made);
        made.complete(schema)?;
        *self = Self { made: OnceLock::from(Arc::new(made)), is_kept: true };
        Ok(())
    }
}

/// What was made by asking alone is no part of a model.
impl PartialEq for Intervals {
    fn eq(&self, other: &Self) -> bool {
        self.kept() == other.kept()
    }
}

impl Serialize for Intervals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.kept().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Intervals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let made = Option::<IntervalEnsemble>::deserialize(deserializer)?;
        let is_kept = made.is_some();
        Ok(Self { made: made.map(|made| OnceLock::from(Arc::new(made))).unwrap_or_default(), is_kept })
    }
}

impl Model {
    /// The lower and the upper ends of equal-tailed intervals, a row each and a column for each class, on all cores: the true probability of a class lies
    /// between them so often, on average over rows and over training sets that might have been drawn. Fails for a level outside (0, 1), for regression
    /// models, and for models that were saved without what it takes.
    ///
    /// ```
    /// use hedgerow::Fit;
    /// # let data = hedgerow::core::testing::blobs(200, 2, 2, 1);
    /// # let (x, y) = (data.features.to_array(0..200), data.labels());
    /// let model = Fit::default().fit(x.view(), y)?.model;
    /// let [low, high] = model.predict_interval(x.view(), 0.9)?;
    /// assert!(low.iter().zip(&high).all(|(low, high)| 0.0 <= *low && low <= high && *high <= 1.0));
    /// # Ok::<(), hedgerow::core::Error>(())
    /// ```
    pub fn predict_interval(&self, x: ArrayView2<'_, f32>, level: f64) -> Result<[Array2<f64>; 2]> {
        self.predict_interval_par(x, level, &Par::shared())
    }

    /// The same with threads of the caller's.
    pub fn predict_interval_par(
        &self,
        x: ArrayView2<'_, f32>,
        level: f64,
        par: &Par,
    ) -> Result<[Array2<f64>; 2]> {
        require("level", level, level > 0.0 && level < 1.0, "a number between 0 and 1")?;
        self.predict_true_probability_par(x, par)?.interval(level)
    }

    /// A distribution over the true probability of every class of every row ([`About::TrueProbability`](hedgerow_core::About)), on all cores. Its mean is an
    /// estimate of its own, which may differ from the predicted probability.
    pub fn predict_true_probability(&self, x: ArrayView2<'_, f32>) -> Result<SecondOrder> {
        self.predict_true_probability_par(x, &Par::shared())
    }

    /// The same with threads of the caller's.
    pub fn predict_true_probability_par(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder> {
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        self.true_probability(par)?.predict_true_probability(x, par)
    }

    /// What tells where true probabilities lie. It is made of the rows that the model retains when it is first asked for, anew after more rows were learnt; asking
    /// again costs nothing.
    pub fn true_probability(&self, par: &Par) -> Result<Arc<IntervalEnsemble>> {
        self.classifier()?;
        if let Some(made) = self.intervals.made.get() {
            return Ok(Arc::clone(made));
        }
        let unable = || self.kind().unable("tell where true probabilities lie", Kind::tells_true_probability);
        if !self.kind().tells_true_probability() {
            return Err(unable());
        }
        let data = self.rows_for_intervals()?.ok_or(Error::NoIntervals)?;
        let made = Arc::new(IntervalEnsemble::fit(&data, self.params().seed(), par)?);
        // Another thread may have made the same.
        Ok(Arc::clone(self.intervals.made.get_or_init(|| made)))
    }

    /// Makes what intervals are read from now, and saves it with the model from now on: for a model that is to be without its rows, or for
    /// predictions that should begin at once.
    pub fn keep_true_probability(&mut self, par: &Par) -> Result<()> {
        self.true_probability(par)?;
        self.intervals.is_kept = true;
        Ok(())
    }

    /// Rows have been learnt: what was made of the others is out of date.
    pub(crate) fn forget_intervals(&mut self) {
        self.intervals = Intervals::default();
    }

    /// Without what was made by asking alone.
    pub(crate) fn with_kept_intervals(mut self) -> Self {
        if self.intervals.is_not_kept() {
            self.forget_intervals();
        }
        self
    }

    /// The rows that the model was fitted to or has learnt, as far as it retains them; fails where it retains only those it got wrong.
    fn rows_for_intervals(&self) -> Result<Option<Dataset>> {
        self.params().check_retains_fairly()?;
        match &self.rows {
            Some(rows) => rows.dataset(&self.schema).map(Some),
            None => self.retained_rows(),
        }
    }
}
