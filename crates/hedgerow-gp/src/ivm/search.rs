//! Choosing active rows one at a time, each the most telling of all (spec 000, A16), without going through all rows each time.
//!
//! After a row has joined, means and variances of all others change, and the next choice needs them all. Going through them takes as
//! long as reading all that is known about them from memory. So several choices are made ahead among a few contenders, the rows
//! that are most telling now. Then all rows catch up with these choices in one pass, as a matrix product; and if on the way any row turns
//! out to have been more telling than what was chosen, the choices from there on are taken back. What comes out is what
//! a search through all rows each time would choose.
//!
//! All this runs in single precision. What the machine is made of, the sites of the rows chosen, is computed in double
//! precision.

use std::sync::atomic::{AtomicUsize, Ordering};

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Par};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ShapeBuilder as _};

use super::IvmOptions;
use super::columns::{CHUNK, Column, Columns, Gathered};
use super::fast::dot;
use super::screen::{Bar, Screen, TOLERANCE};
use super::site::Site;

/// A label that says less than this is not worth a place.
const LEAST_ENTROPY: f64 = 1e-6;
/// With so few rows all are contenders all the time.
const FEW_ROWS: usize = 4096;
/// Contenders, at least and at most; and choices ahead, at most.
const CONTENDERS: [usize; 2] = [512, 8192];
const MOST_AHEAD: usize = 64;
/// Rows that a search which is put away and taken up again chooses ahead at first.
const FIRST_AHEAD: usize = 8;
/// A row must have been more telling than the one chosen by this much before choices are taken back.
const SLACK: f64 = 1e-5;

/// A row that has joined.
pub(super) struct Pick {
    pub(super) row: usize,
    pub(super) site: Site,
    /// √ν times its covariance with each row that joined before, when that one joined.
    pub(super) own: Vec<f64>,
    /// What it was chosen for.
    score: f64,
}

/// What is known about all rows while active ones are added.
pub(super) struct Search<'a, 'x> {
    columns: &'a Columns<'x>,
    y: &'a [f64],
    diagonal: Vec<f64>,
    noise: f64,
    pub(super) bias: f64,
    options: &'a IvmOptions,
    screen: Screen,
    width: usize,
    pub(super) mean: Vec<f32>,
    pub(super) variance: Vec<f32>,
    /// How much being like active rows takes off a row's score, where that is wanted.
    penalty: Vec<f32>,
    /// Row after row: √ν times the posterior covariance with each active row at the time it joined.
    m: Vec<f32>,
    /// Active rows, and rows whose labels cannot be used.
    is_out: Vec<bool>,
    pub(super) picks: Vec<Pick>,
    /// Rows that are chosen ahead next, and among how many.
    n_ahead: usize,
    n_contenders: usize,
    /// Rows that are chosen ahead at most.
    most_ahead: usize,
    /// Whether all rows are contenders all the time, and nothing is kept for another day.
    has_few: bool,
    rng: Rng,
}

/// A search that was put away: all that it knows, without what it looks at.
pub(super) struct Paused {
    pub(super) bias: f64,
    pub(super) width: usize,
    pub(super) mean: Vec<f32>,
    pub(super) variance: Vec<f32>,
    pub(super) penalty: Vec<f32>,
    pub(super) m: Vec<f32>,
    pub(super) is_out: Vec<bool>,
    pub(super) picks: Vec<Pick>,
    pub(super) n_ahead: usize,
    pub(super) n_contenders: usize,
    pub(super) rng: Rng,
}

/// Rows chosen ahead of a look at all rows.
pub(super) struct Ahead {
    pub(super) chosen: Vec<Pick>,
    few: Few,
}

/// The contenders, and what is known about them.
struct Few {
    gathered: Gathered,
    mean: Vec<f32>,
    variance: Vec<f32>,
    penalty: Vec<f32>,
    m: Vec<f32>,
    width: usize,
    /// Which contenders may be chosen in each step; all, if there is no list.
    drawn: Vec<Vec<usize>>,
}

