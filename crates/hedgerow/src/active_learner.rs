//! A model, a pool of rows, and labels that come one after the other.

use std::fmt::Display;

use hedgerow_active::stopping::{Advice, Retrospective, StoppingParams};
use hedgerow_active::{Pool, QueriedRow, Querier, QueryModel, QueryParams};
use hedgerow_core::error::check_shapes;
use hedgerow_core::{
    Budget, ClassId, Dataset, Error, Features, Par, Params as _, Result, Rows, Schema, Silent, Training,
};
use ndarray::ArrayView2;

use crate::kinds::ModelParams;
use crate::model::Model;

/// Labels up to which a model is fitted anew to each: that is quick, and better than learning on from few.
const FITTED_ANEW: usize = 400;
/// With more labels, kinds whose rows count at once learn each, and are fitted anew when there is one more for so many.
const FIT_SHARE: usize = 8;

/// How an [`ActiveLearner`] works. Everything has a default.
#[derive(Debug, Clone, Default)]
pub struct ActiveOptions {
    /// The kind of model and its parameters.
    pub model: ModelParams,
    /// How rows are chosen.
    pub query: QueryParams,
    /// When to stop.
    pub stopping: StoppingParams,
    /// Threads; none for all cores.
    pub threads: Option<usize>,
}

/// Asks for the labels that should help a model most, from the first on, and has the model learn each at once.
///
/// ```
/// use hedgerow::ActiveLearner;
///
/// let data = hedgerow::core::testing::blobs(300, 2, 3, 4);
/// let x = data.features.to_array(0..300);
/// let mut learner = ActiveLearner::new(x.view())?;
/// while learner.pool().labelled().len() < 30 {
///     let rows: Vec<usize> = learner.ask(5)?.into_iter().map(|query| query.row).collect();
///     let labels: Vec<String> = rows.iter().map(|&row| data.labels()[row].to_string()).collect();
///     learner.tell(&rows, &labels)?;
/// }
/// println!("{}", learner.should_stop()?);
/// # let predictions = learner.model()?.unwrap().predict(x.view())?;
/// # let right = predictions.iter().zip(data.labels()).filter(|(a, b)| **a == b.to_string()).count();
/// # assert!(right > 270, "{right} of 300");
/// # Ok::<(), hedgerow::core::Error>(())
/// ```
///
/// What it asks and what its model predicts follow from rows, labels in their order, and parameters alone: labels that were taken back
/// ([`undo`](Self::undo)) leave no trace.
pub struct ActiveLearner {
    pool: Pool,
    params: ModelParams,
    querier: Querier,
    retrospective: Retrospective,
    par: Par,
    current: Option<Current>,
    told: Vec<Told>,
}

/// A model and the labels that it has learnt, of which it was fitted to the first.
struct Current {
    model: Model,
    labels: Vec<(usize, ClassId)>,
    n_fitted: usize,
}

/// What a call has changed.
struct Told {
    n_classes: usize,
    /// Rows with the labels they had before.
    rows: Vec<(usize, Option<ClassId>)>,
}

impl ActiveLearner {
    /// With rows of numbers, no labels, and the defaults: a forest, on all cores.
    pub fn new(x: ArrayView2<'_, f32>) -> Result<Self> {
        let labels = vec![None; x.nrows()];
        let pool = Pool::new(Schema::unnamed(x.ncols()), Features::from_view(x), labels)?;
        Self::with_options(pool, ActiveOptions::default())
    }

    /// With a pool, which may have labels, and options.
    pub fn with_options(pool: Pool, options: ActiveOptions) -> Result<Self> {
        let ActiveOptions { model, query, stopping, threads } = options;
        model.rules()?;
        let seed = query.seed;
        Ok(Self {
            pool,
            params: model,
            querier: Querier::new(query.check()?),
            retrospective: Retrospective::new(stopping.check()?, seed),
            par: threads.map_or_else(|| Ok(Par::shared()), Par::new)?,
            current: None,
            told: Vec::new(),
        })
    }

    /// The rows with the labels there are.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Up to `n` rows whose labels should help most, with reasons; fewer where fewer have no label.
    pub fn ask(&mut self, n: usize) -> Result<Vec<QueriedRow>> {
        self.update()?;
        let model = self.current.as_ref().map(|current| &current.model as &dyn QueryModel);
        self.querier.query(&self.pool, model, n, &self.par)
    }

