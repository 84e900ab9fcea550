//! A forest with IVMs that was read.

use hedgerow_core::saved::{Saved, require, require_rules, require_sizes};
use hedgerow_core::{OnlineModel as _, Result, Schema};

use super::ForestIvm;

impl Saved for ForestIvm {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        self.forest.complete(schema)?;
        require_sizes(self, schema)?;
        require_rules(&self.params)?;
        let (n_classes, can_learn) = (self.n_classes, self.online.is_some());
        let is_learning = self.forest.can_learn();
        require(is_learning == can_learn, || "a forest that learns without the rest, or the other way")?;
        let reports = self.margin.is_finite() && self.report.fits(n_classes);
        require(reports, || "the blend report does not fit")?;
        for (number, assigned) in self.ivms.iter_mut().enumerate() {
            assigned.ivm.complete(schema)?;
            let fits = assigned.ivm.can_learn() == can_learn
                && assigned.blend.is_valid(n_classes)
                && assigned.class.is_none_or(|class| class < n_classes);
            require(fits, || format!("IVM {number} does not fit the forest"))?;
        }
        let fits = self.online.as_ref().is_none_or(|online| {
            let n_retained = self.forest.n_retained();
            online.schedule.is_valid(n_retained) && online.prequential.is_valid(n_classes, 0.0..=1.0 + 1e-6)
        });
        require(fits, || "the predictions of the newest rows do not fit the rest")
    }
}
