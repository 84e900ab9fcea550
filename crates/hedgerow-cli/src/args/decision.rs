//! Arguments about prediction sets, and about rows that are left undecided.

use clap::Args;
use hedgerow::core::conformal::{SetMethod, SetOptions};

use super::fit::open_share;

#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction sets")]
pub(crate) struct SetArgs {
    /// Write the set of classes that holds the true one for this share of rows too, such as 0.9
    #[arg(long, value_name = "SHARE", value_parser = open_share)]
    pub(crate) sets: Option<f64>,
    /// How sets are made: balanced (no class is covered much less than the others), marginal (the smallest), per-class (every class is covered by itself)
    /// or adaptive (their size follows how hard a row is)
    #[arg(long, value_name = "METHOD", requires = "sets", default_value_t)]
    pub(crate) set_method: SetMethod,
    /// Put the most probable class into sets that would be empty: then more rows are covered where more are predicted right
    #[arg(long, requires = "sets")]
    pub(crate) no_empty_sets: bool,
}

impl SetArgs {
    /// The sets that are wanted, if any are.
    pub(crate) fn options(&self) -> Option<SetOptions> {
        self.sets.map(|level| SetOptions { level, method: self.set_method, never_empty: self.no_empty_sets })
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Decisions")]
pub(crate) struct DecisionArgs {
    /// Leave the prediction of a row empty if the probability that it is wrong is above this
    #[arg(long, value_name = "SHARE", value_parser = open_share)]
    pub(crate) abstain_above: Option<f64>,
    /// What mistakes cost, 1 where nothing is given: predict the class with the least expected cost, such as sick:healthy=10 (the true class comes first)
    #[arg(long, value_name = "TRUE:PREDICTED=COST", value_delimiter = ',')]
    pub(crate) costs: Option<Vec<String>>,
    /// Leave the prediction of a row empty if every class is expected to cost more than this
    #[arg(long, value_name = "COST", value_parser = cost)]
    pub(crate) reject_cost: Option<f64>,
}

impl DecisionArgs {
    /// Whether any is given.
    pub(crate) fn is_given(&self) -> bool {
        self.abstain_above.is_some() || self.costs.is_some() || self.reject_cost.is_some()
    }
}

fn cost(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("expected a number, 0 or more".into()),
    }
}
