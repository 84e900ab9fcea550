//! Several classes: a machine each against the rest, one curve each from scores to probabilities, shares that sum to 1.

use hedgerow_core::{
    Checked, Classifier, Dataset, Error, Features, Par, Result, Schema, StopReason, Training,
};
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis};

use super::memory::Memory;
use super::task::{Judged, Refitting, Sites, Task};
use super::{Ivm, IvmParams};
use crate::calibration::Calibration;
use crate::kernel::Kernel;
use crate::prepare::Preparation;
use crate::refit::{Refit, Refitted};

/// Rows that answers are computed for together.
const BLOCK: usize = 256;

/// A classifier of any number of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct IvmClassifier {
    pub(super) params: IvmParams,
    pub(super) n_classes: usize,
    pub(super) preparation: Preparation,
    /// None before anything was learnt.
    pub(super) learnt: Option<Learnt>,
    /// What learning more needs; none if it was left out.
    pub(super) memory: Option<Memory>,
}

/// What was learnt from rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Learnt {
    /// Length scale and variance of the kernel.
    pub(super) kernel: [f64; 2],
    /// Those of each class, where classes have their own; otherwise none.
    pub(super) class_kernels: Vec<[f64; 2]>,
    /// The rows that are active in any machine and those that the regression chose, prepared.
    pub(super) rows: Array2<f32>,
    /// What the machines are made of; none for a class without rows, and for the first of two classes.
    pub(super) sites: Vec<Option<Sites>>,
    /// The machines; none where scores come from the refit.
    pub(super) machines: Vec<Option<Ivm>>,
    pub(super) refit: Option<Refit>,
    pub(super) calibration: Calibration,
}

/// A fitted classifier and why fitting ended.
#[derive(Debug, Clone)]
pub struct FittedIvm {
    /// The classifier.
    pub classifier: IvmClassifier,
    /// Why fitting ended.
    pub stop: StopReason,
    /// Length scale and variance of the kernel.
    pub kernel: [f64; 2],
    /// Honest answers for some of the training rows.
    pub held_out: HeldOut,
}

/// Answers that some training rows get without their own labels.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// The rows, by their numbers.
    pub rows: Vec<usize>,
    /// A probability a class for each of them.
    pub proba: Array2<f64>,
    /// Whether those who answered had never met the rows: otherwise they knew all but the labels.
    pub are_apart: bool,
}

impl IvmClassifier {
    /// Fits machines to a data set. Row weights are not looked at.
    pub fn fit(data: &Dataset, params: &Checked<IvmParams>, training: &Training<'_>) -> Result<FittedIvm> {
        data.check_trainable()?;
        let params = params.get().clone();
        room(data, &params, training)?;
        let mut classifier = Self {
            n_classes: data.schema.n_classes(),
            preparation: Preparation::until(&training.budget.stop, &data.schema, &data.features),
            learnt: None,
            memory: None,
            params,
        };
        let (ratings, judged) = classifier.train(data, training)?;
        let (most, seed) = (classifier.params.pool_rows(), classifier.params.seed);
        classifier.memory = Some(Memory::of(data, ratings, most, seed));
        let stop = training.budget.spent().unwrap_or(StopReason::Done);
        let kernel = classifier.kernel().unwrap_or_default();
        let held_out = classifier.held_out(judged);
        Ok(FittedIvm { classifier, stop, kernel, held_out })
    }

    /// A machine like this one, with the same kernel and the same preparation of columns, that has learnt other rows. It learns no more.
    pub fn fit_again(&self, data: &Dataset, training: &Training<'_>) -> Result<Self> {
        data.check_trainable()?;
        let mut other = Self { memory: None, ..self.clone() };
        other.train(data, training)?;
        Ok(other)
    }

    fn held_out(&self, judged: Judged) -> HeldOut {
        let Judged { rows, scores: mut proba, are_apart } = judged;
        if let Some(learnt) = &self.learnt {
            for mut row in proba.rows_mut() {
                row.as_slice_mut().into_iter().for_each(|row| learnt.calibration.apply(row));
            }
        }
        HeldOut { rows, proba, are_apart }
    }

