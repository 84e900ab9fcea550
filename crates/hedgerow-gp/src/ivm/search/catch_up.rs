//! All rows follow what was chosen among contenders, and choices that some row should have had are taken back.

use std::sync::atomic::{AtomicUsize, Ordering};

use hedgerow_core::Par;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ShapeBuilder as _};

use super::super::columns::{CHUNK, Column};
use super::super::screen::Bar;
use super::super::site::Site;
use super::{ActiveSetSearch, Ahead, CONTENDERS, Pick};

/// A row must have been more telling than the one chosen by this much before choices are taken back.
const SLACK: f64 = 1e-5;

impl ActiveSetSearch<'_, '_> {
    /// All rows catch up with rows chosen ahead, whose columns are given unless there are few rows.
    pub(in super::super) fn take(&mut self, ahead: Ahead, columns: &[Column], par: &Par) {
        let Ahead { mut chosen, few } = ahead;
        if self.has_few {
            for (place, &row) in few.gathered.rows.iter().enumerate() {
                (self.state.mean[row], self.state.variance[row]) = (few.mean[place], few.variance[place]);
                self.state.penalty[row] = few.penalty[place];
            }
            self.state.picks.append(&mut chosen);
            return;
        }
        let n_chosen = chosen.len();
        let n_kept = self.catch_up(&chosen, columns, few.drawn.is_empty(), par);
        for pick in chosen.drain(n_kept..) {
            self.state.is_out[pick.row] = false;
        }
        self.state.picks.append(&mut chosen);
        if n_kept < n_chosen {
            (self.state.n_ahead, self.state.n_contenders) =
                (n_kept.max(1), (2 * self.state.n_contenders).min(CONTENDERS[1]));
        } else {
            self.state.n_ahead = (2 * self.state.n_ahead).min(self.most_ahead);
            self.state.n_contenders = (self.state.n_contenders * 7 / 8).max(CONTENDERS[0]);
        }
    }

    /// Computes what all rows know about the rows chosen, up to the first that should not have been chosen; their number is
    /// returned, and means and variances take them in.
    fn catch_up(&mut self, chosen: &[Pick], columns: &[Column], check: bool, par: &Par) -> usize {
        let (k, n_new, width) = (self.state.picks.len(), chosen.len(), self.state.width);
        let rows: Vec<usize> = chosen.iter().map(|pick| pick.row).collect();
        let before = Array2::from_shape_fn((k, n_new), |(j, b)| chosen[b].own[j] as f32);
        let unwind = unwinding(chosen, k);
        let roots: Vec<f32> = chosen.iter().map(|pick| libm::sqrt(pick.site.shrink) as f32).collect();
        let gains: Vec<f32> = chosen.iter().map(|pick| pick.site.gain as f32).collect();
        let way = |b: usize| Way {
            per_value: gains[b] / roots[b],
            bar: self.screen.bar(chosen[b].score),
            wanted: self.wanted(&chosen[..b]),
        };
        let ways: Vec<Way> = (0..n_new).map(way).collect();
        let kept = AtomicUsize::new(n_new);
        let mut m = std::mem::take(&mut self.state.m);
        par.for_chunks(&mut m, CHUNK * width, |chunk, m| {
            let first = chunk * CHUNK;
            let n_rows = m.len() / width;
            let mut new = Array2::zeros((n_rows, n_new));
            for (b, column) in columns.iter().enumerate() {
                let of_rows = column.from(first);
                new.column_mut(b).iter_mut().zip(of_rows).for_each(|(to, from)| *to = *from);
            }
            for (b, &row) in rows.iter().enumerate() {
                if (first..first + n_rows).contains(&row) {
                    new[(row - first, b)] += self.noise as f32;
                }
            }
            if k > 0
                && let Ok(known) = ArrayView2::from_shape((n_rows, k).strides((width, 1)), &*m)
            {
                general_mat_mul(-1.0, &known, &before, 1.0, &mut new);
            }
            let new = new.dot(&unwind);
            for (i, (m, new)) in m.chunks_mut(width).zip(new.rows()).enumerate() {
                let row = first + i;
                m[k..k + n_new].iter_mut().zip(new).for_each(|(to, from)| *to = *from);
                if check && !self.state.is_out[row] {
                    let beaten = self.first_beaten(row, &m[k..k + n_new], chosen, &ways, columns);
                    kept.fetch_min(beaten, Ordering::Relaxed);
                }
            }
        });
        self.state.m = m;
        let n_kept = kept.into_inner();
        let n = self.y.len();
        let parts = par.map(n.div_ceil(CHUNK), |chunk| {
            let rows_here = chunk * CHUNK..((chunk + 1) * CHUNK).min(n);
            let follow = |row: usize| {
                let new = &self.state.m[row * width + k..row * width + k + n_kept];
                let (mut mean, mut variance, mut penalty) =
                    (self.state.mean[row], self.state.variance[row], self.state.penalty[row]);
                for (b, value) in new.iter().enumerate() {
                    mean += gains[b] / roots[b] * value;
                    variance = (variance - value * value).max(0.0);
                    if self.options.suppress {
                        let covariance = columns[b].at(row);
                        penalty += self.likeness(covariance, rows[b], row) * chosen[b].score as f32;
                    }
                }
                [mean, variance, penalty]
            };
            rows_here.map(follow).collect::<Vec<[f32; 3]>>()
        });
        for (row, [mean, variance, penalty]) in parts.into_iter().flatten().enumerate() {
            (self.state.mean[row], self.state.variance[row], self.state.penalty[row]) =
                (mean, variance, penalty);
        }
        n_kept
    }

