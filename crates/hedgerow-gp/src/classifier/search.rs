//! Kernel parameters that suit the data.

use hedgerow_core::calibration::Platt;
use hedgerow_core::{ClassId, OutOfSample, Par, Progress, Result, Source, Training};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::Targets;
use super::params::{GpMethod, GpParams};
use super::rule::{Reading, normalize};
use crate::binary::laplace;
use crate::kernel::{Kernel, Metric};
use crate::kriging::Variogram;
use crate::labels::LabelRegression;
use crate::likelihood::Likelihood;
use crate::optimize::{Point, climb, climb_kernel};
use crate::prepare::typical_distance;
use crate::regression::GpRegression;

/// Evaluations of the evidence at most.
const MOST_EVALUATIONS: usize = 50;

/// A kernel without noise, and the noise.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    pub(crate) kernel: Kernel,
    pub(crate) noise: f64,
}

impl Chosen {
    /// The kernel with its noise.
    pub(crate) fn noisy(&self) -> Kernel {
        self.kernel.clone() + Kernel::white(self.noise)
    }
}

/// The kernel that the parameters give, with what they leave open found on some of the rows.
pub(super) fn choose(task: &Targets, params: &GpParams, training: &Training<'_>) -> Result<Chosen> {
    let search = LengthSearch::new(task.x.view(), params, training);
    match params.method {
        GpMethod::Labels => search.by_leaving_out(&task.some(2000, params.seed)),
        GpMethod::Cik | GpMethod::Sik => Ok(search.by_variogram(&task.some(1000, params.seed))),
        _ => {
            let some = task.some(if task.n_classes > 2 { 500 } else { 800 }, params.seed);
            let likelihood = match params.method {
                GpMethod::Laplace => params.likelihood,
                GpMethod::Softmax => Likelihood::Logistic,
                _ => Likelihood::Probit,
            };
            let at = |kernel: &Kernel| some.evidence(kernel, likelihood, training.par).ok();
            Ok(search.by_evidence(some.x.ncols(), &[0.5], (5.0, 0.01), at))
        }
    }
}

/// The same for numbers of mean 0 and variance 1, by their log marginal likelihood.
pub(crate) fn choose_for_values(
    x: ArrayView2<'_, f64>,
    y: ArrayView1<'_, f64>,
    params: &GpParams,
    training: &Training<'_>,
) -> Chosen {
    let search = LengthSearch::new(x, params, training);
    let at = |kernel: &Kernel| {
        let model = GpRegression::fit(kernel.clone(), 0.0, x, y, training.par).ok()?;
        Some((model.log_evidence(), model.evidence_gradient(training.par)))
    };
    // With too long a length at the start, all but noise may seem unlikely.
    search.by_evidence(x.ncols(), &[0.5, 0.15, 0.05, 2.0], (1.0, 0.1), at)
}

struct LengthSearch<'a> {
    params: &'a GpParams,
    training: &'a Training<'a>,
    /// The median distance of two rows.
    distance: f64,
    /// The mean squared length of a row.
    square: f64,
}

/// A parameter where it is given, and what was found where it is open.
fn given(value: f64, found: f64) -> f64 {
    if value > 0.0 { value } else { found }
}

impl<'a> LengthSearch<'a> {
    fn new(x: ArrayView2<'_, f64>, params: &'a GpParams, training: &'a Training<'a>) -> Self {
        let square = x.iter().map(|v| v * v).sum::<f64>() / x.nrows().max(1) as f64;
        let square = if square > 0.0 && square.is_finite() { square } else { 1.0 };
        Self { params, training, distance: typical_distance(x, params.seed), square }
    }

    /// The kernel for one length, without its variance where that is open.
    fn kernel(&self, lengths: &Metric) -> Kernel {
        let plain = self.params.plain(lengths.clone(), self.square);
        let variance = given(self.params.signal_variance, self.variance_of_products(&plain).unwrap_or(0.0));
        if variance > 0.0 { plain.scaled(variance) } else { plain }
    }

    /// The variance with which a kernel of products is near 1 for a row and itself, as other kernels are.
    fn variance_of_products(&self, plain: &Kernel) -> Option<f64> {
        let Kernel::Polynomial { degree, .. } = plain else { return None };
        Some(libm::pow(2.0 * self.square, -f64::from(*degree)).clamp(1e-300, 1e300))
    }

    fn lengths(&self, n_columns: usize, length: f64) -> Metric {
        if self.params.ard { Metric::Each(vec![length; n_columns]) } else { Metric::One(length) }
    }

    fn has_open_length(&self) -> bool {
        self.params.length_scale == 0.0 && self.params.kernel.shape().is_some()
    }

    fn tell(&self, done: usize, total: Option<usize>) {
        self.training.observer.progress(Progress { done, total, accuracy: None });
    }

