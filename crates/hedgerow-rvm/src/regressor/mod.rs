//! Values: a machine, how its columns are prepared, and what it remembers.

mod learn;
mod saved;
#[cfg(test)]
mod tests;

use hedgerow_core::{
    Budget, Checked, Error, Features, Normals, Par, Regressor, Result, Schema, StopReason, Training,
    ValueData,
};
use hedgerow_gp::prepare::Preparation;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};

use crate::basis::Basis;
use crate::design::{Centers, Design};
use crate::diagnosis;
use crate::machine::{Profile, Sparse, Task as _, Values};
use crate::memory::Memory;
use crate::options::Options;
use crate::params::{RvmParams, Variance};
use crate::search::{Judge, LengthSearch, half_of};
use crate::train::{TracePoint, Trained, gains, reinsert, train};

pub use learn::ValueLesson;
pub use saved::RegressorFacts;
pub(crate) use saved::{finite, malformed};

/// Rows that answers are computed for together.
const BLOCK: usize = 256;
/// Rows that tell a healed variance where data are.
const MOST_WITNESSES: usize = 500;

/// A Relevance Vector Machine for values.
#[derive(Debug, Clone, PartialEq)]
pub struct RvmRegressor {
    params: RvmParams,
    preparation: Preparation,
    /// None before anything was learnt.
    learnt: Option<Learnt>,
    /// What learning more needs; none if it was left out.
    memory: Option<Memory>,
}

/// What was learnt. Values are in units of `scale`.
#[derive(Debug, Clone, PartialEq)]
struct Learnt {
    basis: Basis,
    centers: Centers,
    /// The rows that are relevant, as the table has them.
    raw: Array2<f32>,
    alpha: Vec<f64>,
    mean: Array1<f64>,
    covariance: Array2<f64>,
    noise: f64,
    scale: f64,
    /// The variance of the targets.
    spread: f64,
    /// Rows that tell where data are, and how many rows each stands for; none unless the variance is to be healed.
    witnesses: Array2<f64>,
    weight: f64,
    log_evidence: f64,
}

/// A fitted machine and how it came about.
#[derive(Debug, Clone)]
pub struct FittedRegressor {
    /// The machine.
    pub regressor: RvmRegressor,
    /// Why fitting ended.
    pub stop: StopReason,
    /// The log evidence.
    pub log_evidence: f64,
    /// What is wrong, in words; empty if nothing is.
    pub notes: Vec<String>,
    /// How training went.
    pub trace: Vec<TracePoint>,
    /// Where the time went.
    pub profile: Profile,
    /// Rows tried at a time; 0 for all at once.
    pub partition_size: usize,
}

/// Rows with values in units of their deviation.
struct Scaled {
    targets: Vec<f64>,
    scale: f64,
}

impl Scaled {
    fn new(targets: &[f64]) -> Self {
        let n = targets.len().max(1) as f64;
        let mean = targets.iter().sum::<f64>() / n;
        let variance = targets.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / n;
        let largest = targets.iter().fold(0.0_f64, |most, t| most.max(t.abs()));
        let scale = match libm::sqrt(variance) {
            deviation if deviation > 1e-12 * largest && deviation > 0.0 => deviation,
            _ if largest > 0.0 => largest,
            _ => 1.0,
        };
        Self { targets: targets.iter().map(|t| t / scale).collect(), scale }
    }
}

impl RvmRegressor {
    /// Fits a machine to rows with values.
    pub fn fit(
        data: &ValueData,
        params: &Checked<RvmParams>,
        training: &Training<'_>,
    ) -> Result<FittedRegressor> {
        data.check_trainable()?;
        let params = params.get().clone();
        let preparation = Preparation::until(&training.budget.stop, &data.schema, &data.features);
        crate::room(data.n_rows(), preparation.width(), 1, &params, training.budget)?;
        let mut regressor = Self { params, preparation, learnt: None, memory: None };
        let (trained, relevant) = regressor.train(&data.features, &data.targets, training)?;
        let limits = (regressor.params.max_rows, false, regressor.params.seed);
        regressor.memory = Some(Memory::of(&data.features, data.targets.clone(), &relevant, limits));
        Ok(FittedRegressor {
            stop: training.budget.spent().unwrap_or(trained.stop),
            log_evidence: trained.model.log_evidence,
            notes: diagnosis::notes(&trained, data.n_rows()),
            trace: trained.trace,
            profile: trained.profile,
            partition_size: trained.partition,
            regressor,
        })
    }

    /// A machine that knows nothing yet, and learns what it is given.
    pub fn new(schema: &Schema, params: &Checked<RvmParams>) -> Result<Self> {
        schema.check_sizes()?;
        let preparation = Preparation::of(schema, &Features::new(schema.n_features()));
        let memory = Some(Memory::new(schema.n_features()));
        Ok(Self { params: params.get().clone(), preparation, learnt: None, memory })
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
        self.memory.as_ref().map_or(0, |memory| memory.facts.n_seen)
    }

