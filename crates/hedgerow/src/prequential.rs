//! The calibration of a model that learns online: by what it predicted before the labels were known.
//!
//! It lies over the predictions of any kind of classifier that does not do this itself. A model that was fitted begins with the calibration
//! of its fit, which this one leaves as it is until prequential predictions speak against it.

use hedgerow_core::error::check_shapes;
use hedgerow_core::{CalibrationGain, Classifier, Mixed, Mixture, Par, Result, Rows, Task, Update};
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2, s};

use crate::model::Model;

impl Classifier for Model {
    fn n_features(&self) -> usize {
        self.schema.n_features()
    }

    fn n_classes(&self) -> usize {
        self.schema.n_classes()
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        if let Ok(classifier) = self.uncalibrated() {
            classifier.predict_proba_impl(x, par, out.view_mut());
        }
        let Some(mixture) = &self.prequential else { return };
        for mut row in out.rows_mut() {
            let proba = mixture.predict(&row.to_vec(), row.len()).proba;
            row.iter_mut().zip(proba).for_each(|(to, p)| *to = p);
        }
    }
}

impl Model {
    /// What prequential calibration has changed; none where nothing has been learnt online, or the kind calibrates itself.
    pub fn calibration_gain(&self) -> Option<CalibrationGain> {
        self.prequential.as_ref().map(Mixture::gain)
    }

    /// Predicts rows whose labels come later: the probability of each class, and what is to be given back with the label
    /// ([`Rows::with_earlier`]), so that calibration learns from what was predicted when the row came. Fails for a regression model.
    pub fn predict_early(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<(Vec<f64>, Mixed)>> {
        let classifier = self.uncalibrated()?;
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        if let Some(mixed) = self.learner.get().predict_mixed(x, par) {
            let kept = |(proba, mixed): (Vec<f64>, Mixed)| {
                let mixed = mixed.with_told(&proba);
                (proba, mixed)
            };
            return Ok(mixed.into_iter().map(kept).collect());
        }
        let (new, is_new) = (Mixture::new(1), self.prequential.is_none());
        let mixture = self.prequential.as_ref().unwrap_or(&new);
        let early = |row: ArrayView1<'_, f64>| {
            let mixed = mixture.predict(&row.to_vec(), row.len());
            let proba = if is_new { row.to_vec() } else { mixed.proba.clone() };
            let mixed = mixed.with_told(&proba);
            (proba, mixed)
        };
        Ok(classifier.predict_proba(x, par)?.rows().into_iter().map(early).collect())
    }

    /// Calibrates the predictions of rows that were just learnt, one after the other, each by those before it. The model knew `n_classes`.
    pub(crate) fn calibrate_learnt(&mut self, rows: Rows<'_>, mut n_classes: usize, update: &mut Update) {
        if self.schema.task() != Task::Classification || self.learner.get().is_calibrated_online() {
            return;
        }
        let mixture = self.prequential.get_or_insert_with(|| Mixture::new(1));
        for (i, class) in rows.labels()[..update.n_learnt].iter().enumerate() {
            // A class becomes known with its first row.
            n_classes = n_classes.max(class.index() + 1);
            let mut out = update.predictions.slice_mut(s![i, ..n_classes]);
            let now = mixture.predict(&out.to_vec(), n_classes);
            let mixed = rows.earlier.map_or(&now, |earlier| &earlier[i]);
            mixture.learn(mixed, class.index(), rows.weights.map_or(1.0, |w| f64::from(w[i])));
            out.iter_mut().zip(&now.proba).for_each(|(to, p)| *to = *p);
        }
    }
}
