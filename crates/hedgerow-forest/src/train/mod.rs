//! Growing a whole forest within its limits.

mod limits;
mod nursery;
mod oob;
mod stand;

use std::sync::atomic::{AtomicUsize, Ordering};

use hedgerow_core::{Checked, DataProblem, Dataset, Error, Progress, Result, StopReason, Training};

use crate::bag::Bagging;
use crate::calibration::{Calibration, tilt};
use crate::codes::{Codes, Turned};
use crate::forest::Forest;
use crate::grow::Grown;
use crate::params::{ClassWeights, ForestParams};
use crate::say::Say;
use crate::tree::Tree;
use limits::{Limiter, Patience};

use oob::Tally;
use stand::Stand;

pub use nursery::{Grove, Nursery, Sapling};
pub use oob::OutOfBag;

/// A fitted forest and what was learnt on the way.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The forest.
    pub forest: Forest,
    /// What the trees that had not seen a row said about it, where bagging leaves rows out.
    pub oob: Option<OutOfBag>,
    /// Why growing ended.
    pub stop: StopReason,
}

/// Trees between two looks at out-of-bag accuracy.
const ROUND: usize = 10;

impl Forest {
    /// Grows a forest. Same seed, data and number of trees give the same forest, whatever the threads.
    pub fn fit(data: &Dataset, params: &Checked<ForestParams>, training: &Training<'_>) -> Result<Fitted> {
        data.check_trainable()?;
        let params = params.get();
        let limited = training.budget.deadline.is_some() || training.budget.bytes.is_some();
        if params.n_trees == 0 && params.patience == 0 && !limited && training.budget.rounds.is_none() {
            return Err(Error::param(
                "n_trees",
                "1 or more, unless time, memory or patience is limited",
                params.n_trees,
            ));
        }
        Ok(Trainer::new(data, params, training)?.run())
    }
}

struct Trainer<'a> {
    data: &'a Dataset,
    params: &'a ForestParams,
    training: &'a Training<'a>,
    codes: Codes<'a>,
    turned: Turned,
    constant: Vec<u32>,
    by_class: Vec<u32>,
    classes: Vec<u16>,
    class_weights: Vec<f64>,
    limiter: Limiter,
    oob: Option<Tally>,
    trees: Vec<Tree>,
    gains: Vec<f64>,
}

impl<'a> Trainer<'a> {
    fn new(data: &'a Dataset, params: &'a ForestParams, training: &'a Training<'a>) -> Result<Self> {
        let n_rows = data.n_rows();
        if n_rows > u32::MAX as usize {
            return Err(Error::Shape { what: "rows (at most)", expected: u32::MAX as usize, got: n_rows });
        }
        let n_classes = data.schema.n_classes();
        let class_weights = class_weights(data, params)?;
        let counts = |&row: &u32| {
            let row = row as usize;
            class_weights[data.labels[row].index()] > 0.0
                && data.weights.as_ref().is_none_or(|w| w[row] > 0.0)
        };
        let mut by_class: Vec<u32> = (0..n_rows as u32).filter(counts).collect();
        by_class.sort_by_key(|&row| data.labels[row as usize]);
        let label = |row: Option<&u32>| row.map(|&row| data.labels[row as usize]);
        if label(by_class.first()) == label(by_class.last()) {
            return Err(DataProblem::NoWeight.into());
        }
        let limiter = Limiter::new(training.budget, data, params, training.par.threads())?;
        let wants_oob = params.bagging != Bagging::All && limiter.allows_oob();
        let codes = Codes::new(data, training.par);
        Ok(Self {
            data,
            params,
            training,
            constant: codes.constant_columns(),
            turned: if limiter.is_tight() { Turned::Bytes(Vec::new()) } else { codes.turned(training.par) },
            codes,
            by_class,
            classes: data.labels.iter().map(|c| c.0 as u16).collect(),
            class_weights,
            limiter,
            oob: wants_oob.then(|| Tally::new(n_rows, n_classes, params)),
            trees: Vec::new(),
            gains: vec![0.0; data.schema.n_features()],
        })
    }

    fn run(mut self) -> Fitted {
        let goal = match (self.params.n_trees, self.training.budget.rounds) {
            (0, rounds) => rounds.unwrap_or(usize::MAX),
            (trees, rounds) => trees.min(rounds.unwrap_or(trees)),
        };
        let mut patience = Patience::new(self.params.patience);
        let stop = loop {
            if self.trees.len() >= goal {
                break StopReason::Done;
            }
            if let Some(reason) = self.training.budget.spent().filter(|_| !self.trees.is_empty()) {
                break reason;
            }
            let Some(affordable) = self.limiter.affordable(&self.trees) else { break StopReason::Memory };
            let round = self.round_len().min(goal - self.trees.len()).min(affordable);
            let total = (goal < usize::MAX).then_some(goal);
            let cut_short = self.grow_round(round, total);
            let accuracy = self.oob.as_ref().and_then(|oob| oob.first().accuracy(self.data));
            self.training.observer.progress(Progress { done: self.trees.len(), total, accuracy });
            if cut_short {
                break self.training.budget.spent().unwrap_or(StopReason::Memory);
            }
            if patience.is_over(self.trees.len(), accuracy) {
                break StopReason::Converged;
            }
        };
        self.finish(stop)
    }

