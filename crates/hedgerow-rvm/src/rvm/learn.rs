//! Learning more: rows come, are predicted, and become candidates.
//!
//! A bounded number of rows is retained. Every 16 to 128 rows there is an update: the new rows become candidates beside those that are
//! relevant, by the evidence of the retained rows, and what no longer helps is dropped. The cost of an update depends on the rows that are
//! retained, never on how many were learnt.

use std::any::Any;

use hedgerow_core::text::count;
use hedgerow_core::{Dataset, OnlineModel, Predictor, Result, Rows, Schema, Summary, Training, Update};
use hedgerow_gp::prepare::Preparation;
use ndarray::{Array2, ArrayViewMut2};

use super::{Fit, FittedModel, Rvm};
use crate::retained::RetainedRows;
use crate::training_rows::counts;

impl<M: FittedModel> OnlineModel for Rvm<M> {
    fn predictor(&self) -> Predictor<'_> {
        M::predictor(self)
    }

    fn can_learn(&self) -> bool {
        self.retained.is_some()
    }

    fn know_classes(&mut self, n_classes: usize) {
        self.n_classes = n_classes;
    }

    fn room(&self) -> usize {
        self.retained.as_ref().map_or(0, RetainedRows::room)
    }

    fn ingest(
        &mut self,
        _schema: &Schema,
        rows: Rows<'_>,
        training: &Training<'_>,
        out: ArrayViewMut2<'_, f64>,
        _update: &mut Update,
    ) -> Result<usize> {
        self.predictor().predict_into(rows.x, training.par, out);
        if let Some(retained) = &mut self.retained {
            retained.add(rows.x, &M::numbers(rows.targets));
        }
        Ok(rows.targets.len())
    }

    fn maintain(&mut self, schema: &Schema, training: &Training<'_>, update: &mut Update) -> Result<()> {
        let Some(mut retained) = self.retained.take() else { return Ok(()) };
        let updated = self.update(&mut retained, schema, training, update);
        self.retained = Some(retained);
        updated
    }

    fn n_seen(&self) -> u64 {
        self.retained.as_ref().map_or(0, |retained| retained.n_seen)
    }

    fn n_retained(&self) -> usize {
        self.retained.as_ref().map_or(0, RetainedRows::n_rows)
    }

    fn retained_rows(&self, schema: &Schema) -> Result<Option<Dataset>> {
        let Some(retained) = &self.retained else { return Ok(None) };
        let targets = M::targets(&retained.targets);
        Dataset::new(schema.clone(), retained.features.clone(), targets, None).map(Some)
    }

    fn frozen(self) -> Self {
        Self { retained: None, ..self }
    }

    fn bytes(&self) -> usize {
        let of = |fit: &Fit<M>| 8 * fit.model.centers().len() + 4 * fit.raw.len() + fit.model.bytes();
        let of_retained = self.retained.as_ref().map_or(0, RetainedRows::bytes);
        size_of::<Self>() + self.fit.as_ref().map_or(0, of) + of_retained
    }

    fn summary(&self, _classes: &[String]) -> Summary {
        let lengths = match &self.lengths()[..] {
            [one] => vec![("length_scale".into(), *one)],
            each => each.iter().enumerate().map(|(i, l)| (format!("length_scale[{i}]"), *l)).collect(),
        };
        let summary = Summary::new(format!("{} active rows", count(self.n_relevant() as u64)))
            .count("active_rows", "Active rows", self.n_relevant())
            .kernel(lengths);
        match self.fit.as_ref().and_then(|fit| fit.model.noise_deviation()) {
            Some(noise) => summary.noise(noise),
            None => summary,
        }
    }

    fn active_rows(&self) -> Option<Array2<f32>> {
        Some(self.relevant_rows())
    }

    fn itself(&self) -> &dyn Any {
        self
    }
}

impl<M: FittedModel> Rvm<M> {
    /// Makes the new rows candidates.
    fn update(
        &mut self,
        retained: &mut RetainedRows,
        schema: &Schema,
        training: &Training<'_>,
        update: &mut Update,
    ) -> Result<()> {
        let most = self.params.max_rows;
        let n_before = retained.relevant().len();
        update.n_forgotten += retained.forget(most, M::IS_OF_CLASSES, self.params.seed);
        let has_lost = retained.relevant().len() < n_before;
        retained.next_update = retained.n_seen + retained.pause();
        retained.counts = counts(&retained.targets, self.n_classes);
        if M::IS_OF_CLASSES && retained.targets.iter().all(|class| *class == retained.targets[0]) {
            retained.n_new = 0;
            return Ok(());
        }
        // Columns are prepared and lengths searched for again whenever twice as many rows were learnt, until no more are retained.
        let has_grown = retained.n_seen >= 2 * retained.tuned_at && retained.n_rows() < most;
        let is_stale = self.fit.as_ref().is_none_or(|fit| fit.model.must_refit(retained, &self.params));
        let first_new = retained.n_rows() - retained.n_new;
        let preparation =
            (is_stale || has_grown || has_lost).then(|| Preparation::of(schema, &retained.features));
        let outcome = if let Some(preparation) = &preparation {
            self.train(preparation, &retained.features, &retained.targets, training)?
        } else {
            self.with_retained(retained, training, |fit, rows| {
                fit.model.update(rows, &fit.basis, &retained.relevant(), first_new)
            })?
        };
        // Cut short, the model before is better, and new rows become candidates next time.
        if training.budget.spent().is_some() && self.fit.is_some() {
            return Ok(());
        }
        if let Some(preparation) = preparation {
            self.preparation = preparation;
            retained.tuned_at = retained.n_seen;
        }
        update.n_tried += retained.n_new;
        update.n_replaced += outcome.relevant.iter().filter(|&&row| row >= first_new).count();
        retained.set_relevant(&outcome.relevant);
        retained.n_new = 0;
        self.set_fit(outcome, &retained.features);
        Ok(())
    }
}