    /// The first of the rows chosen that a row would have been chosen before; their number if there is none. `new` is what the row
    /// knows about each of them.
    fn first_beaten(
        &self,
        row: usize,
        new: &[f32],
        chosen: &[Pick],
        ways: &[Way],
        columns: &[Column],
    ) -> usize {
        let y = self.y[row];
        let (mut mean, mut variance, mut penalty) =
            (self.state.mean[row], self.state.variance[row], self.state.penalty[row]);
        for (b, (value, way)) in new.iter().zip(ways).enumerate() {
            let may = b > 0 && !self.screen.is_below(y as f32, mean, variance, &way.bar);
            if may && way.wanted.is_none_or(|wanted| wanted == y) {
                // Penalties only make it harder.
                let needed = chosen[b].score + f64::from(penalty);
                let site = Site::new(y, f64::from(mean), f64::from(variance), self.state.bias);
                if site.is_some_and(|site| site.entropy > needed + SLACK * (1.0 + needed.abs())) {
                    return b;
                }
            }
            mean += way.per_value * value;
            variance = (variance - value * value).max(0.0);
            if self.options.suppress {
                penalty += self.likeness(columns[b].at(row), chosen[b].row, row) * chosen[b].score as f32;
            }
        }
        new.len()
    }
}

/// What rows chosen ahead are to the rows that catch up with them.
struct Way {
    /// What the mean changes by for each unit of what a row knows.
    per_value: f32,
    bar: Bar,
    /// The class that was wanted.
    wanted: Option<f64>,
}

/// The matrix that turns covariances given the first k active rows into what rows know about the rows chosen since, each
/// given those before it: the inverse of the upper triangle of what these know about each other.
fn unwinding(chosen: &[Pick], k: usize) -> Array2<f32> {
    let n = chosen.len();
    let mut inverse = Array2::<f64>::zeros((n, n));
    for b in 0..n {
        let root = libm::sqrt(chosen[b].site.shrink);
        inverse[(b, b)] = root;
        for i in 0..b {
            let sum: f64 = (i..b).map(|a| inverse[(i, a)] * chosen[b].own[k + a]).sum();
            inverse[(i, b)] = -root * sum;
        }
    }
    inverse.mapv(|v| v as f32)
}
