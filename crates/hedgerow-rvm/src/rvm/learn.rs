//! Learning more: rows come, are predicted, and become candidates.
//!
//! A bounded number of rows is retained. Every 16 to 128 rows there is an update: the new rows become candidates beside those that are
//! relevant, by the evidence of the retained rows, and what no longer helps is dropped. The cost of an update depends on the rows that are
//! retained, never on how many were learnt.

use std::ops::Range;

use hedgerow_core::{Error, Result, Schema, Training, Update};
use hedgerow_gp::prepare::Preparation;
use ndarray::{ArrayView2, s};

use super::{FittedModel, Rvm};
use crate::retained::RetainedRows;
use crate::training_rows::counts;

impl<M: FittedModel> Rvm<M> {
    /// Predicts rows and learns them, one after the other. `predict` is called with rows before they are learnt; predictions are not
    /// part of what is returned.
    pub(crate) fn learn_rows(
        &mut self,
        schema: &Schema,
        x: ArrayView2<'_, f32>,
        targets: &[f64],
        training: &Training<'_>,
        mut predict: impl FnMut(&Self, Range<usize>),
    ) -> Result<Update> {
        let mut update = Update::default();
        while update.n_learnt < targets.len() {
            let Some(retained) = &self.retained else { return Err(Error::Frozen) };
            let range =
                update.n_learnt..targets.len().min(update.n_learnt.saturating_add(retained.room().max(1)));
            predict(self, range.clone());
            update.n_learnt = range.end;
            if let Some(retained) = &mut self.retained {
                retained.add(x.slice(s![range.clone(), ..]), &targets[range]);
                if retained.is_due() {
                    self.update_fit(schema, training, &mut update)?;
                }
            }
            if training.budget.stop.is_stopped() {
                break;
            }
        }
        Ok(update)
    }

    /// Makes the new rows candidates.
    pub(crate) fn update_fit(
        &mut self,
        schema: &Schema,
        training: &Training<'_>,
        update: &mut Update,
    ) -> Result<()> {
        let Some(mut retained) = self.retained.take() else { return Ok(()) };
        let updated = self.update(&mut retained, schema, training, update);
        self.retained = Some(retained);
        updated
    }

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
                fit.model.update(rows, &fit.basis, &retained.relevant(), first_new, training.par)
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
