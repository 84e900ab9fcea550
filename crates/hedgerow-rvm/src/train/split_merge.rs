//! Parts side by side, their relevant rows merged in pairs as merge sort does (spec 002, A9).

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Error, Par, Result, StopReason};

use super::{Log, Trained, mark, united, with_bias};
use crate::machine::{Profile, Run, Sparse, Task};

pub(super) fn train<T: Task>(
    task: &T,
    partition: usize,
    budget: &Budget,
    par: &Par,
    mut log: Log<'_, T>,
) -> Result<Trained> {
    let options = task.options();
    let n = task.design().n_rows();
    let mut rng = Rng::new(options.seed, Purpose::Sample, 14);
    let mut rows: Vec<usize> = Vec::with_capacity(n);
    // Groups in turn, so that each part has its share of each.
    let mut groups = task.groups();
    groups.iter_mut().for_each(|group| rng.shuffle(group));
    let n_all: usize = groups.iter().map(Vec::len).sum();
    let mut due: Vec<f64> = vec![0.0; groups.len()];
    let shares: Vec<f64> = groups.iter().map(|group| group.len() as f64 / n_all.max(1) as f64).collect();
    while rows.len() < n_all {
        due.iter_mut().zip(&shares).for_each(|(due, share)| *due += share);
        let most = (0..groups.len())
            .filter(|&g| !groups[g].is_empty())
            .max_by(|&a, &b| due[a].total_cmp(&due[b]).then(b.cmp(&a)));
        let Some(most) = most else { break };
        due[most] -= 1.0;
        rows.extend(groups[most].pop());
    }
    let empty = task.empty();
    let mut sets: Vec<Sparse> = Vec::new();
    let mut next: Vec<(Vec<usize>, Sparse)> =
        rows.chunks(partition).map(|part| (united(part, &[]), empty.clone())).collect();
    log.n_tried = n;
    while next.len() > 1 {
        let solved: Vec<Result<(Sparse, Profile, usize)>> = par.map(next.len(), |i| {
            let (part, from) = &next[i];
            let candidates = with_bias(part.clone(), options, n);
            let run = Run {
                candidates: &candidates,
                from,
                water_mark: mark(options, partition, candidates.len()),
                rows: None,
                is_last: false,
            };
            let mut profile = Profile::default();
            let model = task.solve(run, budget, &par.alone(), &mut profile)?;
            Ok((model, profile, candidates.len()))
        });
        if par.is_stopped() {
            return Err(Error::Interrupted);
        }
        sets.clear();
        for result in solved {
            let (model, profile, n_candidates) = result?;
            log.profile.add(&profile);
            log.note(&model, n_candidates);
            sets.push(model);
        }
        next = sets.chunks(2).map(merged).collect();
        if budget.spent().is_some() {
            break;
        }
    }
    // Cut short, the best of the parts is what there is; otherwise all that is left is solved together.
    let best = sets.iter().max_by(|a, b| a.log_evidence.total_cmp(&b.log_evidence));
    if let (Some(best), Some(reason)) = (best, budget.spent()) {
        return Ok(log.finish(best.clone(), partition, reason));
    }
    let (part, from) = next.into_iter().next().unwrap_or((Vec::new(), empty));
    let candidates = with_bias(part, options, n);
    let run = Run { candidates: &candidates, from: &from, water_mark: 0, rows: None, is_last: true };
    let model = task.solve(run, budget, par, &mut log.profile)?;
    if par.is_stopped() {
        return Err(Error::Interrupted);
    }
    log.note(&model, candidates.len());
    Ok(log.finish(model, partition, budget.spent().unwrap_or(StopReason::Done)))
}

/// The columns of one or two models, and the better of them to start from.
fn merged(pair: &[Sparse]) -> (Vec<usize>, Sparse) {
    let columns = pair.iter().fold(Vec::new(), |all, model| united(&all, &model.columns));
    let better = pair.iter().max_by(|a, b| a.log_evidence.total_cmp(&b.log_evidence));
    let from = better.map_or_else(|| pair[0].clone(), Clone::clone);
    (columns, from)
}
