//! The search for length scale and variance of the kernel: kernels that can be tried one by one, in any order, on any thread.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Par, Result, Training};
use ndarray::Array2;

use super::one_vs_rest::OneVsRest;
use super::params::{IvmParams, Objective, SearchKind};
use super::rows::{MOST_SAMPLE, TrainingRows, union};
use crate::cma::{Limits, evolve};
use crate::optimize::climb_kernel;
use crate::prepare::typical_distance;
use crate::refit::{Freedom, RIDGES, RegressionSearch};
use crate::special::normal_cdf;

/// Length scales that are tried, in typical distances, and variances; the likeliest first, as the search may be cut short. One after the other
/// in size, length scales differ by about half.
const LENGTHS: [f64; 7] = [0.45, 0.65, 0.32, 1.0, 0.22, 1.5, 0.15];
/// Neighbors of the best length scale are within this factor.
const NEIGHBOR: f64 = 1.6;
/// Length scales that are tried in any case, where there are so many rows that the loss is smooth.
const FIRST_LENGTHS: usize = 4;
const VARIANCES: [f64; 4] = [30.0, 8.0, 100.0, 2.0];
/// Evaluations of the log marginal likelihood before active sets are chosen anew; and the part of a length scale or variance that counts as no change.
const STEPS: usize = 10;
const SETTLED: f64 = 0.02;
/// Parts of the best length scale that are tried at last.
const BETWEEN: [f64; 2] = [0.84, 1.19];

/// A kernel that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tried {
    /// The objective: the lower, the better.
    value: f64,
    /// Where the gradient leads from it.
    next: [f64; 2],
}

/// Kernels to be tried on a sample of the rows. Which ones come later depends on how good the first were; of those that are known, any may be tried at any
/// time.
pub(super) struct KernelSearch {
    /// The sample.
    rows: TrainingRows,
    /// Length scales and variances; one alone where it is given.
    lengths: Vec<f64>,
    variances: Vec<f64>,
    /// Parts of the best length scale that are tried at last.
    between: Vec<f64>,
    /// Logarithms of the bounds within which CMA-ES searches.
    bounds: [[f64; 2]; 2],
}

impl KernelSearch {
    /// Made ready for what the parameters leave open.
    pub(super) fn new(rows: &TrainingRows, params: &IvmParams, par: &Par) -> Self {
        let typical = typical_distance(rows.x.view(), params.seed);
        let given = |value: f64, grid: Vec<f64>| if value > 0.0 { vec![value] } else { grid };
        let lengths = given(params.length_scale, LENGTHS.map(|f| f * typical).to_vec());
        let variances = given(params.signal_variance, VARIANCES.to_vec());
        let bound = |values: &[f64]| {
            [f64::INFINITY, f64::NEG_INFINITY].map(|start| {
                let pick = if start > 0.0 { f64::min } else { f64::max };
                libm::log(values.iter().copied().fold(start, pick))
            })
        };
        Self {
            between: if params.length_scale > 0.0 { Vec::new() } else { BETWEEN.to_vec() },
            bounds: [bound(&lengths), bound(&variances)],
            rows: if lengths.len() * variances.len() > 1 {
                rows.sample(params.seed, par)
            } else {
                rows.select(&[], rows.params.clone())
            },
            lengths,
            variances,
        }
    }

