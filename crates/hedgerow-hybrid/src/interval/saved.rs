//! Intervals that were read.

use hedgerow_core::saved::{Saved, require, require_sizes};
use hedgerow_core::{Result, Schema};

use super::IntervalEnsemble;

impl Saved for IntervalEnsemble {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        require_sizes(self, schema)?;
        let n_classes = self.n_classes;
        let n_rows = self.counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count));
        let fits = self.counts.len() == n_classes && n_rows.is_some();
        require(fits, || format!("rows of {} classes, where there are {n_classes}", self.counts.len()))?;
        let Some(learnt) = &mut self.learnt else { return Ok(()) };
        learnt.bags.complete(schema)?;
        learnt.space.complete(schema)?;
        let n_curves = if n_classes == 2 { 1 } else { n_classes };
        require(n_classes >= 2 && learnt.curves.len() == n_curves, || {
            format!("{} curves", learnt.curves.len())
        })?;
        let width = learnt.space.width();
        learnt.curves.iter_mut().try_for_each(|curve| curve.complete(width))
    }
}
