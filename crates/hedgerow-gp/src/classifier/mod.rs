//! A Gaussian process of all training rows as a classifier of any number of classes.
//!
//! [`GpParams`] names the method; rows are made numbers by [`crate::prepare`], kernel parameters that are left open are searched for on
//! some of the rows, and the method then learns all of them. A prediction does not depend on the rows it is asked with.

mod params;
mod rule;
mod saved;
pub(crate) mod search;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::text::count;
use hedgerow_core::{
    BoxedRun, Candidate, Checked, Classifier, Dataset, Error, KindInfo, ModelKind, NearbyRows, OnlineModel,
    OutOfSample, Par, Predictor, Progress, Result, RunStart, Schema, StopReason, Summary, Task, TaskModel,
    Training, WholeRun,
};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use serde::{Deserialize, Serialize};

pub use params::{GpMethod, GpParams, KernelName};
use rule::{Reading, Rule};

use crate::binary::{ep, laplace};
use crate::dsgq::Dsgq;
use crate::kernel::Kernel;
use crate::kriging::krige;
use crate::labels::LabelRegression;
use crate::likelihood::Likelihood;
use crate::prepare::Preparation;
use crate::regressor::GpRegressor;
use crate::softmax::SoftmaxLaplace;

/// A classifier that keeps all of its training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpClassifier {
    params: GpParams,
    n_classes: usize,
    preparation: Preparation,
    /// With noise.
    kernel: Kernel,
    /// Prepared training rows; none where the rule has them.
    #[serde(with = "hedgerow_core::saved::array")]
    x: Array2<f64>,
    rule: Rule,
}

/// A fitted model and how it came about.
#[derive(Debug, Clone)]
pub struct FittedGp<M> {
    /// The model.
    pub model: M,
    /// Why fitting ended. A spent budget ends the search for hyper-parameters; the fit that follows it is always finished, with fewer
    /// rows if it was interrupted.
    pub stop: StopReason,
    /// The logarithm of the probability of the labels, summed over classes, or of the density of the targets; none where the method cannot tell, and
    /// if not all rows were learnt.
    pub log_evidence: Option<f64>,
    /// Leave-one-out predictions of all training rows, where the method has them in closed form (regression on labels).
    pub validation: Option<OutOfSample>,
}

impl<M> FittedGp<M> {
    fn candidate(self, of: impl FnOnce(M) -> GpModel) -> (Candidate<GpModel>, StopReason) {
        let Self { model, stop, log_evidence, validation } = self;
        (Candidate { log_evidence, ..Candidate::new(of(model), validation) }, stop)
    }
}

/// What was learnt of the rows.
struct Learnt {
    rule: Rule,
    /// None where the method cannot tell it.
    log_evidence: Option<f64>,
    validation: Option<OutOfSample>,
}

impl Learnt {
    fn new(rule: Rule, log_evidence: Option<f64>) -> Self {
        Self { rule, log_evidence, validation: None }
    }
}

/// Rows to learn.
struct Targets {
    x: Array2<f64>,
    classes: Vec<usize>,
    /// Labels as ±1: a column a class, or one for the second of two classes.
    y: Array2<f64>,
    n_classes: usize,
}

impl GpClassifier {
    /// Fits a Gaussian process to a data set. Row weights are ignored.
    pub fn fit(
        data: &Dataset,
        params: &Checked<GpParams>,
        training: &Training<'_>,
    ) -> Result<FittedGp<Self>> {
        data.check_trainable(Task::Classification)?;
        let params = params.get();
        let [usual, hasty] = params.method.usual_and_hasty_rows();
        params.check_rows(data.n_rows(), usual, "ivm")?;
        let n_classes = data.schema.n_classes();
        check_room(data.n_rows(), params.method.bytes(data.n_rows(), n_classes), training, "ivm")?;
        let preparation = Preparation::until(&training.budget.stop, &data.schema, &data.features);
        let classes: Vec<usize> = data.labels().iter().map(|label| label.index()).collect();
        let x = preparation.map_all(&data.features, training.par);
        let task = Targets::new(x, classes, n_classes);
        // A factor of thousands of rows takes seconds: who interrupts does not wait for it, but gets a model of fewer rows.
        let stop = &training.budget.stop;
        let until_stopped = training.par.until(stop);
        let interruptible = Training { par: &until_stopped, ..*training };
        let chosen = search::choose(&task, params, &interruptible)?;
        let kernel = chosen.noisy();
        let learnt = task.learn(&chosen, params, &interruptible);
        let (x, learnt) = if stop.is_stopped() {
            let some = task.some(hasty, params.seed);
            let rule = some.learn(&chosen, params, training)?.rule;
            (some.x, Learnt::new(rule, None))
        } else {
            (task.x, learnt?)
        };
        let Learnt { rule, log_evidence, validation } = learnt;
        let has_rows = matches!(rule, Rule::Softmax(_) | Rule::Dsgq(_));
        let x = if has_rows { Array2::zeros((0, 0)) } else { x };
        let model = Self { params: params.clone(), n_classes, preparation, kernel, x, rule };
        let stop = training.budget.spent().unwrap_or(StopReason::Done);
        Ok(FittedGp { model, stop, log_evidence, validation })
    }

