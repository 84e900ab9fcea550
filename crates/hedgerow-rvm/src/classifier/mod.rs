//! Classes: machines for two of them each, and how their answers become probabilities.

mod combine;
mod judge;
mod learn;
mod machines;
mod saved;
mod shared;
mod story;
#[cfg(test)]
mod tests;

use hedgerow_core::{
    Checked, ClassId, Classifier, Dataset, Error, Features, Par, Result, Schema, StopReason, Training,
};
use hedgerow_gp::prepare::Preparation;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};

use crate::basis::Basis;
use crate::machine::Profile;
use crate::memory::Memory;
use crate::params::{MultiClass, RvmParams};
use crate::search::{LengthSearch, half_of};
use crate::train::TracePoint;
use combine::Combination;
use judge::ClassJudge;
use machines::{ClassTask, Machine, Machines};
use shared::{Grown, Shared};
use story::Story;

pub use saved::ClassifierFacts;

/// Rows that answers are computed for together.
const BLOCK: usize = 256;
/// How much longer or shorter a length is that is tried on all rows; and what part of the relevant rows decides about it.
const STEP: f64 = 0.82;
const MOST_STEPS: usize = 3;
const PART: usize = 4;

/// A Relevance Vector Machine for any number of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct RvmClassifier {
    params: RvmParams,
    n_classes: usize,
    preparation: Preparation,
    /// None before anything was learnt.
    learnt: Option<Learnt>,
    /// What learning more needs; none if it was left out.
    memory: Option<Memory>,
}

/// What was learnt.
#[derive(Debug, Clone, PartialEq)]
struct Learnt {
    basis: Basis,
    /// The rows that are relevant in any machine: as the kernel sees them, and as the table has them.
    rows: Array2<f64>,
    raw: Array2<f32>,
    machines: Vec<Machine>,
    combination: Combination,
    /// None where the machines answer.
    shared: Option<Shared>,
    log_evidence: f64,
}

/// A fitted classifier and how it came about.
#[derive(Debug, Clone)]
pub struct FittedRvm {
    /// The classifier.
    pub classifier: RvmClassifier,
    /// Why fitting ended.
    pub stop: StopReason,
    /// The log evidence, summed over machines.
    pub log_evidence: f64,
    /// What is wrong, in words; empty if nothing is.
    pub notes: Vec<String>,
    /// How training went, machine after machine.
    pub trace: Vec<TracePoint>,
    /// Where the time went, summed over machines.
    pub profile: Profile,
    /// Rows tried at a time in the first machine; 0 for all at once.
    pub partition_size: usize,
}

impl RvmClassifier {
    /// Fits machines to a data set. Row weights are not looked at.
    pub fn fit(data: &Dataset, params: &Checked<RvmParams>, training: &Training<'_>) -> Result<FittedRvm> {
        data.check_trainable()?;
        let params = params.get().clone();
        let n_classes = data.schema.n_classes();
        let preparation = Preparation::until(&training.budget.stop, &data.schema, &data.features);
        crate::room(data.n_rows(), preparation.width(), n_classes, &params, training.budget)?;
        let mut classifier = Self { params, n_classes, preparation, learnt: None, memory: None };
        let (story, relevant) = classifier.train(&data.features, &data.labels, training)?;
        let targets = data.labels.iter().map(|label| f64::from(label.0)).collect();
        let limits = (classifier.params.max_rows, true, classifier.params.seed);
        let mut memory = Memory::of(&data.features, targets, &relevant, limits);
        memory.facts.counts = data.class_counts().iter().map(|n| *n as u64).collect();
        classifier.memory = Some(memory);
        Ok(FittedRvm {
            stop: training.budget.spent().or(story.stop).unwrap_or(StopReason::Done),
            log_evidence: classifier.learnt.as_ref().map_or(f64::NAN, |learnt| learnt.log_evidence),
            notes: story.notes,
            trace: story.trace,
            profile: story.profile,
            partition_size: story.partition,
            classifier,
        })
    }

    /// A classifier that knows nothing yet, and learns what it is given.
    pub fn new(schema: &Schema, params: &Checked<RvmParams>) -> Result<Self> {
        schema.check_sizes()?;
        Ok(Self {
            params: params.get().clone(),
            n_classes: schema.n_classes(),
            preparation: Preparation::of(schema, &Features::new(schema.n_features())),
            learnt: None,
            memory: Some(Memory::new(schema.n_features())),
        })
    }

    /// The same without what learning more needs.
    #[must_use]
    pub fn frozen(self) -> Self {
        Self { memory: None, ..self }
    }

    /// Whether it can learn more.
    pub fn can_learn(&self) -> bool {
        self.memory.is_some()
    }

    /// Rows learnt so far; 0 where that is not remembered.
    pub fn n_seen(&self) -> u64 {
        self.memory.as_ref().map_or(0, |memory| memory.facts.n_seen)
    }

