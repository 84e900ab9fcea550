//! Online learning: rows are predicted, retained, and compete for places in the active sets.
//!
//! A bounded number of rows is retained: active ones, and a sample of all rows learnt. Every now and then the one-vs-rest classifiers are
//! trained on them, with the kernel found before: a new row becomes active if its information gain is larger than that of the
//! last active row, which loses its place and may be forgotten later. The cost depends on the number of retained rows,
//! never on how many were learnt.

use hedgerow_core::online::work_on;
use hedgerow_core::summary::length_and_variance;
use hedgerow_core::text::count;
use hedgerow_core::{
    Classifier as _, Dataset, LatentProcess, Learning, OnlineModel, Predictor, Result, RetainedRows, Rows,
    Schedule, Summary, Training, drive,
};
use ndarray::Array2;

use super::classifier::IvmClassifier;
use super::learnt::{Learnt, Outcome};
use super::run::{IvmRun, Known};
use super::state::OnlineState;
use crate::prepare::Preparation;

impl OnlineModel for IvmClassifier {
    fn predictor(&self) -> Predictor<'_> {
        Predictor::Classifier(self)
    }

    fn latent_process(&self) -> Option<&dyn LatentProcess> {
        self.learnt.is_some().then_some(self)
    }

    fn retained(&self) -> Option<(&Schedule, &RetainedRows)> {
        self.online.as_ref().map(|online| (&online.schedule, &online.rows))
    }

    fn know_classes(&mut self, n_classes: usize) {
        self.n_classes = n_classes;
    }

    fn ingest(&mut self, rows: Rows<'_>, learning: &mut Learning<'_>) -> Result<Array2<f64>> {
        let predictions = self.predictor().predict(rows.x, learning.training.par);
        if let Some(online) = &mut self.online {
            online.rows.add(Rows { weights: None, ..rows });
            online.gains.resize(online.rows.len(), 0.0);
            online.schedule.add(rows.targets.len());
        }
        Ok(predictions)
    }

    /// Trains the one-vs-rest classifiers on the retained rows.
    fn maintain(&mut self, learning: &mut Learning<'_>) -> Result<()> {
        work_on(self, |model| &mut model.online, |model, online| model.update(online, learning))
    }

    fn frozen(self) -> Self {
        Self { online: None, ..self }
    }

    fn bytes(&self) -> usize {
        let of_learnt = self.learnt.as_ref().map_or(0, Learnt::bytes);
        size_of::<Self>() + of_learnt + self.online.as_ref().map_or(0, OnlineState::bytes)
    }

    fn summary(&self, _classes: &[String]) -> Summary {
        Summary::new(format!("{} active rows", count(self.n_active() as u64)))
            .count("active_rows", "Active rows", self.n_active())
            .kernel(length_and_variance(self.kernel()))
    }

    fn active_rows(&self) -> Option<Array2<f32>> {
        let Some(online) = &self.online else { return Some(Array2::zeros((0, self.n_features()))) };
        let active: Vec<usize> = (0..online.rows.len()).filter(|row| online.gains[*row] > 0.0).collect();
        Some(online.rows.features().select(&active).to_array(0..active.len()))
    }
}

impl IvmClassifier {
    /// Says whether its predictions are hardly used at present: then it learns from its rows less often.
    pub fn set_idle(&mut self, is_idle: bool) {
        if let Some(online) = &mut self.online {
            online.is_idle = is_idle;
        }
    }

    /// Trains on the retained rows, and forgets those that are too many.
    fn update(&mut self, online: &mut OnlineState, learning: &mut Learning<'_>) -> Result<()> {
        let Learning { schema, training, update } = learning;
        online.counts = online.rows.targets().class_counts();
        online.postpone(&self.params);
        let mut ratings = online.gains.clone();
        if online.rows.can_train() {
            let data = online.rows.dataset(schema)?;
            // Columns are prepared and the kernel searched for again whenever twice as many rows have been learnt, until no more can be retained.
            let has_grown = online.schedule.is_search_due(online.rows.len(), self.params.pool_rows());
            let is_anew = self.learnt.is_none() || has_grown;
            let before = (self.preparation.clone(), self.learnt.clone());
            if is_anew {
                self.preparation = Preparation::until(&training.budget.stop, schema, &data.features);
                self.learnt = None;
            }
            let (gains, new_ratings) = self.train(&data, training)?;
            if before.1.is_some() && training.budget.spent().is_some() {
                // Cut short: what was known before is better.
                (self.preparation, self.learnt) = before;
            } else {
                if is_anew {
                    online.schedule.note_search();
                }
                let idle = || online.gains.iter().zip(&gains).filter(|(before, _)| **before == 0.0);
                update.n_tried += idle().count();
                update.n_replaced += idle().filter(|(_, gain)| **gain > 0.0).count();
                (online.gains, ratings) = (gains, new_ratings);
            }
        }
        update.n_forgotten += online.forget(&self.params, &ratings);
        Ok(())
    }