    /// Rows remembered.
    pub fn n_remembered(&self) -> usize {
        self.memory.as_ref().map_or(0, Memory::n_rows)
    }

    /// How it was trained.
    pub fn params(&self) -> &RvmParams {
        &self.params
    }

    /// Relevant rows; the bias is not one.
    pub fn n_relevant(&self) -> usize {
        self.learnt.as_ref().map_or(0, |learnt| learnt.raw.nrows())
    }

    /// The relevant rows, as the table has them.
    pub fn relevant_rows(&self) -> Array2<f32> {
        self.learnt.as_ref().map_or_else(|| Array2::zeros((0, self.n_features())), |l| l.raw.clone())
    }

    /// The kernel's lengths, on prepared columns: one for all, or one for each; none before anything was learnt.
    pub fn lengths(&self) -> Vec<f64> {
        self.learnt.as_ref().map(|learnt| learnt.basis.lengths.clone()).unwrap_or_default()
    }

    /// The deviation of the noise, in units of the target.
    pub fn noise_deviation(&self) -> Option<f64> {
        self.learnt.as_ref().map(|learnt| learnt.scale * libm::sqrt(learnt.noise))
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_learnt = self.learnt.as_ref().map_or(0, |learnt| {
            let numbers = learnt.centers.rows.len() + learnt.covariance.len() + learnt.witnesses.len();
            8 * (numbers + 2 * learnt.mean.len()) + 4 * learnt.raw.len()
        });
        size_of::<Self>() + of_learnt + self.memory.as_ref().map_or(0, Memory::bytes)
    }

    /// What each remembered row that is not relevant would gain in log evidence if it were taken in (spec 002, A15), the best
    /// first; empty if nothing is remembered.
    pub fn reinsertion_gains(&self, par: &Par) -> Result<Vec<f64>> {
        let (Some(learnt), Some(memory)) = (&self.learnt, &self.memory) else { return Ok(Vec::new()) };
        let x = learnt.basis.map(self.preparation.map(memory.features.to_array(0..memory.n_rows()).view()));
        let targets: Vec<f64> = memory.targets.iter().map(|t| t / learnt.scale).collect();
        let options = self.params.options();
        let design = Design { x: x.view(), kernel: &learnt.basis.kernel };
        let task = Values { design, targets: &targets, options: &options };
        let from = self.as_sparse(&task, par);
        Ok(gains(&task, &from, par)?.into_iter().map(|(_, gain)| gain).collect())
    }

    /// Looks for lengths where none are known, and trains on rows from scratch. Returns also which rows are relevant. Whoever interrupts
    /// gets a machine as far as it is, or one of a few rows, and does not wait.
    fn train(
        &mut self,
        features: &Features,
        targets: &[f64],
        training: &Training<'_>,
    ) -> Result<(Trained, Vec<usize>)> {
        let stop = &training.budget.stop;
        let until_stopped = Training { par: &training.par.until(stop), ..*training };
        let found = self.train_on(features, targets, &until_stopped);
        if !stop.is_stopped() || found.is_ok() {
            return found;
        }
        let rows = crate::spread(targets.len());
        let some: Vec<f64> = rows.iter().map(|&row| targets[row]).collect();
        let (trained, relevant) = self.train_on(&features.select(&rows), &some, training)?;
        Ok((trained, relevant.into_iter().map(|place| rows[place]).collect()))
    }

    fn train_on(
        &mut self,
        features: &Features,
        targets: &[f64],
        training: &Training<'_>,
    ) -> Result<(Trained, Vec<usize>)> {
        let interrupted = || if training.par.is_stopped() { Err(Error::Interrupted) } else { Ok(()) };
        let prepared = self.preparation.map_all(features, training.par);
        interrupted()?;
        let scaled = Scaled::new(targets);
        let options = self.params.options();
        let search_budget = half_of(training.budget);
        let lengths = {
            let judge = ValueJudge {
                x: &prepared,
                targets: &scaled.targets,
                params: &self.params,
                options: &self.params.search_options(),
                budget: &search_budget,
                par: &training.par.alone(),
            };
            let search = LengthSearch {
                judge: &judge,
                params: &self.params,
                budget: &search_budget,
                observer: training.observer,
                par: training.par,
            };
            search.find(&prepared)
        };
        interrupted()?;
        let basis = Basis::new(self.params.kernel, lengths);
        let x = basis.map(prepared);
        let design = Design { x: x.view(), kernel: &basis.kernel };
        let task = Values { design, targets: &scaled.targets, options: &options };
        let mut trained = train(&task, None, training.budget, training.par)?;
        if trained.model.columns.is_empty() && training.budget.spent().is_some() {
            if training.par.is_stopped() {
                return Err(Error::Interrupted);
            }
            trained = in_haste(&task, training.par)?;
        }
        if self.params.reinsert {
            let model = trained.model.clone();
            trained.model = reinsert(&task, model, training.budget, training.par, &mut trained.profile)?;
        }
        let relevant = self.keep(&trained.model, &basis, &task, features, scaled.scale);
        Ok((trained, relevant))
    }