impl Paused {
    /// The beginning of a search in which some rows cannot be chosen, with room for so many active rows.
    pub(super) fn new(
        diagonal: &[f64],
        noise: f64,
        bias: f64,
        options: &IvmOptions,
        is_out: Vec<bool>,
    ) -> Self {
        let (n, width) = (diagonal.len(), options.n_active);
        Self {
            bias,
            width,
            mean: vec![0.0; n],
            variance: diagonal.iter().map(|v| (v + noise) as f32).collect(),
            penalty: vec![0.0; n],
            m: vec![0.0; n * width],
            is_out,
            picks: Vec::new(),
            // A pass over all rows for each of the first few would take as long as one for all of them.
            n_ahead: FIRST_AHEAD,
            n_contenders: 2 * CONTENDERS[0],
            rng: Rng::new(options.seed, Purpose::Sample, 0),
        }
    }
}

impl<'a, 'x> Search<'a, 'x> {
    /// `noise` is what each row's own variance has beside the kernel's.
    pub(super) fn new(
        columns: &'a Columns<'x>,
        y: &'a [f64],
        noise: f64,
        bias: f64,
        options: &'a IvmOptions,
    ) -> Self {
        let n = y.len();
        let diagonal = columns.diagonal();
        let width = options.n_active.min(n);
        let variance = diagonal.iter().map(|v| (v + noise) as f32).collect();
        let m = if n > FEW_ROWS { vec![0.0; n * width] } else { Vec::new() };
        Self {
            columns,
            y,
            diagonal,
            noise,
            bias,
            options,
            screen: Screen::new(bias),
            width,
            mean: vec![0.0; n],
            variance,
            penalty: vec![0.0; n],
            m,
            is_out: vec![false; n],
            picks: Vec::new(),
            n_ahead: if n > FEW_ROWS { 1 } else { width },
            n_contenders: 2 * CONTENDERS[0],
            most_ahead: MOST_AHEAD,
            has_few: n <= FEW_ROWS,
            rng: Rng::new(options.seed, Purpose::Sample, 0),
        }
    }

    /// Goes on from where another left off, choosing at most so many rows ahead. Rows and labels must be the same.
    pub(super) fn resume(
        columns: &'a Columns<'x>,
        y: &'a [f64],
        noise: f64,
        options: &'a IvmOptions,
        paused: Paused,
        most_ahead: usize,
    ) -> Self {
        let Paused { bias, width, mean, variance, penalty, m, is_out, picks, n_ahead, n_contenders, rng } =
            paused;
        Self {
            columns,
            y,
            diagonal: columns.diagonal(),
            noise,
            bias,
            options,
            screen: Screen::new(bias),
            width,
            mean,
            variance,
            penalty,
            m,
            is_out,
            picks,
            n_ahead: n_ahead.min(most_ahead),
            n_contenders,
            most_ahead,
            has_few: false,
            rng,
        }
    }

    /// Puts the search away.
    pub(super) fn pause(self) -> Paused {
        let Self {
            bias, width, mean, variance, penalty, m, is_out, picks, n_ahead, n_contenders, rng, ..
        } = self;
        Paused { bias, width, mean, variance, penalty, m, is_out, picks, n_ahead, n_contenders, rng }
    }

    /// Chooses rows ahead; none if there are enough, nothing more is said, or the budget is spent. One row at least is chosen in all.
    pub(super) fn choose_ahead(&mut self, par: &Par, budget: &Budget) -> Option<Ahead> {
        let k = self.picks.len();
        if k >= self.width || (k > 0 && budget.spent().is_some()) {
            return None;
        }
        let n = self.y.len();
        let n_steps = self.n_ahead.min(self.width - k);
        let mut few = self.contenders(if self.has_few() { n } else { self.n_contenders }, n_steps, par);
        let mut chosen = self.choose(&mut few, n_steps, budget);
        if chosen.is_empty() && self.options.n_candidates > 0 {
            // None of the rows drawn says anything; others may.
            few = self.gather((0..n).collect(), 1, Vec::new());
            chosen = self.choose(&mut few, 1, budget);
        }
        (!chosen.is_empty()).then_some(Ahead { chosen, few })
    }

    /// Whether all rows are contenders all the time.
    pub(super) fn has_few(&self) -> bool {
        self.has_few
    }

