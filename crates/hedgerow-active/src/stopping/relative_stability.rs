//! Stop when labels change predictions no more than the seed does.
//!
//! Two random forests on the same labels differ by their seeds alone, with a kappa of 0.82 to 0.99, so no fixed threshold of kappa fits all data
//! sets. This rule compares kappa between the models now and some labels ago with kappa between two seeds.

use super::history::History;
use super::kappa::cohens_kappa;
use super::rule::{Finding, StoppingRule};

/// Where no seed changes the model, so much less than a kappa of 1 counts as stable.
const WITHOUT_SEEDS: f64 = 0.01;
/// Comparisons that make a mean, at least.
const LEAST_CHECKS: usize = 3;

/// Stops when the mean of kappa between models `lag` labels apart, less kappa between two seeds, is at least minus a tolerance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelativeStability {
    /// Labels between the models.
    pub lag: usize,
    /// The mean is taken over the observations of so many labels, three at least.
    pub window: usize,
    /// The tolerance; for models without a seed, 0.01 more.
    pub tolerance: f64,
}

impl StoppingRule for RelativeStability {
    fn name(&self) -> &'static str {
        "relative_stability"
    }

    fn find(&self, history: &History) -> Finding {
        let compare = |place: usize| {
            let (now, before) = (&history.checkpoints()[place], history.before(place, self.lag)?);
            let by_seed = now.seeds.map_or(1.0 - WITHOUT_SEEDS, |[kappa, _]| kappa);
            Some([cohens_kappa(&before.predictions, &now.predictions), by_seed])
        };
        let recent = history.recent(self.window);
        let compared: Vec<[f64; 2]> = recent.clone().filter_map(compare).collect();
        if compared.len() < LEAST_CHECKS || compared.len() < recent.len() {
            let Self { lag, window, .. } = self;
            return Finding::unknown(format!(
                "models {lag} labels apart have not been compared over {window} labels yet"
            ));
        }
        let mean = |part: usize| compared.iter().map(|pair| pair[part]).sum::<f64>() / compared.len() as f64;
        let (by_labels, by_seed) = (mean(0), mean(1));
        let difference = by_labels - by_seed;
        let stop = difference >= -self.tolerance;
        let lag = self.lag;
        let reason = if stop {
            format!(
                "{lag} labels change predictions no more (kappa {by_labels:.3}) than the seed does (kappa {by_seed:.3})"
            )
        } else {
            format!(
                "{lag} labels still change predictions more (kappa {by_labels:.3}) than the seed does (kappa {by_seed:.3})"
            )
        };
        Finding::new(stop, difference, reason)
    }
}