    /// A classifier that knows nothing yet, and learns what it is given.
    pub fn new(schema: &Schema, params: &Checked<IvmParams>) -> Result<Self> {
        schema.check_sizes()?;
        let empty = Dataset::new(schema.clone(), Features::new(schema.n_features()), Vec::new(), None)?;
        Ok(Self {
            params: params.get().clone(),
            n_classes: schema.n_classes(),
            preparation: Preparation::new(&empty),
            learnt: None,
            memory: Some(Memory::new(schema.n_features())),
        })
    }

    /// The same without what learning more needs.
    #[must_use]
    pub fn frozen(self) -> Self {
        Self { memory: None, ..self }
    }

    /// Whether it can learn more.
    pub fn can_learn(&self) -> bool {
        self.memory.is_some()
    }

    /// Rows learnt so far; 0 where that is not remembered.
    pub fn n_seen(&self) -> u64 {
        self.memory.as_ref().map_or(0, |memory| memory.n_seen)
    }

    /// Rows remembered.
    pub fn n_remembered(&self) -> usize {
        self.memory.as_ref().map_or(0, Memory::n_rows)
    }

    /// The rows remembered; none if they were left out.
    pub fn remembered(&self, schema: &Schema) -> Result<Option<Dataset>> {
        self.memory.as_ref().map(|memory| memory.dataset(schema)).transpose()
    }

    /// The rows that are active in any machine, as far as they are remembered, with all their columns.
    pub fn active_rows(&self) -> Array2<f32> {
        let Some(memory) = &self.memory else { return Array2::zeros((0, self.n_features())) };
        let active: Vec<usize> = (0..memory.n_rows()).filter(|row| memory.ratings[*row] > 0.0).collect();
        let chosen = memory.features.select(&active);
        chosen.to_array(0..active.len())
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_learnt = self.learnt.as_ref().map_or(0, Learnt::bytes);
        size_of::<Self>() + of_learnt + self.memory.as_ref().map_or(0, Memory::bytes)
    }

    /// How it was trained.
    pub fn params(&self) -> &IvmParams {
        &self.params
    }

    /// The machine of a class against the rest; none for a class without rows, and for the first of two classes.
    pub fn machine(&self, class: usize, par: &Par) -> Result<Option<Ivm>> {
        self.learnt.as_ref().map_or(Ok(None), |learnt| learnt.machine(class, self.params.noise_variance, par))
    }

    /// Length scale and variance of the kernel; none before anything was learnt.
    pub fn kernel(&self) -> Option<[f64; 2]> {
        self.learnt.as_ref().map(|learnt| learnt.kernel)
    }

    /// Length scale and variance of each class, where classes have their own; otherwise none.
    pub fn class_kernels(&self) -> &[[f64; 2]] {
        self.learnt.as_ref().map_or(&[], |learnt| &learnt.class_kernels)
    }

    /// Rows that are active in any machine, or chosen by the regression.
    pub fn n_active(&self) -> usize {
        self.learnt.as_ref().map_or(0, |learnt| learnt.rows.nrows())
    }
}

/// Fails if a limit on memory leaves no room for training.
fn room(data: &Dataset, params: &IvmParams, training: &Training<'_>) -> Result<()> {
    let Some(limit) = training.budget.bytes else { return Ok(()) };
    let (n, n_classes) = (data.n_rows(), data.schema.n_classes().max(2));
    let n_active = params.n_active.min(n);
    let n_union = (n_classes * n_active).min(n);
    let of_rows = 4 * n * (data.schema.n_features() + 4 * n_classes);
    let of_machines = (4 * n * n_active * n_classes).min(2_500_000_000);
    let of_refit = if params.refit { 24 * n_union * n_union + 16 * 2048 * n_union } else { 0 };
    let needed = (of_rows + of_machines.max(of_refit)) as u64;
    if needed <= limit {
        return Ok(());
    }
    Err(Error::BudgetTooSmall {
        what: format!("training with {n_active} active rows a class (n_active) on {n} rows"),
        needed: format!("{} MB", needed.div_ceil(1_000_000)),
        limit: format!("{} MB", limit / 1_000_000),
    })
}

