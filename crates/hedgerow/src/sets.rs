//! Prediction sets: the classes of every row that cannot be ruled out.

use hedgerow_core::conformal::{Conformal, PredictionSets, SetOptions, Thresholds};
use hedgerow_core::error::check_shapes;
use hedgerow_core::{Error, ModelProblem, Par, Result, Rows, SetOutcome, Task, Update};
use ndarray::{ArrayView2, s};

use crate::model::Model;

impl Model {
    /// A set of classes for every row: the class of a new row is in its set with a probability of `level`, such as 0.9. On all cores.
    ///
    /// Sets come from the out-of-sample predictions of the fit, and of a model that learns from those made before its newest rows were learnt, so that they
    /// follow the rows as they change. They may be empty; [`Self::predict_sets`] has the choice, and other methods. Fails for a level that is not between 0
    /// and 1, for a regression model, and for a model that has no such predictions.
    ///
    /// ```
    /// use hedgerow::core::testing::blobs;
    ///
    /// let data = blobs(300, 3, 3, 1);
    /// let x = data.features.to_array(0..300);
    /// let sets = hedgerow::fit(x.view(), data.labels())?.predict_set(x.view(), 0.9)?;
    /// let covered = (0..300).filter(|&row| sets.classes(row).any(|class| class == data.labels()[row])).count();
    /// assert!(covered > 250 && sets.n_rows() == 300);
    /// # Ok::<(), hedgerow::core::Error>(())
    /// ```
    pub fn predict_set(&self, x: ArrayView2<'_, f32>, level: f64) -> Result<PredictionSets> {
        self.predict_sets(x, &SetOptions::new(level), &Par::shared())
    }

    /// The same with a method of one's choice.
    pub fn predict_sets(&self, x: ArrayView2<'_, f32>, options: &SetOptions, par: &Par) -> Result<PredictionSets> {
        let thresholds = self.set_thresholds(options)?;
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        Ok(thresholds.sets(self.predict_proba_par(x, par)?.view()))
    }

    /// What makes sets of probabilities that were predicted already; fails as [`Self::predict_set`] does.
    pub fn set_thresholds(&self, options: &SetOptions) -> Result<Thresholds> {
        options.check()?;
        self.uncalibrated()?;
        let conformal = self.conformal.as_ref().filter(|conformal| conformal.n_rows() > 0);
        conformal.ok_or_else(|| Error::model(ModelProblem::NoScores))?.thresholds(options)
    }

    /// How the set of a row comes out that is predicted before it is learnt.
    pub(crate) fn set_outcome(&self, proba: &[f64], class: usize) -> SetOutcome {
        match &self.conformal {
            Some(conformal) => conformal.outcome(proba, class),
            None => Conformal::new().outcome(proba, class),
        }
    }

    /// Learns how well rows that were just learnt conform to their predictions, one after the other, each after its own set is noted. The model knew
    /// `n_classes`.
    pub(crate) fn conform(&mut self, rows: Rows<'_>, mut n_classes: usize, update: &mut Update) {
        if self.schema.task != Task::Classification {
            return;
        }
        let conformal = self.conformal.get_or_insert_default();
        for (i, class) in rows.labels()[..update.n_learnt].iter().enumerate() {
            // A class becomes known with its first row, and can be in no set before.
            let known = n_classes;
            n_classes = n_classes.max(class.index() + 1);
            let now = update.predictions.slice(s![i, ..known]).to_vec();
            update.sets.push(conformal.outcome(&now, class.index()));
            let told = rows.earlier.map(|earlier| &earlier[i].told).filter(|told| !told.is_empty());
            conformal.learn(told.unwrap_or(&now), class.index());
        }
    }
}
