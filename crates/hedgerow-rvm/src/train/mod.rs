//! Which columns are candidates when: all at once, or some at a time.
//!
//! Maximising the evidence of candidates costs their number squared a row. So few are tried at a time, and those that are relevant
//! stay: the working set takes the rows with the largest errors next, the incremental trainer random ones, [`split_merge`] solves parts
//! side by side (Ben Shimon 2006). All three give the model of the last solve, which goes to convergence.

mod reinsert;
mod split_merge;
#[cfg(test)]
mod tests;
mod working_set;

use std::time::Instant;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Par, Result, StopReason};

use crate::options::{Trainer, WaterMark};
use crate::params::probe_size;
use crate::target::{Candidates, Context, SparseFit, Target};
use crate::training_log::TrainingLog;
pub(crate) use reinsert::gains;

/// The least number of candidates that are added at a time.
const LEAST_PARTITION: usize = 16;
/// Rows of a probe, at most: more would cost more than a wrong partition size.
const MOST_PROBED: usize = 600;
/// Rows that stand for all when there is no time for more, at most.
const FEW_ROWS: usize = 200;

/// How a training run stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TracePoint {
    /// Seconds since it began.
    pub seconds: f64,
    /// Candidates tried so far.
    pub n_tried: usize,
    /// Relevant columns.
    pub n_relevant: usize,
    /// Root mean square error of the training rows, or the share of wrong predictions.
    pub error: f64,
    /// Log evidence of the rows that were used.
    pub log_evidence: f64,
}

/// What a training run gave.
#[derive(Debug, Clone)]
pub(crate) struct Trained {
    pub(crate) fit: SparseFit,
    pub(crate) log: TrainingLog,
    pub(crate) stop: StopReason,
}

/// Trains an RVM from scratch or from a fit, in the way that its parameters name.
pub(crate) fn train<T: Target>(target: &T, from: Option<&SparseFit>) -> Result<Trained> {
    let Context { design, params, .. } = target.context();
    let n = design.n_rows();
    let mut run = Run::new(target);
    let trainer = match params.trainer {
        Trainer::Auto if n <= T::WHOLE_ROWS => Trainer::Whole,
        Trainer::Auto => Trainer::WorkingSet,
        chosen => chosen,
    };
    if trainer != Trainer::Whole {
        run.choose_partition()?;
    }
    match trainer {
        Trainer::Whole => run.whole(from),
        _ if run.log.partition_size >= n => run.whole(from),
        Trainer::SplitMerge => run.split_merge(),
        Trainer::Incremental => run.working_set(false, from),
        _ => run.working_set(true, from),
    }
}

/// Maximises the evidence of what is relevant in a fit and of the rows from `first_new` on.
pub(crate) fn update<T: Target>(target: &T, from: &SparseFit, first_new: usize) -> Result<Trained> {
    let mut run = Run::new(target);
    let new: Vec<usize> = (first_new..target.context().design.n_rows()).collect();
    let fit = run.solve(united(&from.columns, &new), from, true)?;
    Ok(run.finish(fit, StopReason::Done))
}

/// Trains an RVM, or updates it where `first_new` is given. If the budget was spent before any column was taken in, a few rows stand for
/// all; rows that were dropped are tried once more if the parameters ask for it.
pub(crate) fn train_or_update<T: Target>(
    target: &T,
    from: Option<&SparseFit>,
    first_new: Option<usize>,
) -> Result<Trained> {
    let mut trained = match first_new {
        Some(first_new) => update(target, from.unwrap_or(&target.empty()), first_new)?,
        None => train(target, from)?,
    };
    let Context { params, budget, .. } = target.context();
    if trained.fit.columns.is_empty() && budget.spent().is_some() {
        let open = Budget::open();
        let mut run = Run { budget: &open, ..Run::new(target) };
        let rows = few_rows(target);
        run.n_tried = rows.len();
        let fit = run.solve_rows(rows)?;
        run.trace(&fit);
        trained = run.finish(fit, StopReason::Time);
    }
    if params.reinsert {
        trained.fit = reinsert::reinsert(target, trained.fit, &mut trained.log.profile)?;
    }
    Ok(trained)
}

/// A training run as it goes on: what is given, and what is written down.
struct Run<'a, T> {
    target: &'a T,
    budget: &'a Budget,
    par: &'a Par,
    begun: Instant,
    log: TrainingLog,
    n_tried: usize,
}

impl<'a, T: Target> Run<'a, T> {
    fn new(target: &'a T) -> Self {
        let Context { budget, par, .. } = target.context();
        Self { target, budget, par, begun: Instant::now(), log: TrainingLog::default(), n_tried: 0 }
    }

    /// Maximises the evidence of some rows and the bias.
    fn solve(&mut self, rows: Vec<usize>, from: &SparseFit, is_last: bool) -> Result<SparseFit> {
        let columns = with_bias(self.target, rows);
        let candidates = self.candidates(&columns, from, is_last);
        self.log.most_candidates = self.log.most_candidates.max(columns.len());
        self.solve_candidates(candidates)
    }