    /// Trains on rows, with the kernel that there is or the best that is found. Returns the information gain of each active row, and the rating of each row.
    fn train(&mut self, data: &Dataset, training: &Training<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
        let before = self.learnt.as_ref();
        let known = Known {
            kernel: before.map(|learnt| learnt.kernel),
            class_kernels: before.map_or_else(Vec::new, |learnt| learnt.class_kernels.clone()),
            refit: before.and_then(|learnt| learnt.refit.as_ref()).map(|refit| (refit.length, refit.ridge)),
        };
        let (params, lanes) = (self.params.clone(), training.par.threads());
        let mut run = IvmRun::on_prepared(data, params, self.preparation.clone(), known, lanes, training);
        drive(&mut run, training)?;
        let make = run.outcome().ok_or_else(|| training.budget.no_model())?;
        let Outcome { learnt, gains, ratings, .. } = make(training)?;
        self.learnt = Some(learnt);
        Ok((gains, ratings))
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::{
        blobs, check_distributions, check_prediction_is_pure, check_shapes, learn_in_calls,
    };
    use hedgerow_core::traits::most_probable;
    use hedgerow_core::{Budget, ClassId, LabelTable, Par, Params as _, Silent};
    use ndarray::s;

    use super::*;
    use crate::IvmParams;

    fn new(data: &Dataset, params: IvmParams) -> IvmClassifier {
        IvmClassifier::new(&data.schema, &params.check().unwrap()).unwrap()
    }

    fn small() -> IvmParams {
        IvmParams { n_active: 15, max_rows: 200, ..IvmParams::default() }
    }

    #[test]
    fn batches_and_threads_change_nothing() {
        let data = blobs(500, 3, 3, 1);
        let mut models: Vec<IvmClassifier> = (0..3).map(|_| new(&data, small())).collect();
        let whole = learn_in_calls(&mut models[0], &data, 500, 1);
        assert_eq!(whole, learn_in_calls(&mut models[1], &data, 7, 1));
        assert_eq!(whole, learn_in_calls(&mut models[2], &data, 100, 3));
        assert!(models[0] == models[1] && models[0] == models[2]);
        let right = most_probable(whole.slice(s![250.., ..]))
            .iter()
            .zip(&data.labels()[250..])
            .filter(|(a, b)| a == b)
            .count();
        assert!(right > 230, "{right} of 250");
        assert!(models[0].n_retained() <= 200 + 128 && models[0].n_seen() == 500);
        let x = data.features.to_array(0..40);
        check_distributions(&models[0], x.view());
        check_prediction_is_pure(&models[0], x.view());
        check_shapes(&models[0]);
    }

    #[test]
    fn a_fit_that_is_interrupted_at_once_gives_a_model_that_is_worth_something() {
        let (par, data) = (Par::sequential(), blobs(600, 3, 3, 1));
        let budget = Budget::open();
        budget.stop.stop();
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        for refit in [true, false] {
            let params = IvmParams { refit, ..IvmParams::default() }.check().unwrap();
            let fitted = hedgerow_core::fit(&data, &params, &training).unwrap();
            assert_eq!(fitted.stop, hedgerow_core::StopReason::Interrupted);
            let predictions = fitted.model.predict(data.features.to_array(0..600).view(), &par).unwrap();
            let right = predictions.iter().zip(data.labels()).filter(|(a, b)| a == b).count();
            assert!(right > 540, "{right} of 600");
        }
    }

    #[test]
    fn what_is_hardly_used_is_trained_less_often() {
        let data = blobs(1_200, 3, 3, 1);
        let trained_at = |is_idle: bool| {
            let mut model = new(&data, small());
            model.set_idle(is_idle);
            let mut rooms = Vec::new();
            for first in (0..1_200).step_by(100) {
                let rows: Vec<usize> = (first..first + 100).collect();
                learn_in_calls(&mut model, &data.select(&rows), 100, 1);
                rooms.push(model.online_status().unwrap().room);
            }
            let restored = hedgerow_core::testing::saved_copy(&model, &data.schema).unwrap();
            assert!(restored == model);
            *rooms.iter().max().unwrap()
        };
        // Pauses end at 128 rows, and at four times as many.
        let [busy, idle] = [false, true].map(trained_at);
        assert!(busy <= 128 && idle > 256 && idle <= 512, "{busy} {idle}");
    }

    #[test]
    fn a_class_may_come_late_and_is_learnt() {
        let all = blobs(600, 3, 3, 2);
        let early: Vec<usize> = (0..300).filter(|row| all.labels()[*row].0 < 2).collect();
        let mut model = new(&all, small());
        let mut schema = all.schema.clone();
        schema.labels = LabelTable::from(vec!["0".to_string(), "1".to_string()]);
        let first = all.select(&early).under(&schema).unwrap();
        model.n_classes = 2;
        learn_in_calls(&mut model, &first, 64, 1);
        let late: Vec<usize> = (300..600).collect();
        let late = all.select(&late);
        let predictions = learn_in_calls(&mut model, &late, 64, 1);
        // The class is known from its first row on, and not before.
        let first_late = late.labels().iter().position(|class| class.0 == 2).unwrap();
        assert!(first_late > 0 && predictions.slice(s![..first_late, 2]).iter().all(|p| *p == 0.0));
        assert!(predictions[(first_late, 2)] > 0.0 && predictions[(first_late, 2)] < 0.05);
        let last = most_probable(predictions.slice(s![200.., ..]));
        let right = last.iter().zip(&late.labels()[200..]).filter(|(a, b)| a == b).count();
        assert!(right > 80, "{right} of 100");
        assert!(
            model
                .learn(
                    &first.schema,
                    Rows::new(Array2::zeros((0, 3)).view(), &[ClassId(0); 0][..], None),
                    &Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent }
                )
                .is_err(),
            "classes are never taken away"
        );
    }

