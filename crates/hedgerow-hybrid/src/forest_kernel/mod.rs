//! A Gaussian process whose kernel is a forest: two rows are as alike as the share of trees in which they fall into the same leaf.
//!
//! The forest says what matters, the process weighs all rows together instead of leaf by leaf. `leaves` has the leaves of rows as small numbers, `product` the
//! kernel's matrix as sums over leaves, `process` the Gaussian process with all rows, `sparse` the one through rows that Informative Vector
//! Machines choose, `scores` what the leaves say in the end, `train` how all this is judged on rows that no tree had seen, `online` how it
//! goes on learning as the trees change, `sliced` how a process learns while others work too. Where there is no process (yet), the forest answers.

mod leaves;
mod matches;
mod online;
mod params;
mod process;
mod product;
mod saved;
mod scores;
pub mod sliced;
mod sparse;
#[cfg(test)]
mod tests;
mod train;

use std::borrow::Cow;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{
    Budget, Checked, Classifier, Dataset, Error, Par, Params as _, Result, Schema, StopReason, Training,
};
use hedgerow_forest::{Forest, OnlineForest};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use crate::blend::Blend;
use crate::forest_ivm::Part;
use online::Course;
pub use params::{ForestKernelParams, KernelLearner};
pub use saved::{ForestKernelFacts, LeafLists, LeafTables};
use scores::LeafScores;
use train::{Verdict, bytes_needed, half_of_time, judge, learn};

/// Fewest rows that a process is trained with where memory is short.
const LEAST_ROWS: u64 = 100;

/// A classifier: a Gaussian process with the kernel of a forest.
///
/// An answer costs a walk down each tree. Learning n rows costs a few dozen passes over n rows, trees and classes beside growing the forest about twice.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestKernelClassifier {
    params: ForestKernelParams,
    n_classes: usize,
    part: Part,
    /// What rows that nobody had seen have decided; none before that.
    verdict: Option<Verdict>,
    /// What the leaves say; none if the forest answers.
    scores: Option<LeafScores>,
    /// What learning more needs; none if it was left out.
    course: Option<Course>,
}

/// A fitted classifier and why fitting ended.
#[derive(Debug, Clone)]
pub struct FittedForestKernel {
    /// The classifier. If the time was up before the process had learnt, its forest answers.
    pub model: ForestKernelClassifier,
    /// Why fitting ended.
    pub stop: StopReason,
}

impl ForestKernelClassifier {
    /// Grows a forest, then lets a process learn with its kernel. The process does not look at row weights.
    pub fn fit(
        data: &Dataset,
        params: &Checked<ForestKernelParams>,
        training: &Training<'_>,
    ) -> Result<FittedForestKernel> {
        data.check_trainable()?;
        let params = params.get().clone();
        let most = most_rows(&params, data.schema.n_features(), data.schema.n_classes(), training)?;
        let budget = Budget { bytes: half(training.budget.bytes), ..half_of_time(training.budget) };
        let fitted =
            Forest::fit(data, &params.forest_params().check()?, &Training { budget: &budget, ..*training })?;
        let mut model = Self {
            n_classes: data.schema.n_classes(),
            part: Part::Learning(Box::new(OnlineForest::from_fitted(fitted.forest, data.clone()))),
            verdict: None,
            scores: None,
            course: Some(Course::of_fitted(data.n_rows() as u64, data.schema.n_features())),
            params,
        };
        model.train(&some_rows(data, most, model.params.seed), true, training)?;
        let stop = training.budget.spent().unwrap_or(fitted.stop);
        Ok(FittedForestKernel { model, stop })
    }

    /// Lets a process learn rows with the leaves of the forest as it is now. If the budget is spent before it has, the forest answers alone.
    fn train(&mut self, data: &Dataset, wants_verdict: bool, training: &Training<'_>) -> Result<()> {
        self.scores = None;
        let until_stopped = Training { par: &training.par.until(&training.budget.stop), ..*training };
        match self.train_until_stopped(data, wants_verdict, &until_stopped) {
            Err(Error::Interrupted) => Ok(()),
            result => result,
        }
    }

    fn train_until_stopped(
        &mut self,
        data: &Dataset,
        wants_verdict: bool,
        training: &Training<'_>,
    ) -> Result<()> {
        if wants_verdict || self.verdict.is_none() {
            let budget = Budget { bytes: half(training.budget.bytes), ..half_of_time(training.budget) };
            let found = judge(data, &self.params, &Training { budget: &budget, ..*training })?;
            self.verdict = found.or(self.verdict.take());
        }
        let Some(verdict) = &self.verdict else { return Ok(()) };
        if training.budget.spent().is_some() {
            return Ok(());
        }
        let found = learn(self.part.forest(), data, &self.params, &[verdict.noise], training)?;
        if training.par.is_stopped() {
            return Err(Error::Interrupted);
        }
        self.scores = found.into_iter().next();
        Ok(())
    }