impl Learnt {
    /// Trains machines with a kernel, and fits to all rows what is made of them where that is wanted; otherwise the machines
    /// answer. Returns also what each row is worth, and how rows are scored without their own labels.
    pub(super) fn from_task(
        task: &Task<'_>,
        kernel: [f64; 2],
        class_kernels: &[[f64; 2]],
        how: Option<&Refitting>,
    ) -> Result<(Self, Vec<f64>, Judged)> {
        let mut kernels = class_kernels.to_vec();
        kernels.resize(task.n_classes, kernel);
        let machines = task.train_each(&kernels)?;
        let class_kernels = class_kernels.to_vec();
        let union = machines.union();
        let sites = machines.sites(&union);
        let mut ratings = vec![0.0_f64; task.labels.len()];
        for trained in machines.each.iter().flatten() {
            let pairs = trained.active.iter().zip(&trained.ratings);
            pairs.for_each(|(&row, rating)| ratings[row] = ratings[row].max(*rating));
        }
        if let Some(how) = how {
            let Refitted { refit, chosen, judges, scores, labels, are_apart } = task.refit(&machines, how)?;
            // The regression may have chosen more rows than the machines have; they come after those.
            let rows = task.x.select(Axis(0), &chosen);
            chosen[union.len()..].iter().for_each(|&row| ratings[row] = f64::MIN_POSITIVE);
            let calibration = Calibration::fit(&scores, &labels, task.par);
            let learnt = Self {
                kernel,
                class_kernels,
                rows,
                sites,
                machines: Vec::new(),
                refit: Some(refit),
                calibration,
            };
            return Ok((learnt, ratings, Judged { rows: judges, scores, are_apart }));
        }
        // Machines know their active rows too well to be judged by them.
        let (judged, labels) = task.judged(&machines);
        let calibration = Calibration::fit(&judged.scores, &labels, task.par);
        let machines = machines.each.into_iter().map(|trained| trained.map(|trained| trained.ivm)).collect();
        let rows = task.x.select(Axis(0), &union);
        Ok((Self { kernel, class_kernels, rows, sites, machines, refit: None, calibration }, ratings, judged))
    }

    pub(super) fn machine(&self, class: usize, noise: f64, par: &Par) -> Result<Option<Ivm>> {
        let Some(Some(sites)) = self.sites.get(class) else { return Ok(None) };
        let [length, variance] = self.class_kernels.get(class).copied().unwrap_or(self.kernel);
        let kernel = Kernel::rbf(length).scaled(variance) + Kernel::white(noise);
        let rows = self.rows.select(Axis(0), &sites.active).mapv(f64::from);
        let (means, precisions) = (Array1::from(sites.means.clone()), Array1::from(sites.precisions.clone()));
        Ivm::new(kernel, sites.bias, rows, means, precisions, par).map(Some)
    }

    fn bytes(&self) -> usize {
        let of_sites: usize = self.sites.iter().flatten().map(|s| 24 * s.active.len()).sum();
        let of_machines: usize = self.machines.iter().flatten().map(Ivm::bytes).sum();
        let of_refit = self.refit.as_ref().map_or(0, Refit::bytes);
        4 * self.rows.len() + of_sites + of_machines + of_refit
    }

    /// The probabilities of prepared rows.
    fn answers(&self, x: ArrayView2<'_, f64>, n_classes: usize) -> Array2<f64> {
        let par = Par::sequential();
        if let Some(refit) = &self.refit {
            let rows = self.rows.mapv(f64::from);
            let covariances = Kernel::rbf(refit.length).cross(x, rows.view(), &par);
            let is_known = |class: usize| self.sites[class].is_some() || self.sites.len() == 2;
            return refit.answers(&covariances, &self.calibration, n_classes, is_known);
        }
        let mut scores = Array2::from_elem((x.nrows(), n_classes), f64::NEG_INFINITY);
        for (machine, mut column) in self.machines.iter().zip(scores.columns_mut()) {
            if let Some((bias, latent)) =
                machine.as_ref().and_then(|m| Some((m.bias(), m.latent(x, &par).ok()?)))
            {
                let values = latent.mean.iter().zip(&latent.variance);
                column.iter_mut().zip(values).for_each(|(to, (m, v))| *to = (m + bias) / libm::sqrt(1.0 + v));
            }
        }
        for mut row in scores.rows_mut() {
            row.as_slice_mut().into_iter().for_each(|row| self.calibration.apply(row));
        }
        scores
    }
}

