//! Several classes: a machine each against the rest, one curve each from scores to probabilities, shares that sum to 1.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{
    Budget, Checked, ClassId, Classifier, Dataset, Error, Observer, Par, Params, Progress, Result,
    StopReason, Training,
};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::refit::Refit;
use super::{Ivm, IvmOptions, Trained, train};
use crate::kernel::Kernel;
use crate::platt::Platt;
use crate::prepare::Preparation;

/// Probabilities below this are raised to it.
const LEAST: f64 = 1e-9;
/// Rows that answers are computed for together.
const BLOCK: usize = 256;

/// How the Informative Vector Machine is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IvmParams {
    /// Active rows of each class's machine, at most.
    pub n_active: usize,
    /// Rows drawn at random that compete for each place; 0 lets all rows compete.
    pub n_candidates: usize,
    /// Length scale of the kernel, on prepared columns; 0 searches for it.
    pub length_scale: f64,
    /// Variance of the kernel; 0 searches for it.
    pub signal_variance: f64,
    /// Variance of the noise beside the likelihood's own; keeps the numbers sound.
    pub noise_variance: f64,
    /// Fit scores to all rows once the active ones are known.
    pub refit: bool,
    /// Seed of all random choices: same seed, same data, same model.
    pub seed: u64,
}

impl Default for IvmParams {
    fn default() -> Self {
        Self {
            n_active: 100,
            n_candidates: 0,
            length_scale: 0.0,
            signal_variance: 0.0,
            noise_variance: 1e-3,
            refit: true,
            seed: 0,
        }
    }
}

impl Params for IvmParams {
    fn rules(&self) -> Result<()> {
        if self.n_active == 0 {
            return Err(Error::param("n_active", "1 or more", 0));
        }
        let numbers = [("length_scale", self.length_scale), ("signal_variance", self.signal_variance)];
        for (name, value) in numbers {
            if !(0.0..=1e12).contains(&value) {
                return Err(Error::param(name, "0, or a number up to 1e12", value));
            }
        }
        if !(self.noise_variance > 0.0 && self.noise_variance <= 1e6) {
            return Err(Error::param("noise_variance", "a number above 0, up to 1e6", self.noise_variance));
        }
        Ok(())
    }
}

/// A classifier of any number of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct IvmClassifier {
    n_classes: usize,
    preparation: Preparation,
    /// One a class; none for a class without rows. With two classes, only the second has one.
    machines: Vec<Option<Ivm>>,
    refit: Option<Refit>,
    curves: Vec<Platt>,
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
}

/// Everything that training needs beside a kernel.
struct Task<'a> {
    x: Array2<f64>,
    labels: &'a [ClassId],
    n_classes: usize,
    options: IvmOptions,
    noise: f64,
    par: &'a Par,
    budget: &'a Budget,
}

impl IvmClassifier {
    /// Fits machines to a data set. Row weights are not looked at.
    pub fn fit(data: &Dataset, params: &Checked<IvmParams>, training: &Training<'_>) -> Result<FittedIvm> {
        let Training { par, budget, observer } = *training;
        data.check_trainable()?;
        let params = params.get();
        let preparation = Preparation::new(data);
        let x = preparation.map(data.features.to_array(0..data.n_rows()).view());
        let options =
            IvmOptions { n_active: params.n_active, n_candidates: params.n_candidates, seed: params.seed };
        let n_classes = data.schema.n_classes();
        let task =
            Task { x, labels: &data.labels, n_classes, options, noise: params.noise_variance, par, budget };
        let kernel = task.search(params, observer)?;
        let mut machines = task.train_all(&task.kernel(kernel))?;
        let mut refit = None;
        if params.refit {
            let union: Vec<usize> = (0..data.n_rows()).filter(|row| machines.is_active[*row]).collect();
            let (found, without) = Refit::new(
                Kernel::rbf(kernel[0]),
                task.x.select(Axis(0), &union),
                task.x.view(),
                &task.signs(),
                par,
            )?;
            refit = Some(found);
            machines.scores = without;
        }
        // Active rows were chosen because they are unusual: the curves are fitted without them, where enough others are left.
        let curves = task.curves(&machines.scores, &machines.judges());
        let classifier = Self { n_classes, preparation, machines: machines.each, refit, curves };
        let stop = budget.spent().unwrap_or(StopReason::Done);
        Ok(FittedIvm { classifier, stop, kernel })
    }

