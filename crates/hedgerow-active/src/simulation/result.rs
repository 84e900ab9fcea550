//! What a simulation found.

use hedgerow_core::Result;
use ndarray::Array2;
use serde::Serialize;

use super::SimulationParams;
use super::curve::Outcome;
use crate::statistics::RanksTable;

/// The level of tests.
const ALPHA: f64 = 0.05;

/// What a simulation found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulationResult {
    /// How it was made.
    pub params: SimulationParams,
    /// Model after model, strategy after strategy.
    pub outcomes: Vec<Outcome>,
    /// The strategies compared by their areas over all runs, where there are two strategies or more and two runs. It tells what holds on this table, not what
    /// holds on others.
    pub ranks: Option<RanksTable>,
}

impl SimulationResult {
    pub(super) fn new(params: SimulationParams, outcomes: Vec<Outcome>) -> Result<Self> {
        let ranks = ranks(&outcomes, &params)?;
        Ok(Self { params, outcomes, ranks })
    }

    /// How a strategy did with a model.
    pub fn outcome(&self, strategy: &str, model: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.strategy == strategy && outcome.model == model)
    }
}

/// A row for every run of every model, a column for each strategy.
fn ranks(outcomes: &[Outcome], params: &SimulationParams) -> Result<Option<RanksTable>> {
    let Some(first) = outcomes.first() else { return Ok(None) };
    let strategies: Vec<String> = outcomes
        .iter()
        .take_while(|outcome| outcome.model == first.model)
        .map(|outcome| outcome.strategy.clone())
        .collect();
    let models: Vec<&[Outcome]> = outcomes.chunks(strategies.len()).collect();
    let n_runs = models.len() * params.seeds;
    if strategies.len() < 2 || n_runs < 2 {
        return Ok(None);
    }
    let area =
        |(run, strategy): (usize, usize)| models[run / params.seeds][strategy].area.runs[run % params.seeds];
    let scores = Array2::from_shape_fn((n_runs, strategies.len()), area);
    let name = |run: usize| {
        let seed = params.seed.wrapping_add((run % params.seeds) as u64);
        format!("{}, seed {seed}", models[run / params.seeds][0].model)
    };
    RanksTable::new(strategies, (0..n_runs).map(name).collect(), scores.view(), ALPHA).map(Some)
}
