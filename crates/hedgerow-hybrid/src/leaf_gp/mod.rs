//! Trees with a Gaussian process in every leaf that holds more than one class (spec 003).
//!
//! An exact process costs the cube of its rows. A few trees, each over all rows, cut them into leaves of at most `leaf_rows`; the processes
//! in these leaves cost `n · leaf_rows²` together, and the trees average out what the borders of leaves do. Leaves of one class need
//! nothing. [`params`](LeafGpParams) names the learner; `learner` has the formulae, `leaf` one leaf, `stems` the trees, `search` finds a
//! kernel for all leaves, `answer` puts the answers of trees together and `online` goes on learning. `shares` is what the trees would say without processes;
//! how far it counts beside them is decided by rows outside (`unseen`, `judges`).

mod answer;
mod judges;
mod kernel;
mod leaf;
mod learner;
mod online;
mod params;
mod plant;
mod saved;
mod search;
mod shares;
pub mod sliced;
mod stems;
#[cfg(test)]
mod tests;
mod unseen;

use std::sync::Arc;

use hedgerow_core::{
    Budget, Checked, ClassId, Dataset, Error, Features, Progress, Result, Schema, StopReason, Training,
};
use hedgerow_gp::calibration::Calibration;
use hedgerow_gp::prepare::Preparation;
use ndarray::{ArcArray2, Array2, Axis};

pub use kernel::LeafKernel;
use leaf::{Leaf, School};
use online::Course;
pub use params::{Fusion, LeafGpParams, LeafLearner, Sharing};
use plant::{Planted, places, plant};
pub use saved::{LeafGpFacts, Stored};
use search::Trials;
use stems::Stems;

use crate::account::Account;
use crate::blend::Blend;

/// Rows of a model that was interrupted before it had trees, at most.
const ROWS_IN_HASTE: usize = 1000;
/// Rows that calibrate, at most.
const MOST_JUDGES: usize = 20_000;
/// Bytes that a process takes for the square of each row while it learns.
const BYTES_A_PAIR: u64 = 40;

/// A classifier of any number of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct LeafGp {
    params: LeafGpParams,
    n_classes: usize,
    preparation: Preparation,
    /// None before anything was learnt.
    kernel: Option<LeafKernel>,
    /// All rows, as they came; those that only wait to be learnt are at the end.
    features: Arc<Features>,
    /// Their classes; none where they were left out.
    labels: Vec<ClassId>,
    /// The same rows, prepared.
    x: ArcArray2<f32>,
    stems: Stems,
    leaves: Vec<Leaf>,
    /// None before there was anything to calibrate by.
    calibration: Option<Calibration>,
    /// How far shares of classes and processes are trusted; none if the processes answer alone.
    blend: Option<Blend>,
    /// What processes have changed, on rows that they had not learnt.
    account: Account,
    /// What learning more needs; none if it was left out.
    course: Option<Course>,
}

/// A fitted classifier and why fitting ended.
#[derive(Debug, Clone)]
pub struct FittedLeafGp {
    /// The classifier.
    pub model: LeafGp,
    /// Why fitting ended. When the time is up, leaves that have not learnt yet answer with the shares of their classes.
    pub stop: StopReason,
}

/// What a classifier consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafGpSize {
    /// Trees.
    pub n_trees: usize,
    /// Leaves of all trees.
    pub n_leaves: usize,
    /// Leaves that have a process.
    pub n_processes: usize,
    /// Rows of the largest process.
    pub largest: usize,
}

impl LeafGp {
    /// Fits trees and processes to a data set. Row weights are not looked at.
    pub fn fit(
        data: &Dataset,
        params: &Checked<LeafGpParams>,
        training: &Training<'_>,
    ) -> Result<FittedLeafGp> {
        let stop = &training.budget.stop;
        let until_stopped = Training { par: &training.par.until(stop), ..*training };
        match Self::fit_rows(data, params, &until_stopped) {
            // Whoever interrupts before there are trees does not wait for them, but gets some that know a few of the rows.
            Err(Error::Interrupted) => {
                let rows: Vec<usize> =
                    (0..data.n_rows()).step_by(data.n_rows().div_ceil(ROWS_IN_HASTE)).collect();
                Self::fit_rows(&data.select(&rows), params, training)
            }
            found => found,
        }
    }

