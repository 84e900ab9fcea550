//! Some candidates at a time: those with the largest errors (working set) or random ones (incremental).

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Result, StopReason};

use super::{Run, Trained, united};
use crate::target::{Context, SparseFit, Target};

/// What a round must gain for each row, in log evidence, to count as gain.
const GAIN_PER_ROW: f64 = 1e-4;
/// And in all.
const LEAST_GAIN: f64 = 1.0;

impl<T: Target> Run<'_, T> {
    pub(super) fn working_set(mut self, by_error: bool, from: Option<&SparseFit>) -> Result<Trained> {
        let (target, budget) = (self.target, self.budget);
        let Context { design, params, .. } = target.context();
        let mut groups = target.groups();
        let mut rng = Rng::new(params.seed, Purpose::Sample, 13);
        groups.iter_mut().for_each(|group| rng.shuffle(group));
        let n = design.n_rows();
        let mut fit = from.map_or_else(|| target.empty(), Clone::clone);
        groups.iter_mut().for_each(|group| group.retain(|row| fit.columns.binary_search(row).is_err()));
        let shares: Vec<f64> = groups.iter().map(|group| group.len() as f64 / n.max(1) as f64).collect();
        let mut n_idle = 0;
        let mut stop = StopReason::Done;
        let mut is_first = from.is_none();
        loop {
            let n_left: usize = groups.iter().map(Vec::len).sum();
            if n_left == 0 || budget.spent().is_some() {
                break;
            }
            if by_error && !is_first {
                let errors = target.errors(&fit);
                // The largest errors last, where they are taken from; of equals, the lowest row is taken first.
                for group in &mut groups {
                    group.sort_unstable_by(|&a, &b| errors[a].total_cmp(&errors[b]).then(b.cmp(&a)));
                }
            }
            let chunk = take(&mut groups, &shares, self.log.partition_size);
            self.n_tried += chunk.len();
            let is_last = chunk.len() == n_left;
            let next = self.solve(united(&fit.columns, &chunk), &fit, is_last);
            if self.par.is_stopped() {
                break;
            }
            let next = next?;
            let gain = next.log_evidence - fit.log_evidence;
            let is_gain = is_first || gain >= LEAST_GAIN.max(GAIN_PER_ROW * n as f64);
            is_first = false;
            // A solve that was cut short may have left columns in that do not help, or be worse than the one before.
            if budget.spent().is_none() || next.log_evidence > fit.log_evidence {
                fit = next;
            }
            self.trace(&fit);
            if is_last {
                return Ok(self.finish(fit, stop));
            }
            n_idle = if is_gain { 0 } else { n_idle + 1 };
            if params.patience > 0 && n_idle >= params.patience {
                stop = StopReason::Converged;
                break;
            }
        }
        // The last solve: what is relevant goes to convergence on all rows.
        if (params.bias || !fit.columns.is_empty()) && budget.spent().is_none() {
            let last = self.solve(fit.columns.clone(), &fit, true);
            if !self.par.is_stopped() {
                fit = last?;
                self.trace(&fit);
            }
        }
        Ok(self.finish(fit, stop))
    }
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