    #[test]
    fn a_fitted_model_goes_on_and_hard_rows_do_no_harm() {
        let par = Par::sequential();
        let budget = Budget::open();
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let data = blobs(300, 2, 2, 3);
        let mut model = hedgerow_core::fit(&data, &small().check().unwrap(), &training).unwrap().model;
        assert_eq!((model.n_seen(), model.n_retained()), (300, 200));
        assert!(model.active_rows().unwrap().nrows() > 0 && model.bytes() > 1000);
        // Equal rows with contradicting labels, gaps, huge and tiny numbers.
        let mut hard = blobs(200, 2, 2, 4);
        let x = Array2::from_shape_fn((200, 2), |(row, _)| match row % 4 {
            0 => f32::NAN,
            1 => 1e30,
            2 => -1e-30,
            _ => 1.0,
        });
        hard.edit(|hard| hard.features = hedgerow_core::Features::from_view(x.view())).unwrap();
        learn_in_calls(&mut model, &hard, 50, 1);
        check_distributions(&model, x.view());
        let mut empty = new(&hard, small());
        check_distributions(&empty, x.view());
        hard.edit(|hard| hard.labels_mut().fill(ClassId(1))).unwrap();
        learn_in_calls(&mut empty, &hard, 50, 1);
        assert!(empty.predict_proba(x.view(), &par).unwrap()[(0, 1)] > 0.9, "one class only");
        let frozen = &mut model.frozen();
        let rows = Rows::new(x.view(), hard.labels(), None);
        assert!(matches!(frozen.learn(&hard.schema, rows, &training), Err(hedgerow_core::Error::Frozen)));
        budget.stop.stop();
        let update = empty.learn(&hard.schema, rows, &training).unwrap();
        assert!(update.n_learnt < 200, "it can be interrupted");
    }
}
