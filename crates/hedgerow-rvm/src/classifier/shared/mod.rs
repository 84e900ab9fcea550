//! One sparse regression of all classes: a row is relevant to all of them or to none.
//!
//! One-vs-rest classifiers keep few rows each, and their scores are coarse beside each other. Here the labels of all classes, as ±1, are
//! the targets of one regression with one precision a row ([`Quadratic`](crate::evidence::Quadratic)); validation rows decide how many
//! rows it keeps, and calibrate its scores ([`train`]).

mod train;

use hedgerow_core::saved::array;
use hedgerow_core::{Calibration, Result};
use hedgerow_gp::refit::Refit;
use serde::{Deserialize, Serialize};

use super::combine::Combination;
use crate::basis::Basis;
use crate::rvm::{Outcome, is_positive};
use crate::training_rows::TrainingRows;
pub(super) use train::SharedTrainer;

/// How much longer or shorter a length is that is tried on all rows, and how often.
const STEP: f64 = 0.82;
const MOST_STEPS: usize = 3;
/// The part of the relevant rows that decides about it.
const PART: usize = 4;
/// Relevant rows of a trial, at most, unless it has many rows: fewer tell lengths apart as well.
const MOST_OF_TRIAL: usize = 100;

/// Scores of all classes, and how they are calibrated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shared {
    /// The weights, a column a class.
    pub(crate) scores: Refit,
    /// The precision of each row's weights.
    #[serde(with = "array")]
    pub(crate) alpha: Vec<f64>,
    pub(crate) calibration: Calibration,
}

impl Shared {
    /// Whether it fits so many relevance vectors and classes. A class that came after the last update has no weights yet.
    pub(super) fn is_valid(&self, n_relevant: usize, n_classes: usize) -> bool {
        let n_known = self.scores.weights.ncols();
        n_known <= n_classes
            && self.calibration.is_valid()
            && self.calibration.curves.len() == n_known
            && self.scores.check(n_relevant, n_known).is_ok()
            && self.alpha.len() == n_relevant
            && self.alpha.iter().copied().all(is_positive)
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.scores.bytes() + 8 * self.alpha.len() + 24 * self.calibration.curves.len()
    }
}

/// A regression with the length that suits all rows best: those of the search may have been too few to see the differences that all rows
/// show. Smaller regressions decide about that.
pub(super) fn train_shared(rows: &TrainingRows<'_>, basis: &Basis) -> Result<Outcome<Shared>> {
    let n = rows.targets.len();
    let most = rows.params.most_relevant(n, Combination::new(rows).known.len());
    let of = |basis: &Basis, most: usize| SharedTrainer::new(rows, basis, most).train();
    let mut best = basis.clone();
    if rows.is_trial {
        return Ok(of(&best, most.min((n / 4).max(MOST_OF_TRIAL)))?.0);
    }
    if rows.params.length_scale == 0.0 && !best.name.is_of_products() {
        let (_, mut least) = of(&best, most / PART)?;
        for factor in [STEP, 1.0 / STEP] {
            let from = best.lengths[0];
            for _ in 0..MOST_STEPS {
                let next = best.of_length(best.lengths[0] * factor);
                let Ok((_, loss)) = of(&next, most / PART) else { break };
                if loss >= least || rows.budget.spent().is_some() {
                    break;
                }
                (best, least) = (next, loss);
            }
            if best.lengths[0] != from {
                break;
            }
        }
    }
    Ok(of(&best, most)?.0)
}
