//! Which columns are tried when: all at once, or some at a time.
//!
//! A run of a [`Task`] over candidates costs their number squared a row. So few are tried at a time, and those that are relevant
//! stay: [`working_set`] takes the rows with the largest errors next, [`incremental`] random ones, [`split_merge`] solves parts side by
//! side. All three give the model of the last run, which goes to convergence.

mod parts;
mod reinsert;
mod split_merge;
#[cfg(test)]
mod tests;

use std::time::Instant;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Error, Par, Result, StopReason};

use crate::machine::{Profile, Run, Sparse, Task};
pub(crate) use reinsert::{gains, reinsert};

use crate::options::{Heuristic, Options, Trainer, WaterMark};

/// Up to so many rows all are candidates at once: rows with values, and rows with classes, each pass over which costs more.
pub(crate) const WHOLE_ROWS: [usize; 2] = [1000, 200];
/// The least number of candidates that are added at a time.
const LEAST_PARTITION: usize = 16;
/// Rows of a probe, at most: more would cost more than a wrong partition size.
const MOST_PROBED: usize = 600;
/// What a round must gain for each row, in log evidence, to count as gain.
const GAIN_PER_ROW: f64 = 1e-4;
/// And in all.
const LEAST_GAIN: f64 = 1.0;

/// How a training run stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TracePoint {
    /// Seconds since it began.
    pub seconds: f64,
    /// Candidates tried so far.
    pub n_tried: usize,
    /// Relevant columns.
    pub n_relevant: usize,
    /// Root mean square error of the training rows, or the share of wrong answers.
    pub error: f64,
    /// Log evidence, as far as rows were looked at.
    pub log_evidence: f64,
}

/// What a training run gave.
#[derive(Debug, Clone)]
pub(crate) struct Trained {
    pub(crate) model: Sparse,
    pub(crate) trace: Vec<TracePoint>,
    pub(crate) profile: Profile,
    /// Candidates added at a time; 0 where all were tried at once.
    pub(crate) partition: usize,
    /// The share of the probe that was relevant, where there was one.
    pub(crate) probe_share: Option<f64>,
    /// The most candidates of a run.
    pub(crate) largest_run: usize,
    pub(crate) stop: StopReason,
}

impl Trained {
    /// What a single run gave.
    pub(crate) fn of_one_run(model: Sparse, profile: Profile, largest_run: usize) -> Self {
        let (trace, stop) = (Vec::new(), StopReason::Done);
        Self { model, trace, profile, partition: 0, probe_share: None, largest_run, stop }
    }
}

/// What all trainers write down as they go.
struct Log<'a, T: Task> {
    task: &'a T,
    begun: Instant,
    trace: Vec<TracePoint>,
    profile: Profile,
    n_tried: usize,
    largest_run: usize,
}

impl<T: Task> Log<'_, T> {
    fn note(&mut self, model: &Sparse, n_candidates: usize) {
        self.largest_run = self.largest_run.max(n_candidates);
        self.trace.push(TracePoint {
            seconds: self.begun.elapsed().as_secs_f64(),
            n_tried: self.n_tried,
            n_relevant: model.columns.len(),
            error: self.task.error(model),
            log_evidence: model.log_evidence,
        });
    }

    fn finish(self, model: Sparse, partition: usize, stop: StopReason) -> Trained {
        Trained {
            model,
            trace: self.trace,
            profile: self.profile,
            partition,
            probe_share: None,
            largest_run: self.largest_run,
            stop,
        }
    }
}

/// Trains a machine.
pub(crate) fn train<T: Task>(task: &T, from: Option<&Sparse>, budget: &Budget, par: &Par) -> Result<Trained> {
    let n = task.design().n_rows();
    let options = task.options();
    let mut log = Log {
        task,
        begun: Instant::now(),
        trace: Vec::new(),
        profile: Profile::default(),
        n_tried: 0,
        largest_run: 0,
    };
    let trainer = match options.trainer {
        Trainer::Auto if n <= task.whole_rows() => Trainer::Whole,
        Trainer::Auto => Trainer::WorkingSet,
        chosen => chosen,
    };
    if trainer == Trainer::Whole {
        return whole(task, from, budget, par, log);
    }
    let (partition, probe_share) = partition(task, budget, par, &mut log)?;
    let mut trained = match trainer {
        _ if partition >= n => whole(task, from, budget, par, log)?,
        Trainer::SplitMerge => split_merge::train(task, partition, budget, par, log)?,
        Trainer::Incremental => parts::train(task, partition, false, from, (budget, par), log)?,
        _ => parts::train(task, partition, true, from, (budget, par), log)?,
    };
    trained.probe_share = probe_share;
    Ok(trained)
}