    /// The machines; none for a class without rows, and for the first of two classes.
    pub fn machines(&self) -> &[Option<Ivm>] {
        &self.machines
    }

    /// Rows the answers are computed from.
    pub fn n_active(&self) -> usize {
        let of_machines = || self.machines.iter().flatten().map(|m| m.active_rows().nrows()).sum();
        self.refit.as_ref().map_or_else(of_machines, Refit::n_rows)
    }

    /// A score a class for each prepared row.
    fn scores(&self, x: ArrayView2<'_, f64>, par: &Par) -> Array2<f64> {
        if let Some(refit) = &self.refit {
            return refit.scores(x, par);
        }
        let mut scores = Array2::from_elem((x.nrows(), self.n_classes), f64::NEG_INFINITY);
        for (machine, mut column) in self.machines.iter().zip(scores.columns_mut()) {
            if let Some(latent) = machine.as_ref().and_then(|m| Some((m.bias(), m.latent(x, par).ok()?))) {
                let (bias, latent) = latent;
                let values = latent.mean.iter().zip(&latent.variance);
                column.iter_mut().zip(values).for_each(|(to, (m, v))| *to = (m + bias) / libm::sqrt(1.0 + v));
            }
        }
        scores
    }
}

/// A machine a class, and what they learnt about the training rows.
struct Machines {
    each: Vec<Option<Ivm>>,
    /// A score a class for each training row.
    scores: Array2<f64>,
    /// Which rows are active anywhere.
    is_active: Vec<bool>,
}

impl Machines {
    /// Rows outside the active sets; all rows where those are too few.
    fn judges(&self) -> Vec<usize> {
        let n = self.is_active.len();
        let others: Vec<usize> = (0..n).filter(|row| !self.is_active[*row]).collect();
        if others.len() >= 30.max(n / 5) { others } else { (0..n).collect() }
    }
}