    /// Rows remembered.
    pub fn n_remembered(&self) -> usize {
        self.memory.as_ref().map_or(0, Memory::n_rows)
    }

    /// The rows remembered; none if they were left out.
    pub fn remembered(&self, schema: &Schema) -> Result<Option<Dataset>> {
        let Some(memory) = &self.memory else { return Ok(None) };
        Dataset::new(schema.clone(), memory.features.clone(), memory.labels(), None).map(Some)
    }

    /// How it was trained.
    pub fn params(&self) -> &RvmParams {
        &self.params
    }

    /// Rows that are relevant in any machine.
    pub fn n_relevant(&self) -> usize {
        self.learnt.as_ref().map_or(0, |learnt| learnt.rows.nrows())
    }

    /// Relevant rows of each machine, the bias not counted; a regression that all classes share is one.
    pub fn n_relevant_each(&self) -> Vec<usize> {
        let Some(learnt) = &self.learnt else { return Vec::new() };
        if learnt.shared.is_some() {
            return vec![learnt.rows.nrows()];
        }
        let bias = learnt.rows.nrows();
        let of = |machine: &Machine| machine.columns.iter().filter(|c| **c < bias).count();
        learnt.machines.iter().map(of).collect()
    }

    /// The rows that are relevant in any machine, as the table has them.
    pub fn relevant_rows(&self) -> Array2<f32> {
        self.learnt
            .as_ref()
            .map_or_else(|| Array2::zeros((0, self.preparation.n_features())), |learnt| learnt.raw.clone())
    }

    /// The kernel's lengths, on prepared columns: one for all, or one for each; none before anything was learnt.
    pub fn lengths(&self) -> Vec<f64> {
        self.learnt.as_ref().map(|learnt| learnt.basis.lengths.clone()).unwrap_or_default()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_learnt = self.learnt.as_ref().map_or(0, |learnt| {
            let of_machines: usize = learnt.machines.iter().map(|m| 24 * m.columns.len()).sum();
            let of_shared = learnt.shared.as_ref().map_or(0, Shared::bytes);
            8 * learnt.rows.len() + 4 * learnt.raw.len() + of_machines + of_shared
        });
        size_of::<Self>() + of_learnt + self.memory.as_ref().map_or(0, Memory::bytes)
    }

    /// Looks for lengths where none are known, and trains on rows from scratch. Returns also which rows are relevant. Whoever interrupts
    /// gets machines as far as they are, or machines of a few rows, and does not wait.
    fn train(
        &mut self,
        features: &Features,
        labels: &[ClassId],
        training: &Training<'_>,
    ) -> Result<(Story, Vec<usize>)> {
        let stop = &training.budget.stop;
        let until_stopped = Training { par: &training.par.until(stop), ..*training };
        let found = self.train_on(features, labels, &until_stopped);
        if !stop.is_stopped() || found.is_ok() {
            return found;
        }
        let rows = crate::spread(labels.len());
        let some: Vec<ClassId> = rows.iter().map(|&row| labels[row]).collect();
        let (story, relevant) = self.train_on(&features.select(&rows), &some, training)?;
        Ok((story, relevant.into_iter().map(|place| rows[place]).collect()))
    }

    fn train_on(
        &mut self,
        features: &Features,
        labels: &[ClassId],
        training: &Training<'_>,
    ) -> Result<(Story, Vec<usize>)> {
        let interrupted = || if training.par.is_stopped() { Err(Error::Interrupted) } else { Ok(()) };
        let prepared = self.preparation.map_all(features, training.par);
        interrupted()?;
        let options = self.params.options();
        let search_budget = half_of(training.budget);
        let lengths = {
            let judge = ClassJudge {
                x: &prepared,
                labels,
                n_classes: self.n_classes,
                params: &self.params,
                options: &self.params.search_options(),
                budget: &search_budget,
                par: &training.par.alone(),
            };
            let search = LengthSearch {
                judge: &judge,
                params: &self.params,
                budget: &search_budget,
                observer: training.observer,
                par: training.par,
            };
            search.find(&prepared)
        };
        interrupted()?;
        let basis = Basis::new(self.params.kernel, lengths);
        let x = basis.map(prepared);
        let params = self.params.clone();
        let task = ClassTask {
            x: x.view(),
            labels,
            n_classes: self.n_classes,
            basis: &basis,
            params: &params,
            options: &options,
            budget: training.budget,
        };
        if task.combination().how == MultiClass::Shared {
            let (basis, grown) = best_length(&task, training.par)?;
            let story = Story::of_shared(&grown, labels.len());
            return Ok((story, self.keep_shared(grown, &ClassTask { basis: &basis, ..task }, features)));
        }
        let machines = task.train(training.par)?;
        let story = Story::of_machines(&machines, labels.len());
        Ok((story, self.keep(&machines, &task, features)))
    }

