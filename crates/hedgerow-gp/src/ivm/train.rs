//! Training an IVM for two classes.

use hedgerow_core::{Budget, DataProblem, Error, Par, Result};
use ndarray::{Array2, ArrayView2, Axis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{Column, Columns};
use super::one_vs_rest::OneVsRest;
use super::search::{ActiveSetSearch, Ahead};
use super::{Ivm, IvmParams};
use crate::binary::check_signs;
use crate::kernel::Kernel;
use crate::special::normal_quantile;

/// Bytes that IVMs trained in lock-step may take together.
const MOST_BYTES: usize = 2_500_000_000;

/// What is done with the sites once all active rows are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecondPass {
    /// Nothing.
    #[default]
    None,
    /// The active rows are filtered once more in the reversed order, and the two beliefs averaged.
    Reversed,
    /// Expectation propagation: sites are matched again and again until they agree with each other.
    Ep,
}

/// An IVM, and its posterior at its training rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// The IVM.
    pub ivm: Ivm,
    /// The active rows, as numbers of training rows, in the order in which they joined.
    pub active: Vec<usize>,
    /// By how much the label of each of them lowered the entropy.
    pub gains: Vec<f64>,
    /// The mean of the latent value at each training row, without the bias, in single precision.
    pub mean: Vec<f32>,
    /// Its variance.
    pub variance: Vec<f32>,
    /// Σ log Z over the active rows: the evidence as the filter saw it.
    pub log_evidence: f64,
}

/// Trains an IVM on labels (+1 or −1) of rows. Ends early, with the IVM so far, when the budget is spent or no row has any
/// information gain.
pub fn train(
    kernel: &Kernel,
    x: ArrayView2<'_, f64>,
    y: &[f64],
    params: &IvmParams,
    par: &Par,
    budget: &Budget,
) -> Result<Trained> {
    kernel.check(x.ncols())?;
    let columns = Columns::any(kernel, x.to_owned());
    let rows = |active: &[usize]| x.select(Axis(0), active);
    let shared = Shared { columns: &columns, kernel, rows: &rows, params, par, budget };
    let one = shared.train(&[y.to_vec()])?.pop().ok_or_else(|| budget.no_model())?;
    let ivm = one.ivm(kernel.clone(), rows(&one.sites.active), &Par::sequential())?;
    let OneVsRest { sites, gains, mean, variance, log_evidence, .. } = one;
    Ok(Trained { ivm, active: sites.active, gains, mean, variance, log_evidence })
}

/// What several IVMs have in common.
pub(super) struct Shared<'a, 'x> {
    pub(super) columns: &'a Columns<'x>,
    pub(super) kernel: &'a Kernel,
    /// Finds rows by their numbers.
    pub(super) rows: &'a (dyn Fn(&[usize]) -> Array2<f64> + Sync),
    pub(super) params: &'a IvmParams,
    pub(super) par: &'a Par,
    pub(super) budget: &'a Budget,
}

impl Shared<'_, '_> {
    /// Trains an IVM for each list of labels, in lock-step: all choose rows ahead, the columns of these rows are made in one go,
    /// and all catch up.
    pub(super) fn train(&self, labels: &[Vec<f64>]) -> Result<Vec<OneVsRest>> {
        let n = self.columns.n_rows();
        for y in labels {
            if y.len() != n {
                return Err(Error::Shape { what: "labels", expected: n, got: y.len() });
            }
            check_signs(y)?;
        }
        if n == 0 {
            return Err(DataProblem::Empty.into());
        }
        if self.params.n_active == 0 {
            return Err(Error::param("n_active", "1 or more", 0));
        }
        let of_one = size_of::<f32>() * n * self.params.n_active.min(n);
        let size = (MOST_BYTES / of_one).max(self.par.threads());
        let mut trained = Vec::with_capacity(labels.len());
        for group in labels.chunks(size) {
            trained.extend(self.train_group(group)?);
        }
        Ok(trained)
    }

    fn train_group(&self, labels: &[Vec<f64>]) -> Result<Vec<OneVsRest>> {
        let noise = kernel_noise(self.kernel);
        let diagonal = self.columns.diagonal();
        let search =
            |y| ActiveSetSearch::new(self.columns, y, noise, prior_bias(y, &diagonal, noise), self.params);
        let mut searches: Vec<(ActiveSetSearch<'_, '_>, Option<Ahead>)> =
            labels.iter().map(|y| (search(y), None)).collect();
        // Classifiers side by side, if there are as many as threads; otherwise threads share the work on each.
        let sequential = self.par.alone();
        let inner = if labels.len() < self.par.threads() { self.par } else { &sequential };
        loop {
            self.par.for_chunks(&mut searches, 1, |_, each| {
                each.iter_mut().for_each(|(search, ahead)| *ahead = search.choose_ahead(inner, self.budget));
            });
            let chosen = |ahead: &Ahead| ahead.chosen.iter().map(|pick| pick.row).collect::<Vec<usize>>();
            let mut rows: Vec<usize> =
                searches.iter().filter_map(|(_, a)| a.as_ref()).flat_map(chosen).collect();
            if self.par.is_stopped() {
                return Err(Error::Interrupted);
            }
            if rows.is_empty() {
                break;
            }
            rows.sort_unstable();
            rows.dedup();
            let has_few = searches[0].0.has_few;
            let columns = if has_few { Vec::new() } else { self.columns.of(&rows, self.par) };
            self.par.for_chunks(&mut searches, 1, |_, each| {
                for (search, ahead) in each {
                    let Some(ahead) = ahead.take() else { continue };
                    let place =
                        |row: usize| rows.binary_search(&row).ok().and_then(|at| columns.get(at).cloned());
                    let own: Vec<Column> = chosen(&ahead).into_iter().filter_map(place).collect();
                    search.take(ahead, &own, inner);
                }
            });
        }
        let searches: Vec<ActiveSetSearch<'_, '_>> = searches.into_iter().map(|(search, _)| search).collect();
        let finish = |i: usize| {
            let found = OneVsRest::of(i, &searches[i].state);
            found.with_second_pass(self.params.second_pass, self.kernel, self.rows, &labels[i])
        };
        self.par.map(labels.len(), finish).into_iter().collect()
    }
}