    fn fit_rows(
        data: &Dataset,
        params: &Checked<LeafGpParams>,
        training: &Training<'_>,
    ) -> Result<FittedLeafGp> {
        data.check_trainable()?;
        let mut model = Self::empty(&data.schema, params.get().clone())?;
        let first = data.n_rows().saturating_sub(model.params.most_rows());
        let kept: Vec<usize> = (first..data.n_rows()).collect();
        let data = if first == 0 { data.clone() } else { data.select(&kept) };
        data.check_trainable()?;
        model.course = Some(Course::of_fitted(first + data.n_rows()));
        model.features = Arc::new(data.features.clone());
        model.labels.clone_from(&data.labels);
        let start = std::time::Instant::now();
        model.relearn(&data, training)?;
        if model.params.blend
            && let Some(judges) = model.unseen(&data, start.elapsed(), training)?
        {
            model.trust(&judges);
            model.note(&judges);
        }
        let stop = training.budget.spent().unwrap_or(StopReason::Done);
        Ok(FittedLeafGp { model, stop })
    }

    /// A classifier that knows nothing yet, and learns what it is given.
    pub fn new(schema: &Schema, params: &Checked<LeafGpParams>) -> Result<Self> {
        Ok(Self { course: Some(Course::new()), ..Self::empty(schema, params.get().clone())? })
    }

    fn empty(schema: &Schema, params: LeafGpParams) -> Result<Self> {
        schema.check_sizes()?;
        let features = Features::new(schema.n_features());
        let nothing = Dataset::new(schema.clone(), features.clone(), Vec::new(), None)?;
        let preparation = Preparation::new(&nothing);
        Ok(Self {
            params,
            n_classes: schema.n_classes(),
            x: ArcArray2::zeros((0, preparation.width())),
            preparation,
            kernel: None,
            features: Arc::new(features),
            labels: Vec::new(),
            stems: Stems::default(),
            leaves: Vec::new(),
            calibration: None,
            blend: None,
            account: Account::default(),
            course: None,
        })
    }

    /// How it was trained.
    pub fn params(&self) -> &LeafGpParams {
        &self.params
    }

    /// The kernel of all leaves; none before anything was learnt.
    pub fn kernel(&self) -> Option<LeafKernel> {
        self.kernel
    }

    /// How far the shares of classes in leaves and the processes are trusted; none if the processes answer alone.
    pub fn blend(&self) -> Option<Blend> {
        self.blend
    }