    /// Trees grown before the next look around. It changes neither trees nor sums, only how often limits are seen.
    fn round_len(&self) -> usize {
        let threads = self.training.par.threads();
        if self.params.patience > 0 {
            ROUND - self.trees.len() % ROUND
        } else if self.limiter.is_tight() || self.training.budget.deadline.is_some() {
            threads
        } else {
            64 * threads
        }
    }

    /// Grows some trees and lets each judge the rows it did not see. Says whether a limit cut the work short.
    fn grow_round(&mut self, n_trees: usize, total: Option<usize>) -> bool {
        let first = self.trees.len();
        let max_bytes = self.limiter.bytes_for_a_tree(&self.trees);
        let done = AtomicUsize::new(first);
        let grown = self.training.par.map(n_trees, |i| {
            let grown = self.grow_tree(first + i, max_bytes);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            self.training.observer.progress(Progress { done, total, accuracy: None });
            grown
        });
        // A tree that was cut short is kept only when there is no other.
        let whole = grown.iter().take_while(|grown| !grown.cut_short).count();
        let cut_short = whole < grown.len();
        let keep = if first == 0 && whole == 0 { grown.len() } else { whole };
        for grown in grown.into_iter().take(keep) {
            for (sum, gain) in self.gains.iter_mut().zip(&grown.gains) {
                *sum += gain;
            }
            self.trees.push(grown.tree);
            if let Some(oob) = &mut self.oob {
                oob.add(&grown.verdicts);
            }
        }
        cut_short
    }

    fn grow_tree(&self, index: usize, max_bytes: usize) -> Grown {
        let stand = Stand {
            data: self.data,
            params: self.params,
            codes: &self.codes,
            turned: &self.turned,
            constant: &self.constant,
            by_class: &self.by_class,
            classes: &self.classes,
            class_weights: &self.class_weights,
            budget: self.training.budget,
            max_bytes,
            judge: self.oob.is_some(),
        };
        stand.grow(index)
    }

    fn finish(self, stop: StopReason) -> Fitted {
        let row_weight = |row: usize| self.data.weights.as_ref().map_or(1.0, |w| f64::from(w[row]));
        let class_weight = |row: usize| self.class_weights[self.data.labels[row].index()];
        let weight = |row: usize| row_weight(row) * class_weight(row);
        let (labels, seed, par) = (&self.data.labels, self.params.seed, self.training.par);
        let (say, oob) = match self.oob.map(|oob| oob.finish(labels, weight, par)) {
            Some((say, oob)) => (say, Some(oob)),
            None => (Say::unjudged(self.params), None),
        };
        let calibration = oob.as_ref().filter(|_| self.params.calibrate).and_then(|oob| {
            // First what the trees say is made honest, rows of each class counting the same; then it is tilted.
            let weight = |row: usize| if class_weight(row) > 0.0 { row_weight(row) } else { 0.0 };
            Calibration::fit(oob, labels, weight, None, seed, par)
        });
        let tilt = match &oob {
            _ if !self.params.calibrate => Vec::new(),
            Some(oob) => tilt::fit(oob, labels, row_weight, &self.class_weights, calibration.as_ref()),
            None => tilt::unjudged(self.params, &self.class_weights),
        };
        let forest = Forest {
            params: self.params.clone(),
            n_features: self.data.schema.n_features(),
            n_classes: self.data.schema.n_classes(),
            trees: self.trees,
            say,
            calibration,
            tilt,
            gains: self.gains,
            parts: Vec::new(),
        };
        Fitted { forest, oob, stop }
    }
}

/// What a row of each class counts. Rows of weight 0 and classes of weight 0 take no part.
fn class_weights(data: &Dataset, params: &ForestParams) -> Result<Vec<f64>> {
    let n_classes = data.schema.n_classes();
    match &params.class_weights {
        ClassWeights::None => Ok(vec![1.0; n_classes]),
        ClassWeights::Balanced => {
            let counts = data.class_counts();
            let present = counts.iter().filter(|&&n| n > 0).count() as f64;
            Ok(counts.iter().map(|&n| data.n_rows() as f64 / (present * n.max(1) as f64)).collect())
        }
        ClassWeights::Each(by_label) => {
            let mut weights = vec![1.0; n_classes];
            for (label, &weight) in by_label {
                let class = data.schema.labels.get(label).ok_or_else(|| {
                    Error::param("class_weights", format!("one of {:?}", data.schema.labels.names()), label)
                })?;
                weights[class.index()] = weight;
            }
            Ok(weights)
        }
    }
}