    /// Label regression: lengths first, then noise, then lengths nearby; what is compared is the log-loss of calibrated
    /// leave-one-out predictions.
    fn by_leaving_out(&self, task: &Targets) -> Result<Chosen> {
        let params = self.params;
        let first = given(params.length_scale, 0.5 * self.distance);
        let mut metric = self.lengths(task.x.ncols(), first);
        let mut noise = given(params.noise_variance, 0.01);
        let open = (self.has_open_length(), params.noise_variance == 0.0);
        if params.ard && open.0 {
            metric = self.relevance(&task.some(700, params.seed), &metric, noise);
        }
        let lengths = |factors: &[f64]| factors.iter().map(|factor| (*factor, 1.0)).collect::<Vec<_>>();
        let noises = |factors: &[f64]| factors.iter().map(|factor| (1.0, *factor)).collect::<Vec<_>>();
        let rounds = [
            (open.0, lengths(&[0.3, 0.45, 0.7, 1.0, 1.5, 2.2, 3.5, 6.0])),
            (open.1, noises(&[0.03, 0.2, 1.0, 5.0, 30.0, 150.0])),
            (open.1, noises(&[0.5, 2.0])),
            (open.0, lengths(&[0.8, 0.9, 1.12, 1.25])),
        ];
        let (mut best, mut done) = (f64::INFINITY, 0);
        for (_, factors) in rounds.into_iter().filter(|(is_open, _)| *is_open) {
            let (base, base_noise) = (metric.clone(), noise);
            for (factor, noise_factor) in factors {
                if self.training.budget.spent().is_some() {
                    break;
                }
                let (scaled, tried) = (scaled(&base, factor), base_noise * noise_factor);
                let loss = task.leave_one_out_loss(self.kernel(&scaled), tried, self.training);
                if self.training.budget.stop.is_stopped() {
                    break; // what came is worth nothing
                }
                let loss = loss?;
                if loss < best {
                    (best, metric, noise) = (loss, scaled, tried);
                }
                done += 1;
                self.tell(done, None);
            }
        }
        Ok(Chosen { kernel: self.kernel(&metric), noise })
    }

    /// A length for each column by the evidence of label regression.
    fn relevance(&self, task: &Targets, start: &Metric, noise: f64) -> Metric {
        let kernel = self.params.plain(start.clone(), 1.0);
        let par = self.training.par;
        let mut done = 0;
        let at = |parameters: &[f64]| {
            let (own_noise, own) = parameters.split_last()?;
            let (moved, noise) = (kernel.with_parameters(own), libm::exp(*own_noise));
            let model = LabelRegression::fit(moved, noise, task.x.view(), task.y.view(), par).ok()?;
            done += 1;
            self.tell(done, None);
            Some((model.log_evidence(), model.evidence_gradient(par)))
        };
        let start_at: Vec<f64> = kernel.parameters().into_iter().chain([libm::log(noise)]).collect();
        let Some(found) = climb(&start_at, MOST_EVALUATIONS, self.training.budget, at) else {
            return start.clone();
        };
        match kernel.with_parameters(&found) {
            Kernel::Stationary { metric, .. } => metric,
            _ => start.clone(),
        }
    }

    /// Kriging: a variogram fitted to the classes.
    fn by_variogram(&self, task: &Targets) -> Chosen {
        let params = self.params;
        let Some(shape) = params.kernel.shape() else {
            return Chosen {
                kernel: self.kernel(&Metric::One(1.0)),
                noise: given(params.noise_variance, 0.05),
            };
        };
        let lengths: Vec<f64> = if params.length_scale > 0.0 {
            vec![params.length_scale]
        } else {
            (0..24).map(|i| self.distance * 0.05 * libm::pow(1.25, f64::from(i))).collect()
        };
        let correlation = |r: f64, length: f64| shape.value((r / length).powi(2));
        let found = Variogram::fit(task.x.view(), &task.classes, &lengths, correlation);
        self.tell(1, Some(1));
        let found = found.filter(|v| v.partial_sill > 0.0).unwrap_or(Variogram {
            length: given(params.length_scale, 0.5 * self.distance),
            partial_sill: 0.5,
            nugget: 0.05,
        });
        let plain = params.plain(self.lengths(task.x.ncols(), found.length), 1.0);
        let sill = given(params.signal_variance, found.partial_sill);
        // Rows of two classes at one place need some nugget.
        Chosen {
            kernel: plain.scaled(sill),
            noise: given(params.noise_variance, found.nugget.max(1e-3 * sill)),
        }
    }