/// The noise that the kernel adds to a row's own variance.
pub(super) fn kernel_noise(kernel: &Kernel) -> f64 {
    match kernel {
        Kernel::White => 1.0,
        Kernel::Scaled { variance, kernel } => variance * kernel_noise(kernel),
        Kernel::Sum(kernels) => kernels.iter().map(kernel_noise).sum(),
        _ => 0.0,
    }
}

/// The bias with which the prior gives each class its share: Φ(b/√(1 + k)) = p, k being the mean variance.
fn prior_bias(y: &[f64], diagonal: &[f64], noise: f64) -> f64 {
    let n = y.len() as f64;
    let share = y.iter().filter(|y| **y > 0.0).count() as f64 / n;
    bias_for(share, diagonal.iter().sum::<f64>() / n + noise)
}

/// The same for a share and a mean variance.
pub(super) fn bias_for(share: f64, mean: f64) -> f64 {
    normal_quantile(share.clamp(1e-3, 1.0 - 1e-3)) * libm::sqrt(1.0 + mean)
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use ndarray::{Array1, array};

    use super::*;

    fn four() -> (Array2<f64>, [f64; 4], Kernel) {
        (array![[0.0], [1.0], [2.0], [3.0]], [1.0, 1.0, -1.0, -1.0], Kernel::rbf(1.0) + Kernel::white(1e-6))
    }

    fn trained(x: &Array2<f64>, y: &[f64], kernel: &Kernel, n_active: usize) -> Trained {
        let options = IvmParams { n_active, ..IvmParams::default() };
        train(kernel, x.view(), y, &options, &Par::new(2).unwrap(), &Budget::open()).unwrap()
    }

    /// Reference values: as many rows of either class, so the bias is 0.
    #[test]
    fn a_small_ivm_gives_the_reference_values() {
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

    /// Means and variances that grew step by step are those of the finished IVM.
    #[test]
    fn the_posterior_on_the_way_is_what_the_ivm_predicts() {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        let x = Array2::from_shape_fn((1200, 2), |_| 4.0 * rng.unit() - 2.0);
        let y: Vec<f64> =
            x.rows().into_iter().map(|r| if r[0] * r[0] + r[1] * r[1] < 1.5 { 1.0 } else { -1.0 }).collect();
        let kernel = Kernel::rbf(0.7).scaled(8.0) + Kernel::white(1e-3);
        let got = trained(&x, &y, &kernel, 40);
        assert_eq!(got.active.len(), 40);
        let latent = got.ivm.latent(x.view(), &Par::sequential()).unwrap();
        for row in (0..1200).filter(|row| !got.active.contains(row)) {
            assert!((latent.mean[row] - f64::from(got.mean[row])).abs() < 1e-4);
            // Training rows have their noise, other rows have none.
            assert!((latent.variance[row] + 1e-3 - f64::from(got.variance[row])).abs() < 1e-4);
        }
        let right = latent.mean.iter().zip(&y).filter(|(m, y)| (*m + got.ivm.bias) * *y > 0.0).count();
        assert!(right > 1150, "{right} of 1200");
    }

    #[test]
    fn candidates_seeds_budgets_and_repeats_behave() {
        let (x, y, kernel) = four();
        let par = Par::sequential();
        let some = IvmParams { n_active: 3, n_candidates: 2, seed: 5, ..IvmParams::default() };
        let run = || train(&kernel, x.view(), &y, &some, &par, &Budget::open()).unwrap();
        assert_eq!(run(), run());
        let budget = Budget::open();
        budget.stop.stop();
        let stopped =
            train(&kernel, x.view(), &y, &IvmParams { n_active: 4, ..IvmParams::default() }, &par, &budget)
                .unwrap();
        assert_eq!(stopped.active.len(), 1, "there is always an IVM");
        // More places than rows, rows that are alike, one class only.
        assert_eq!(trained(&x, &y, &kernel, 100).active.len(), 4);
        let twins = Array2::zeros((50, 1));
        let labels: Vec<f64> = (0..50).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        for labels in [labels, vec![1.0; 50]] {
            let p = trained(&twins, &labels, &Kernel::rbf(1.0).scaled(1e6), 50).ivm;
            assert!(p.probability(twins.view(), &par).unwrap().iter().all(|p| (0.0..=1.0).contains(p)));
        }
        let wrong = |y: &[f64], n_active| {
            let options = IvmParams { n_active, ..IvmParams::default() };
            train(&kernel, x.view(), y, &options, &par, &Budget::open()).unwrap_err().to_string()
        };
        assert!(wrong(&[1.0], 3).contains("labels") && wrong(&[0.5; 4], 3).contains("+1 or -1"));
        assert!(wrong(&y, 0).contains("n_active"));
    }
}
