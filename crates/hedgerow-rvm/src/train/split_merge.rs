//! Parts side by side, their relevant rows merged in pairs as merge sort does.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Result, StopReason};

use super::{Run, Trained, united, with_bias};
use crate::target::{Candidates, Profile, SparseFit, Target};

impl<T: Target> Run<'_, T> {
    pub(super) fn split_merge(mut self) -> Result<Trained> {
        let rows = self.shuffled();
        let empty = self.target.empty();
        let mut fits: Vec<SparseFit> = Vec::new();
        let mut next: Vec<(Vec<usize>, SparseFit)> =
            rows.chunks(self.log.partition_size).map(|part| (united(part, &[]), empty.clone())).collect();
        self.n_tried = rows.len();
        while next.len() > 1 {
            let solved = self.par.map(next.len(), |i| self.solve_part(&next[i]));
            self.par.check()?;
            fits.clear();
            for result in solved {
                let (fit, profile, n_candidates) = result?;
                self.log.profile.add(&profile);
                self.log.most_candidates = self.log.most_candidates.max(n_candidates);
                self.trace(&fit);
                fits.push(fit);
            }
            next = fits.chunks(2).map(merged).collect();
            if self.budget.spent().is_some() {
                break;
            }
        }
        // Cut short, the best of the parts is the result; otherwise all that is left is solved together.
        let best = fits.iter().max_by(|a, b| a.log_evidence.total_cmp(&b.log_evidence));
        if let (Some(best), Some(reason)) = (best, self.budget.spent()) {
            return Ok(self.finish(best.clone(), reason));
        }
        let (part, from) = next.into_iter().next().unwrap_or((Vec::new(), empty));
        let fit = self.solve(part, &from, true)?;
        self.trace(&fit);
        Ok(self.finish(fit, StopReason::Done))
    }

    /// On one thread.
    fn solve_part(&self, (part, from): &(Vec<usize>, SparseFit)) -> Result<(SparseFit, Profile, usize)> {
        let (columns, par) = (with_bias(self.target, part.clone()), self.par.alone());
        let mut profile = Profile::default();
        let candidates = Candidates { par: &par, ..self.candidates(&columns, from, false) };
        let fit = self.target.solve(candidates, &mut profile)?;
        Ok((fit, profile, columns.len()))
    }

    /// All rows at random, groups in turn, so that each part has its share of each.
    fn shuffled(&self) -> Vec<usize> {
        let mut rng = Rng::new(self.target.context().params.seed, Purpose::Sample, 14);
        let mut groups = self.target.groups();
        groups.iter_mut().for_each(|group| rng.shuffle(group));
        let n: usize = groups.iter().map(Vec::len).sum();
        let shares: Vec<f64> = groups.iter().map(|group| group.len() as f64 / n.max(1) as f64).collect();
        let mut due: Vec<f64> = vec![0.0; groups.len()];
        let mut rows: Vec<usize> = Vec::with_capacity(n);
        while rows.len() < n {
            due.iter_mut().zip(&shares).for_each(|(due, share)| *due += share);
            let most = (0..groups.len())
                .filter(|&g| !groups[g].is_empty())
                .max_by(|&a, &b| due[a].total_cmp(&due[b]).then(b.cmp(&a)));
            let Some(most) = most else { break };
            due[most] -= 1.0;
            rows.extend(groups[most].pop());
        }
        rows
    }
}

/// The columns of one or two fits, and the better of them to start from.
fn merged(pair: &[SparseFit]) -> (Vec<usize>, SparseFit) {
    let columns = pair.iter().fold(Vec::new(), |all, fit| united(&all, &fit.columns));
    let better = pair.iter().max_by(|a, b| a.log_evidence.total_cmp(&b.log_evidence));
    (columns, better.unwrap_or(&pair[0]).clone())
}