    /// All others: the evidence, climbed from the best of some starts that the data give. `factors` are those of the typical distance,
    /// `variances` those of signal and noise at the start.
    fn by_evidence(
        &self,
        n_columns: usize,
        factors: &[f64],
        variances: (f64, f64),
        evidence: impl Fn(&Kernel) -> Point,
    ) -> Chosen {
        let mut start = self.start(n_columns, factors[0], variances);
        if self.has_open_length() && factors.len() > 1 {
            let mut most = f64::NEG_INFINITY;
            for factor in factors {
                let tried = self.start(n_columns, *factor, variances);
                let value = evidence(&tried).map_or(f64::NEG_INFINITY, |(value, _)| value);
                if value > most {
                    (most, start) = (value, tried);
                }
            }
        }
        let is_held = |name: &str| {
            let value = match name {
                "signal_variance" => self.params.signal_variance,
                "noise_variance" => self.params.noise_variance,
                name if name.starts_with("length_scale") => self.params.length_scale,
                _ => 0.0,
            };
            value > 0.0
        };
        let held: Vec<bool> = start.parameter_names().iter().map(|name| is_held(name)).collect();
        if held.iter().all(|held| *held) {
            return split(start, self.params);
        }
        let mut done = 0;
        let found = climb_kernel(&start, MOST_EVALUATIONS, self.training.budget, |moved| {
            let (value, mut gradient) = evidence(moved)?;
            gradient.iter_mut().zip(&held).filter(|(_, held)| **held).for_each(|(g, _)| *g = 0.0);
            done += 1;
            self.tell(done, Some(MOST_EVALUATIONS));
            Some((value, gradient))
        });
        split(found, self.params)
    }

    /// Where a search for the highest evidence starts: what the parameters give, and for the rest what the data suggest.
    fn start(&self, n_columns: usize, factor: f64, variances: (f64, f64)) -> Kernel {
        let params = self.params;
        let metric = self.lengths(n_columns, given(params.length_scale, factor * self.distance));
        let plain = params.plain(metric, self.square);
        let variance = variances.0 * self.variance_of_products(&plain).unwrap_or(1.0);
        plain.scaled(given(params.signal_variance, variance))
            + Kernel::white(given(params.noise_variance, variances.1))
    }
}

/// Signal and noise apart. With all classes at once the difference of two latent functions counts, which varies twice as much as one.
fn split(kernel: Kernel, params: &GpParams) -> Chosen {
    let Kernel::Sum(mut parts) = kernel else { return Chosen { kernel, noise: 0.01 } };
    let noise = match parts.pop() {
        Some(Kernel::Scaled { variance, .. }) => variance,
        _ => 0.01,
    };
    let mut signal = parts.pop().unwrap_or(Kernel::Constant);
    if let (GpMethod::Softmax, Kernel::Scaled { variance, .. }) = (params.method, &mut signal)
        && params.signal_variance == 0.0
    {
        *variance /= 2.0;
    }
    Chosen { kernel: signal, noise }
}

fn scaled(metric: &Metric, factor: f64) -> Metric {
    match metric {
        Metric::Each(lengths) => Metric::Each(lengths.iter().map(|l| l * factor).collect()),
        Metric::One(length) => Metric::One(length * factor),
    }
}

impl Targets {
    /// Curves from scores to probabilities, and what they make of the leave-one-out scores of all rows.
    pub(super) fn leave_one_out(
        &self,
        model: &LabelRegression,
        training: &Training<'_>,
    ) -> (Vec<Platt>, OutOfSample) {
        let scores = model.without_each(self.y.view(), training.par);
        let rows: Vec<usize> = (0..self.classes.len()).collect();
        let mut scored = if self.n_classes == 2 {
            let is_second: Vec<bool> = self.classes.iter().map(|class| *class == 1).collect();
            OutOfSample::one_vs_rest(Source::LeaveOneOut, rows, &scores.column(0).to_vec(), &is_second)
        } else {
            let labels = self.classes.iter().map(|class| ClassId(*class as u32)).collect();
            OutOfSample::new(Source::LeaveOneOut, rows, scores, labels)
        };
        // Of two classes, the second is enough.
        let first = u32::from(self.n_classes == 2);
        let n_curves = self.n_classes - first as usize;
        let curves = training.par.map(n_curves, |i| scored.curve(ClassId(first + i as u32)));
        let reading = Reading::Curves(curves.clone());
        scored.map_rows(|row| {
            let mut p = row.iter().skip(first as usize).copied().collect::<Vec<f64>>();
            reading.read(&mut p);
            if p.len() == 1 {
                p = vec![1.0 - p[0], p[0]];
            }
            normalize(&mut p);
            row.iter_mut().zip(p).for_each(|(to, p)| *to = p);
        });
        (curves, scored)
    }

    fn leave_one_out_loss(&self, kernel: Kernel, noise: f64, training: &Training<'_>) -> Result<f64> {
        let model = LabelRegression::fit(kernel, noise, self.x.view(), self.y.view(), training.par)?;
        Ok(self.leave_one_out(&model, training).1.quality().log_loss())
    }

    /// The evidence of Laplace's method and its derivatives, summed over classes.
    fn evidence(&self, kernel: &Kernel, likelihood: Likelihood, par: &Par) -> Result<(f64, Vec<f64>)> {
        let k = kernel.matrix(self.x.view(), par);
        let mut weights = Array2::zeros(k.raw_dim());
        let mut sum = 0.0;
        for column in self.y.axis_iter(Axis(1)) {
            let y = column.to_vec();
            if y.iter().all(|y| *y < 0.0) {
                continue;
            }
            let found = laplace::posterior(likelihood, &k, &y, par)?;
            sum += found.0.log_evidence;
            weights += &laplace::evidence_weights(&found, likelihood, &k, &y, par);
        }
        Ok((sum, kernel.gradient(self.x.view(), &weights, par)))
    }
}