    /// Keeps what a training run has found. Returns which rows are relevant.
    fn keep(
        &mut self,
        model: &Sparse,
        basis: &Basis,
        task: &Values<'_>,
        features: &Features,
        scale: f64,
    ) -> Vec<usize> {
        let design = &task.design;
        let n = design.n_rows();
        let relevant: Vec<usize> = model.columns.iter().copied().filter(|&c| c < n).collect();
        let witnesses = if self.params.variance == Variance::Healed {
            let rows = crate::machine::sample(n, MOST_WITNESSES, self.params.seed);
            design.x.select(Axis(0), &rows)
        } else {
            Array2::zeros((0, design.x.ncols()))
        };
        self.learnt = Some(Learnt {
            basis: basis.clone(),
            centers: design.centers(&model.columns),
            raw: features.select(&relevant).to_array(0..relevant.len()),
            alpha: model.alpha.clone(),
            mean: model.mean.clone(),
            covariance: model.covariance.clone(),
            noise: model.noise,
            scale,
            spread: task.variance(),
            weight: n as f64 / witnesses.nrows().max(1) as f64,
            witnesses,
            log_evidence: model.log_evidence,
        });
        relevant
    }

    /// What is known as a model of the remembered rows, to start from.
    fn as_sparse(&self, task: &Values<'_>, par: &Par) -> Sparse {
        let (Some(learnt), Some(memory)) = (&self.learnt, &self.memory) else { return task.empty() };
        let mut columns = memory.relevant();
        if learnt.centers.bias.is_some() {
            columns.push(task.design.bias());
        }
        let scores = task.design.multiply(&columns, &learnt.mean, par);
        Sparse {
            columns,
            alpha: learnt.alpha.clone(),
            mean: learnt.mean.clone(),
            covariance: learnt.covariance.clone(),
            noise: learnt.noise,
            log_evidence: learnt.log_evidence,
            n_iterations: 0,
            is_converged: true,
            jitter: 0.0,
            scores,
        }
    }
}

/// A machine of some of the rows, for a budget that was spent before there was any.
fn in_haste(task: &Values<'_>, par: &Par) -> Result<Trained> {
    const MOST_ROWS: usize = 200;
    let options = Options {
        trainer: crate::Trainer::WorkingSet,
        partition: MOST_ROWS.min(task.targets.len()),
        patience: 1,
        rows: crate::RowsUsed::Sample,
        sample_rows: MOST_ROWS,
        max_iterations: 100,
        ..task.options.clone()
    };
    let rows = crate::machine::sample(task.targets.len(), MOST_ROWS, options.seed);
    let some = task.design.x.select(Axis(0), &rows);
    let targets: Vec<f64> = rows.iter().map(|&row| task.targets[row]).collect();
    let design = Design { x: some.view(), kernel: task.design.kernel };
    let small = Values { design, targets: &targets, options: &options };
    let mut trained = train(&small, None, &Budget::open(), par)?;
    let n = task.design.n_rows();
    let place = |&column: &usize| if column == rows.len() { n } else { rows[column] };
    trained.model.columns = trained.model.columns.iter().map(place).collect();
    trained.stop = StopReason::Time;
    Ok(trained)
}

/// Judges lengths for values.
struct ValueJudge<'a> {
    x: &'a Array2<f64>,
    targets: &'a [f64],
    params: &'a RvmParams,
    options: &'a Options,
    budget: &'a Budget,
    /// One thread.
    par: &'a Par,
}

impl ValueJudge<'_> {
    fn fit(&self, basis: &Basis, x: &Array2<f64>, rows: &[usize]) -> Option<Sparse> {
        let targets: Vec<f64> = rows.iter().map(|&row| self.targets[row]).collect();
        let design = Design { x: x.view(), kernel: &basis.kernel };
        let task = Values { design, targets: &targets, options: self.options };
        Some(train(&task, None, self.budget, self.par).ok()?.model)
    }

    fn rows(&self, basis: &Basis, rows: &[usize]) -> Array2<f64> {
        basis.map(self.x.select(Axis(0), rows))
    }
}