    /// Gives rows labels, or other labels. Labels that are new become classes. Fails without a change if anything is wrong.
    pub fn tell<L: Display>(&mut self, rows: &[usize], labels: &[L]) -> Result<()> {
        check_shapes([("labels", rows.len(), labels.len())])?;
        let n_rows = self.pool.n_rows();
        if let Some(row) = rows.iter().find(|row| **row >= n_rows) {
            return Err(Error::param("row", format!("a row below {n_rows}"), row));
        }
        let mut told = Told { n_classes: self.pool.schema().n_classes(), rows: Vec::new() };
        for (&row, label) in rows.iter().zip(labels) {
            let before = self.pool.label(row);
            let set = self.pool.class(&label.to_string()).and_then(|class| self.pool.set_label(row, class));
            if let Err(error) = set {
                self.take_back(told);
                return Err(error);
            }
            told.rows.push((row, before));
        }
        self.told.push(told);
        Ok(())
    }

    /// Takes the labels of the last [`tell`](Self::tell) back. Returns their rows; none if there is nothing to take back.
    pub fn undo(&mut self) -> Option<Vec<usize>> {
        let told = self.told.pop()?;
        let rows = told.rows.iter().map(|(row, _)| *row).collect();
        self.take_back(told);
        Some(rows)
    }

    /// Whether more labels are worth their price, with a reason, and what the next ten would gain.
    pub fn should_stop(&mut self) -> Result<Advice> {
        self.retrospective.advise(&self.pool, &self.params, &self.par)
    }

    /// The model, which has learnt all labels; none while there are not two classes.
    pub fn model(&mut self) -> Result<Option<&Model>> {
        self.update()?;
        Ok(self.current.as_ref().map(|current| &current.model))
    }

    fn take_back(&mut self, told: Told) {
        for (row, before) in told.rows.into_iter().rev() {
            match before {
                // It was set before, so it can be set again.
                Some(class) => self.pool.set_label(row, class).unwrap_or_default(),
                None => drop(self.pool.take_label(row)),
            }
        }
        self.pool.keep_classes(told.n_classes);
    }

    /// Has the model learn the labels that it has not learnt yet.
    fn update(&mut self) -> Result<()> {
        if !self.pool.has_two_classes() {
            self.current = None;
            return Ok(());
        }
        let data = self.pool.training_rows()?;
        let labels: Vec<(usize, ClassId)> =
            self.pool.labelled().iter().copied().zip(data.labels().iter().copied()).collect();
        let n_fitted = n_fitted(&labels, self.params.kind().learns_at_once());
        let goes_on = |current: &Current| current.n_fitted == n_fitted && labels.starts_with(&current.labels);
        let training = Training { par: &self.par, budget: &Budget::open(), observer: &Silent };
        let mut current = if let Some(current) = self.current.take().filter(goes_on) {
            current
        } else {
            let first = data.select(&(0..n_fitted).collect::<Vec<_>>());
            let model = Model::fit(&first, &self.params, &training)?.model;
            Current { model, labels: labels[..n_fitted].to_vec(), n_fitted }
        };
        learn(&mut current, &data, labels, &training)?;
        self.current = Some(current);
        Ok(())
    }
}

/// Has a model learn the rows after those it has learnt.
fn learn(
    current: &mut Current,
    data: &Dataset,
    labels: Vec<(usize, ClassId)>,
    training: &Training<'_>,
) -> Result<()> {
    let n_learnt = current.labels.len();
    if n_learnt < labels.len() {
        let x = data.features.to_array(n_learnt..labels.len());
        let rows = Rows::new(x.view(), &data.labels()[n_learnt..], None);
        current.model.learn_rows(&data.schema, rows, training)?;
        current.labels = labels;
    }
    Ok(())
}

/// How many of the labels a model is fitted to; it learns the others one by one.
fn n_fitted(labels: &[(usize, ClassId)], learns_at_once: bool) -> usize {
    let n = labels.len();
    if !learns_at_once || n <= FITTED_ANEW {
        return n;
    }
    let mut fitted = FITTED_ANEW;
    while fitted + fitted / FIT_SHARE <= n {
        fitted += fitted / FIT_SHARE;
    }
    let has_two_classes = labels[..fitted].iter().any(|(_, class)| *class != labels[0].1);
    if has_two_classes { fitted } else { n }
}

#[cfg(test)]
mod tests;
