//! A model that keeps learning, and the driver of online learning: rows are predicted and taken in, and what is due is done.
//!
//! Models are made of the same parts: [`Schedule`] says when something is due, [`RetainedRows`] are learnt from, [`Prequential`] predictions calibrate.

mod mixture;
mod prequential;
mod retained;
mod schedule;

use std::any::Any;

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, s};

pub use mixture::{CalibrationGain, Mixed, Mixture, brier};
pub use prequential::Prequential;
pub use retained::RetainedRows;
pub use schedule::{Pause, Schedule};

use crate::committee::Committee;
use crate::data::{ClassId, Dataset, Schema, Task};
use crate::error::{Error, Result};
use crate::latent::LatentProcess;
use crate::learn::{Learning, Rows, Training, Update};
use crate::par::Par;
use crate::second_order::{NearbyRows, RelativeEvidence};
use crate::summary::Summary;
use crate::traits::{Classifier, Normals, Regressor};

/// What predicts: a classifier or a regressor.
#[derive(Clone, Copy)]
pub enum Predictor<'a> {
    /// One of classes.
    Classifier(&'a dyn Classifier),
    /// One of numbers.
    Regressor(&'a dyn Regressor),
}

impl Predictor<'_> {
    /// What it predicts.
    pub fn task(self) -> Task {
        match self {
            Self::Classifier(_) => Task::Classification,
            Self::Regressor(_) => Task::Regression,
        }
    }

    /// Columns a row must have.
    pub fn n_features(self) -> usize {
        match self {
            Self::Classifier(model) => model.n_features(),
            Self::Regressor(model) => model.n_features(),
        }
    }

    /// Classes; none of a regressor.
    pub fn n_classes(self) -> usize {
        match self {
            Self::Classifier(model) => model.n_classes(),
            Self::Regressor(_) => 0,
        }
    }

    /// Predicts rows of the right width: a column for each class, or the mean and the variance.
    pub fn predict(self, x: ArrayView2<'_, f32>, par: &Par) -> Array2<f64> {
        match self {
            Self::Classifier(model) => {
                let mut proba = Array2::zeros((x.nrows(), model.n_classes()));
                model.predict_proba_impl(x, par, proba.view_mut());
                proba
            }
            Self::Regressor(model) => {
                let Normals { mean, variance } = model.predict_values_impl(x, par);
                let value = |(row, column): (usize, usize)| [mean[row], variance[row]][column];
                Array2::from_shape_fn((x.nrows(), 2), value)
            }
        }
    }

    /// Columns of the predictions, where there are so many classes.
    fn n_columns(self, n_classes: usize) -> usize {
        if self.task() == Task::Regression { 2 } else { n_classes }
    }
}

/// How far a model has come that can learn more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnlineStatus {
    /// Rows learnt since the beginning.
    pub n_seen: u64,
    /// Retained rows.
    pub n_retained: usize,
    /// Rows that can be taken in before maintenance is due.
    pub room: usize,
}

impl OnlineStatus {
    /// Of a model with such a schedule that retains so many rows.
    pub fn new(schedule: &Schedule, n_retained: usize) -> Self {
        Self { n_seen: schedule.n_seen(), n_retained, room: schedule.room() }
    }
}

/// A trained model, which goes on learning unless it was frozen or its kind does not learn row by row.
pub trait OnlineModel: Any + Send + Sync {
    /// What predicts.
    fn predictor(&self) -> Predictor<'_>;

    /// When something is due, and the rows that it retains; none if it cannot learn more. Kinds that keep their rows otherwise say how far they have come
    /// ([`Self::online_status`]), and give their rows ([`Self::retained_rows`]), by themselves.
    fn retained(&self) -> Option<(&Schedule, &RetainedRows)> {
        None
    }

    /// How far it has come; none if it cannot learn more.
    fn online_status(&self) -> Option<OnlineStatus> {
        self.retained().map(|(schedule, rows)| OnlineStatus::new(schedule, rows.len()))
    }

    /// Whether it can learn more.
    fn can_learn(&self) -> bool {
        self.online_status().is_some()
    }

    /// Whether its predictions are calibrated by prequential predictions already, or not to be calibrated.
    fn is_calibrated_online(&self) -> bool {
        false
    }

    /// Predicts rows, and says what its members predict and what their mixture makes of it; none where it has no mixture. With the labels, which
    /// may come later, the latter is given back ([`Rows::earlier`]).
    fn predict_mixed(&self, _x: ArrayView2<'_, f32>, _par: &Par) -> Option<Vec<(Vec<f64>, Mixed)>> {
        None
    }

    /// Makes room for classes that come with the next rows.
    fn know_classes(&mut self, _n_classes: usize) {}

    /// Takes rows in. Returns their predictions (see [`Predictor::predict`]), which are fewer than the rows only if the work was interrupted.
    /// Implementers may rely on this: the model can learn, there is room for the rows, they fit the schema, and their classes are known.
    fn ingest(&mut self, _rows: Rows<'_>, _learning: &mut Learning<'_>) -> Result<Array2<f64>> {
        Err(Error::Frozen)
    }

    /// Does what is due once there is no more room: trains on what was taken in, calibrates, forgets.
    fn maintain(&mut self, _learning: &mut Learning<'_>) -> Result<()> {
        Ok(())
    }

