//! Some candidates at a time: those with the largest errors (Working Set, spec 002 A11 and A14) or random ones (Incremental, A10).

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Par, Result, StopReason};

use super::{GAIN_PER_ROW, LEAST_GAIN, Log, Trained, mark, united, with_bias};
use crate::machine::{Run, Sparse, Task};

pub(super) fn train<T: Task>(
    task: &T,
    partition: usize,
    by_error: bool,
    from: Option<&Sparse>,
    (budget, par): (&Budget, &Par),
    mut log: Log<'_, T>,
) -> Result<Trained> {
    let options = task.options();
    let n = task.design().n_rows();
    let mut groups = task.groups();
    let mut rng = Rng::new(options.seed, Purpose::Sample, 13);
    groups.iter_mut().for_each(|group| rng.shuffle(group));
    let n_all: usize = groups.iter().map(Vec::len).sum();
    let mut model = from.map_or_else(|| task.empty(), Clone::clone);
    let known: Vec<usize> = model.columns.clone();
    groups.iter_mut().for_each(|group| group.retain(|row| known.binary_search(row).is_err()));
    let shares: Vec<f64> = groups.iter().map(|group| group.len() as f64 / n_all.max(1) as f64).collect();
    let mut n_idle = 0;
    let mut stop = StopReason::Done;
    let mut is_first = from.is_none();
    loop {
        let n_left: usize = groups.iter().map(Vec::len).sum();
        if n_left == 0 {
            break;
        }
        if let Some(reason) = budget.spent() {
            stop = reason;
            break;
        }
        if by_error && !is_first {
            let errors = task.errors(&model);
            // The largest errors last, where they are taken from; of equals, the lowest row is taken first.
            for group in &mut groups {
                group.sort_unstable_by(|&a, &b| errors[a].total_cmp(&errors[b]).then(b.cmp(&a)));
            }
        }
        let chunk = take(&mut groups, &shares, partition);
        log.n_tried += chunk.len();
        let is_last = chunk.len() == n_left;
        let candidates = with_bias(united(&model.columns, &chunk), options, n);
        let run = Run {
            candidates: &candidates,
            from: &model,
            water_mark: mark(options, partition, candidates.len()),
            rows: None,
            is_last,
        };
        let next = task.solve(run, budget, par, &mut log.profile);
        if par.is_stopped() {
            break;
        }
        let next = next?;
        let gain = next.log_evidence - model.log_evidence;
        let is_gain = is_first || gain >= LEAST_GAIN.max(GAIN_PER_ROW * n as f64);
        is_first = false;
        // A run that was cut short may have left columns in that nothing speaks for, or be worse than what was there.
        if budget.spent().is_none() || next.log_evidence > model.log_evidence {
            model = next;
        }
        log.note(&model, candidates.len());
        if is_last {
            return Ok(log.finish(model, partition, budget.spent().unwrap_or(stop)));
        }
        n_idle = if is_gain { 0 } else { n_idle + 1 };
        if options.patience > 0 && n_idle >= options.patience {
            stop = StopReason::Converged;
            break;
        }
    }
    // The last run: what is relevant goes to convergence on all rows.
    let candidates = with_bias(model.columns.clone(), options, n);
    if !candidates.is_empty() && budget.spent().is_none() {
        let run = Run { candidates: &candidates, from: &model, water_mark: 0, rows: None, is_last: true };
        let last = task.solve(run, budget, par, &mut log.profile);
        if !par.is_stopped() {
            model = last?;
            log.note(&model, candidates.len());
        }
    }
    let stop = budget.spent().unwrap_or(stop);
    Ok(log.finish(model, partition, stop))
}

/// Takes the last rows of each group, in their shares, and fills up from whatever group has rows left. In order.
fn take(groups: &mut [Vec<usize>], shares: &[f64], wanted: usize) -> Vec<usize> {
    let mut rows = Vec::new();
    for (group, share) in groups.iter_mut().zip(shares) {
        let n = libm::round(share * wanted as f64) as usize;
        rows.extend(group.split_off(group.len().saturating_sub(n)));
    }
    for group in groups.iter_mut() {
        let missing = wanted.saturating_sub(rows.len());
        rows.extend(group.split_off(group.len().saturating_sub(missing)));
    }
    rows.sort_unstable();
    rows
}
