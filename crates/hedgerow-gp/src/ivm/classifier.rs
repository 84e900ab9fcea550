//! Several classes: a binary classifier of each against the rest, calibrated together.

use hedgerow_core::online::predict_frequencies;
use hedgerow_core::{
    BoxedRun, Checked, Classifier, Dataset, Error, KindInfo, Latent, LatentProcess, ModelKind, Par, Result,
    RetainedRows, RunStart, Schema, Task, Training,
};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use super::IvmParams;
use super::learnt::Learnt;
use super::run::IvmRun;
use super::state::OnlineState;
use crate::prepare::Preparation;

/// A classifier of any number of classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IvmClassifier {
    pub(super) params: IvmParams,
    pub(super) n_classes: usize,
    pub(super) preparation: Preparation,
    /// None before anything was learnt.
    pub(super) learnt: Option<Learnt>,
    /// What learning more needs; none if it was left out.
    pub(super) online: Option<OnlineState>,
}

impl IvmClassifier {
    /// A classifier that knows nothing yet, and learns what it is given.
    pub fn new(schema: &Schema, params: &Checked<IvmParams>) -> Result<Self> {
        schema.check_sizes()?;
        let rows = RetainedRows::new(schema.n_features(), Task::Classification);
        Ok(Self {
            params: params.get().clone(),
            n_classes: schema.n_classes(),
            preparation: Preparation::of(schema, rows.features()),
            learnt: None,
            online: Some(OnlineState::new(rows, Vec::new(), params.get())),
        })
    }

    /// Length scale and variance of the kernel; none before anything was learnt.
    pub fn kernel(&self) -> Option<[f64; 2]> {
        self.learnt.as_ref().map(|learnt| learnt.kernel)
    }

    /// Rows in any active set, or chosen by the regression.
    pub fn n_active(&self) -> usize {
        self.learnt.as_ref().map_or(0, |learnt| learnt.rows.nrows())
    }
}

/// Fails if a limit on memory leaves no room for training.
pub(super) fn check_room(data: &Dataset, params: &IvmParams, training: &Training<'_>) -> Result<()> {
    let Some(limit) = training.budget.bytes else { return Ok(()) };
    let (n, n_classes) = (data.n_rows(), data.schema.n_classes().max(2));
    let n_active = params.n_active.min(n);
    let n_union = (n_classes * n_active).min(n);
    let of_rows = 4 * n * (data.schema.n_features() + 4 * n_classes);
    let of_posteriors = (4 * n * n_active * n_classes).min(2_500_000_000);
    let of_refit = if params.refit { 24 * n_union * n_union + 16 * 2048 * n_union } else { 0 };
    let needed = (of_rows + of_posteriors.max(of_refit)) as u64;
    if needed <= limit {
        return Ok(());
    }
    let what = format!("training with {n_active} active rows a class (n_active) on {n} rows");
    Err(Error::too_few_bytes(what, needed, limit))
}

impl Classifier for IvmClassifier {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>) {
        let Some(learnt) = &self.learnt else {
            // Nothing is known but how often each class came.
            let counts = self.online.as_ref().map_or(&[][..], |online| &online.counts);
            return predict_frequencies(counts, out);
        };
        self.preparation.predict_classes(x, par, out, |x| learnt.predict(x.view(), self.n_classes));
    }
}

/// By the posteriors of the classes that have rows, also where probabilities come from the regression.
impl LatentProcess for IvmClassifier {
    fn predict_latent_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Latent> {
        let Some(learnt) = &self.learnt else {
            return Ok(Latent {
                mean: Array2::zeros((x.nrows(), 0)),
                variance: Array2::zeros((x.nrows(), 0)),
            });
        };
        learnt.latent(self.preparation.map(x).view(), self.params.noise_variance, par)
    }
}

impl ModelKind for IvmParams {
    type Model = IvmClassifier;

    const INFO: KindInfo = KindInfo {
        name: "ivm",
        about: "The Informative Vector Machine: a sparse Gaussian process classifier that picks its rows by information gain",
        noun: "an Informative Vector Machine",
        work: "searching for a kernel",
        params: "IvmParams",
        ..KindInfo::LEARNER
    };

    fn new_model(schema: &Schema, params: &Checked<Self>) -> Result<IvmClassifier> {
        IvmClassifier::new(schema, params)
    }

    fn start_run(start: &RunStart<'_, Self>) -> Result<BoxedRun<IvmClassifier>> {
        let RunStart { data, params, previous, lanes, training } = *start;
        Ok(Box::new(IvmRun::new(data, params, previous, lanes, training)?))
    }

    fn of_model(model: &IvmClassifier) -> &Self {
        &model.params
    }

    fn seed(&mut self) -> &mut u64 {
        &mut self.seed
    }

    fn max_retained(&self) -> usize {
        self.pool_rows()
    }

