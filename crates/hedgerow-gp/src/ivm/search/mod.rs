//! Choosing active rows one at a time, each by the largest information gain (Lawrence et al., 2003), without a pass over all rows each time.
//!
//! After a row has joined, means and variances of all others change, and the next choice needs them all. Going through them takes as
//! long as reading all that is known about them from memory. So several choices are made ahead among a few contenders, the rows
//! that are most telling now. Then all rows catch up with these choices in one pass, as a matrix product; and if on the way any row turns
//! out to have been more telling than what was chosen, the choices from there on are taken back. What comes out is what
//! a search through all rows each time would choose.
//!
//! All this runs in single precision. What the IVM is made of, the sites of the rows chosen, is computed in double
//! precision. `contenders` finds the rows that compete, `ahead` chooses among them, `catch_up` lets all others follow and looks back.

mod ahead;
mod catch_up;
mod contenders;

use hedgerow_core::rng::{Purpose, Rng};

use super::IvmParams;
use super::columns::{Columns, Gathered};
use super::screen::Screen;
use super::site::Site;

/// With so few rows all are contenders all the time.
const FEW_ROWS: usize = 4096;
/// Contenders, at least and at most; and choices ahead, at most.
const CONTENDERS: [usize; 2] = [512, 8192];
const MOST_AHEAD: usize = 64;
/// Rows that are chosen ahead at first.
const FIRST_AHEAD: usize = 8;

/// A row that has joined.
pub(super) struct Pick {
    pub(super) row: usize,
    pub(super) site: Site,
    /// √ν times its covariance with each row that joined before, when that one joined.
    pub(super) own: Vec<f64>,
    /// What it was chosen for.
    score: f64,
}

/// A search for active rows.
pub(super) struct ActiveSetSearch<'a, 'x> {
    columns: &'a Columns<'x>,
    y: &'a [f64],
    diagonal: Vec<f64>,
    noise: f64,
    options: &'a IvmParams,
    screen: Screen,
    /// Rows that are chosen ahead at most.
    most_ahead: usize,
    /// Whether all rows are contenders all the time, and nothing is kept for another day.
    pub(super) has_few: bool,
    pub(super) state: State,
}

/// What is known about all rows while active ones are added. A search can be put away with it and gone on with later.
pub(super) struct State {
    pub(super) bias: f64,
    pub(super) width: usize,
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
    rng: Rng,
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

impl State {
    /// The beginning of a search. With few rows all active ones are chosen ahead.
    pub(super) fn new(diagonal: &[f64], noise: f64, bias: f64, options: &IvmParams, has_few: bool) -> Self {
        let n = diagonal.len();
        let width = options.n_active.min(n);
        Self {
            bias,
            width,
            mean: vec![0.0; n],
            variance: diagonal.iter().map(|v| (v + noise) as f32).collect(),
            penalty: vec![0.0; n],
            m: if has_few { Vec::new() } else { vec![0.0; n * width] },
            is_out: vec![false; n],
            picks: Vec::new(),
            // A pass over all rows for each of the first few would take as long as one for all of them.
            n_ahead: if has_few { width } else { FIRST_AHEAD },
            n_contenders: 2 * CONTENDERS[0],
            rng: Rng::new(options.seed, Purpose::Sample, 0),
        }
    }
}

impl<'a, 'x> ActiveSetSearch<'a, 'x> {
    /// `noise` is what each row's own variance has beside the kernel's.
    pub(super) fn new(
        columns: &'a Columns<'x>,
        y: &'a [f64],
        noise: f64,
        bias: f64,
        options: &'a IvmParams,
    ) -> Self {
        let has_few = y.len() <= FEW_ROWS;
        let state = State::new(&columns.diagonal(), noise, bias, options, has_few);
        let most_ahead = MOST_AHEAD.max(state.n_ahead);
        Self { has_few, ..Self::resume(columns, y, noise, options, state, most_ahead) }
    }

    /// Goes on from where another left off, choosing at most so many rows ahead. Rows and labels must be the same.
    pub(super) fn resume(
        columns: &'a Columns<'x>,
        y: &'a [f64],
        noise: f64,
        options: &'a IvmParams,
        mut state: State,
        most_ahead: usize,
    ) -> Self {
        state.n_ahead = state.n_ahead.min(most_ahead);
        let (diagonal, screen) = (columns.diagonal(), Screen::new(state.bias));
        Self { columns, y, diagonal, noise, options, screen, most_ahead, has_few: false, state }
    }

    /// The class that the next row must have, where classes are kept in balance.
    fn wanted(&self, ahead: &[Pick]) -> Option<f64> {
        if !self.options.balance {
            return None;
        }
        let share = |rows: &mut dyn Iterator<Item = f64>| {
            let (n, sum) = rows.fold((0.0, 0.0), |(n, sum), y| (n + 1.0, sum + f64::from(u8::from(y > 0.0))));
            if n > 0.0 { sum / n } else { 0.0 }
        };
        let of_all = share(&mut self.y.iter().copied());
        let of_active = share(&mut self.state.picks.iter().chain(ahead).map(|pick| self.y[pick.row]));
        let is_first = self.state.picks.is_empty() && ahead.is_empty();
        Some(if is_first || of_active < 0.5 * (of_all + 0.5) - 0.01 { 1.0 } else { -1.0 })
    }

    /// What a covariance counts for the suppression of rows like active ones: those of the same class, between 0 and 1.
    fn likeness(&self, covariance: f32, active: usize, other: usize) -> f32 {
        if self.y[active] == self.y[other] { covariance / self.diagonal[active] as f32 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests;
