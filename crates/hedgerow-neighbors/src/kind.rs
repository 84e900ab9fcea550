//! Both as kinds of model.

use hedgerow_core::{BoxedRun, Checked, KindInfo, ModelKind, Result, RunStart, Schema, Training, WholeRun};

use crate::kde::KdeParams;
use crate::knn::KnnParams;
use crate::method::Method;
use crate::model::NeighborClassifier;

macro_rules! kind {
    ($Params:ty) => {
        impl ModelKind for $Params {
            type Model = NeighborClassifier<Self>;

            const INFO: KindInfo = <Self as Method>::INFO;

            fn new_model(schema: &Schema, params: &Checked<Self>) -> Result<Self::Model> {
                NeighborClassifier::new(schema, params)
            }

            fn start_run(start: &RunStart<'_, Self>) -> Result<BoxedRun<Self::Model>> {
                let (data, params) = (start.data.clone(), start.params.clone());
                Ok(Box::new(WholeRun::new("fit", move |training: &Training<'_>| {
                    NeighborClassifier::fit(&data, &params, training)
                })))
            }

            fn of_model(model: &Self::Model) -> &Self {
                &model.params
            }

            fn seed(&mut self) -> &mut u64 {
                &mut self.seed
            }

            fn max_retained(&self) -> usize {
                self.max_rows
            }
        }
    };
}

kind!(KdeParams);
kind!(KnnParams);