/// All rows are candidates at once.
fn whole<T: Task>(
    task: &T,
    from: Option<&Sparse>,
    budget: &Budget,
    par: &Par,
    mut log: Log<'_, T>,
) -> Result<Trained> {
    let n = task.design().n_rows();
    let candidates: Vec<usize> = (0..n + usize::from(task.options().bias)).collect();
    let empty = task.empty();
    let run = Run {
        candidates: &candidates,
        from: from.unwrap_or(&empty),
        water_mark: 0,
        rows: None,
        is_last: true,
    };
    let model = task.solve(run, budget, par, &mut log.profile)?;
    if par.is_stopped() {
        return Err(Error::Interrupted);
    }
    log.n_tried = n;
    log.note(&model, candidates.len());
    let stop = budget.spent().unwrap_or(StopReason::Done);
    Ok(log.finish(model, 0, stop))
}

/// How many candidates are added at a time: what was asked for, or what a probe suggests.
fn partition<T: Task>(
    task: &T,
    budget: &Budget,
    par: &Par,
    log: &mut Log<'_, T>,
) -> Result<(usize, Option<f64>)> {
    let options = task.options();
    if options.partition > 0 {
        return Ok((options.partition, None));
    }
    let (n, d) = task.design().x.dim();
    let n_probe = Heuristic::probe_rows(n, d).min(MOST_PROBED);
    let rows = drawn(task, n_probe);
    let candidates = with_bias(rows.clone(), options, n);
    let empty = task.empty();
    // Only rows of the probe count: it is to say how sparse the model will be, not to be good.
    let run = Run { candidates: &candidates, from: &empty, water_mark: 0, rows: Some(&rows), is_last: true };
    let model = task.solve(run, budget, par, &mut log.profile)?;
    if par.is_stopped() {
        return Err(Error::Interrupted);
    }
    let n_relevant = model.columns.len();
    // Of the rows that were probed: there are fewer than √(N d) of them when that is more than `MOST_PROBED`.
    let share = n_relevant as f64 / rows.len().max(1) as f64;
    let suggested = options.heuristic.partition(n, d, share);
    // Twice the relevant rows is the best size; √(N d) knows nothing of them when N is large.
    let bounded = suggested.min((2 * n_relevant).max(LEAST_PARTITION)).max(LEAST_PARTITION.min(n));
    Ok((bounded, Some(share)))
}

/// Rows drawn at random, each group in its share, in order.
fn drawn<T: Task>(task: &T, wanted: usize) -> Vec<usize> {
    let groups = task.groups();
    let n: usize = groups.iter().map(Vec::len).sum();
    let mut rng = Rng::new(task.options().seed, Purpose::Sample, 12);
    let mut rows = Vec::new();
    for mut group in groups {
        rng.shuffle(&mut group);
        let share = (wanted * group.len()).div_ceil(n.max(1));
        rows.extend(group.into_iter().take(share));
    }
    rows.sort_unstable();
    rows
}

/// Candidates with the bias after them, where there is one.
fn with_bias(mut rows: Vec<usize>, options: &Options, n: usize) -> Vec<usize> {
    if options.bias && rows.last() != Some(&n) {
        rows.push(n);
    }
    rows
}

/// The mark below which a run that is not the last ends.
fn mark(options: &Options, partition: usize, n_candidates: usize) -> usize {
    match options.water_mark {
        WaterMark::Current => n_candidates / 2,
        WaterMark::Partition => partition / 2,
        WaterMark::None => 0,
    }
}

/// Two lists of columns in one, in order and without repetition.
fn united(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut all: Vec<usize> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}
