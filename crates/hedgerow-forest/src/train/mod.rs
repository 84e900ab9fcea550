//! Growing a whole forest within its limits.

mod builder;
mod limits;
mod oob;
mod run;

use hedgerow_core::{
    Checked, Conformal, Dataset, Error, ModelKind as _, Result, StopReason, Training, drive,
};

use crate::forest::Forest;
use crate::params::{ClassWeights, ForestParams};

pub use builder::TreeBuilder;
pub use oob::OutOfBag;
pub use run::ForestRun;

/// A fitted forest and what was learnt on the way.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The forest.
    pub forest: Forest,
    /// Votes of the trees whose bag left a row out, where bagging leaves rows out.
    pub oob: Option<OutOfBag>,
    /// What prediction sets are made from, where bagging leaves rows out.
    pub conformal: Option<Conformal>,
    /// Why growing ended.
    pub stop: StopReason,
}

/// Trees between two looks at out-of-bag accuracy.
const ROUND: usize = 10;

impl Forest {
    /// Grows a forest. Same seed, data and number of trees give the same forest, whatever the threads.
    pub fn fit(data: &Dataset, params: &Checked<ForestParams>, training: &Training<'_>) -> Result<Fitted> {
        params.get().check_ends(training.budget)?;
        let mut run = ForestRun::new(data, params, training.par.threads(), training)?;
        let stop = drive(&mut run, training)?;
        let make = run.forest();
        drop(run);
        Ok(Fitted { stop, ..make(training) })
    }
}

/// What a row of each class counts. Rows of weight 0 and classes of weight 0 take no part.
fn class_weights(data: &Dataset, params: &ForestParams) -> Result<Vec<f64>> {
    let n_classes = data.schema.n_classes();
    match &params.class_weights {
        ClassWeights::None => Ok(vec![1.0; n_classes]),
        ClassWeights::Balanced => Ok(balanced_weights(&data.class_counts())),
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

/// What a row of each class counts where all classes count the same, given how many rows they have.
pub(crate) fn balanced_weights(counts: &[usize]) -> Vec<f64> {
    let n_rows = counts.iter().sum::<usize>() as f64;
    let present = counts.iter().filter(|&&n| n > 0).count() as f64;
    counts.iter().map(|&n| n_rows / (present * n.max(1) as f64)).collect()
}
