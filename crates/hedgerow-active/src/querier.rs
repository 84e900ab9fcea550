//! Asks a strategy which rows to label.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Checked, Par, Result};
use serde::Serialize;

use crate::choice::choose;
use crate::model::QueryModel;
use crate::params::QueryParams;
use crate::pool::Pool;
use crate::situation::Situation;
use crate::space::Targets;
use crate::strategy::Strategy;

/// A row that should be labelled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueriedRow {
    /// Its place in the pool.
    pub row: usize,
    /// What its label is worth, by the strategy; it compares rows of one query and has no unit.
    pub utility: f64,
    /// Why, in words.
    pub reason: String,
}

/// Draws candidates, asks a strategy, and chooses rows.
///
/// What a query returns depends on parameters, pool, labels and model alone. A querier may be kept between queries of one pool: then strategies go on
/// from what they have computed before.
pub struct Querier {
    params: QueryParams,
    strategy: Box<dyn Strategy>,
    targets: Vec<usize>,
    /// The targets by the ranks of their columns, once a strategy needs that.
    placed_targets: Arc<OnceLock<Targets>>,
    /// Rows of the pool that the targets were drawn from.
    n_rows: usize,
}

impl Querier {
    /// With the strategy that the parameters name.
    pub fn new(params: Checked<QueryParams>) -> Self {
        let strategy = params.get().strategy.strategy();
        Self::with_strategy(params, strategy)
    }

    /// With a strategy of one's own.
    pub fn with_strategy(params: Checked<QueryParams>, strategy: Box<dyn Strategy>) -> Self {
        let params = params.get().clone();
        Self { params, strategy, targets: Vec::new(), placed_targets: Arc::default(), n_rows: 0 }
    }

    /// The parameters.
    pub fn params(&self) -> &QueryParams {
        &self.params
    }

    /// Up to `n` rows that should be labelled, the most useful first; fewer where the pool has fewer rows without labels.
    pub fn query(
        &mut self,
        pool: &Pool,
        model: Option<&dyn QueryModel>,
        n: usize,
        par: &Par,
    ) -> Result<Vec<QueriedRow>> {
        let most = if self.params.n_candidates > 0 {
            self.params.n_candidates
        } else {
            self.strategy.n_candidates()
        };
        let mut rng = Rng::new(self.params.seed, Purpose::Query, pool.labelled().len() as u64);
        let candidates = draw(pool, most.max(n), &mut rng);
        self.query_among(pool, model, candidates, n, par)
    }

    /// The same among candidates of the caller's.
    pub fn query_among(
        &mut self,
        pool: &Pool,
        model: Option<&dyn QueryModel>,
        candidates: Vec<usize>,
        n: usize,
        par: &Par,
    ) -> Result<Vec<QueriedRow>> {
        self.choose_among(pool, model, candidates, n, par, |_| {})
    }

    /// The same with the utilities of all candidates before each choice; those of candidates chosen before are NaN.
    pub fn query_with_utilities(
        &mut self,
        pool: &Pool,
        model: Option<&dyn QueryModel>,
        candidates: Vec<usize>,
        n: usize,
        par: &Par,
    ) -> Result<(Vec<QueriedRow>, Vec<Vec<f64>>)> {
        let mut steps = Vec::new();
        let queried =
            self.choose_among(pool, model, candidates, n, par, |utilities| steps.push(utilities.to_vec()))?;
        Ok((queried, steps))
    }

    fn choose_among(
        &mut self,
        pool: &Pool,
        model: Option<&dyn QueryModel>,
        candidates: Vec<usize>,
        n: usize,
        par: &Par,
        look: impl FnMut(&[f64]),
    ) -> Result<Vec<QueriedRow>> {
        if candidates.is_empty() || n == 0 {
            return Ok(Vec::new());
        }
        self.draw_targets(pool);
        let situation = Situation::new(pool, model, candidates, &self.targets, self.params.seed, par)?
            .with_placed_targets(self.placed_targets.clone())
            .with_losses(self.params.losses.clone());
        let utilities = self.strategy.utilities(&situation)?;
        let chosen = choose(&situation, utilities, n, self.params.diversity, look);
        let queried = |(place, utility)| {
            let (row, reason) = (situation.candidates()[place], self.strategy.reason(&situation, place));
            QueriedRow { row, utility, reason }
        };
        Ok(chosen.into_iter().map(queried).collect())
    }

    /// The utility of each of some candidates.
    pub fn utilities(
        &mut self,
        pool: &Pool,
        model: Option<&dyn QueryModel>,
        candidates: Vec<usize>,
        par: &Par,
    ) -> Result<Vec<f64>> {
        self.draw_targets(pool);
        let situation = Situation::new(pool, model, candidates, &self.targets, self.params.seed, par)?
            .with_placed_targets(self.placed_targets.clone())
            .with_losses(self.params.losses.clone());
        self.strategy.utilities(&situation)
    }

    fn draw_targets(&mut self, pool: &Pool) {
        if self.n_rows != pool.n_rows() {
            let mut rng = Rng::new(self.params.seed, Purpose::Query, u64::MAX);
            let n = pool.n_rows();
            let drawn = distinct(n, self.params.n_targets, |_| true, &mut rng);
            self.targets = drawn.unwrap_or_else(|| (0..n).collect());
            self.targets.sort_unstable();
            self.placed_targets = Arc::default();
            self.n_rows = n;
        }
    }
}

/// At most so many of the rows without labels, in random order.
fn draw(pool: &Pool, most: usize, rng: &mut Rng) -> Vec<usize> {
    let is_open = |row: usize| pool.label(row).is_none();
    // Where few rows are open, drawing until one is found takes long.
    let drawn =
        (2 * pool.n_unlabelled() > pool.n_rows()).then(|| distinct(pool.n_rows(), most, is_open, rng));
    drawn.flatten().unwrap_or_else(|| {
        let mut open: Vec<usize> = (0..pool.n_rows()).filter(|&row| is_open(row)).collect();
        rng.shuffle(&mut open);
        open.truncate(most);
        open
    })
}

/// So many different rows that are wanted, without a list of all of them; none if they are too many of all to be found quickly.
fn distinct(n: usize, wanted: usize, is_wanted: impl Fn(usize) -> bool, rng: &mut Rng) -> Option<Vec<usize>> {
    if 4 * wanted > n {
        return None;
    }
    let mut seen = BTreeSet::new();
    let mut drawn = Vec::with_capacity(wanted);
    while drawn.len() < wanted {
        let row = rng.index(n);
        if is_wanted(row) && seen.insert(row) {
            drawn.push(row);
        }
    }
    Some(drawn)
}
