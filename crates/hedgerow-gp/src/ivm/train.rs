//! Choosing the active rows.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ivm;
use super::site::Site;
use crate::kernel::Kernel;
use crate::special::normal_quantile;

/// Rows that a thread works on at a time.
const CHUNK: usize = 512;
/// A label that says less than this is not worth a place.
const LEAST_ENTROPY: f64 = 1e-6;

/// How a machine is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IvmOptions {
    /// Most active rows.
    pub n_active: usize,
    /// Rows drawn at random that compete for each place; 0 lets all rows compete.
    pub n_candidates: usize,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for IvmOptions {
    fn default() -> Self {
        Self { n_active: 100, n_candidates: 0, seed: 0 }
    }
}

/// A machine, and what it learnt about the rows it was trained on.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The machine.
    pub ivm: Ivm,
    /// The active rows, as numbers of training rows, in the order in which they joined.
    pub active: Vec<usize>,
    /// The mean of the latent value at each training row, without the bias.
    pub mean: Vec<f64>,
    /// Its variance.
    pub variance: Vec<f64>,
    /// Σ log Z over the active rows: the evidence as the filter saw it.
    pub log_evidence: f64,
}

/// What is known about all training rows while active ones are added.
struct State {
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// Row after row, as many numbers as there may be active rows: √ν times the posterior covariance with each active row at the
    /// time it joined.
    m: Vec<f64>,
    /// Numbers a row.
    width: usize,
    is_active: Vec<bool>,
}

/// Trains a machine on labels (+1 or −1) of rows. Ends early, with the machine so far, when the budget is spent or no label says
/// anything new.
pub fn train(
    kernel: &Kernel,
    x: ArrayView2<'_, f64>,
    y: &[f64],
    options: &IvmOptions,
    par: &Par,
    budget: &Budget,
) -> Result<Trained> {
    kernel.check(x.ncols())?;
    let n = x.nrows();
    if y.len() != n {
        return Err(Error::Shape { what: "labels", expected: n, got: y.len() });
    }
    if let Some(y) = y.iter().find(|y| y.abs() != 1.0) {
        return Err(Error::param("labels", "+1 or -1", y));
    }
    if n == 0 {
        return Err(Error::NoRows);
    }
    if options.n_active == 0 {
        return Err(Error::param("n_active", "1 or more", 0));
    }
    let width = options.n_active.min(n);
    let noise = kernel_noise(kernel);
    let variance: Vec<f64> = kernel.diagonal(x).iter().map(|v| v + noise).collect();
    let bias = prior_bias(y, &variance);
    let mut state =
        State { mean: vec![0.0; n], variance, m: vec![0.0; n * width], width, is_active: vec![false; n] };
    let mut rng = Rng::new(options.seed, Purpose::Sample, 0);
    let (mut active, mut sites) = (Vec::new(), Vec::<Site>::new());
    while active.len() < width && (active.is_empty() || budget.spent().is_none()) {
        let Some((row, site)) = state.most_telling(y, bias, options.n_candidates, &mut rng, par) else {
            break;
        };
        let column = kernel.cross(x, x.select(Axis(0), &[row]).view(), par);
        state.include(row, &site, column.column(0).to_vec(), noise, active.len(), par);
        active.push(row);
        sites.push(site);
    }
    let of = |part: fn(&Site) -> f64| sites.iter().map(part).collect::<Array1<f64>>();
    let rows: Array2<f64> = x.select(Axis(0), &active);
    let ivm = Ivm::new(kernel.clone(), bias, rows, of(|s| s.mean), of(|s| s.precision), par)?;
    let log_evidence = sites.iter().map(|s| s.log_z).sum();
    Ok(Trained { ivm, active, mean: state.mean, variance: state.variance, log_evidence })
}

/// The noise that the kernel adds to a row's own variance.
fn kernel_noise(kernel: &Kernel) -> f64 {
    match kernel {
        Kernel::White => 1.0,
        Kernel::Scaled { variance, kernel } => variance * kernel_noise(kernel),
        Kernel::Sum(kernels) => kernels.iter().map(kernel_noise).sum(),
        _ => 0.0,
    }
}

