//! Learning more: rows come, are predicted, and become candidates.
//!
//! A bounded number of rows is retained. Every 16 to 128 rows there is an update: the new rows become candidates beside those that are
//! relevant, by the evidence of the retained rows, and what no longer helps is dropped. The cost of an update depends on the rows that are
//! retained, never on how many were learnt.

use hedgerow_core::online::work_on;
use hedgerow_core::text::count;
use hedgerow_core::{Learning, OnlineModel, Predictor, Result, RetainedRows, Rows, Schedule, Summary};
use hedgerow_gp::prepare::Preparation;
use ndarray::Array2;

use super::{Fit, FittedModel, Rvm};
use crate::state::{OnlineState, PAUSE};
use crate::training_rows::numbers;

impl<M: FittedModel> OnlineModel for Rvm<M> {
    fn predictor(&self) -> Predictor<'_> {
        M::predictor(self)
    }

    fn retained(&self) -> Option<(&Schedule, &RetainedRows)> {
        self.online.as_ref().map(|online| (&online.schedule, &online.rows))
    }

    fn know_classes(&mut self, n_classes: usize) {
        self.n_classes = n_classes;
    }

    fn ingest(&mut self, rows: Rows<'_>, learning: &mut Learning<'_>) -> Result<Array2<f64>> {
        let predictions = self.predictor().predict(rows.x, learning.training.par);
        self.online.iter_mut().for_each(|online| online.add(rows));
        Ok(predictions)
    }

    fn maintain(&mut self, learning: &mut Learning<'_>) -> Result<()> {
        work_on(self, |model| &mut model.online, |model, online| model.update(online, learning))
    }

    fn frozen(self) -> Self {
        Self { online: None, ..self }
    }

    fn bytes(&self) -> usize {
        let of = |fit: &Fit<M>| 8 * fit.model.centers().len() + 4 * fit.raw.len() + fit.model.bytes();
        let of_online = self.online.as_ref().map_or(0, OnlineState::bytes);
        size_of::<Self>() + self.fit.as_ref().map_or(0, of) + of_online
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
}

impl<M: FittedModel> Rvm<M> {
    /// Makes the new rows candidates.
    fn update(&mut self, online: &mut OnlineState, learning: &mut Learning<'_>) -> Result<()> {
        let Learning { schema, training, update } = learning;
        let most = self.params.max_rows;
        let n_before = online.relevant().len();
        update.n_forgotten += online.forget(most, self.params.seed);
        let has_lost = online.relevant().len() < n_before;
        online.schedule.postpone(PAUSE);
        online.counts = online.rows.targets().class_counts();
        if !online.rows.can_train() {
            online.n_new = 0;
            return Ok(());
        }
        // Columns are prepared and lengths searched for again whenever twice as many rows were learnt, until no more are retained.
        let has_grown = online.schedule.is_search_due(online.rows.len(), most);
        let is_stale = self.fit.as_ref().is_none_or(|fit| fit.model.must_refit(online, &self.params));
        let first_new = online.first_new();
        let features = online.rows.features();
        let preparation = (is_stale || has_grown || has_lost).then(|| Preparation::of(schema, features));
        let outcome = match (&self.fit, &preparation) {
            (Some(fit), None) => {
                self.with_retained(fit, online, training, |rows| fit.model.update(rows, &fit.basis, online))?
            }
            (_, prepared) => {
                let prepared = prepared.as_ref().unwrap_or(&self.preparation);
                self.train(prepared, features, &numbers(online.rows.targets()), training)?
            }
        };
        // Cut short, the model before is better, and new rows become candidates next time.
        if training.budget.spent().is_some() && self.fit.is_some() {
            return Ok(());
        }
        if let Some(preparation) = preparation {
            self.preparation = preparation;
            online.schedule.note_search();
        }
        update.n_tried += online.n_new;
        update.n_replaced += outcome.relevant.iter().filter(|&&row| row >= first_new).count();
        online.set_relevant(&outcome.relevant);
        online.n_new = 0;
        self.set_fit(outcome, online.rows.features());
        Ok(())
    }
}
