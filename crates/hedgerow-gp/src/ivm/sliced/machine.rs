//! One class against the rest, a few active rows at a time.

use hedgerow_core::{Budget, Error, Par, Result};

use super::super::fast::dot;
use super::super::search::{Paused, Search};
use super::super::train::bias_for;
use super::super::{IvmOptions, IvmParams};
use super::Ground;

/// A machine on its way.
pub struct Machine {
    class: usize,
    kernel: [f64; 2],
    options: IvmOptions,
    noise: f64,
    /// None before the first slice.
    state: Option<Paused>,
    /// Rows of the ground when it was last at work.
    n_rows: usize,
    is_done: bool,
}

/// What a machine has come to: enough to make a classifier of, and small.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Part {
    /// The class.
    pub class: usize,
    /// The active rows, in the order in which they joined.
    pub active: Vec<usize>,
    pub(super) means: Vec<f64>,
    pub(super) precisions: Vec<f64>,
    pub(super) bias: f64,
    /// By how much the label of each lowered the entropy.
    pub ratings: Vec<f64>,
    /// (mean + bias)/√(1 + variance) of each row that judges.
    pub scores: Vec<f64>,
    /// The share of judges that it is right about, those of its class and the others counting the same.
    pub accuracy: f64,
    /// Whether nothing is left to choose.
    pub is_done: bool,
    /// Bytes that the machine holds.
    pub bytes: usize,
}

/// The share of judges of a class that are taken for such, and of others that are not, averaged: chance is ½ however rare the class is. A side without judges counts ½.
fn accuracy(class: usize, scores: &[f64], ground: &Ground) -> f64 {
    let (mut right, mut all) = ([0.0_f64; 2], [0.0_f64; 2]);
    for (&judge, score) in ground.judges().iter().zip(scores) {
        let is_own = ground.labels[judge].index() == class;
        all[usize::from(is_own)] += 1.0;
        right[usize::from(is_own)] += f64::from(u8::from((*score > 0.0) == is_own));
    }
    let share = |i: usize| if all[i] > 0.0 { right[i] / all[i] } else { 0.5 };
    0.5 * (share(0) + share(1))
}

impl Machine {
    /// A machine that has not begun.
    pub fn new(class: usize, kernel: [f64; 2], params: &IvmParams) -> Self {
        Self {
            class,
            kernel,
            options: params.options(),
            noise: params.noise_variance,
            state: None,
            n_rows: 0,
            is_done: false,
        }
    }

    /// The kernel: length scale and variance.
    pub fn kernel(&self) -> [f64; 2] {
        self.kernel
    }

    /// Active rows so far.
    pub fn n_active(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.picks.len())
    }

    /// Bytes that a machine takes on so many rows.
    pub fn bytes_on(n_rows: usize, n_active: usize) -> usize {
        n_rows * (4 * n_active + 13)
    }

    /// Chooses at most so many rows more, and takes up rows that have come since. Says what has come of it.
    pub fn slice(&mut self, ground: &Ground, most: usize, par: &Par) -> Result<Part> {
        let n = ground.n_rows();
        if n == ground.judges().len() {
            return Err(Error::NoRows);
        }
        let columns = ground.columns(self.kernel);
        let (y, share) = ground.signs(self.class);
        let mut state = if let Some(state) = self.state.take() {
            state
        } else {
            let diagonal = columns.diagonal();
            let bias = bias_for(share, self.kernel[1] + self.noise);
            self.n_rows = n;
            Paused::new(&diagonal, self.noise, bias, &self.options, ground.is_judge.clone())
        };
        if n > self.n_rows {
            self.take_up(&mut state, ground);
        }
        let mut search = Search::resume(&columns, &y, self.noise, &self.options, state, most.max(1));
        let before = search.picks.len();
        match search.choose_ahead(par, &Budget::open()) {
            Some(ahead) => {
                let rows: Vec<usize> = ahead.chosen.iter().map(|pick| pick.row).collect();
                let columns = columns.of(&rows, par);
                search.take(ahead, &columns, par);
            }
            None => self.is_done = true,
        }
        let state = search.pause();
        self.is_done |= state.picks.len() >= state.width || state.picks.len() == before;
        let part = self.part(&state, ground);
        self.state = Some(state);
        Ok(part)
    }

    /// Rows that have come since learn what is known. If all places were taken, the last rows that joined lose theirs, as many as it takes for new rows to have the
    /// chance that old ones had.
    fn take_up(&mut self, state: &mut Paused, ground: &Ground) {
        let (before, n) = (self.n_rows, ground.n_rows());
        self.n_rows = n;
        if self.options.suppress {
            // What active rows take off the scores of others is not kept: it begins anew.
            let diagonal = vec![self.kernel[1]; n];
            *state = Paused::new(&diagonal, self.noise, state.bias, &self.options, ground.is_judge.clone());
            self.is_done = false;
            return;
        }
        let width = state.width;
        if self.is_done && !state.picks.is_empty() {
            let kept = (state.picks.len() * before).div_ceil(n).max(1);
            for pick in state.picks.drain(kept..) {
                state.is_out[pick.row] = false;
            }
            state.n_ahead = 1;
        }
        self.is_done = false;
        let k = state.picks.len();
        state.m.resize(n * width, 0.0);
        state.penalty.resize(n, 0.0);
        state.is_out.extend_from_slice(&ground.is_judge[before..n]);
        let active: Vec<usize> = state.picks.iter().map(|pick| pick.row).collect();
        let columns = ground.columns(self.kernel);
        let gathered = columns.gather((before..n).collect());
        let own: Vec<Vec<f32>> =
            state.picks.iter().map(|pick| pick.own.iter().map(|v| *v as f32).collect()).collect();
        for (j, &row) in active.iter().enumerate() {
            let root = libm::sqrt(state.picks[j].site.shrink) as f32;
            let covariances = columns.with(row, &gathered);
            for (new, covariance) in covariances.into_iter().enumerate() {
                let m = &mut state.m[(before + new) * width..];
                m[j] = root * (covariance - dot(&m[..j], &own[j]));
            }
        }
        // Means and variances of all rows follow from what they know about the rows that are left.
        let per_value: Vec<f32> =
            state.picks.iter().map(|pick| (pick.site.gain / libm::sqrt(pick.site.shrink)) as f32).collect();
        let prior = (self.kernel[1] + self.noise) as f32;
        state.mean.resize(n, 0.0);
        state.variance.resize(n, 0.0);
        for row in 0..n {
            let known = &state.m[row * width..row * width + k];
            state.mean[row] = dot(known, &per_value);
            state.variance[row] = (prior - dot(known, known)).max(0.0);
        }
    }

    fn part(&self, state: &Paused, ground: &Ground) -> Part {
        let score = |&row: &usize| {
            let (mean, variance) = (f64::from(state.mean[row]), f64::from(state.variance[row]));
            (mean + state.bias) / libm::sqrt(1.0 + variance)
        };
        let scores: Vec<f64> = ground.judges().iter().map(score).collect();
        Part {
            accuracy: accuracy(self.class, &scores, ground),
            class: self.class,
            active: state.picks.iter().map(|pick| pick.row).collect(),
            means: state.picks.iter().map(|pick| pick.site.mean).collect(),
            precisions: state.picks.iter().map(|pick| pick.site.precision).collect(),
            bias: state.bias,
            ratings: state.picks.iter().map(|pick| pick.site.entropy).collect(),
            scores,
            is_done: self.is_done,
            bytes: Self::bytes_on(state.mean.len(), state.width),
        }
    }
}