/// The bias with which the prior gives each class its share: Φ(b/√(1 + k)) = p, k being the mean variance (spec 000, A15).
fn prior_bias(y: &[f64], variance: &[f64]) -> f64 {
    let n = y.len() as f64;
    let share = y.iter().filter(|y| **y > 0.0).count() as f64 / n;
    let mean = variance.iter().sum::<f64>() / n;
    normal_quantile(share.clamp(1e-3, 1.0 - 1e-3)) * libm::sqrt(1.0 + mean)
}

impl State {
    /// The row whose label would lower the entropy most, and its site; of equals, the first.
    fn most_telling(
        &self,
        y: &[f64],
        bias: f64,
        n_candidates: usize,
        rng: &mut Rng,
        par: &Par,
    ) -> Option<(usize, Site)> {
        let n = y.len();
        let site = |row: usize| Site::new(y[row], self.mean[row], self.variance[row], bias);
        let better = |a: Option<(usize, Site)>, b: Option<(usize, Site)>| match (&a, &b) {
            (Some((_, first)), Some((_, second))) if second.entropy > first.entropy => b,
            (None, _) => b,
            _ => a,
        };
        let telling = |row: usize| {
            let site = site(row).filter(|site| !self.is_active[row] && site.entropy > LEAST_ENTROPY);
            site.map(|site| (row, site))
        };
        if n_candidates > 0 && n_candidates < n {
            let mut rows: Vec<usize> = (0..n_candidates).map(|_| rng.index(n)).collect();
            rows.sort_unstable();
            let best = rows.into_iter().map(telling).fold(None, better);
            if best.is_some() {
                return best;
            }
        }
        let parts = par.map(n.div_ceil(CHUNK), |chunk| {
            (chunk * CHUNK..((chunk + 1) * CHUNK).min(n)).map(telling).fold(None, better)
        });
        parts.into_iter().fold(None, better)
    }

    /// Lets a row join as active row number `k`; `column` holds its covariances with all rows, without noise.
    fn include(&mut self, row: usize, site: &Site, column: Vec<f64>, noise: f64, k: usize, par: &Par) {
        let width = self.width;
        let own = self.m[row * width..row * width + k].to_vec();
        let root = libm::sqrt(site.shrink);
        let mut column = column;
        column[row] += noise;
        par.for_chunks(&mut self.m, CHUNK * width, |chunk, m| {
            for (i, m) in m.chunks_mut(width).enumerate() {
                m[k] = root * (column[chunk * CHUNK + i] - crate::linalg::dot(&m[..k], &own));
            }
        });
        for (i, m) in self.m.chunks(width).enumerate() {
            let covariance = m[k] / root;
            self.mean[i] += site.gain * covariance;
            self.variance[i] = (self.variance[i] - m[k] * m[k]).max(0.0);
        }
        self.is_active[row] = true;
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn four() -> (Array2<f64>, [f64; 4], Kernel) {
        (array![[0.0], [1.0], [2.0], [3.0]], [1.0, 1.0, -1.0, -1.0], Kernel::rbf(1.0) + Kernel::white(1e-6))
    }

    fn trained(x: &Array2<f64>, y: &[f64], kernel: &Kernel, n_active: usize) -> Trained {
        let options = IvmOptions { n_active, ..IvmOptions::default() };
        train(kernel, x.view(), y, &options, &Par::new(2).unwrap(), &Budget::open()).unwrap()
    }

    /// Spec 000, section 13: as many rows of either class, so the bias is 0.
    #[test]
    fn the_small_machine_of_the_spec() {
        let (x, y, kernel) = four();
        let small = trained(&x, &y, &kernel, 3);
        assert_eq!(small.active, [0, 2, 1]);
        let close = |got: &Array1<f64>, expected: [f64; 3]| {
            got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 2e-6)
        };
        assert!(close(&small.ivm.means, [1.772_454, -1.737_462, 1.669_019]));
        assert!(close(&small.ivm.precisions, [0.466_942, 0.480_281, 0.496_959]));
        let lower = small.ivm.factor.lower();
        let rows = [[1.772_454, 0.0, 0.0], [0.076_355, 1.753_934, 0.0], [0.342_198, 0.330_914, 1.669_022]];
        assert!((0..3).all(|i| (0..3).all(|j| (lower[(i, j)] - rows[i][j]).abs() < 2e-6)));
        let par = Par::sequential();
        let at = array![[0.5], [1.5], [10.0]];
        let latent = small.ivm.latent(at.view(), &par).unwrap();
        assert!(close(&latent.mean, [0.723_160, 0.064_101, 0.0]));
        assert!(close(&latent.variance, [0.569_948, 0.566_786, 1.0]));
        assert!(close(&small.ivm.probability(at.view(), &par).unwrap(), [0.718_082, 0.520_421, 0.5]));
        assert!((small.log_evidence + 2.123_528).abs() < 2e-6);
    }