    /// The kernels that can be tried by now; `tried` has the objective of each, as far as it is known. One alone is not worth a trial.
    ///
    /// In a grid, all length scales come with the first variance, then the best of them and its neighbors with the others, then what lies between the best
    /// kernel and its neighbors. With many rows, only the likeliest length scales come first, others as long as the best is the longest or the shortest so far,
    /// and only the best has other variances. With gradients, the best length scale is where they are followed from. Of a population, those of a generation are known when all before them have been tried.
    pub(super) fn kernels(&self, tried: &[Option<Tried>]) -> Vec<[f64; 2]> {
        if self.rows.params.search == SearchKind::Cma && !self.is_given() {
            return self.evolve(tried).0;
        }
        let has_many = self.rows.n_rows() >= MOST_SAMPLE;
        let (n_first, reach) = if has_many { (FIRST_LENGTHS, 1.0) } else { (LENGTHS.len(), NEIGHBOR) };
        let first = self.variances[0];
        let likeliest = self.lengths.iter().take(n_first);
        let mut kernels: Vec<[f64; 2]> = likeliest.map(|&length| [length, first]).collect();
        let best = |kernels: &[[f64; 2]]| {
            let known = tried.get(..kernels.len()).filter(|known| !known.contains(&None))?;
            least(kernels, known)
        };
        let nearest = loop {
            let Some([nearest, _]) = best(&kernels) else { return kernels };
            let Some(next) = self.beyond(nearest, &kernels) else { break nearest };
            kernels.push([next, first]);
        };
        if self.rows.params.search == SearchKind::Gradient {
            return self.follow([nearest, first], kernels, tried);
        }
        let is_near = |length: &&f64| (1.0 / reach..=reach).contains(&(*length / nearest));
        for &variance in &self.variances[1..] {
            kernels.extend(self.lengths.iter().filter(is_near).map(|&length| [length, variance]));
        }
        let Some([length, variance]) = best(&kernels) else { return kernels };
        kernels.extend(self.between.iter().map(|share| [share * length, variance]));
        kernels
    }

    /// The next length scale in the direction of the best, where the best is the longest or the shortest that was tried.
    fn beyond(&self, best: f64, tried: &[[f64; 2]]) -> Option<f64> {
        let is_farther = |length: &f64| {
            tried.iter().all(|[tried, _]| tried <= &best && best < *length)
                || tried.iter().all(|[tried, _]| tried >= &best && best > *length)
        };
        self.lengths.iter().copied().find(is_farther)
    }

    /// The kernels that were tried, and where the gradient leads from the best of them, a few steps at a time. Active sets are chosen anew in between.
    fn follow(&self, start: [f64; 2], mut kernels: Vec<[f64; 2]>, tried: &[Option<Tried>]) -> Vec<[f64; 2]> {
        let mut at = kernels.iter().position(|kernel| *kernel == start).unwrap_or(0);
        while kernels.len() < self.rows.params.n_trials
            && let Some(Some(Tried { next, .. })) = tried.get(at)
            && kernels[at].iter().zip(next).any(|(now, next)| (next / now - 1.0).abs() > SETTLED)
        {
            kernels.push(*next);
            at = kernels.len() - 1;
        }
        kernels
    }

    /// Whether nothing is left open.
    fn is_given(&self) -> bool {
        self.lengths.len() * self.variances.len() == 1
    }

    /// Whether nothing is left to try.
    pub(super) fn is_done(&self, tried: &[Option<Tried>]) -> bool {
        let n = self.kernels(tried).len();
        self.is_given() || (tried.len() >= n && !tried[..n].contains(&None))
    }

    /// The kernel that the search has come to: of a grid the best that was tried, of a population its mean. The first if none was tried.
    pub(super) fn best(&self, tried: &[Option<Tried>]) -> [f64; 2] {
        let is_tried = tried.iter().any(Option::is_some);
        if self.rows.params.search == SearchKind::Cma && !self.is_given() && is_tried {
            let [length, variance] = self.evolve(tried).1;
            return [libm::exp(length), libm::exp(variance)];
        }
        let kernels = self.kernels(tried);
        least(&kernels, tried).unwrap_or(kernels[0])
    }

    /// Lets the population evolve again, as far as values are known. Returns all points that were asked for, and the mean it has come to.
    fn evolve(&self, tried: &[Option<Tried>]) -> (Vec<[f64; 2]>, [f64; 2]) {
        let limits = Limits { n_values: self.rows.params.n_trials, n_restarts: 4 };
        let mut rng = Rng::new(self.rows.params.seed, Purpose::Sample, 3);
        let mut asked: Vec<[f64; 2]> = Vec::new();
        let mean = evolve(&self.bounds, &limits, &mut rng, |points| {
            let first = asked.len();
            asked.extend(points.iter().map(|point| [libm::exp(point[0]), libm::exp(point[1])]));
            let known = tried.get(first..asked.len()).unwrap_or_default();
            known.iter().map_while(|tried| tried.map(|tried| tried.value)).collect()
        });
        (asked, [mean[0], mean[1]])
    }