    /// Predicts rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is the one the model was
    /// made with, grown by the classes and categories that have come since. A class becomes known with its first row, not before.
    ///
    /// Memory stays within `training.budget.bytes`, if that is given: rows are forgotten to make room. The time limit ends searches for
    /// something better, never the learning of rows; the stop flag ends both.
    fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Update> {
        let Some(mut status) = self.online_status() else { return Err(Error::Frozen) };
        let own = self.predictor();
        rows.targets.check_task(own.task())?;
        rows.check(schema, own.n_features(), own.n_classes())?;
        let n = rows.targets.len();
        let mut predictions = Array2::zeros((n, own.n_columns(schema.n_classes())));
        let mut update = Update::default();
        while update.n_learnt < n {
            let first = update.n_learnt;
            let rest = rows.labels().get(first..).unwrap_or_default();
            let n_classes = self.predictor().n_classes();
            let n_classes = rest.first().map_or(n_classes, |class| n_classes.max(class.index() + 1));
            let len = rest.iter().position(|class| class.index() >= n_classes).unwrap_or(n - first);
            let len = len.min(status.room.max(1));
            let (known, part) = (schema.with_classes(n_classes), rows.slice(first..first + len));
            self.know_classes(n_classes);
            let mut learning = Learning { schema: &known, training, update: &mut update };
            let predicted = self.ingest(part, &mut learning)?;
            let n_learnt = predicted.nrows();
            learning.update.n_learnt += n_learnt;
            predictions.slice_mut(s![first..first + n_learnt, ..predicted.ncols()]).assign(&predicted);
            if self.online_status().is_some_and(|status| status.room == 0) {
                self.maintain(&mut learning)?;
            }
            status = self.online_status().unwrap_or(status);
            if n_learnt < len || training.budget.stop.is_stopped() {
                break;
            }
        }
        // Classes that would have come after an interruption are not known.
        let own = self.predictor();
        let known = own.n_columns(own.n_classes().min(schema.n_classes()));
        update.predictions = predictions.slice_move(s![.., ..known]);
        Ok(update)
    }

    /// Forgets the retained row with these values and this class, whose label turned out to be wrong. Says whether it did: kinds that cannot take a
    /// row out of what they have learnt return false, and learn the row again with the right label.
    fn forget(&mut self, _row: ArrayView1<'_, f32>, _class: ClassId, _par: &Par) -> bool {
        false
    }

    /// Rows learnt since the beginning; 0 if it cannot learn more.
    fn n_seen(&self) -> u64 {
        self.online_status().map_or(0, |status| status.n_seen)
    }

    /// Retained rows.
    fn n_retained(&self) -> usize {
        self.online_status().map_or(0, |status| status.n_retained)
    }

    /// The retained rows, the oldest first; none if there are none or they are not kept as they came.
    fn retained_rows(&self, schema: &Schema) -> Result<Option<Dataset>> {
        self.retained().map(|(_, rows)| rows.dataset(schema)).transpose()
    }

    /// The same without what learning more needs.
    #[must_use]
    fn frozen(self) -> Self
    where
        Self: Sized,
    {
        self
    }

    /// Brings the model into the order in which it is saved, so that saving needs no copy.
    fn put_in_order(&mut self) {}

    /// Bytes in memory.
    fn bytes(&self) -> usize;

    /// What it is made of. `classes` are the names of the classes.
    fn summary(&self, classes: &[String]) -> Summary;

    /// As a classifier that tells how much evidence there is for its predictions by itself, where its kind does. Others are
    /// [`Supported`](crate::Supported) by the rows near a row.
    fn relative_evidence(&self) -> Option<&dyn RelativeEvidence> {
        None
    }

    /// Its training rows, to count those near a row: none if it has no rows any more.
    fn nearby_rows(&self, schema: &Schema, par: &Par) -> Result<Option<NearbyRows>> {
        Ok(self.retained_rows(schema)?.map(|data| NearbyRows::new(&data, par)))
    }

    /// As a committee of members that each predict alone, where it is one.
    fn committee(&self) -> Option<&dyn Committee> {
        None
    }

    /// As a classifier that predicts from latent values of a Gaussian process, where it is one and can tell them.
    fn latent_process(&self) -> Option<&dyn LatentProcess> {
        None
    }

    /// The rows that predictions are computed from, in the columns of the table, where the model has such rows.
    fn active_rows(&self) -> Option<Array2<f32>> {
        None
    }

    /// How much each of its memories counts in predictions, that of all rows first; empty where it has no others.
    fn memory_weights(&self) -> Vec<f64> {
        Vec::new()
    }

    /// How many rows were predicted best by a memory of the newest rows only; 0 where it has none.
    fn n_best_by_short_memory(&self) -> u64 {
        0
    }

    /// The model of one task, where this one stands for either.
    fn inner(&self) -> Option<&dyn OnlineModel> {
        None
    }
}

/// Works on a part of a model that is taken out meanwhile, so that the model can change too, and is put back whatever comes of it. Does nothing where
/// there is none.
pub fn work_on<M, P>(
    model: &mut M,
    part: fn(&mut M) -> &mut Option<P>,
    work: impl FnOnce(&mut M, &mut P) -> Result<()>,
) -> Result<()> {
    let Some(mut taken) = part(model).take() else { return Ok(()) };
    let worked = work(model, &mut taken);
    *part(model) = Some(taken);
    worked
}

/// Predicts rows by class frequencies alone: those of a model that has seen so many rows of each class, and one more of every class.
pub fn predict_frequencies(counts: &[u64], mut out: ArrayViewMut2<'_, f64>) {
    let mut shares = vec![1.0; out.ncols()];
    shares.iter_mut().zip(counts).for_each(|(share, count)| *share += *count as f64);
    let sum: f64 = shares.iter().sum();
    out.rows_mut().into_iter().for_each(|mut row| {
        row.iter_mut().zip(&shares).for_each(|(p, share)| *p = share / sum);
    });
}
