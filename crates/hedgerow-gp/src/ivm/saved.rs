//! A classifier that was read.

use hedgerow_core::saved::{Saved, require_rules, require_sizes};
use hedgerow_core::{Result, Schema};

use super::classifier::IvmClassifier;

impl Saved for IvmClassifier {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        require_sizes(self, schema)?;
        require_rules(&self.params)?;
        self.preparation.check()?;
        if let Some(learnt) = &mut self.learnt {
            learnt.complete(&self.preparation, self.params.noise_variance, self.n_classes)?;
        }
        self.online.as_ref().map_or(Ok(()), |online| online.check(schema))
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::{blobs, check_damaged_arrays, saved_copy};
    use hedgerow_core::{
        Budget, Classifier as _, OnlineModel as _, Par, Params as _, Rows, Silent, Training,
    };

    use super::*;
    use crate::ivm::IvmParams;

    #[test]
    fn a_copy_predicts_and_goes_on_learning_like_the_original() {
        let par = Par::new(2).unwrap();
        let budget = Budget::open();
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let data = blobs(400, 3, 3, 1);
        let copy = |model: &IvmClassifier| saved_copy(model, &data.schema).unwrap();
        let x = data.features.to_array(0..400);
        for refit in [true, false] {
            let params = IvmParams { n_active: 12, max_rows: 150, refit, ..IvmParams::default() };
            let mut model = IvmClassifier::new(&data.schema, &params.check().unwrap()).unwrap();
            assert_eq!(copy(&model), model);
            let learn = |model: &mut IvmClassifier, range: std::ops::Range<usize>| {
                let rows = Rows::new(x.slice(ndarray::s![range.clone(), ..]), &data.labels()[range], None);
                model.learn(&data.schema, rows, &training).unwrap().predictions
            };
            learn(&mut model, 0..230);
            let mut copied = copy(&model);
            assert_eq!(copied, model);
            assert_eq!(learn(&mut copied, 230..400), learn(&mut model, 230..400));
            assert_eq!(copied, model);
            let frozen = copy(&model.clone().frozen());
            assert!(!frozen.can_learn());
            let predictions = |m: &IvmClassifier| m.predict_proba(x.view(), &par).unwrap();
            assert_eq!(predictions(&frozen), predictions(&model));
        }
    }

    #[test]
    fn what_does_not_fit_together_is_an_error() {
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let params = IvmParams { n_active: 8, ..IvmParams::default() }.check().unwrap();
        let data = blobs(90, 2, 3, 1);
        let model = hedgerow_core::fit(&data, &params, &training).unwrap().model;
        check_damaged_arrays(&model, &data.schema, |_, _, _| false);
    }
}
