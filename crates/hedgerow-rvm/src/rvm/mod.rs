//! What RVMs of numbers and of classes have in common: prepared columns, a fitted model, and retained rows.

mod learn;
mod saved;

use hedgerow_core::saved::array;
use hedgerow_core::{
    Budget, Candidate, Checked, Dataset, Error, Features, OutOfSample, Predictor, Result, RetainedRows,
    Schema, StopReason, Task, Training,
};
use hedgerow_gp::prepare::Preparation;
use ndarray::{Array2, ArrayView2};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::basis::Basis;
use crate::lengths::best_lengths;
use crate::options::Trainer;
use crate::params::{MultiClass, RvmParams};
use crate::state::OnlineState;
use crate::target::{Regression, Target as _};
use crate::training_log::TrainingLog;
use crate::training_rows::{TrainingRows, numbers};

pub(crate) use saved::{are_moderate, is_positive};

/// Rows that a model is fitted to when training was interrupted, at most.
const FEW_ROWS: usize = 150;

/// A Relevance Vector Machine: of numbers ([`RvmRegressor`](crate::RvmRegressor)) or of any number of classes
/// ([`RvmClassifier`](crate::RvmClassifier)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rvm<M> {
    pub(crate) params: RvmParams,
    /// 0 unless targets are classes.
    pub(crate) n_classes: usize,
    pub(crate) preparation: Preparation,
    /// None before anything was learnt.
    pub(crate) fit: Option<Fit<M>>,
    /// What learning more needs; none if it was left out.
    pub(crate) online: Option<OnlineState>,
}

/// A fitted model and its kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fit<M> {
    pub(crate) basis: Basis,
    /// The relevance vectors, in the columns of the table.
    #[serde(with = "array")]
    pub(crate) raw: Array2<f32>,
    pub(crate) model: M,
    /// A fit without relevance vectors may have an infinite one.
    #[serde(with = "array")]
    pub(crate) log_evidence: f64,
}

/// A fitted RVM and how it came about.
#[derive(Debug, Clone)]
pub struct FittedRvm<M> {
    /// The RVM.
    pub rvm: Rvm<M>,
    /// Why fitting ended.
    pub stop: StopReason,
    /// The log evidence, summed over binary RVMs.
    pub log_evidence: f64,
    /// How training went.
    pub log: TrainingLog,
    /// Calibrated probabilities of rows that were held out, where one regression of all classes was fitted; leave-one-out predictions of numbers.
    pub validation: Option<OutOfSample>,
}

impl<M> FittedRvm<M> {
    /// As what a training run returns.
    pub(crate) fn into<T>(self, wrap: impl FnOnce(Rvm<M>) -> T) -> (Candidate<T>, StopReason) {
        let made = Candidate::new(wrap(self.rvm), self.validation);
        (Candidate { log_evidence: Some(self.log_evidence), notes: self.log.notes, ..made }, self.stop)
    }
}

/// What a fit gives.
pub struct Outcome<M> {
    pub(crate) model: M,
    pub(crate) basis: Basis,
    /// The relevance vectors, by their places among the training rows, in order.
    pub(crate) relevant: Vec<usize>,
    pub(crate) log_evidence: f64,
    pub(crate) stop: StopReason,
    pub(crate) log: TrainingLog,
    pub(crate) validation: Option<OutOfSample>,
}