    /// The parameters it was fitted with.
    pub fn params(&self) -> &GpParams {
        &self.params
    }

    /// The kernel, noise included.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Training rows.
    pub fn n_rows(&self) -> usize {
        self.rows().nrows()
    }

    /// The training rows, prepared: missing values filled, categories a column each, numbers on one scale.
    pub fn rows(&self) -> ArrayView2<'_, f64> {
        match &self.rule {
            Rule::Softmax(model) => model.x.view(),
            Rule::Dsgq(model) => model.x.view(),
            _ => self.x.view(),
        }
    }
}

impl Targets {
    fn new(x: Array2<f64>, classes: Vec<usize>, n_classes: usize) -> Self {
        let columns: Vec<usize> = if n_classes == 2 { vec![1] } else { (0..n_classes).collect() };
        let y = Array2::from_shape_fn((classes.len(), columns.len()), |(row, column)| {
            if classes[row] == columns[column] { 1.0 } else { -1.0 }
        });
        Self { x, classes, y, n_classes }
    }

    /// The same task for rows drawn at random, at most so many.
    fn some(&self, most: usize, seed: u64) -> Self {
        let rows = some_rows(self.classes.len(), most, seed);
        let classes = rows.iter().map(|&row| self.classes[row]).collect();
        let (x, y) = (self.x.select(Axis(0), &rows), self.y.select(Axis(0), &rows));
        Self { x, classes, y, n_classes: self.n_classes }
    }

    /// Learns all rows.
    fn learn(&self, chosen: &search::Chosen, params: &GpParams, training: &Training<'_>) -> Result<Learnt> {
        let par = training.par;
        let (kernel, noise) = (chosen.kernel.clone(), chosen.noise);
        match params.method {
            GpMethod::Labels => {
                let model = LabelRegression::fit(kernel, noise, self.x.view(), self.y.view(), par)?;
                let (curves, validation) = self.leave_one_out(&model, training);
                let rule = linear(&model, Reading::Curves(curves));
                Ok(Learnt { rule, log_evidence: Some(model.log_evidence()), validation: Some(validation) })
            }
            GpMethod::Cik | GpMethod::Sik => {
                let model = krige(kernel, noise, self.x.view(), &self.classes, self.n_classes, par)?;
                let reading = if params.method == GpMethod::Cik { Reading::Shares } else { Reading::Simplex };
                Ok(Learnt::new(linear(&model, reading), Some(model.log_evidence())))
            }
            GpMethod::Laplace | GpMethod::Ep => self.each_class(&chosen.noisy(), params, training),
            GpMethod::Softmax => {
                let (kernel, n_classes) = (chosen.noisy(), self.n_classes);
                let model =
                    SoftmaxLaplace::fit(kernel, self.x.view(), &self.classes, n_classes, params.seed, par)?;
                let log_evidence = model.log_evidence();
                Ok(Learnt::new(Rule::Softmax(model), Some(log_evidence)))
            }
            GpMethod::Dsgq => {
                // The variance found is that of the probit link, Φ(f): k0 is 1.
                let model = Dsgq::fit(chosen.noisy(), 1.0, self.x.view(), self.y.view(), params.seed, par)?;
                let log_evidence = (0..self.y.ncols()).map(|column| model.log_evidence(column)).sum();
                Ok(Learnt::new(Rule::Dsgq(model), log_evidence))
            }
        }
    }

    /// A one-vs-rest classifier for each class that has rows; of two classes, for the second.
    fn each_class(&self, kernel: &Kernel, params: &GpParams, training: &Training<'_>) -> Result<Learnt> {
        let is_laplace = params.method == GpMethod::Laplace;
        let likelihood = if is_laplace { params.likelihood } else { Likelihood::Probit };
        let (x, par) = (self.x.view(), training.par);
        let k = if is_laplace { kernel.lower(x, par) } else { kernel.matrix(x, par) };
        let n_columns = self.y.ncols();
        let one = |column: usize, par: &Par| {
            let y = self.y.column(column).to_vec();
            if y.iter().all(|y| *y < 0.0) {
                return Ok(None);
            }
            let posterior = if is_laplace {
                laplace::posterior(likelihood, &k, &y, par)?.0
            } else {
                ep::posterior(&k, &y, par)?
            };
            training.observer.progress(Progress { done: column + 1, total: Some(n_columns), accuracy: None });
            Ok(Some(posterior))
        };
        // Sweeps over single rows use one thread each; factors of matrices use all.
        let posteriors: Vec<Result<_>> = if is_laplace {
            (0..n_columns).map(|column| one(column, training.par)).collect()
        } else {
            training.par.map(n_columns, |column| one(column, &training.par.alone()))
        };
        let mut posteriors = posteriors.into_iter().collect::<Result<Vec<_>>>()?;
        let log_evidence = posteriors.iter().flatten().map(|m| m.log_evidence).sum();
        if self.n_classes == 2 {
            posteriors.insert(0, None);
        }
        Ok(Learnt::new(Rule::Latent { posteriors, likelihood }, Some(log_evidence)))
    }
}