    /// A classifier that knows nothing yet, and learns what it is given.
    pub fn new(schema: &Schema, params: &Checked<ForestKernelParams>) -> Result<Self> {
        let params = params.get().clone();
        let forest = OnlineForest::new(schema, &params.forest_params().check()?)?;
        Ok(Self {
            n_classes: schema.n_classes(),
            part: Part::Learning(Box::new(forest)),
            verdict: None,
            scores: None,
            course: Some(Course::new(schema.n_features())),
            params,
        })
    }

    /// How it was trained.
    pub fn params(&self) -> &ForestKernelParams {
        &self.params
    }

    /// The forest, and whether it goes on learning.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// Rows that the scores of leaves come from; 0 if the forest answers alone.
    pub fn n_active(&self) -> usize {
        self.scores.as_ref().map_or(0, |scores| scores.n_rows)
    }

    /// Variance of the noise in labels; none before it was chosen.
    pub fn noise_variance(&self) -> Option<f64> {
        self.verdict.as_ref().map(|verdict| verdict.noise)
    }

    /// How far forest and process are trusted; none if one of them answers alone.
    pub fn blend(&self) -> Option<Blend> {
        self.verdict.as_ref().filter(|_| self.scores.is_some()).and_then(|verdict| verdict.blend)
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_forest = match &self.part {
            Part::Alone(forest) => forest.bytes(),
            Part::Learning(online) => online.bytes(),
        };
        let of_scores = self.scores.as_ref().map_or(0, LeafScores::bytes);
        of_forest + of_scores + self.course.as_ref().map_or(0, Course::bytes)
    }

    /// The same without what learning more needs. Rows that wait to be learnt are lost.
    #[must_use]
    pub fn frozen(self) -> Self {
        let part = match self.part {
            Part::Learning(mut online) => {
                online.put_in_order();
                Part::Alone(Box::new(online.into_forest()))
            }
            alone @ Part::Alone(_) => alone,
        };
        Self { part, course: None, ..self }
    }

    /// What the process says about rows, a score a class; none if the forest answers.
    fn scored(&self, x: ArrayView2<'_, f32>, par: &Par) -> Option<Array2<f64>> {
        let scores = self.scores.as_ref()?;
        scores.of(self.part.forest(), x, par).ok()
    }

    /// Answers rows that may have been scored by the process.
    fn answer(
        &self,
        x: ArrayView2<'_, f32>,
        scores: Option<&Array2<f64>>,
        par: &Par,
        mut out: ArrayViewMut2<'_, f64>,
    ) {
        let (Some(Verdict { calibration, blend, .. }), Some(scores)) = (&self.verdict, scores) else {
            return self.part.forest().predict_proba_impl(x, par, out);
        };
        if blend.is_some() {
            self.part.forest().predict_proba_impl(x, par, out.view_mut());
        }
        let mut answer = vec![0.0; self.n_classes];
        for (row, mut out) in scores.rows().into_iter().zip(out.rows_mut()) {
            answer.fill(f64::NEG_INFINITY);
            answer.iter_mut().zip(row).for_each(|(to, score)| *to = *score);
            calibration.apply(&mut answer);
            if let Some(blend) = blend {
                let (forest, process) = (out.to_vec(), answer.clone());
                blend.apply(&forest, &process, &mut answer);
            }
            out.iter_mut().zip(&answer).for_each(|(to, p)| *to = *p);
        }
    }
}

impl Classifier for ForestKernelClassifier {
    fn n_features(&self) -> usize {
        self.part.forest().n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>) {
        self.answer(x, self.scored(x, par).as_ref(), par, out);
    }
}

fn half(bytes: Option<u64>) -> Option<u64> {
    bytes.map(|bytes| bytes / 2)
}

/// Rows that a process may learn from within the limit on memory, half of which is the forest's.
fn most_rows(
    params: &ForestKernelParams,
    n_features: usize,
    n_classes: usize,
    training: &Training<'_>,
) -> Result<usize> {
    let Some(limit) = training.budget.bytes else { return Ok(usize::MAX) };
    let [of_row, fixed] = bytes_needed(params, n_features, n_classes.max(2));
    let most = (limit / 2).saturating_sub(fixed) / of_row;
    if most >= LEAST_ROWS {
        return Ok(usize::try_from(most).unwrap_or(usize::MAX));
    }
    Err(Error::BudgetTooSmall {
        what: format!("a process with the kernel of {} trees (n_trees)", params.forest.n_trees),
        needed: format!("{} MB", (2 * (fixed + LEAST_ROWS * of_row)).div_ceil(1_000_000)),
        limit: format!("{} MB", limit / 1_000_000),
    })
}

/// At most so many rows, drawn at random.
fn some_rows(data: &Dataset, most: usize, seed: u64) -> Cow<'_, Dataset> {
    if data.n_rows() <= most {
        return Cow::Borrowed(data);
    }
    let mut rows: Vec<usize> = (0..data.n_rows()).collect();
    Rng::new(seed, Purpose::Sample, 10).shuffle(&mut rows);
    rows.truncate(most);
    rows.sort_unstable();
    Cow::Owned(data.select(&rows))
}