/// What differs between numbers and classes.
pub trait FittedModel: Clone + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// What it predicts.
    const TASK: Task;

    /// What predicts.
    fn predictor(rvm: &Rvm<Self>) -> Predictor<'_>;

    /// The standard deviation of the noise, where targets have some.
    fn noise_deviation(&self) -> Option<f64> {
        None
    }

    /// The unit that targets are divided by before training.
    fn unit(_targets: &[f64]) -> f64 {
        1.0
    }

    /// The unit of the targets that it was fitted to.
    fn scale(&self) -> f64 {
        1.0
    }

    /// Fits rows as the kernel sees them.
    fn fit(rows: &TrainingRows<'_>, basis: &Basis) -> Result<Outcome<Self>>;

    /// Fits retained rows again, of which those that were relevant and the new ones are candidates.
    fn update(&self, rows: &TrainingRows<'_>, basis: &Basis, online: &OnlineState) -> Result<Outcome<Self>>;

    /// Whether rows have come that an update cannot take in.
    fn must_refit(&self, _online: &OnlineState, _params: &RvmParams) -> bool {
        false
    }

    /// How well rows are predicted, summed over them: the higher, the better.
    fn score(&self, basis: &Basis, x: ArrayView2<'_, f64>, targets: &[f64], n_classes: usize) -> f64;

    /// The relevance vectors as the kernel sees them.
    fn centers(&self) -> &Array2<f64>;

    /// Bytes in memory beside the relevance vectors.
    fn bytes(&self) -> usize;

    /// Whether what was read fits together and so many classes.
    fn is_valid(&self, n_classes: usize) -> bool;
}

impl<M: FittedModel> Rvm<M> {
    /// An RVM that was fitted to nothing yet, and learns what it is given.
    pub fn new(schema: &Schema, params: &Checked<RvmParams>) -> Result<Self> {
        schema.check_sizes()?;
        Ok(Self {
            params: params.get().clone(),
            n_classes: if M::TASK == Task::Classification { schema.n_classes() } else { 0 },
            preparation: Preparation::of(schema, &Features::new(schema.n_features())),
            fit: None,
            online: Some(OnlineState::new(RetainedRows::new(schema.n_features(), M::TASK), &[])),
        })
    }

    /// How it is trained.
    pub fn params(&self) -> &RvmParams {
        &self.params
    }

    /// Relevance vectors, of any class; the bias is not one.
    pub fn n_relevant(&self) -> usize {
        self.fit.as_ref().map_or(0, |fit| fit.raw.nrows())
    }

    /// The relevance vectors, in the columns of the table.
    pub fn relevant_rows(&self) -> Array2<f32> {
        let none = || Array2::zeros((0, self.preparation.n_features()));
        self.fit.as_ref().map_or_else(none, |fit| fit.raw.clone())
    }

    /// The kernel's lengths, on prepared columns: one for all, or one for each; none before anything was learnt.
    pub fn lengths(&self) -> Vec<f64> {
        self.fit.as_ref().map(|fit| fit.basis.lengths.clone()).unwrap_or_default()
    }

    /// Fits a data set. Row weights are not used.
    pub fn fit(data: &Dataset, params: &Checked<RvmParams>, training: &Training<'_>) -> Result<FittedRvm<M>> {
        data.check_trainable(M::TASK)?;
        let (schema, features) = (&data.schema, &data.features);
        let targets = numbers(data.targets.view());
        let preparation = Preparation::until(&training.budget.stop, schema, features);
        let mut rvm = Self { preparation, online: None, ..Self::new(schema, params)? };
        rvm.check_memory(targets.len(), training.budget)?;
        let mut outcome = rvm.train(&rvm.preparation, features, &targets, training)?;
        let mut online = OnlineState::new(RetainedRows::unweighted(data), &outcome.relevant);
        online.forget(rvm.params.max_rows, rvm.params.seed);
        rvm.online = Some(online);
        let stop = training.budget.spent().unwrap_or(outcome.stop);
        let (log_evidence, validation) = (outcome.log_evidence, outcome.validation.take());
        let log = rvm.set_fit(outcome, features);
        Ok(FittedRvm { rvm, stop, log_evidence, log, validation })
    }

    /// Takes over the outcome of a fit to rows.
    /// Fails if a limit on memory leaves no room for training.
    fn check_memory(&self, n_rows: usize, budget: &Budget) -> Result<()> {
        let Some(limit) = budget.bytes else { return Ok(()) };
        let (params, n_classes, width) = (&self.params, self.n_classes.max(1), self.preparation.width());
        let is_whole = params.trainer == Trainer::Whole
            || (params.trainer == Trainer::Auto && n_rows <= Regression::WHOLE_ROWS);
        let is_shared = params.multi_class.with(n_rows, n_classes) == MultiClass::Shared;
        let candidates = match (is_shared, is_whole) {
            (true, _) => n_rows.min(params.most_relevant(n_rows, n_classes)),
            (false, true) => n_rows,
            (false, false) => n_rows.min(1200.max(2 * params.partition_size)),
        };
        let of_rows = n_rows * (8 * width + 4 * width + 48 * n_classes);
        let needed = (of_rows + 8 * 6 * candidates * candidates) as u64;
        if needed <= limit {
            return Ok(());
        }
        let what = format!("training with {candidates} candidates at a time on {n_rows} rows");
        Err(Error::too_few_bytes(what, needed, limit))
    }

    fn set_fit(&mut self, outcome: Outcome<M>, features: &Features) -> TrainingLog {
        let Outcome { model, basis, relevant, log_evidence, log, .. } = outcome;
        let raw = features.select(&relevant).to_array(0..relevant.len());
        self.fit = Some(Fit { basis, raw, model, log_evidence });
        log
    }

    /// Searches for lengths where the parameters give none, and fits rows from scratch. If it is interrupted, the model is what there
    /// is, or one of a few rows.
    fn train(
        &self,
        preparation: &Preparation,
        features: &Features,
        targets: &[f64],
        training: &Training<'_>,
    ) -> Result<Outcome<M>> {
        let stop = &training.budget.stop;
        let until_stopped = Training { par: &training.par.until(stop), ..*training };
        let found = self.train_on(preparation, features, targets, &until_stopped);
        if !stop.is_stopped() || found.is_ok() {
            return found;
        }
        let step = targets.len().div_ceil(FEW_ROWS).max(1);
        let rows: Vec<usize> = (0..targets.len()).step_by(step).collect();
        let some: Vec<f64> = rows.iter().map(|&row| targets[row]).collect();
        let mut outcome = self.train_on(preparation, &features.select(&rows), &some, training)?;
        outcome.relevant.iter_mut().for_each(|place| *place = rows[*place]);
        outcome.validation.iter_mut().for_each(|scores| scores.renumber(|place| rows[place]));
        Ok(outcome)
    }

    fn train_on(
        &self,
        preparation: &Preparation,
        features: &Features,
        targets: &[f64],
        training: &Training<'_>,
    ) -> Result<Outcome<M>> {
        let prepared = preparation.map_all(features, training.par);
        training.par.check()?;
        let scale = M::unit(targets);
        let targets: Vec<f64> = targets.iter().map(|t| t / scale).collect();
        let lengths = best_lengths::<M>(&self.training_rows(&prepared, &targets, scale, training), training);
        training.par.check()?;
        let basis = Basis::new(self.params.kernel, lengths);
        let x = basis.map(prepared);
        M::fit(&self.training_rows(&x, &targets, scale, training), &basis)
    }

    fn training_rows<'a>(
        &'a self,
        x: &'a Array2<f64>,
        targets: &'a [f64],
        scale: f64,
        training: &Training<'a>,
    ) -> TrainingRows<'a> {
        let (params, n_classes) = (&self.params, self.n_classes);
        let Training { budget, par, .. } = *training;
        TrainingRows { x, targets, n_classes, scale, params, budget, par, is_trial: false }
    }

    /// Calls `with` with the retained rows as the kernel sees them.
    pub(crate) fn with_retained<R>(
        &self,
        fit: &Fit<M>,
        online: &OnlineState,
        training: &Training<'_>,
        with: impl FnOnce(&TrainingRows<'_>) -> Result<R>,
    ) -> Result<R> {
        let all = online.rows.features().to_array(0..online.rows.len());
        let x = fit.basis.map(self.preparation.map(all.view()));
        let scale = fit.model.scale();
        let targets = numbers(online.rows.targets());
        let targets: Vec<f64> = targets.iter().map(|t| t / scale).collect();
        with(&self.training_rows(&x, &targets, scale, training))
    }
}