    /// All rows catch up with rows chosen ahead, whose columns are given unless there are few rows.
    pub(super) fn take(&mut self, ahead: Ahead, columns: &[Column], par: &Par) {
        let Ahead { mut chosen, few } = ahead;
        if self.has_few() {
            for (place, &row) in few.gathered.rows.iter().enumerate() {
                (self.mean[row], self.variance[row]) = (few.mean[place], few.variance[place]);
                self.penalty[row] = few.penalty[place];
            }
            self.picks.append(&mut chosen);
            return;
        }
        let n_chosen = chosen.len();
        let n_kept = self.catch_up(&chosen, columns, few.drawn.is_empty(), par);
        for pick in chosen.drain(n_kept..) {
            self.is_out[pick.row] = false;
        }
        self.picks.append(&mut chosen);
        if n_kept < n_chosen {
            (self.n_ahead, self.n_contenders) = (n_kept.max(1), (2 * self.n_contenders).min(CONTENDERS[1]));
        } else {
            self.n_ahead = (2 * self.n_ahead).min(self.most_ahead);
            self.n_contenders = (self.n_contenders * 7 / 8).max(CONTENDERS[0]);
        }
    }

    /// The rows that are most telling now, or those drawn at random for each step.
    fn contenders(&mut self, most: usize, n_steps: usize, par: &Par) -> Few {
        let n = self.y.len();
        let n_drawn = self.options.n_candidates;
        if n_drawn > 0 && n_drawn < n {
            let draws: Vec<Vec<usize>> =
                (0..n_steps).map(|_| (0..n_drawn).map(|_| self.rng.index(n)).collect()).collect();
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
                rows.map(|row| if self.is_out[row] { f32::NEG_INFINITY } else { self.quick(row) })
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

    fn gather(&self, rows: Vec<usize>, n_steps: usize, drawn: Vec<Vec<usize>>) -> Few {
        let k = self.picks.len();
        let width = k + n_steps;
        let mut m = vec![0.0; rows.len() * width];
        if !self.m.is_empty() && k > 0 {
            for (to, &row) in m.chunks_mut(width).zip(&rows) {
                to[..k].copy_from_slice(&self.m[row * self.width..row * self.width + k]);
            }
        }
        let of = |values: &[f32]| rows.iter().map(|&row| values[row]).collect::<Vec<f32>>();
        let (mean, variance, penalty) = (of(&self.mean), of(&self.variance), of(&self.penalty));
        Few { mean, variance, penalty, m, width, drawn, gathered: self.columns.gather(rows) }
    }

    /// How telling a row is, nearly: its score, or something that rises with it.
    fn quick(&self, row: usize) -> f32 {
        let share = self.screen.share(self.y[row] as f32, self.mean[row], self.variance[row]);
        if self.options.suppress {
            -0.5 * libm::log1pf(-share.min(0.999_999)) - self.penalty[row]
        } else {
            share
        }
    }

    /// The class that the next row must have, where classes are kept in balance (spec 000, A20).
    fn wanted(&self, ahead: &[Pick]) -> Option<f64> {
        if !self.options.balance {
            return None;
        }
        let share = |rows: &mut dyn Iterator<Item = f64>| {
            let (n, sum) = rows.fold((0.0, 0.0), |(n, sum), y| (n + 1.0, sum + f64::from(u8::from(y > 0.0))));
            if n > 0.0 { sum / n } else { 0.0 }
        };
        let of_all = share(&mut self.y.iter().copied());
        let of_active = share(&mut self.picks.iter().chain(ahead).map(|pick| self.y[pick.row]));
        let is_first = self.picks.is_empty() && ahead.is_empty();
        Some(if is_first || of_active < 0.5 * (of_all + 0.5) - 0.01 { 1.0 } else { -1.0 })
    }

    /// Chooses rows among contenders as if there were no others.
    fn choose(&mut self, few: &mut Few, n_steps: usize, budget: &Budget) -> Vec<Pick> {
        let mut chosen: Vec<Pick> = Vec::new();
        let has_one = !self.picks.is_empty();
        while chosen.len() < n_steps {
            if (has_one || !chosen.is_empty()) && budget.spent().is_some() {
                break;
            }
            let wanted = self.wanted(&chosen);
            let best = self.best(few, chosen.len(), wanted).or_else(|| self.best(few, chosen.len(), None));
            let Some((place, score)) = best else { break };
            let row = few.gathered.rows[place];
            self.is_out[row] = true;
            let Some(pick) = self.pick(row, &chosen, score) else { continue };
            let covariances = self.columns.with(row, &few.gathered);
            let k = self.picks.len() + chosen.len();
            let own: Vec<f32> = pick.own.iter().map(|v| *v as f32).collect();
            let (gain, root) = (pick.site.gain as f32, libm::sqrt(pick.site.shrink) as f32);
            for (i, m) in few.m.chunks_mut(few.width).enumerate() {
                let noise = if i == place { self.noise as f32 } else { 0.0 };
                let covariance = covariances[i] + noise - dot(&m[..k], &own);
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

    /// What a covariance counts for the suppression of rows like active ones: those of the same class, between 0 and 1.
    fn likeness(&self, covariance: f32, active: usize, other: usize) -> f32 {
        if self.y[active] == self.y[other] { covariance / self.diagonal[active] as f32 } else { 0.0 }
    }

    /// The place of the best contender in a step, and its score; of equals, the first.
    fn best(&self, few: &Few, step: usize, wanted: Option<f64>) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        // Only what looks at least nearly as telling as the best so far is looked at closely.
        let mut bar = 0.0_f32;
        let mut look = |place: usize| {
            let row = few.gathered.rows[place];
            let y = self.y[row];
            if self.is_out[row] || wanted.is_some_and(|wanted| wanted != y) {
                return;
            }
            let (mean, variance) = (few.mean[place], few.variance[place]);
            let share = self.screen.share(y as f32, mean, variance);
            if !self.options.suppress && share < bar {
                return;
            }
            let Some(site) = Site::new(y, f64::from(mean), f64::from(variance), self.bias) else { return };
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
        let before: Vec<&Pick> = self.picks.iter().chain(ahead).collect();
        let rows: Vec<usize> = before.iter().map(|pick| pick.row).collect();
        let covariances = self.columns.exact(row, &rows);
        let mut own: Vec<f64> = Vec::with_capacity(before.len());
        let (mut mean, mut variance) = (0.0, self.diagonal[row] + self.noise);
        for (pick, covariance) in before.into_iter().zip(covariances) {
            let root = libm::sqrt(pick.site.shrink);
            let value = root * (covariance - crate::linalg::dot(&own, &pick.own));
            mean += pick.site.gain / root * value;
            variance -= value * value;
            own.push(value);
        }
        let site = Site::new(self.y[row], mean, variance.max(0.0), self.bias)?;
        Some(Pick { row, site, own, score })
    }

    /// Computes what all rows know about the rows chosen, up to the first that should not have been chosen; their number is
    /// returned, and means and variances take them in.
    fn catch_up(&mut self, chosen: &[Pick], columns: &[Column], check: bool, par: &Par) -> usize {
        let (k, n_new, width) = (self.picks.len(), chosen.len(), self.width);
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
        let mut m = std::mem::take(&mut self.m);
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
                if check && !self.is_out[row] {
                    let beaten = self.first_beaten(row, &m[k..k + n_new], chosen, &ways, columns);
                    kept.fetch_min(beaten, Ordering::Relaxed);
                }
            }
        });
        self.m = m;
        let n_kept = kept.into_inner();
        let n = self.y.len();
        let parts = par.map(n.div_ceil(CHUNK), |chunk| {
            let rows_here = chunk * CHUNK..((chunk + 1) * CHUNK).min(n);
            let follow = |row: usize| {
                let new = &self.m[row * width + k..row * width + k + n_kept];
                let (mut mean, mut variance, mut penalty) =
                    (self.mean[row], self.variance[row], self.penalty[row]);
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
            (self.mean[row], self.variance[row], self.penalty[row]) = (mean, variance, penalty);
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
        let (mut mean, mut variance, mut penalty) = (self.mean[row], self.variance[row], self.penalty[row]);
        for (b, (value, way)) in new.iter().zip(ways).enumerate() {
            let may = b > 0 && !self.screen.is_below(y as f32, mean, variance, &way.bar);
            if may && way.wanted.is_none_or(|wanted| wanted == y) {
                // Penalties only make it harder.
                let needed = chosen[b].score + f64::from(penalty);
                let site = Site::new(y, f64::from(mean), f64::from(variance), self.bias);
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

#[cfg(test)]
mod tests {
    use ndarray::Axis;

    use super::super::columns::Base;
    use super::*;
    use crate::kernel::{Kernel, Shape};

    /// The search as the formulae have it, in double precision, through all rows for every choice.
    fn naive(
        x: &Array2<f64>,
        y: &[f64],
        kernel: &Kernel,
        noise: f64,
        bias: f64,
        options: &IvmOptions,
    ) -> Vec<usize> {
        let n = y.len();
        let mut mean = vec![0.0; n];
        let mut variance: Vec<f64> = kernel.diagonal(x.view()).iter().map(|v| v + noise).collect();
        let own = variance[0] - noise;
        let mut penalty = vec![0.0; n];
        let mut m: Vec<Vec<f64>> = Vec::new();
        let mut active: Vec<usize> = Vec::new();
        let of_all = y.iter().filter(|y| **y > 0.0).count() as f64 / n as f64;
        while active.len() < options.n_active {
            let n_own = active.iter().filter(|row| y[**row] > 0.0).count() as f64;
            let wants = active.is_empty() || n_own / (active.len() as f64) < 0.5 * (of_all + 0.5) - 0.01;
            let mut best: Option<(usize, Site, f64)> = None;
            for row in (0..n).filter(|row| !active.contains(row)) {
                if options.balance && (y[row] > 0.0) != wants {
                    continue;
                }
                let Some(site) = Site::new(y[row], mean[row], variance[row], bias) else { continue };
                let score = site.entropy - penalty[row];
                if best.as_ref().is_none_or(|(_, _, most)| score > *most) {
                    best = Some((row, site, score));
                }
            }
            let (row, site, score) = best.unwrap();
            let cross = kernel.cross(x.view(), x.select(Axis(0), &[row]).view(), &Par::sequential());
            let root = site.shrink.sqrt();
            let mut new = vec![0.0; n];
            for i in 0..n {
                let mut s = cross[(i, 0)] + if i == row { noise } else { 0.0 };
                s -= m.iter().map(|m| m[i] * m[row]).sum::<f64>();
                mean[i] += site.gain * s;
                variance[i] -= site.shrink * s * s;
                new[i] = root * s;
                if options.suppress && y[i] == y[row] {
                    penalty[i] += cross[(i, 0)] / own * score;
                }
            }
            m.push(new);
            active.push(row);
        }
        active
    }

    #[test]
    fn choices_made_ahead_are_those_of_a_search_through_all_rows() {
        let mut rng = Rng::new(7, Purpose::Data, 0);
        let n = FEW_ROWS + 1500;
        let x = Array2::from_shape_fn((n, 3), |_| (4.0 * rng.unit() - 2.0) as f32);
        let label =
            |row: ndarray::ArrayView1<'_, f32>| if row[0] * row[1] + 0.3 * row[2] > 0.8 { 1.0 } else { -1.0 };
        let y: Vec<f64> = x.rows().into_iter().map(label).collect();
        let kernel = Kernel::rbf(0.9).scaled(9.0);
        let wide = x.mapv(f64::from);
        for (suppress, balance) in [(false, false), (true, false), (false, true)] {
            let options = IvmOptions { n_active: 60, suppress, balance, ..IvmOptions::default() };
            let columns = Columns::new(Base::rows(x.view()), Shape::Rbf, 0.9, 9.0);
            let run = |par: &Par| {
                let mut search = Search::new(&columns, &y, 1e-3, -1.0, &options);
                while let Some(ahead) = search.choose_ahead(par, &Budget::open()) {
                    let rows: Vec<usize> = ahead.chosen.iter().map(|pick| pick.row).collect();
                    search.take(ahead, &columns.of(&rows, par), par);
                }
                let rows: Vec<usize> = search.picks.iter().map(|pick| pick.row).collect();
                (rows, search.mean, search.variance)
            };
            let (chosen, ..) = run(&Par::sequential());
            assert_eq!(run(&Par::sequential()), run(&Par::new(3).unwrap()), "threads change nothing");
            assert_eq!(chosen, naive(&wide, &y, &kernel, 1e-3, -1.0, &options), "{suppress} {balance}");
        }
    }
}
