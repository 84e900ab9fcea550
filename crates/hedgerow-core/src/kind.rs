//! What the rest of the project knows about a kind of model.

use crate::budget::{Budget, StopReason};
use crate::data::{Dataset, Schema, Task};
use crate::error::{Error, Result};
use crate::learn::Training;
use crate::online::OnlineModel;
use crate::params::{Checked, Params};
use crate::run::{Candidate, TrainingRun, drive};
use crate::saved::Saved;
use crate::scores::OutOfSample;
use crate::second_order::About;

/// A kind of model in words, and what it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindInfo {
    /// Its name, on the command line and in model files.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What one is called, with its article.
    pub noun: &'static str,
    /// What training it does, for a progress bar.
    pub work: &'static str,
    /// The name of its parameters' type.
    pub params: &'static str,
    /// What is renewed while it learns online: what was tried, and what came of it, as JSON names them and in words.
    pub renewed: Renewed,
    /// What it predicts.
    pub tasks: &'static [Task],
    /// Whether it can learn row by row.
    pub learns: bool,
    /// Whether each row counts as soon as it is learnt, and not only when the model is next trained on what it retains.
    pub learns_at_once: bool,
    /// Whether several models can be made into one.
    pub merges: bool,
    /// Whether it predicts its training rows out of bag.
    pub has_oob: bool,
    /// What its second-order predictions are about; nothing where it has none.
    pub second_order: &'static [About],
}

impl KindInfo {
    /// A kind that learns row by row, to be given its words. Every classifier tells its evidence: at least that of the rows near a row.
    pub const LEARNER: Self = Self {
        name: "",
        about: "",
        noun: "",
        work: "",
        params: "",
        renewed: Renewed::ROWS,
        tasks: &[Task::Classification],
        learns: true,
        learns_at_once: false,
        merges: false,
        has_oob: false,
        second_order: &[About::RelativeEvidence, About::TrueProbability],
    };
}

/// A training run of some kind.
pub type BoxedRun<M> = Box<dyn TrainingRun<Model = M>>;

/// The names of what is renewed while a model learns online.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewed {
    /// What was tried, and what came of it: names in JSON.
    pub names: [&'static str; 2],
    /// The same in words that follow a number.
    pub words: [&'static str; 2],
    /// A title for what came of it.
    pub title: &'static str,
}

impl Renewed {
    /// Trees, some of which are replaced.
    pub const TREES: Self = Self {
        names: ["trees_tried", "trees_replaced"],
        words: ["new trees tried", "were better"],
        title: "Trees replaced",
    };
    /// Rows of an active set, some of which are replaced.
    pub const ROWS: Self = Self {
        names: ["active_rows_tried", "active_rows_replaced"],
        words: ["new active rows tried", "replaced another"],
        title: "Active rows replaced",
    };
    /// Settings that are chosen anew by leave-one-out predictions.
    pub const SETTINGS: Self = Self {
        names: ["settings_tried", "settings_replaced"],
        words: ["settings tried", "replaced others"],
        title: "Settings replaced",
    };
}

/// The parameters of a kind of model, and the ways to make one. A new kind is one implementation of this.
pub trait ModelKind: Params {
    /// The trained model.
    type Model: OnlineModel + Saved;

    /// The kind in words.
    const INFO: KindInfo;

    /// A model without training rows, which learns those it is given; kinds that do not learn row by row have none.
    fn new_model(schema: &Schema, params: &Checked<Self>) -> Result<Self::Model>;

    /// A training run.
    fn start_run(start: &RunStart<'_, Self>) -> Result<BoxedRun<Self::Model>>;

    /// Fails for parameters with which a fit would never end.
    fn check_ends(&self, _budget: &Budget) -> Result<()> {
        Ok(())
    }

    /// The parameters of a model.
    fn of_model(model: &Self::Model) -> &Self;

    /// The seed of all random choices.
    fn seed(&mut self) -> &mut u64;

    /// One model out of several whose columns are the same, and its schema; classes may differ. For kinds that [merge](KindInfo::merges).
    fn merge(_models: &[(&Schema, &Self::Model)]) -> Result<(Schema, Self::Model)> {
        Err(Error::unable(Self::INFO.name, "be merged"))
    }

    /// Fails where the rows that a model retains are no fair sample of those that it learnt.
    fn check_retains_fairly(&self) -> Result<()> {
        Ok(())
    }

    /// Most rows that a model retains to learn from, 0 for any number.
    fn max_retained(&self) -> usize {
        0
    }

    /// What a retained row costs beside its values when it is learnt online: so many parts of the model hold on to it. With their name.
    fn n_parts(&self, _model: &Self::Model) -> (usize, &'static str) {
        (1, "parts")
    }

    /// The parameters with which a model predicts from the start, before anything was learnt.
    #[must_use]
    fn with_a_prior(self) -> Self {
        self
    }
}

/// What a training run begins with.
pub struct RunStart<'a, P: ModelKind> {
    /// The training rows.
    pub data: &'a Dataset,
    /// The parameters.
    pub params: &'a Checked<P>,
    /// An earlier model, whose hyper-parameters are taken over where they still fit.
    pub previous: Option<&'a P::Model>,
    /// Jobs that may be worked on side by side.
    pub lanes: usize,
    /// Threads, limits, and who receives progress.
    pub training: &'a Training<'a>,
}

/// A fitted model and how it came about.
#[derive(Debug, Clone)]
pub struct Fitted<M> {
    /// The model.
    pub model: M,
    /// Out-of-sample predictions for training rows, where training makes them.
    pub validation: Option<OutOfSample>,
    /// The log marginal likelihood, where the model has one.
    pub log_evidence: Option<f64>,
    /// Why training ended.
    pub stop: StopReason,
    /// What a user should know about the fit, in words; empty if all is well.
    pub notes: Vec<String>,
    /// For each training row the trees that had it out of bag, where there are such trees.
    pub oob_votes: Option<Vec<u32>>,
}

/// Fits a model: drives its training run to the end, or to the end of the budget.
pub fn fit<P: ModelKind>(
    data: &Dataset,
    params: &Checked<P>,
    training: &Training<'_>,
) -> Result<Fitted<P::Model>> {
    params.get().check_ends(training.budget)?;
    let lanes = training.par.threads();
    finish(P::start_run(&RunStart { data, params, previous: None, lanes, training })?, training)
}

/// Drives a run to its end, and makes the model.
pub fn finish<M: 'static>(mut run: BoxedRun<M>, training: &Training<'_>) -> Result<Fitted<M>> {
    let stop = drive(&mut *run, training)?;
    let make = run.model().ok_or_else(|| training.budget.no_model())?;
    // What only the run has is moved into the model, not copied.
    drop(run);
    let Candidate { model, validation, log_evidence, notes, oob_votes, .. } = make.run(training)?;
    Ok(Fitted { model, validation, log_evidence, stop, notes, oob_votes })
}
