//! A classifier that was read.

use hedgerow_core::saved::{Saved, require, require_rules, require_sizes};
use hedgerow_core::{Blend, BlendReport, Result, Schema};

use super::LeafGp;

impl Saved for LeafGp {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        require_sizes(self, schema)?;
        require_rules(&self.params)?;
        self.preparation.check()?;
        let (n, n_features, n_classes) = (self.features.n_rows(), schema.n_features(), self.n_classes);
        require(self.kernel.is_none_or(|kernel| kernel.is_valid()), || "a kernel of impossible numbers")?;
        let (n_labels, n_expected) = (self.labels.len(), if self.online.is_some() { n } else { 0 });
        let fits = self.features.n_features() == n_features && n_labels == n_expected;
        require(fits, || {
            format!("{n} rows of {} columns and {n_labels} labels", self.features.n_features())
        })?;
        require(!self.features.has_infinite(), || "a row with an infinite value")?;
        require(self.labels.iter().all(|label| label.index() < n_classes), || "a label of no class")?;
        let calibrates =
            self.calibration.as_ref().is_none_or(|c| c.is_valid() && c.curves.len() <= n_classes);
        require(calibrates, || "impossible curves")?;
        let reports = self.report == BlendReport::default() || self.report.fits(n_classes);
        let blends = self.blend.is_none_or(Blend::is_valid);
        require(reports && blends, || "the report of leaf GPs does not fit")?;
        let fits = self.online.as_ref().is_none_or(|online| online.fits(n, n_classes));
        require(fits, || "the predictions of the newest rows do not fit the rest")?;
        // Rows that wait are in no leaf, and prepared when they are learnt.
        let n_prepared = self.online.as_ref().map_or(n, |online| online.n_placed);
        let are_leaves = self.leaves.iter().all(|leaf| leaf.fits(n_prepared, n_classes, n_labels > 0));
        require(are_leaves, || "leaves have impossible rows, classes, counts or weights")?;
        self.trees.check(self.leaves.len(), n_features, n_classes)?;
        self.x = self.preparation.map_narrow(self.features.to_array(0..n_prepared).view()).into_shared();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::{blobs, check_damaged_arrays, from_saved_parts, saved_copy, saved_parts};
    use hedgerow_core::{Budget, OnlineModel as _, Par, Params as _, Rows, Silent, Training};

    use super::*;
    use crate::leaf_gp::LeafGpParams;
    use hedgerow_core::Blend;

    #[test]
    fn blend_and_report_come_back_and_what_does_not_fit_is_refused() {
        let data = blobs(400, 3, 3, 1);
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let params = LeafGpParams { n_trees: 2, leaf_rows: 30, ..LeafGpParams::default() }.check().unwrap();
        let first = data.select(&(0..300).collect::<Vec<_>>());
        let mut model = hedgerow_core::fit(&first, &params, &training).unwrap().model;
        model.blend = Some(Blend { forest: 0.7, gp: 0.4 });
        let x = data.features.to_array(300..400);
        let rows = Rows::new(x.view(), &data.labels()[300..], None);
        model.learn(&data.schema, rows, &training).unwrap();
        assert_eq!(model.report.n_rows(), 400);
        assert!(saved_copy(&model, &data.schema).unwrap() == model);
        let frozen = model.clone().frozen();
        assert!(saved_copy(&frozen, &data.schema).unwrap() == frozen);
        let (json, arrays) = saved_parts(&model);
        for (from, to) in [("\"forest\":0.7", "\"forest\":-1.0"), ("\"blended\":[", "\"blended\":[0,")] {
            assert!(json.contains(from), "{json}");
            let json = json.replacen(from, to, 1);
            assert!(from_saved_parts::<LeafGp>(&json, arrays.clone(), &data.schema).is_err(), "{to}");
        }
        // A threshold may be any number, and there may be no trees.
        check_damaged_arrays(&model, &data.schema, |_, damage, model| {
            damage == "largest" || model.trees.n_trees() == 0
        });
    }
}
