//! Uncertainty where many rows are (Settles and Craven, 2008, An analysis of active learning strategies for sequence labeling tasks).

use hedgerow_core::Result;

use super::Strategy;
use crate::kernel::RankKernel;
use crate::situation::Situation;

/// Uncertainty by margin times density: (1 − (p₁ − p₂)) times the mean of K(j, x) over the targets j. Without a model, the densest rows.
///
/// It asks for what stands for many rows and never looks where there are few: a class of its own far from all others, whose rows are predicted to be of a
/// known one, stays unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Density;

impl Strategy for Density {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        let uncertain = situation.by_probabilities(|proba| 1.0 - situation.margin(proba));
        Ok(densities(situation)
            .iter()
            .zip(uncertain)
            .map(|(density, uncertain)| density * uncertain)
            .collect())
    }
}

/// The mean kernel of the targets at each candidate.
pub(super) fn densities(situation: &Situation<'_>) -> Vec<f64> {
    let (candidates, targets) = (situation.placed_candidates(), situation.placed_targets());
    let weights = vec![1.0; situation.pool().space().n_features()];
    let kernel = RankKernel::of_neighbors(targets, &weights);
    let n = targets.len().max(1) as f64;
    situation.par().map(candidates.len(), |place| {
        let squares = targets.squared_distances(&candidates.row(place), &weights);
        squares.iter().map(|square| f64::from(kernel.at(*square))).sum::<f64>() / n
    })
}