    /// What the processes have changed, on rows that nobody had seen when they were answered: before are the answers of the shares alone.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Trees, leaves and processes.
    pub fn size(&self) -> LeafGpSize {
        let processes = self.leaves.iter().filter_map(|leaf| leaf.process.as_ref());
        LeafGpSize {
            n_trees: self.stems.n_trees(),
            n_leaves: self.leaves.len(),
            n_processes: processes.clone().count(),
            largest: processes.map(|process| process.rows.len()).max().unwrap_or(0),
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_leaves: usize = self.leaves.iter().map(Leaf::bytes).sum();
        let of_rows = self.features.bytes() + 4 * (self.x.len() + self.labels.len());
        of_rows + of_leaves + self.stems.bytes() + self.course.as_ref().map_or(0, Course::bytes)
    }

    /// The same without what learning more needs: rows that no process counts, and all labels.
    #[must_use]
    pub fn frozen(mut self) -> Self {
        let mut is_kept = vec![false; self.features.n_rows()];
        for process in self.leaves.iter().filter_map(|leaf| leaf.process.as_ref()) {
            process.rows.iter().for_each(|&row| is_kept[row as usize] = true);
        }
        self.leaves.iter_mut().for_each(|leaf| leaf.rows.clear());
        self.keep_rows(&is_kept);
        self.labels.clear();
        self.course = None;
        self
    }

    /// Keeps some rows only; leaves lose the others. Those that lose any must learn anew, and are told.
    fn keep_rows(&mut self, is_kept: &[bool]) -> Vec<usize> {
        let kept: Vec<usize> = (0..is_kept.len()).filter(|row| is_kept[*row]).collect();
        let mut new_of_old = vec![u32::MAX; is_kept.len()];
        kept.iter().enumerate().for_each(|(new, &old)| new_of_old[old] = new as u32);
        self.features = Arc::new(self.features.select(&kept));
        self.x = self.x.select(Axis(0), &kept).into_shared();
        if self.labels.len() == is_kept.len() {
            self.labels = kept.iter().map(|&row| self.labels[row]).collect();
        }
        let mut touched = Vec::new();
        for (number, leaf) in self.leaves.iter_mut().enumerate() {
            let n = leaf.rows.len();
            leaf.rows.retain_mut(|row| {
                *row = new_of_old[*row as usize];
                *row != u32::MAX
            });
            if leaf.rows.len() < n {
                touched.push(number);
                leaf.process = None;
            } else if let Some(process) = &mut leaf.process {
                Arc::make_mut(process).rows.iter_mut().for_each(|row| *row = new_of_old[*row as usize]);
            }
        }
        touched
    }

    /// Prepares columns, grows trees, searches for a kernel and trains all leaves anew, from all rows.
    fn relearn(&mut self, data: &Dataset, training: &Training<'_>) -> Result<()> {
        self.grow(data, training)?;
        // Leaves of the first tree: those of one tree come one after the other.
        let n_first = self.stems.beds.first().map_or(0, |bed| bed.ends.len());
        let all_rows: Vec<u32> = (0..data.n_rows() as u32).collect();
        let of_first = &self.leaves[..n_first];
        let sample = search::Sampled { x: self.x.view(), labels: &self.labels, n_classes: self.n_classes };
        let trials = Trials::new(&self.params, of_first, &all_rows, &sample);
        self.kernel = Some(trials.choose(training));
        if let Some(course) = &mut self.course {
            course.tuned_at = course.n_seen;
            course.n_placed = data.n_rows();
        }
        let all: Vec<usize> = (0..self.leaves.len()).collect();
        let without = self.train(&all, training)?;
        self.calibrate(&without, training);
        Ok(())
    }

    /// Prepares columns, grows trees and puts all rows into their leaves.
    fn grow(&mut self, data: &Dataset, training: &Training<'_>) -> Result<()> {
        let n = data.n_rows();
        self.preparation = Preparation::until(&training.budget.stop, &data.schema, &data.features);
        self.x = self.preparation.map_all_narrow(&data.features, training.par).into_shared();
        let interrupted = || if training.par.is_stopped() { Err(Error::Interrupted) } else { Ok(()) };
        interrupted()?;
        let raw = data.features.to_array(0..n);
        let all_rows: Vec<u32> = (0..n as u32).collect();
        self.stems = Stems::default();
        self.leaves.clear();
        for tree in stems::grow(data, &self.params, self.params.n_trees, self.params.seed, training.par)? {
            interrupted()?;
            let places = places(&tree, raw.view());
            let planted = Planted { rows: &all_rows, places: &places, labels: &self.labels };
            plant(&mut self.stems, &mut self.leaves, tree, &planted, None);
        }
        interrupted()
    }

    /// Trains leaves, side by side as far as memory allows. Returns for each the scores of its rows without each of them.
    fn train(&mut self, leaves: &[usize], training: &Training<'_>) -> Result<Vec<Array2<f64>>> {
        let Some(kernel) = self.kernel else { return Ok(Vec::new()) };
        let (most_rows, n_jobs) = self.room(leaves, training.budget, training.par.threads())?;
        let school =
            School { params: &self.params, kernel, x: self.x.view(), labels: &self.labels, most_rows };
        let (n_classes, seed) = (self.n_classes, self.params.seed);
        let done = std::sync::atomic::AtomicUsize::new(0);
        let total = Some(leaves.len());
        let one = |number: usize| {
            let mut leaf = self.leaves[number].clone();
            let is_over = training.budget.spent().is_some();
            let without = leaf.learn(&school, seed ^ number as u64, n_classes, is_over);
            let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            if done.is_multiple_of(16) {
                training.observer.progress(Progress { done, total, accuracy: None });
            }
            (leaf, without)
        };
        // The largest first, so that no thread is left with one of them at the end.
        let mut order: Vec<usize> = leaves.to_vec();
        order.sort_by_key(|&leaf| std::cmp::Reverse(self.leaves[leaf].rows.len()));
        let trained: Vec<(Leaf, Array2<f64>)> = if n_jobs >= training.par.threads() {
            training.par.map(order.len(), |i| one(order[i]))
        } else {
            order.iter().map(|&leaf| one(leaf)).collect()
        };
        let mut tables: Vec<(usize, Array2<f64>)> = Vec::with_capacity(leaves.len());
        for (number, (leaf, without)) in order.into_iter().zip(trained) {
            self.leaves[number] = leaf;
            tables.push((number, without));
        }
        let place = |number: &usize| leaves.iter().position(|leaf| leaf == number);
        if leaves.windows(2).all(|pair| pair[0] < pair[1]) {
            tables.sort_by_key(|(number, _)| *number);
        } else {
            tables.sort_by_key(|(number, _)| place(number));
        }
        Ok(tables.into_iter().map(|(_, table)| table).collect())
    }

    /// Most rows of a process, and how many may learn at a time.
    fn room(&self, leaves: &[usize], budget: &Budget, threads: usize) -> Result<(usize, usize)> {
        let most = self.params.leaf_rows;
        let Some(limit) = budget.bytes else { return Ok((most, threads)) };
        let fixed = 4
            * (self.x.len() as u64
                + (self.stems.n_trees() * self.x.nrows()) as u64 * (2 * self.n_classes as u64 + 1));
        let left = limit.saturating_sub(fixed);
        let largest = leaves.iter().map(|&leaf| self.leaves[leaf].rows.len().min(most)).max().unwrap_or(0);
        let needed = |rows: usize| BYTES_A_PAIR * (rows as u64).pow(2) + 8 * (rows * self.x.ncols()) as u64;
        let n_jobs = (left / needed(largest).max(1)) as usize;
        if n_jobs >= 1 {
            return Ok((most, n_jobs));
        }
        let fits = (1..=largest).rev().find(|&rows| needed(rows) <= left).unwrap_or(0);
        if fits >= 20 {
            return Ok((fits, 1));
        }
        Err(Error::BudgetTooSmall {
            what: format!(
                "{} trees over {} rows with processes in their leaves",
                self.params.n_trees,
                self.x.nrows()
            ),
            needed: format!("{} MB", (fixed + needed(20)).div_ceil(1_000_000)),
            limit: format!("{} MB", limit / 1_000_000),
        })
    }

    /// Calibrates by the scores that all rows get without themselves; `without` has those of each leaf.
    fn calibrate(&mut self, without: &[Array2<f64>], training: &Training<'_>) {
        let n = self.labels.len();
        let mut sums = Array2::<f64>::zeros((n, self.n_classes));
        for (leaf, table) in self.leaves.iter().zip(without) {
            for (&row, scores) in leaf.rows.iter().zip(table.rows()) {
                sums.row_mut(row as usize).zip_mut_with(&scores, |sum, score| *sum += score);
            }
        }
        sums /= self.stems.n_trees().max(1) as f64;
        let rows: Vec<usize> = (0..n).step_by(n.div_ceil(MOST_JUDGES).max(1)).collect();
        let labels: Vec<ClassId> = rows.iter().map(|&row| self.labels[row]).collect();
        self.calibration = Some(Calibration::fit(&sums.select(Axis(0), &rows), &labels, training.par));
    }
}
