//! Query by committee: rows about which the members of an ensemble disagree.
//!
//! A model without members that each predict alone is asked for a distribution over its class probabilities; one that has none of these either
//! is taken as a committee of one member, whose own uncertainty counts.

use hedgerow_core::traits::largest;
use hedgerow_core::{Result, SecondOrder};
use ndarray::{Array1, Array2, Array3, Axis};

use super::Strategy;
use super::entropy::entropy;
use crate::situation::Situation;

/// Members drawn from a second-order distribution, where a model has no members of its own.
const DRAWN: usize = 30;

/// Rows whose members vote for different classes: the entropy of the votes (Engelson and Dagan, 1996, Minimizing manual annotation cost in supervised training
/// from corpora).
#[derive(Debug, Clone, Copy, Default)]
pub struct VoteEntropy;

/// Rows whose mean prediction over all members is most uncertain, by entropy: the consensus, before any calibration.
#[derive(Debug, Clone, Copy, Default)]
pub struct Consensus;

/// Rows whose label would tell most about which members are right: the entropy of the mean prediction less the mean entropy (Houlsby et al., 2011, Bayesian
/// active learning for classification and preference learning). Where classes overlap, members that agree about that are not asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bald;

impl Strategy for VoteEntropy {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        by_members(situation, |members| {
            let (n_members, n_rows, n_classes) = members.dim();
            let mut shares = Array2::<f64>::zeros((n_rows, n_classes));
            for member in members.outer_iter() {
                for (row, proba) in member.rows().into_iter().enumerate() {
                    if let Some(class) = largest(proba) {
                        shares[(row, class)] += 1.0 / n_members as f64;
                    }
                }
            }
            shares.rows().into_iter().map(entropy).collect()
        })
    }
}

impl Strategy for Consensus {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        by_members(situation, |members| {
            mean_of(members).map_or(Vec::new(), |mean| mean.rows().into_iter().map(entropy).collect())
        })
    }
}

impl Strategy for Bald {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        if let Some(second_order) = own_second_order(situation)? {
            return Ok(second_order.entropies().epistemic);
        }
        by_members(situation, |members| {
            let Some(mean) = mean_of(members) else { return Vec::new() };
            let expected: Array1<f64> = members
                .map_axis(Axis(2), entropy)
                .mean_axis(Axis(0))
                .unwrap_or_else(|| Array1::zeros(mean.nrows()));
            let total = mean.rows().into_iter().map(entropy);
            total.zip(&expected).map(|(total, expected)| (total - expected).max(0.0)).collect()
        })
    }
}

fn mean_of(members: &Array3<f64>) -> Option<Array2<f64>> {
    members.mean_axis(Axis(0))
}

/// Utilities by what each member predicts for the candidates; all the same without a model.
fn by_members(situation: &Situation<'_>, utilities: impl Fn(&Array3<f64>) -> Vec<f64>) -> Result<Vec<f64>> {
    let Some(model) = situation.model() else { return Ok(situation.by_probabilities(|_| 1.0)) };
    let members = match model.predict_members(situation.x(), situation.par())? {
        Some(members) => Some(members),
        None => own_second_order(situation)?.map(|drawn| drawn.sample(DRAWN, situation.seed())),
    };
    Ok(match members {
        Some(members) => utilities(&members),
        None => situation.by_probabilities(|proba| entropy(proba)),
    })
}

/// The model's second-order distributions, where it has them and no members.
fn own_second_order(situation: &Situation<'_>) -> Result<Option<SecondOrder>> {
    let Some(model) = situation.model() else { return Ok(None) };
    if model.predict_members(situation.x().slice(ndarray::s![..0, ..]), situation.par())?.is_some() {
        return Ok(None);
    }
    model.second_order(situation.x(), situation.par())
}