/// Rows drawn at random, at most so many, in order.
pub(crate) fn some_rows(n: usize, most: usize, seed: u64) -> Vec<usize> {
    let drawn = Rng::new(seed, Purpose::Sample, 1).sample(n, most);
    drawn.unwrap_or_else(|| (0..n).collect())
}

/// Fails if a limit on memory leaves no room for training; `other` is a model that needs less.
pub(crate) fn check_room(n_rows: usize, needed: u64, training: &Training<'_>, other: &str) -> Result<()> {
    let Some(limit) = training.budget.bytes.filter(|limit| needed > *limit) else { return Ok(()) };
    Err(Error::BudgetTooSmall {
        what: format!("an exact Gaussian process of {n_rows} rows"),
        needed: format!("{needed} bytes"),
        limit: format!("{limit} bytes; the model {other} needs less"),
    })
}

fn linear(model: &LabelRegression, reading: Reading) -> Rule {
    Rule::Linear { weights: model.weights().clone(), offsets: model.offsets().clone(), reading }
}

impl Classifier for GpClassifier {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, out: ArrayViewMut2<'_, f64>) {
        self.preparation.predict_classes(x, par, out, |x| {
            self.rule.predict(&self.kernel, self.x.view(), x.view(), self.n_classes)
        });
    }
}

impl OnlineModel for GpClassifier {
    fn predictor(&self) -> Predictor<'_> {
        Predictor::Classifier(self)
    }

    /// It keeps all rows, prepared.
    fn nearby_rows(&self, _schema: &Schema, par: &Par) -> Result<Option<NearbyRows>> {
        Ok(Some(NearbyRows::of_prepared(self.preparation.clone(), self.rows(), par)))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.x.len() * size_of::<f64>() + self.rule.bytes()
    }

    fn summary(&self, _classes: &[String]) -> Summary {
        summary(self.n_rows(), &self.kernel)
    }
}

/// What an exact Gaussian process is made of.
pub(crate) fn summary(n_rows: usize, kernel: &Kernel) -> Summary {
    // They are kept as logarithms: the last digits are noise.
    let plain = |log: f64| format!("{:.12e}", log.exp()).parse().unwrap_or(f64::NAN);
    let values = kernel.parameters().into_iter().map(plain);
    Summary::new(format!("{} rows", count(n_rows as u64)))
        .count("rows_kept", "Rows kept", n_rows)
        .kernel(kernel.parameter_names().into_iter().zip(values).collect())
}

/// A Gaussian process that keeps all rows, of either task.
pub type GpModel = TaskModel<GpClassifier, GpRegressor>;

impl ModelKind for GpParams {
    type Model = GpModel;

    const INFO: KindInfo = KindInfo {
        name: "gp",
        about: "The exact Gaussian process, which keeps all rows: for a few thousand of them; for classification and regression",
        noun: "a Gaussian process",
        work: "searching for a kernel",
        params: "GpParams",
        tasks: &[Task::Classification, Task::Regression],
        learns: false,
        ..KindInfo::LEARNER
    };

    fn new_model(_schema: &Schema, _params: &Checked<Self>) -> Result<GpModel> {
        Err(Error::unable(Self::INFO.name, "learn row by row"))
    }

    fn start_run(start: &RunStart<'_, Self>) -> Result<BoxedRun<GpModel>> {
        let (data, params) = (start.data.clone(), start.params.clone());
        Ok(Box::new(WholeRun::new("fit", move |training: &Training<'_>| {
            Ok(match data.task() {
                Task::Classification => {
                    GpClassifier::fit(&data, &params, training)?.candidate(TaskModel::Classifier)
                }
                Task::Regression => {
                    GpRegressor::fit(&data, &params, training)?.candidate(TaskModel::Regressor)
                }
            })
        })))
    }

    fn of_model(model: &GpModel) -> &Self {
        match model {
            TaskModel::Classifier(model) => &model.params,
            TaskModel::Regressor(model) => model.params(),
        }
    }

    fn seed(&mut self) -> &mut u64 {
        &mut self.seed
    }
}

#[cfg(test)]
mod tests;