    /// Tries a kernel. None if the budget was spent before it was known.
    pub(super) fn objective(&self, kernel: [f64; 2], training: &Training<'_>) -> Result<Option<Tried>> {
        if training.budget.spent().is_some() {
            return Ok(None);
        }
        let tried = self.try_kernel(kernel, training);
        if training.par.is_stopped() {
            return Ok(None);
        }
        let Tried { value, next } = tried?;
        Ok(Some(Tried { value: if value.is_nan() { f64::INFINITY } else { value }, next }))
    }

    fn try_kernel(&self, kernel: [f64; 2], training: &Training<'_>) -> Result<Tried> {
        let rows = &self.rows;
        let found = rows.train_all(&vec![kernel; rows.n_classes], training)?;
        let value = match self.rows.params.objective {
            Objective::Loss if self.rows.params.refit => {
                let fitter = rows.fitter(training);
                let start = union(&found);
                let mut search =
                    RegressionSearch::new(&fitter, start, kernel[0], &RIDGES, Freedom::default());
                search.advance(&fitter)?;
                search.loss()
            }
            Objective::Loss => rows.left_out_scores(&found).calibrated_loss(training.par),
            Objective::Evidence => mean_of(&found, |one| -self.log_evidence(kernel, one)),
            Objective::Error => mean_of(&found, |one| {
                let error = weighted_error(rows, one, self.rows.params.error_weight);
                100.0 * error - self.log_evidence(kernel, one)
            }),
        };
        let next = match self.rows.params.search {
            SearchKind::Gradient => self.climbed(kernel, &found, training),
            _ => kernel,
        };
        Ok(Tried { value, next })
    }

    /// The log marginal likelihood of an active set under its sites, for each active row.
    fn log_evidence(&self, kernel: [f64; 2], one: &OneVsRest) -> f64 {
        let (kernel, active) = (self.rows.kernel(kernel), self.rows.wide(&one.sites.active));
        let ivm = one.ivm(kernel, active, &Par::sequential());
        ivm.map_or(f64::NEG_INFINITY, |ivm| ivm.log_evidence() / one.sites.active.len() as f64)
    }

    /// Climbs the log marginal likelihood of all active sets, which are held, for a few steps.
    fn climbed(&self, kernel: [f64; 2], found: &[OneVsRest], training: &Training<'_>) -> [f64; 2] {
        let sets = found.iter().map(|one| (one, self.rows.wide(&one.sites.active)));
        let sets: Vec<(&OneVsRest, Array2<f64>)> = sets.collect();
        let is_free = [self.rows.params.signal_variance == 0.0, self.rows.params.length_scale == 0.0, false];
        let best = climb_kernel(&self.rows.kernel(kernel), STEPS, training.budget, |kernel| {
            let (mut value, mut gradient) = (0.0, [0.0; 3]);
            for (one, active) in &sets {
                let ivm = one.ivm(kernel.clone(), active.clone(), training.par).ok()?;
                value += ivm.log_evidence();
                let own = ivm.evidence_gradient(training.par);
                gradient.iter_mut().zip(own).zip(is_free).for_each(|((sum, own), is_free)| {
                    *sum += if is_free { own } else { 0.0 };
                });
            }
            Some((value, gradient.to_vec()))
        });
        // Variance, length scale, noise.
        let parameters = best.parameters();
        let within = |value: f64, [low, high]: [f64; 2]| libm::exp(value.clamp(low, high));
        [within(parameters[1], self.bounds[0]), within(parameters[0], self.bounds[1])]
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.rows.x.len() + self.rows.squares.as_ref().map_or(0, Array2::len))
    }
}

/// The kernel of the least value.
fn least(kernels: &[[f64; 2]], tried: &[Option<Tried>]) -> Option<[f64; 2]> {
    let known = kernels.iter().zip(tried).filter_map(|(kernel, tried)| Some((*kernel, (*tried)?.value)));
    let best = known.reduce(|best, next| if next.1 < best.1 { next } else { best });
    best.map(|(kernel, _)| kernel)
}