    /// Maximises the evidence of some rows by these rows alone.
    fn solve_rows(&mut self, rows: Vec<usize>) -> Result<SparseFit> {
        let (columns, empty) = (with_bias(self.target, rows.clone()), self.target.empty());
        let candidates = Candidates { rows: Some(&rows), ..self.candidates(&columns, &empty, true) };
        self.solve_candidates(candidates)
    }

    fn solve_candidates(&mut self, candidates: Candidates<'_>) -> Result<SparseFit> {
        let fit = self.target.solve(candidates, &mut self.log.profile);
        self.par.check()?;
        fit
    }

    fn candidates<'b>(&self, columns: &'b [usize], from: &'b SparseFit, is_last: bool) -> Candidates<'b>
    where
        'a: 'b,
    {
        let water_mark = match self.target.context().params.water_mark {
            WaterMark::Current if !is_last => columns.len() / 2,
            WaterMark::Partition if !is_last => self.log.partition_size / 2,
            _ => 0,
        };
        Candidates { columns, from, water_mark, rows: None, is_last, budget: self.budget, par: self.par }
    }

    /// Adds a point to the trace.
    fn trace(&mut self, fit: &SparseFit) {
        self.log.trace.push(TracePoint {
            seconds: self.begun.elapsed().as_secs_f64(),
            n_tried: self.n_tried,
            n_relevant: fit.columns.len(),
            error: self.target.error(fit),
            log_evidence: fit.log_evidence,
        });
    }

    fn finish(self, fit: SparseFit, stop: StopReason) -> Trained {
        Trained { fit, stop: self.budget.spent().unwrap_or(stop), log: self.log }
    }

    /// All rows are candidates at once.
    fn whole(mut self, from: Option<&SparseFit>) -> Result<Trained> {
        let empty = self.target.empty();
        self.log.partition_size = 0;
        self.n_tried = self.target.context().design.n_rows();
        let fit = self.solve((0..self.n_tried).collect(), from.unwrap_or(&empty), true)?;
        self.trace(&fit);
        Ok(self.finish(fit, StopReason::Done))
    }

    /// How many candidates are added at a time: what the parameters give, or what a probe suggests.
    fn choose_partition(&mut self) -> Result<()> {
        let Context { design, params, .. } = self.target.context();
        self.log.partition_size = params.partition_size;
        if self.log.partition_size > 0 {
            return Ok(());
        }
        let (n, d) = design.x.dim();
        let wanted = (libm::ceil(probe_size(n, d)) as usize).clamp(1, n.clamp(1, MOST_PROBED));
        let rows = drawn(self.target, wanted);
        let n_probed = rows.len().max(1);
        // By the rows of the probe alone: it estimates how sparse the model will be, not to be good.
        let n_relevant = self.solve_rows(rows)?.columns.len();
        // Of the rows that were probed: there are fewer than √(N d) of them when that is more than `MOST_PROBED`.
        let share = n_relevant as f64 / n_probed as f64;
        let suggested = params.partition(n, d, share);
        // Twice the relevant rows is the best size; √(N d) does not depend on them when N is large.
        self.log.partition_size =
            suggested.min((2 * n_relevant).max(LEAST_PARTITION)).max(LEAST_PARTITION.min(n));
        self.log.probe_share = Some(share);
        Ok(())
    }
}

/// Rows drawn at random, each group in its share, in order.
fn drawn<T: Target>(target: &T, wanted: usize) -> Vec<usize> {
    let groups = target.groups();
    let n: usize = groups.iter().map(Vec::len).sum();
    let mut rng = Rng::new(target.context().params.seed, Purpose::Sample, 12);
    let mut rows = Vec::new();
    for mut group in groups {
        rng.shuffle(&mut group);
        let share = (wanted * group.len()).div_ceil(n.max(1));
        rows.extend(group.into_iter().take(share));
    }
    rows.sort_unstable();
    rows
}

/// Rows spread evenly over each group, as many of one group as of another.
fn few_rows<T: Target>(target: &T) -> Vec<usize> {
    let groups = target.groups();
    let most = (FEW_ROWS / groups.len().max(1)).max(1);
    let mut rows: Vec<usize> = groups
        .iter()
        .flat_map(|group| group.iter().step_by(group.len().div_ceil(most).max(1)))
        .copied()
        .collect();
    rows.sort_unstable();
    rows
}

/// Candidates with the bias after them, where there is one.
fn with_bias<T: Target>(target: &T, mut rows: Vec<usize>) -> Vec<usize> {
    let Context { design, params, .. } = target.context();
    let bias = design.bias();
    if params.bias && rows.last() != Some(&bias) {
        rows.push(bias);
    }
    rows
}

/// Two lists of columns in one, in order and without repetition.
pub(crate) fn united(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut all: Vec<usize> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}
