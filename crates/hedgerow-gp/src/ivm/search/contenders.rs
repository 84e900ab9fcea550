//! The rows that compete for the next places.

use hedgerow_core::Par;

use super::super::columns::CHUNK;
use super::{ActiveSetSearch, Few};

impl ActiveSetSearch<'_, '_> {
    /// The rows that are most telling now, or those drawn at random for each step.
    pub(super) fn contenders(&mut self, most: usize, n_steps: usize, par: &Par) -> Few {
        let n = self.y.len();
        let n_drawn = self.options.n_candidates;
        if n_drawn > 0 && n_drawn < n {
            let draws: Vec<Vec<usize>> =
                (0..n_steps).map(|_| (0..n_drawn).map(|_| self.state.rng.index(n)).collect()).collect();
            let mut rows: Vec<usize> = draws.iter().flatten().copied().collect();
            rows.sort_unstable();
            rows.dedup();
            let place = |row: &usize| rows.binary_search(row).unwrap_or(0);
            let drawn = draws.iter().map(|draw| {
                let mut places: Vec<usize> = draw.iter().map(place).collect();
                places.sort_unstable();
                places
            });
            let drawn = drawn.collect();
            return self.gather(rows, n_steps, drawn);
        }
        if most >= n {
            return self.gather((0..n).collect(), n_steps, Vec::new());
        }
        let scores: Vec<f32> = par
            .map(n.div_ceil(CHUNK), |chunk| {
                let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(n);
                rows.map(|row| if self.state.is_out[row] { f32::NEG_INFINITY } else { self.quick(row) })
                    .collect::<Vec<_>>()
            })
            .concat();
        // Where the class is prescribed, both must have contenders.
        let signs: &[Option<f64>] = if self.options.balance { &[Some(1.0), Some(-1.0)] } else { &[None] };
        let mut rows = Vec::new();
        for sign in signs {
            let mut of_sign: Vec<usize> =
                (0..n).filter(|&row| sign.is_none_or(|sign| self.y[row] == sign)).collect();
            let wanted = (most / signs.len()).min(of_sign.len());
            if wanted < of_sign.len() {
                of_sign
                    .select_nth_unstable_by(wanted, |a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
                of_sign.truncate(wanted);
            }
            rows.append(&mut of_sign);
        }
        rows.sort_unstable();
        self.gather(rows, n_steps, Vec::new())
    }

    pub(super) fn gather(&self, rows: Vec<usize>, n_steps: usize, drawn: Vec<Vec<usize>>) -> Few {
        let k = self.state.picks.len();
        let width = k + n_steps;
        let mut m = vec![0.0; rows.len() * width];
        if !self.state.m.is_empty() && k > 0 {
            for (to, &row) in m.chunks_mut(width).zip(&rows) {
                to[..k].copy_from_slice(&self.state.m[row * self.state.width..row * self.state.width + k]);
            }
        }
        let of = |values: &[f32]| rows.iter().map(|&row| values[row]).collect::<Vec<f32>>();
        let (mean, variance, penalty) =
            (of(&self.state.mean), of(&self.state.variance), of(&self.state.penalty));
        Few { mean, variance, penalty, m, width, drawn, gathered: self.columns.gather(rows) }
    }

    /// How telling a row is, nearly: its score, or something that rises with it.
    fn quick(&self, row: usize) -> f32 {
        let share = self.screen.share(self.y[row] as f32, self.state.mean[row], self.state.variance[row]);
        if self.options.suppress {
            -0.5 * libm::log1pf(-share.min(0.999_999)) - self.state.penalty[row]
        } else {
            share
        }
    }
}
