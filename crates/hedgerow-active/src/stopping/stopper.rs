//! Advice, label after label.

use hedgerow_core::{Checked, Result};

use super::advice::Advice;
use super::classification_change::ClassificationChange;
use super::cost::Cost;
use super::expected_error::ExpectedError;
use super::gain::Gain;
use super::history::{History, Observed};
use super::overall_uncertainty::OverallUncertainty;
use super::params::{RuleName, StoppingParams};
use super::posterior_change::PosteriorChange;
use super::relative_stability::RelativeStability;
use super::rule::StoppingRule;
use super::stabilizing_predictions::StabilizingPredictions;

/// Labels whose gain is estimated.
pub(super) const AHEAD: usize = 10;

/// Keeps the history of predictions and asks a rule.
#[derive(Debug)]
pub struct Stopper {
    params: StoppingParams,
    rule: Box<dyn StoppingRule>,
    history: History,
}

impl Stopper {
    /// With the rule that the parameters name.
    pub fn new(params: Checked<StoppingParams>) -> Self {
        let rule = rule(params.get());
        Self::with_rule(params, rule)
    }

    /// With a rule of one's own.
    pub fn with_rule(params: Checked<StoppingParams>, rule: Box<dyn StoppingRule>) -> Self {
        Self { params: params.get().clone(), rule, history: History::default() }
    }

    /// What was observed.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Takes in what a model predicts for the stop set, and advises. Observations with as many labels or more are dropped: labels were taken back.
    pub fn observe(&mut self, observed: &Observed<'_>) -> Result<Advice> {
        self.history.record(observed)?;
        Ok(self.advise())
    }

    /// Drops the observations with more labels than there are: labels were taken back.
    pub fn take_back(&mut self, n_labels: usize) {
        self.history.take_back(n_labels.saturating_add(1));
    }

    /// The advice after the last observation.
    pub fn advise(&self) -> Advice {
        let StoppingParams { min_labels, lag, window, .. } = self.params;
        let Some(last) = self.history.last() else {
            let reason = "no model has been observed yet".to_owned();
            return Advice {
                stop: false,
                rule: self.rule.name(),
                n_labels: 0,
                figure: None,
                reason,
                gain: None,
            };
        };
        let finding = self.rule.find(&self.history);
        let is_one_class = last.predictions.iter().all(|class| *class == last.predictions[0]);
        let held_back = if last.n_labels < min_labels {
            Some(format!("{} labels of at least {min_labels}", last.n_labels))
        } else if is_one_class {
            Some("the model predicts the same class for every row of the stop set".to_owned())
        } else {
            None
        };
        Advice {
            stop: finding.stop && held_back.is_none(),
            rule: self.rule.name(),
            n_labels: last.n_labels,
            figure: finding.figure,
            reason: held_back.unwrap_or(finding.reason),
            gain: Gain::estimate(&self.history, lag, window, AHEAD),
        }
    }
}

/// The rule that the parameters name.
fn rule(params: &StoppingParams) -> Box<dyn StoppingRule> {
    let &StoppingParams { lag, window, tolerance, label_price, error_price, horizon, .. } = params;
    match params.rule {
        RuleName::RelativeStability => Box::new(RelativeStability { lag, window, tolerance }),
        RuleName::StabilizingPredictions => {
            Box::new(StabilizingPredictions { threshold: params.threshold_or(0.99), checks: 3 })
        }
        RuleName::ClassificationChange => Box::new(ClassificationChange { checks: 2 }),
        RuleName::PosteriorChange => {
            Box::new(PosteriorChange { threshold: params.threshold_or(0.05), checks: 3 })
        }
        RuleName::OverallUncertainty => Box::new(OverallUncertainty { threshold: params.threshold_or(0.05) }),
        RuleName::ExpectedError => Box::new(ExpectedError { threshold: params.threshold_or(0.01) }),
        RuleName::Cost => Box::new(Cost { label_price, error_price, horizon, lag, window }),
    }
}