impl Judge for ValueJudge<'_> {
    fn left_out(&self, lengths: &[f64], train: &[usize], test: &[usize]) -> Option<f64> {
        let basis = Basis::new(self.params.kernel, lengths.to_vec());
        let x = self.rows(&basis, train);
        let model = self.fit(&basis, &x, train)?;
        let centers = Design { x: x.view(), kernel: &basis.kernel }.centers(&model.columns);
        let phi = centers.values(&basis.kernel, self.rows(&basis, test).view(), self.par);
        let y = phi.dot(&model.mean);
        let squares = test.iter().zip(&y).map(|(&row, y)| (self.targets[row] - y).powi(2));
        Some(-squares.sum::<f64>()).filter(|score| score.is_finite())
    }

    fn evidence(&self, lengths: &[f64], rows: &[usize]) -> Option<f64> {
        let basis = Basis::new(self.params.kernel, lengths.to_vec());
        let x = self.rows(&basis, rows);
        Some(self.fit(&basis, &x, rows)?.log_evidence).filter(|score| score.is_finite())
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        vec![(0..self.targets.len()).collect()]
    }
}

impl Learnt {
    /// Means and variances of prepared rows, in units of the scale.
    fn answers(&self, x: ArrayView2<'_, f64>) -> (Array1<f64>, Array1<f64>) {
        let par = Par::sequential();
        let phi = self.centers.values(&self.basis.kernel, x, &par);
        let mean = phi.dot(&self.mean);
        let known = phi.dot(&self.covariance);
        let own: Array1<f64> = phi.rows().into_iter().zip(known.rows()).map(|(a, b)| a.dot(&b)).collect();
        let mut variance = own.mapv(|v| v.max(0.0) + self.noise);
        if self.witnesses.nrows() > 0 {
            variance += &self.healing(x, &phi);
        }
        (mean, variance)
    }

    /// What a column around each row itself would add to its variance: `(k** − φᵀv)²/(α* + S)`, with `v = βΣΦᵀφ*`.
    fn healing(&self, x: ArrayView2<'_, f64>, phi: &Array2<f64>) -> Array1<f64> {
        let par = Par::sequential();
        let weight = self.weight / self.noise;
        let own = self.basis.kernel.cross(x, self.witnesses.view(), &par);
        let at_witnesses = self.centers.values(&self.basis.kernel, self.witnesses.view(), &par);
        let moments = own.dot(&at_witnesses) * weight;
        let v = moments.dot(&self.covariance);
        let diagonal = self.basis.kernel.diagonal(x);
        let signal = (self.spread - self.noise).max(1e-6 * self.spread);
        (0..x.nrows())
            .map(|i| {
                let explained = moments.row(i).dot(&v.row(i));
                let sparsity = (weight * own.row(i).dot(&own.row(i)) - explained).max(0.0);
                let rest = diagonal[i] - phi.row(i).dot(&v.row(i));
                // Far from all rows the variance is that of the targets.
                let alpha = diagonal[i] * diagonal[i] / signal;
                rest * rest / (alpha + sparsity)
            })
            .collect()
    }
}

impl Regressor for RvmRegressor {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn predict_values_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Normals {
        let n = x.nrows();
        let Some(learnt) = &self.learnt else {
            // Nothing is known but the values themselves.
            let targets = self.memory.as_ref().map_or(&[][..], |memory| &memory.targets);
            let count = targets.len().max(1) as f64;
            let mean = targets.iter().sum::<f64>() / count;
            let variance = targets.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / count;
            let variance = if targets.len() > 1 { variance.max(1e-12) } else { 1.0 };
            return Normals { mean: vec![mean; n], variance: vec![variance; n] };
        };
        // Blocks of one size, so that an answer does not depend on what else was asked.
        let blocks = par.map(n.div_ceil(BLOCK), |block| {
            let rows = s![block * BLOCK..((block + 1) * BLOCK).min(n), ..];
            learnt.answers(learnt.basis.map(self.preparation.map(x.slice(rows))).view())
        });
        let mut answers = Normals::default();
        for (mean, variance) in blocks {
            answers.mean.extend(mean.iter().map(|m| m * learnt.scale));
            answers.variance.extend(variance.iter().map(|v| v * learnt.scale * learnt.scale));
        }
        answers
    }
}

/// Fails unless rows and values fit a machine.
fn check(regressor: &RvmRegressor, schema: &Schema, x: ArrayView2<'_, f32>, targets: &[f64]) -> Result<()> {
    let shapes = [
        ("feature columns", regressor.n_features(), x.ncols()),
        ("feature columns of the schema", regressor.n_features(), schema.n_features()),
        ("values", x.nrows(), targets.len()),
    ];
    for (what, expected, got) in shapes {
        if expected != got {
            return Err(Error::Shape { what, expected, got });
        }
    }
    ValueData::new(schema.clone(), Features::from_view(x), targets.to_vec()).map(|_| ())
}