    fn n_parts(&self, _model: &IvmClassifier) -> (usize, &'static str) {
        (self.n_active, "active rows a class")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hedgerow_core::testing::{blobs, check_distributions, check_shapes};
    use hedgerow_core::{Budget, Params as _, Silent};

    fn fit(data: &Dataset, params: IvmParams, threads: usize) -> IvmClassifier {
        let par = Par::new(threads).unwrap();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        hedgerow_core::fit(data, &params.check().unwrap(), &training).unwrap().model
    }

    #[test]
    fn several_classes_are_learnt_with_and_without_a_refit() {
        let all = blobs(1000, 5, 4, 1);
        let [data, more] = [0..500, 500..1000].map(|rows| all.select(&rows.collect::<Vec<_>>()));
        for refit in [true, false] {
            let params = IvmParams { n_active: 30, refit, ..Default::default() };
            let model = fit(&data, params.clone(), 2);
            assert!(model == fit(&data, params, 1), "threads change nothing");
            let x = more.features.to_array(0..500);
            check_distributions(&model, x.view());
            check_shapes(&model);
            let predicted = model.predict(x.view(), &Par::sequential()).unwrap();
            let right = predicted.iter().zip(more.labels()).filter(|(a, b)| a == b).count();
            assert!(right > 475, "{right} of 500");
        }
    }

    #[test]
    fn two_classes_have_one_ivm() {
        let data = blobs(200, 2, 2, 3);
        let model = fit(&data, IvmParams { n_active: 20, refit: false, ..Default::default() }, 1);
        let learnt = model.learnt.as_ref().unwrap();
        let has_posterior = |class| learnt.posterior(class, 1e-3, &Par::sequential()).unwrap().is_some();
        assert!(!has_posterior(0) && has_posterior(1));
        assert!(model.n_active() <= 20);
        check_distributions(&model, data.features.to_array(0..200).view());
    }

    #[test]
    fn latent_values_are_of_the_posteriors() {
        let data = blobs(120, 2, 2, 3);
        let x = data.features.to_array(0..120);
        let par = Par::sequential();
        for (refit, classes) in [(false, 2), (true, 2), (true, 3)] {
            let data = blobs(120, 2, classes, 3);
            let model = fit(&data, IvmParams { n_active: 20, refit, ..Default::default() }, 1);
            let latent = model.predict_latent(x.view(), &par).unwrap();
            assert_eq!(latent.mean.dim(), (120, if classes == 2 { 1 } else { 3 }));
            assert!(latent.variance.iter().all(|v| *v > 0.0 && v.is_finite()));
            if classes == 2 {
                let right = latent.mean.iter().zip(data.labels()).filter(|(m, y)| (**m > 0.0) == (y.0 == 1));
                assert!(right.count() > 110);
            }
            // Far from all rows the variance is that of the prior.
            let far = model.predict_latent(ndarray::array![[1e4, -1e4]].view(), &par).unwrap();
            let most = latent.variance.iter().copied().fold(0.0, f64::max);
            assert!(far.variance.iter().all(|v| *v >= 0.999 * most));
        }
    }

    #[test]
    fn hard_data_do_not_break_it() {
        let mut data = blobs(60, 3, 2, 1);
        data.edit(|data| {
            data.features = hedgerow_core::Features::from_view(Array2::from_elem((60, 3), 7.0).view());
        })
        .unwrap();
        let model = fit(&data, IvmParams::default(), 1);
        check_distributions(&model, data.features.to_array(0..60).view());
        let far = Array2::from_elem((2, 3), 3e38_f32);
        check_distributions(&model, far.view());
        let missing = Array2::from_elem((2, 3), f32::NAN);
        check_distributions(&model, missing.view());
        let wrong = |params: IvmParams| params.check().unwrap_err().to_string();
        assert!(wrong(IvmParams { n_active: 0, ..Default::default() }).contains("n_active"));
        assert!(wrong(IvmParams { noise_variance: 0.0, ..Default::default() }).contains("noise_variance"));
    }

    #[test]
    fn every_switch_still_gives_a_classifier() {
        use crate::ivm::{Objective, SearchKind, SecondPass};
        let all = blobs(540, 3, 3, 1);
        let [data, fresh] = [0..240, 240..540].map(|rows| all.select(&rows.collect::<Vec<usize>>()));
        let x = fresh.features.to_array(0..300);
        let base = IvmParams { n_active: 12, n_trials: 8, refit: false, ..Default::default() };
        let each = [
            IvmParams { search: SearchKind::Cma, ..base.clone() },
            IvmParams { search: SearchKind::Cma, refit: true, ..base.clone() },
            IvmParams { search: SearchKind::Gradient, ..base.clone() },
            IvmParams { objective: Objective::Evidence, ..base.clone() },
            IvmParams { objective: Objective::Error, ..base.clone() },
            IvmParams { suppress: true, ..base.clone() },
            IvmParams { balance: true, ..base.clone() },
            IvmParams { second_pass: SecondPass::Reversed, ..base.clone() },
            IvmParams { second_pass: SecondPass::Ep, ..base.clone() },
            IvmParams { n_candidates: 20, ..base.clone() },
        ];
        let par = Par::sequential();
        let plain = fit(&data, base, 1).predict_proba(x.view(), &par).unwrap();
        for params in each {
            let model = fit(&data, params.clone(), 2);
            assert!(model == fit(&data, params.clone(), 1), "threads change nothing: {params:?}");
            let proba = model.predict_proba(x.view(), &par).unwrap();
            assert!(proba != plain, "the switch does something: {params:?}");
            let predictions = model.predict(x.view(), &par).unwrap();
            let right = predictions.iter().zip(fresh.labels()).filter(|(a, b)| a == b).count();
            assert!(right > 285, "{right} of 300 fresh rows: {params:?}");
        }
    }
}