/// The mean over classifiers of something about each.
fn mean_of(found: &[OneVsRest], of: impl Fn(&OneVsRest) -> f64) -> f64 {
    let values: Vec<f64> = found.iter().map(of).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// θ times the mean error among the rows of the class, and 1 − θ times that among the others (Denninger, 2017).
fn weighted_error(rows: &TrainingRows, one: &OneVsRest, theta: f64) -> f64 {
    let (mut sums, mut counts) = ([0.0; 2], [1e-9; 2]);
    for (row, label) in rows.labels.iter().enumerate() {
        let is_own = usize::from(label.index() == one.class);
        let p = normal_cdf(one.score(row));
        sums[is_own] += if is_own == 1 { 1.0 - p } else { p };
        counts[is_own] += 1.0;
    }
    (1.0 - theta) * sums[0] / counts[0] + theta * sums[1] / counts[1]
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, ClassId, Silent};
    use ndarray::array;

    use super::super::learnt::Sites;
    use super::*;
    use crate::kernel::Kernel;

    fn search(params: &IvmParams, n: usize) -> KernelSearch {
        let data = blobs(n, 2, 2, 4);
        let rows = TrainingRows {
            x: data.features.to_array(0..n),
            squares: None,
            labels: data.labels().to_vec(),
            n_classes: 2,
            params: params.clone(),
        };
        KernelSearch::new(&rows, params, &Par::sequential())
    }

    /// Tries all kernels; returns them with what was found.
    fn tried(search: &KernelSearch) -> Vec<([f64; 2], Tried)> {
        let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
        let mut tried: Vec<Option<Tried>> = Vec::new();
        while !search.is_done(&tried) {
            let kernel = search.kernels(&tried)[tried.len()];
            tried.push(search.objective(kernel, &training).unwrap());
        }
        search.kernels(&tried).into_iter().zip(tried.into_iter().flatten()).collect()
    }

    #[test]
    fn variances_are_tried_near_the_best_length_scale_only() {
        let params = IvmParams { n_active: 10, ..IvmParams::default() };
        let all = tried(&search(&params, 240));
        let (lengths, rest) = all.split_at(LENGTHS.len());
        let best = lengths.iter().min_by(|a, b| a.1.value.total_cmp(&b.1.value)).unwrap().0[0];
        assert!(lengths.iter().all(|([_, variance], _)| *variance == VARIANCES[0]));
        assert!((8..=11).contains(&rest.len()), "{}", rest.len());
        let is_near = |length: f64| (0.5..2.0).contains(&(length / best));
        assert!(rest[..rest.len() - 2].iter().all(|([length, _], _)| is_near(*length)));
        // What is given is not searched for.
        let given = tried(&search(&IvmParams { length_scale: 0.7, ..params.clone() }, 240));
        assert_eq!(given.iter().map(|(kernel, _)| *kernel).collect::<Vec<_>>(), VARIANCES.map(|v| [0.7, v]));
        assert!(search(&IvmParams { length_scale: 0.7, signal_variance: 2.0, ..params }, 240).is_done(&[]));
    }

    #[test]
    fn with_many_rows_the_least_loss_is_found_by_fewer_trials() {
        let search = search(&IvmParams { n_active: 10, ..IvmParams::default() }, MOST_SAMPLE);
        for (at, n_lengths) in [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 5), (6, 6)] {
            let off = |[length, variance]: [f64; 2]| {
                libm::log(length / search.lengths[at]).abs() + libm::log(variance / 8.0).abs()
            };
            let mut tried = Vec::new();
            while !search.is_done(&tried) {
                let kernel = search.kernels(&tried)[tried.len()];
                tried.push(Some(Tried { value: off(kernel), next: kernel }));
            }
            assert_eq!(search.best(&tried), [search.lengths[at], 8.0]);
            assert_eq!(tried.len(), n_lengths + VARIANCES.len() - 1 + BETWEEN.len());
        }
    }

    #[test]
    fn the_gradient_of_the_evidence_agrees_with_differences() {
        let x = array![[0.0], [0.7], [1.9], [2.2], [3.1]];
        let kernel = Kernel::rbf(0.9).scaled(2.5) + Kernel::white(0.05);
        let (means, precisions) = (array![1.2, 0.8, -0.5, -1.4, -0.9], array![0.5, 0.8, 1.3, 0.4, 0.9]);
        let par = Par::sequential();
        let sites =
            Sites { active: Vec::new(), means: means.to_vec(), precisions: precisions.to_vec(), bias: 0.3 };
        let at = |kernel: Kernel| super::super::Ivm::new(kernel, &sites, x.clone(), &par).unwrap();
        // The density of the site means, by the inverse and the determinant themselves.
        let mut a = kernel.matrix(x.view(), &par);
        a.diag_mut().iter_mut().zip(&precisions).for_each(|(v, precision)| *v += 1.0 / precision);
        let factor = crate::linalg::Cholesky::new(a, &par).unwrap();
        let density = -0.5 * means.dot(&factor.inverse(&par).dot(&means))
            - 0.5 * factor.log_det()
            - 2.5 * (2.0 * std::f64::consts::PI).ln();
        assert!((at(kernel.clone()).log_evidence() - density).abs() < 1e-10);
        for (i, derivative) in at(kernel.clone()).evidence_gradient(&par).into_iter().enumerate() {
            let moved = |h: f64| {
                let mut parameters = kernel.parameters();
                parameters[i] += h;
                at(kernel.with_parameters(&parameters)).log_evidence()
            };
            assert!(((moved(1e-5) - moved(-1e-5)) / 2e-5 - derivative).abs() < 1e-7, "{i}");
        }
    }

    #[test]
    fn gradients_lead_to_a_higher_log_marginal_likelihood() {
        let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
        let kind = SearchKind::Gradient;
        let params = IvmParams { n_active: 15, n_trials: 12, search: kind, ..IvmParams::default() };
        let search_open = search(&params, 240);
        let start = search_open.kernels(&[])[0];
        let found = search_open.rows.train_all(&[start; 2], &training).unwrap();
        let next = search_open.climbed(start, &found, &training);
        let evidence = |kernel| mean_of(&found, |one| search_open.log_evidence(kernel, one));
        assert!(evidence(next) > evidence(start) + 0.01, "{} {}", evidence(next), evidence(start));
        // From the best length scale on, each kernel is where the gradient led from the one before.
        let all = tried(&search_open);
        let (lengths, path) = all.split_at(LENGTHS.len());
        let best = lengths.iter().min_by(|a, b| a.1.value.total_cmp(&b.1.value)).unwrap();
        assert!(!path.is_empty() && all.len() <= 12);
        let before = std::iter::once(best).chain(path);
        assert!(before.zip(path).all(|((_, before), (kernel, _))| before.next == *kernel));
        let held = tried(&search(&IvmParams { signal_variance: 5.0, ..params }, 240));
        assert!(held.iter().all(|([_, variance], _)| (variance - 5.0).abs() < 1e-9), "what is given stays");
    }

    #[test]
    fn errors_of_both_sides_have_their_weights() {
        let rows = TrainingRows {
            x: Array2::zeros((4, 1)),
            squares: None,
            labels: [1, 1, 0, 0].map(ClassId).to_vec(),
            n_classes: 2,
            params: IvmParams::default(),
        };
        let one = OneVsRest {
            class: 1,
            sites: Sites { active: Vec::new(), means: Vec::new(), precisions: Vec::new(), bias: 0.5 },
            gains: Vec::new(),
            mean: vec![1.0, -2.0, 0.3, -1.5],
            variance: vec![0.0, 3.0, 1.0, 0.0],
            log_evidence: 0.0,
        };
        // p(+1) of each row, then the errors 1 − p of its own label.
        let p = [1.5, -1.5 / 2.0, 0.8 / 2_f64.sqrt(), -1.0].map(normal_cdf);
        let (own, others) = ((2.0 - p[0] - p[1]) / 2.0, (p[2] + p[3]) / 2.0);
        for theta in [0.0, 0.2, 0.5, 1.0] {
            let expected = theta * own + (1.0 - theta) * others;
            assert!((weighted_error(&rows, &one, theta) - expected).abs() < 1e-6);
        }
    }
}