    /// Means and variances that grew step by step are those of the finished machine.
    #[test]
    fn what_was_learnt_on_the_way_is_what_the_machine_says() {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        let x = Array2::from_shape_fn((1200, 2), |_| 4.0 * rng.unit() - 2.0);
        let y: Vec<f64> =
            x.rows().into_iter().map(|r| if r[0] * r[0] + r[1] * r[1] < 1.5 { 1.0 } else { -1.0 }).collect();
        let kernel = Kernel::rbf(0.7).scaled(8.0) + Kernel::white(1e-3);
        let got = trained(&x, &y, &kernel, 40);
        assert_eq!(got.active.len(), 40);
        let latent = got.ivm.latent(x.view(), &Par::sequential()).unwrap();
        for row in (0..1200).filter(|row| !got.active.contains(row)) {
            assert!((latent.mean[row] - got.mean[row]).abs() < 1e-8);
            // Training rows have their noise, other rows have none.
            assert!((latent.variance[row] + 1e-3 - got.variance[row]).abs() < 1e-8);
        }
        let right = latent.mean.iter().zip(&y).filter(|(m, y)| (*m + got.ivm.bias) * *y > 0.0).count();
        assert!(right > 1150, "{right} of 1200");
    }

    #[test]
    fn candidates_seeds_budgets_and_repeats_behave() {
        let (x, y, kernel) = four();
        let par = Par::sequential();
        let some = IvmOptions { n_active: 3, n_candidates: 2, seed: 5 };
        let run = || train(&kernel, x.view(), &y, &some, &par, &Budget::open()).unwrap();
        assert_eq!(run(), run());
        let budget = Budget::open();
        budget.stop.stop();
        let stopped = train(&kernel, x.view(), &y, &IvmOptions::default(), &par, &budget).unwrap();
        assert_eq!(stopped.active.len(), 1, "there is always a machine");
        // More places than rows, rows that are alike, one class only.
        assert_eq!(trained(&x, &y, &kernel, 100).active.len(), 4);
        let twins = Array2::zeros((50, 1));
        let labels: Vec<f64> = (0..50).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        for labels in [labels, vec![1.0; 50]] {
            let p = trained(&twins, &labels, &Kernel::rbf(1.0).scaled(1e6), 50).ivm;
            assert!(p.probability(twins.view(), &par).unwrap().iter().all(|p| (0.0..=1.0).contains(p)));
        }
        let wrong = |y: &[f64], n_active| {
            let options = IvmOptions { n_active, ..IvmOptions::default() };
            train(&kernel, x.view(), y, &options, &par, &Budget::open()).unwrap_err().to_string()
        };
        assert!(wrong(&[1.0], 3).contains("labels") && wrong(&[0.5; 4], 3).contains("+1 or -1"));
        assert!(wrong(&y, 0).contains("n_active"));
    }
}