impl Task<'_> {
    fn kernel(&self, [length, variance]: [f64; 2]) -> Kernel {
        Kernel::rbf(length).scaled(variance) + Kernel::white(self.noise)
    }

    /// Labels as ±1, a column a class.
    fn signs(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.labels.len(), self.n_classes), |(row, class)| self.sign(row, class))
    }

    fn sign(&self, row: usize, class: usize) -> f64 {
        if self.labels[row].index() == class { 1.0 } else { -1.0 }
    }

    /// Classes that get a machine: those that have rows, but of two only the second.
    fn has_machine(&self, class: usize) -> bool {
        let has_rows = self.labels.iter().any(|label| label.index() == class);
        has_rows && !(self.n_classes == 2 && class == 0)
    }

    fn train_all(&self, kernel: &Kernel) -> Result<Machines> {
        let n = self.labels.len();
        let trained: Vec<Option<Result<Trained>>> = self.par.map(self.n_classes, |class| {
            let y: Vec<f64> = (0..n).map(|row| self.sign(row, class)).collect();
            self.has_machine(class)
                .then(|| train(kernel, self.x.view(), &y, &self.options, &Par::sequential(), self.budget))
        });
        let mut scores = Array2::zeros((n, self.n_classes));
        let mut is_active = vec![false; n];
        let mut machines = Vec::new();
        for (class, trained) in trained.into_iter().enumerate() {
            let Some(trained) = trained.transpose()? else {
                machines.push(None);
                continue;
            };
            for (row, score) in scores.column_mut(class).iter_mut().enumerate() {
                *score = (trained.mean[row] + trained.ivm.bias()) / libm::sqrt(1.0 + trained.variance[row]);
            }
            trained.active.iter().for_each(|&row| is_active[row] = true);
            machines.push(Some(trained.ivm));
        }
        Ok(Machines { each: machines, scores, is_active })
    }

    fn curves(&self, scores: &Array2<f64>, rows: &[usize]) -> Vec<Platt> {
        self.par.map(self.n_classes, |class| {
            let of_rows: Vec<f64> = rows.iter().map(|&row| scores[(row, class)]).collect();
            let is_own: Vec<bool> = rows.iter().map(|&row| self.labels[row].index() == class).collect();
            Platt::fit(&of_rows, &is_own)
        })
    }

    /// Length scale and variance: those given, or those of a grid whose calibrated log-loss on rows outside the active sets is
    /// lowest, found on some of the rows.
    fn search(&self, params: &IvmParams, observer: &dyn Observer) -> Result<[f64; 2]> {
        const MOST_ROWS: usize = 2500;
        let typical = self.typical_distance(params.seed);
        let given = |value: f64, grid: Vec<f64>| if value > 0.0 { vec![value] } else { grid };
        let lengths =
            given(params.length_scale, [0.2, 0.3, 0.45, 0.65, 1.0, 1.5].map(|f| f * typical).to_vec());
        let variances = given(params.signal_variance, vec![2.0, 8.0, 30.0]);
        if lengths.len() * variances.len() == 1 {
            return Ok([lengths[0], variances[0]]);
        }
        let mut rows: Vec<usize> = (0..self.labels.len()).collect();
        Rng::new(params.seed, Purpose::Sample, 1).shuffle(&mut rows);
        rows.truncate(MOST_ROWS);
        rows.sort_unstable();
        let labels: Vec<ClassId> = rows.iter().map(|&row| self.labels[row]).collect();
        // As dense as the whole will be, within reason.
        let n_active = self.options.n_active.min(100).min(rows.len() / 4).max(1);
        let options = IvmOptions { n_active, ..self.options.clone() };
        let small = Task { x: self.x.select(Axis(0), &rows), labels: &labels, options, ..*self };
        let total = Some(lengths.len() * variances.len());
        let mut best = ([lengths[lengths.len() / 2], variances[variances.len() / 2]], f64::INFINITY);
        for (i, &length) in lengths.iter().enumerate() {
            for (j, &variance) in variances.iter().enumerate() {
                if self.budget.spent().is_some() {
                    return Ok(best.0);
                }
                let machines = small.train_all(&small.kernel([length, variance]))?;
                let loss = small.loss(&machines.scores, &machines.judges());
                if loss < best.1 {
                    best = ([length, variance], loss);
                }
                let done = i * variances.len() + j + 1;
                observer.progress(Progress { done, total, accuracy: None });
            }
        }
        Ok(best.0)
    }

    /// The calibrated log-loss of scores on some rows.
    fn loss(&self, scores: &Array2<f64>, rows: &[usize]) -> f64 {
        let curves = self.curves(scores, rows);
        let sum: f64 = rows
            .iter()
            .map(|&row| {
                let mut p = scores.row(row).to_vec();
                to_probabilities(&mut p, &curves);
                -libm::log(p[self.labels[row].index()])
            })
            .sum();
        sum / rows.len() as f64
    }

    /// The median distance of pairs of rows drawn at random.
    fn typical_distance(&self, seed: u64) -> f64 {
        let mut rng = Rng::new(seed, Purpose::Sample, 2);
        let n = self.x.nrows();
        let mut distances: Vec<f64> = (0..1000)
            .map(|_| {
                let (a, b) = (self.x.row(rng.index(n)), self.x.row(rng.index(n)));
                a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
            })
            .filter(|d| *d > 0.0)
            .collect();
        distances.sort_by(f64::total_cmp);
        distances.get(distances.len() / 2).map_or(1.0, |d| libm::sqrt(*d))
    }
}

/// Scores of one row become probabilities.
fn to_probabilities(row: &mut [f64], curves: &[Platt]) {
    if let [first, second] = row {
        *second = curves[1].probability(*second).clamp(LEAST, 1.0 - LEAST);
        *first = 1.0 - *second;
        return;
    }
    for (p, curve) in row.iter_mut().zip(curves) {
        *p = if p.is_finite() { curve.probability(*p).max(LEAST) } else { LEAST };
    }
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|p| *p /= sum);
}

impl Classifier for IvmClassifier {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        // Blocks of one size, so that an answer does not depend on what else was asked.
        let blocks = par.map(x.nrows().div_ceil(BLOCK), |block| {
            let rows = ndarray::s![block * BLOCK..((block + 1) * BLOCK).min(x.nrows()), ..];
            let mut scores = self.scores(self.preparation.map(x.slice(rows)).view(), &Par::sequential());
            for mut row in scores.rows_mut() {
                if let Some(row) = row.as_slice_mut() {
                    to_probabilities(row, &self.curves);
                }
            }
            scores
        });
        for (block, answers) in blocks.into_iter().enumerate() {
            let rows = ndarray::s![block * BLOCK..block * BLOCK + answers.nrows(), ..];
            out.slice_mut(rows).assign(&answers);
        }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::Silent;
    use hedgerow_core::testing::{blobs, check_distributions, check_shapes};

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
        assert!(model.machines()[0].is_none() && model.machines()[1].is_some());
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
}