impl Classifier for IvmClassifier {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        let Some(learnt) = &self.learnt else {
            // Nothing is known but how often each class came.
            let mut shares = vec![1.0; self.n_classes];
            let counts = self.memory.iter().flat_map(|memory| &memory.counts);
            shares.iter_mut().zip(counts).for_each(|(share, count)| *share += *count as f64);
            let sum: f64 = shares.iter().sum();
            out.rows_mut().into_iter().for_each(|mut row| {
                row.iter_mut().zip(&shares).for_each(|(p, share)| *p = share / sum);
            });
            return;
        };
        // Blocks of one size, so that an answer does not depend on what else was asked.
        let blocks = par.map(x.nrows().div_ceil(BLOCK), |block| {
            let rows = ndarray::s![block * BLOCK..((block + 1) * BLOCK).min(x.nrows()), ..];
            let prepared = self.preparation.map(x.slice(rows));
            learnt.answers(prepared.view(), self.n_classes)
        });
        for (block, answers) in blocks.into_iter().enumerate() {
            let rows = ndarray::s![block * BLOCK..block * BLOCK + answers.nrows(), ..];
            out.slice_mut(rows).assign(&answers);
        }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::{blobs, check_distributions, check_shapes};
    use hedgerow_core::{Budget, Params as _, Silent};

    use super::*;

    fn fit(data: &Dataset, params: IvmParams, threads: usize) -> IvmClassifier {
        let par = Par::new(threads).unwrap();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        IvmClassifier::fit(data, &params.check().unwrap(), &training).unwrap().classifier
    }

    #[test]
    fn several_classes_are_learnt_with_and_without_a_refit() {
        let (data, more) = (blobs(500, 5, 4, 1), blobs(500, 5, 4, 1));
        for refit in [true, false] {
            let params = IvmParams { n_active: 30, refit, ..Default::default() };
            let model = fit(&data, params.clone(), 2);
            assert!(model == fit(&data, params, 1), "threads change nothing");
            let x = more.features.to_array(0..500);
            check_distributions(&model, x.view());
            check_shapes(&model);
            let said = model.predict(x.view(), &Par::sequential()).unwrap();
            let right = said.iter().zip(&more.labels).filter(|(a, b)| a == b).count();
            assert!(right > 475, "{right} of 500");
        }
    }

    #[test]
    fn two_classes_have_one_machine() {
        let data = blobs(200, 2, 2, 3);
        let model = fit(&data, IvmParams { n_active: 20, refit: false, ..Default::default() }, 1);
        let has_machine = |class| model.machine(class, &Par::sequential()).unwrap().is_some();
        assert!(!has_machine(0) && has_machine(1));
        assert!(model.n_active() <= 20);
        check_distributions(&model, data.features.to_array(0..200).view());
    }

    #[test]
    fn hard_data_do_not_break_it() {
        let mut data = blobs(60, 3, 2, 1);
        data.features = hedgerow_core::Features::from_view(Array2::from_elem((60, 3), 7.0).view());
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
        let data = blobs(240, 3, 3, 1);
        let x = data.features.to_array(0..240);
        let base = IvmParams { n_active: 12, n_trials: 8, refit: false, ..Default::default() };
        let each = [
            IvmParams { search: SearchKind::Cma, ..base.clone() },
            IvmParams { search: SearchKind::Cma, refit: true, ..base.clone() },
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
            let answers = model.predict(x.view(), &par).unwrap();
            let right = answers.iter().zip(&data.labels).filter(|(a, b)| a == b).count();
            assert!(right > 210, "{right} of 240: {params:?}");
        }
    }
}
