//! An RVM that was read.

use hedgerow_core::saved::{Saved, require, require_rules};
use hedgerow_core::{Result, Schema, Task};

use super::{FittedModel, Rvm};
use crate::basis::Basis;

impl<M: FittedModel> Saved for Rvm<M> {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        require_rules(&self.params)?;
        self.preparation.check()?;
        let (n_features, width) = (self.preparation.n_features(), self.preparation.width());
        let n_classes = if M::TASK == Task::Classification { schema.n_classes() } else { 0 };
        let fits = self.n_classes == n_classes && n_features == schema.n_features();
        require(fits, || format!("the schema has {} columns, the model {n_features}", schema.n_features()))?;
        if let Some(fit) = &mut self.fit {
            let lengths = std::mem::take(&mut fit.basis.lengths);
            let are_lengths = [1, width].contains(&lengths.len()) && lengths.iter().copied().all(is_positive);
            require(are_lengths, || "lengths that do not fit the columns or are not above 0")?;
            fit.basis = Basis::new(self.params.kernel, lengths);
            let centers = fit.model.centers();
            let fits = centers.ncols() == width
                && fit.raw.dim() == (centers.nrows(), n_features)
                && fit.raw.iter().all(|v| !v.is_infinite())
                && are_moderate(centers)
                && fit.model.is_valid(n_classes);
            require(fits, || "relevant rows, weights and classes do not fit together")?;
        }
        self.online.as_ref().map_or(Ok(()), |online| online.check(schema, self.n_relevant()))
    }
}

/// Whether a number may be a length or a variance.
pub(crate) fn is_positive(v: f64) -> bool {
    v > 0.0 && v < 1e150
}

/// Whether all numbers are such that their squares are finite.
pub(crate) fn are_moderate<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> bool {
    numbers.into_iter().all(|v| v.abs() < 1e150)
}
