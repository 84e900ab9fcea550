//! Rows that nobody had seen: models with the same kernel learn most of the rows and are asked about the others.
//!
//! Trees are cut so that rows of one class come together, so a row of their own is among rows that its label has helped to bring there. What processes say about
//! it without its label, and the shares of classes without it, are then too sure: little where classes are clear, much where labels are noisy and leaves
//! small. How far both are trusted therefore comes from rows that neither trees nor processes had seen.

use std::time::Duration;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, ClassId, Dataset, Error, Folds, Result, Silent, Training};
use ndarray::{Array2, Axis, concatenate};

use super::LeafGp;
use super::answer::Said;
use super::judges::Judges;

/// Rows are left out in parts of this number, as many of them as give enough rows.
const FOLDS: usize = 5;
const ENOUGH_JUDGES: usize = 1000;
/// Rows of a part that judge, at most.
const MOST_JUDGES: usize = 3000;

impl LeafGp {
    /// Asks models of most rows about the others. None if time or memory do not suffice; learning all rows took so long.
    pub(super) fn unseen(
        &self,
        data: &Dataset,
        took: Duration,
        training: &Training<'_>,
    ) -> Result<Option<Judges>> {
        let folds = Folds::new(data.n_rows(), FOLDS, Rng::new(self.params.seed, Purpose::Judge, 2));
        let left = training.budget.bytes.map(|limit| limit.saturating_sub(self.bytes() as u64));
        let budget = Budget { bytes: left, ..training.budget.clone() };
        let quiet = Training { budget: &budget, observer: &Silent, ..*training };
        let (mut said, mut classes): (Vec<Said>, Vec<ClassId>) = (Vec::new(), Vec::new());
        for fold in 0..folds.n_with(ENOUGH_JUDGES) {
            let is_short = budget.deadline.is_some_and(|end| end < std::time::Instant::now() + took);
            if is_short || budget.spent().is_some() {
                break;
            }
            let [kept, mut left] = folds.cut(fold);
            let kept = data.select(&kept);
            left = left.iter().copied().step_by(left.len().div_ceil(MOST_JUDGES).max(1)).collect();
            if kept.check_trainable().is_err() || left.is_empty() {
                continue;
            }
            let model = match self.with_rows(&kept, &quiet) {
                Err(Error::Interrupted | Error::BudgetTooSmall { .. }) => break,
                other => other?,
            };
            let x = data.features.select(&left).to_array(0..left.len());
            let answers = model.ask(x.view(), training.par);
            // Leaves that had no time to learn would say too little for processes.
            if budget.spent().is_some() {
                break;
            }
            said.push(answers);
            classes.extend(left.iter().map(|&row| data.labels[row]));
        }
        Ok(together(&said, classes))
    }

    /// Other rows with the same kernel.
    fn with_rows(&self, data: &Dataset, training: &Training<'_>) -> Result<Self> {
        let mut model = Self { kernel: self.kernel, ..Self::empty(&data.schema, self.params.clone())? };
        model.labels.clone_from(&data.labels);
        model.grow(data, training)?;
        let all: Vec<usize> = (0..model.leaves.len()).collect();
        model.train(&all, training)?;
        Ok(model)
    }
}

/// What was said about all parts.
fn together(said: &[Said], classes: Vec<ClassId>) -> Option<Judges> {
    let table = |of: &dyn Fn(&Said) -> &Array2<f64>| {
        let views: Vec<_> = said.iter().map(|said| of(said).view()).collect();
        concatenate(Axis(0), &views).ok()
    };
    Some(Judges {
        scores: table(&|said| &said.scores)?,
        shares: table(&|said| &said.shares)?,
        classes,
        is_heard: said.iter().flat_map(|said| said.is_heard.iter().copied()).collect(),
    })
}
