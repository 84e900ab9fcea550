//! A GP with the kernel of a forest that was read.

use hedgerow_core::saved::{Saved, require, require_rules, require_sizes};
use hedgerow_core::{OnlineModel as _, Result, Schema};

use super::ForestKernelClassifier;
use super::validation::KernelChoice;

impl Saved for ForestKernelClassifier {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        self.forest.complete(schema)?;
        require_sizes(self, schema)?;
        require_rules(&self.params)?;
        let n_classes = self.n_classes;
        let fits = self.forest.can_learn() == self.online.is_some();
        require(fits, || "a forest that learns without the rest, or the other way")?;
        let fits = |choice: &KernelChoice| choice.is_valid() && choice.calibration.curves.len() <= n_classes;
        let is_choice =
            self.choice.as_ref().is_none_or(fits) && (self.scores.is_none() || self.choice.is_some());
        require(is_choice, || "noise variance and calibration do not fit")?;
        if let Some(scores) = &mut self.scores {
            scores.complete(self.forest.forest(), n_classes)?;
        }
        self.online.as_ref().map_or(Ok(()), |online| online.check(schema))
    }
}
