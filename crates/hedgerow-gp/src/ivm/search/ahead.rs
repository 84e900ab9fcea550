//! Choosing rows ahead, among contenders.

use hedgerow_core::{Budget, Par};

use super::super::screen::TOLERANCE;
use super::super::site::Site;
use super::{ActiveSetSearch, Ahead, Few, Pick};
use crate::linalg::{dot, narrow_dot};

/// A row with a smaller information gain does not become active.
const LEAST_ENTROPY: f64 = 1e-6;

impl ActiveSetSearch<'_, '_> {
    /// Chooses rows ahead; none if there are enough, no row has any gain, or the budget is spent. One row at least is chosen in all.
    pub(in super::super) fn choose_ahead(&mut self, par: &Par, budget: &Budget) -> Option<Ahead> {
        let k = self.state.picks.len();
        if k >= self.state.width || (k > 0 && budget.spent().is_some()) {
            return None;
        }
        let n = self.y.len();
        let n_steps = self.state.n_ahead.min(self.state.width - k);
        let mut few = self.contenders(if self.has_few { n } else { self.state.n_contenders }, n_steps, par);
        let mut chosen = self.choose(&mut few, n_steps, budget);
        if chosen.is_empty() && self.options.n_candidates > 0 {
            // None of the rows drawn has any gain; others may.
            few = self.gather((0..n).collect(), 1, Vec::new());
            chosen = self.choose(&mut few, 1, budget);
        }
        (!chosen.is_empty()).then_some(Ahead { chosen, few })
    }

    /// Chooses rows among contenders as if there were no others.
    fn choose(&mut self, few: &mut Few, n_steps: usize, budget: &Budget) -> Vec<Pick> {
        let mut chosen: Vec<Pick> = Vec::new();
        let has_one = !self.state.picks.is_empty();
        while chosen.len() < n_steps {
            if (has_one || !chosen.is_empty()) && budget.spent().is_some() {
                break;
            }
            let wanted = self.wanted(&chosen);
            let best = self.best(few, chosen.len(), wanted).or_else(|| self.best(few, chosen.len(), None));
            let Some((place, score)) = best else { break };
            let row = few.gathered.rows[place];
            self.state.is_out[row] = true;
            let Some(pick) = self.pick(row, &chosen, score) else { continue };
            let covariances = self.columns.with(row, &few.gathered);
            let k = self.state.picks.len() + chosen.len();
            let own: Vec<f32> = pick.own.iter().map(|v| *v as f32).collect();
            let (gain, root) = (pick.site.gain as f32, libm::sqrt(pick.site.shrink) as f32);
            for (i, m) in few.m.chunks_mut(few.width).enumerate() {
                let noise = if i == place { self.noise as f32 } else { 0.0 };
                let covariance = covariances[i] + noise - narrow_dot(&m[..k], &own);
                m[k] = root * covariance;
                few.mean[i] += gain * covariance;
                few.variance[i] = (few.variance[i] - m[k] * m[k]).max(0.0);
            }
            if self.options.suppress {
                for (i, &other) in few.gathered.rows.iter().enumerate() {
                    few.penalty[i] += self.likeness(covariances[i], row, other) * pick.score as f32;
                }
            }
            chosen.push(pick);
        }
        chosen
    }

    /// The place of the best contender in a step, and its score; of equals, the first.
    fn best(&self, few: &Few, step: usize, wanted: Option<f64>) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        // Only what looks at least nearly as telling as the best so far is looked at closely.
        let mut bar = 0.0_f32;
        let mut look = |place: usize| {
            let row = few.gathered.rows[place];
            let y = self.y[row];
            if self.state.is_out[row] || wanted.is_some_and(|wanted| wanted != y) {
                return;
            }
            let (mean, variance) = (few.mean[place], few.variance[place]);
            let share = self.screen.share(y as f32, mean, variance);
            if !self.options.suppress && share < bar {
                return;
            }
            let Some(site) = Site::new(y, f64::from(mean), f64::from(variance), self.state.bias) else {
                return;
            };
            let score = site.entropy - f64::from(few.penalty[place]);
            if site.entropy > LEAST_ENTROPY && best.is_none_or(|(_, most)| score > most) {
                best = Some((place, score));
                bar = share * (1.0 - 2.0 * TOLERANCE);
            }
        };
        match few.drawn.get(step) {
            Some(places) => places.iter().for_each(|&place| look(place)),
            None => (0..few.gathered.rows.len()).for_each(look),
        }
        best
    }

    /// A row as it joins: its site in double precision, from the rows that joined before. None if its label cannot be used.
    fn pick(&self, row: usize, ahead: &[Pick], score: f64) -> Option<Pick> {
        let before: Vec<&Pick> = self.state.picks.iter().chain(ahead).collect();
        let rows: Vec<usize> = before.iter().map(|pick| pick.row).collect();
        let covariances = self.columns.exact(row, &rows);
        let mut own: Vec<f64> = Vec::with_capacity(before.len());
        let (mut mean, mut variance) = (0.0, self.diagonal[row] + self.noise);
        for (pick, covariance) in before.into_iter().zip(covariances) {
            let root = libm::sqrt(pick.site.shrink);
            let value = root * (covariance - dot(&own, &pick.own));
            mean += pick.site.gain / root * value;
            variance -= value * value;
            own.push(value);
        }
        let site = Site::new(self.y[row], mean, variance.max(0.0), self.state.bias)?;
        Some(Pick { row, site, own, score })
    }
}