    /// Keeps a regression. Returns which rows are relevant.
    fn keep_shared(&mut self, grown: Grown, task: &ClassTask<'_>, features: &Features) -> Vec<usize> {
        let Grown { shared, relevant, log_evidence, .. } = grown;
        self.learnt = Some(Learnt {
            basis: task.basis.clone(),
            rows: task.x.select(ndarray::Axis(0), &relevant),
            raw: features.select(&relevant).to_array(0..relevant.len()),
            machines: Vec::new(),
            combination: task.combination(),
            shared: Some(shared),
            log_evidence,
        });
        relevant
    }

    /// Keeps what a training run has found. Returns which rows are relevant.
    fn keep(&mut self, machines: &Machines, task: &ClassTask<'_>, features: &Features) -> Vec<usize> {
        let relevant = machines.union(task.x.nrows());
        self.learnt = Some(Learnt {
            basis: task.basis.clone(),
            rows: task.x.select(ndarray::Axis(0), &relevant),
            raw: features.select(&relevant).to_array(0..relevant.len()),
            machines: machines.over(&relevant, task.x.nrows()),
            combination: machines.combination.clone(),
            shared: None,
            log_evidence: machines.trained.iter().map(|trained| trained.model.log_evidence).sum(),
        });
        relevant
    }
}

/// A regression with the length that suits all rows best: those that the search looked at may have been too few to see the differences
/// that all rows show. Smaller regressions decide about that.
fn best_length(task: &ClassTask<'_>, par: &Par) -> Result<(Basis, Grown)> {
    let n_known = task.combination().known.len();
    let most = task.params.most_relevant(task.labels.len(), n_known);
    let of = |basis: &Basis, most: usize| task.grower(basis, most, par).grow();
    let mut best = task.basis.clone();
    let may_move = task.params.length_scale == 0.0 && !best.name.is_of_products();
    if may_move {
        let mut least = of(&best, most / PART)?.loss;
        for factor in [STEP, 1.0 / STEP] {
            let from = best.lengths[0];
            for _ in 0..MOST_STEPS {
                let next = best.of_length(best.lengths[0] * factor);
                let Some(loss) = of(&next, most / PART).ok().map(|grown| grown.loss) else { break };
                if loss >= least || task.budget.spent().is_some() {
                    break;
                }
                (best, least) = (next, loss);
            }
            if best.lengths[0] != from {
                break;
            }
        }
    }
    let grown = of(&best, most)?;
    Ok((best, grown))
}

impl Memory {
    /// The classes of the rows.
    fn labels(&self) -> Vec<ClassId> {
        self.targets.iter().map(|t| ClassId(*t as u32)).collect()
    }
}

impl Learnt {
    /// The probabilities of rows as the kernel sees them.
    fn answers(&self, x: ArrayView2<'_, f64>, n_classes: usize) -> Array2<f64> {
        if let Some(shared) = &self.shared {
            return shared.answers(x, self.rows.view(), &self.basis, n_classes, &self.combination.known);
        }
        let n = self.rows.nrows();
        let mut weights = Array2::zeros((n + 1, self.machines.len()));
        for (m, machine) in self.machines.iter().enumerate() {
            machine.columns.iter().zip(&machine.mean).for_each(|(&column, w)| weights[(column, m)] = *w);
        }
        let mut scores = if n == 0 {
            Array2::zeros((x.nrows(), self.machines.len()))
        } else {
            let known = self.basis.kernel.cross(x, self.rows.view(), &Par::sequential());
            known.dot(&weights.slice(s![..n, ..]))
        };
        scores += &weights.row(n);
        self.combination.probabilities(&scores, n_classes)
    }
}

impl Classifier for RvmClassifier {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        let Some(learnt) = &self.learnt else {
            // Nothing is known but how often each class came.
            let mut shares = vec![1.0; self.n_classes];
            let counts = self.memory.iter().flat_map(|memory| &memory.facts.counts);
            shares.iter_mut().zip(counts).for_each(|(share, count)| *share += *count as f64);
            let sum: f64 = shares.iter().sum();
            out.rows_mut().into_iter().for_each(|mut row| {
                row.iter_mut().zip(&shares).for_each(|(p, share)| *p = share / sum);
            });
            return;
        };
        // Blocks of one size, so that an answer does not depend on what else was asked.
        let n = x.nrows();
        let blocks = par.map(n.div_ceil(BLOCK), |block| {
            let rows = s![block * BLOCK..((block + 1) * BLOCK).min(n), ..];
            let prepared = learnt.basis.map(self.preparation.map(x.slice(rows)));
            learnt.answers(prepared.view(), self.n_classes)
        });
        for (block, answers) in blocks.into_iter().enumerate() {
            out.slice_mut(s![block * BLOCK..block * BLOCK + answers.nrows(), ..]).assign(&answers);
        }
    }
}
