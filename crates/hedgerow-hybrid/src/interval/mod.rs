//! Where the true probabilities of the classes lie: intervals over training sets that might have been drawn.
//!
//! A forest's own spread tells how its trees differ, not how far it is from the truth: it is biased where it smooths over too many rows, and the bias is
//! larger than its variance. So the intervals come from an estimate of their own, made of the rows that a model retains: trees on half-samples of
//! the rows (`bags`), whose out-of-bag log odds are one term of a logistic regression; columns and a Gaussian process are the others (`space`, `curve`). What
//! the trees get wrong smoothly, the process sees in the labels, and its posterior is the interval: on average over rows such an interval covers the truth as
//! often as it says, bias included (Wahba, 1983, Bayesian confidence intervals for the cross-validated smoothing spline; Nychka, 1988). The variance of the
//! trees over half-samples is added. `docs/math/intervals.md` has the formulae and what was measured.
//!
//! ```
//! use hedgerow_core::{Par, TrueProbability as _, testing::blobs};
//! use hedgerow_hybrid::IntervalEnsemble;
//!
//! let data = blobs(300, 4, 3, 1);
//! let par = Par::sequential();
//! let ensemble = IntervalEnsemble::fit(&data, 0, &par)?;
//! let [low, high] = ensemble.predict_true_probability(data.features.to_array(0..5).view(), &par)?.interval(0.9)?;
//! assert!(low.dim() == (5, 3) && low.iter().zip(&high).all(|(low, high)| low <= high));
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod bags;
mod curve;
mod saved;
mod space;
#[cfg(test)]
mod tests;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::array;
use hedgerow_core::{
    About, Classifier, Dataset, Error, Par, Result, SecondOrder, Task as PredictionTask, TrueProbability,
};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use serde::{Deserialize, Serialize};

use bags::{BLOCK, Bags};
use curve::{Curve, Task};
use space::{Shape, Space, set_log_odds, slope_of_log_odds};

/// Rows that hyper-parameters are chosen by, and that curves are fitted to; drawn at random where there are more.
const MOST_SEARCHED: usize = 1_500;
const MOST_FITTED: usize = 20_000;
/// Classes that hyper-parameters are chosen by, the most frequent ones.
const MOST_CLASSES: usize = 2;
/// Kernels that are tried: their length scales in typical distances of rows.
const KERNELS: [(Shape, f64); 9] = [
    (Shape::Smooth, 0.125),
    (Shape::Smooth, 0.25),
    (Shape::Smooth, 0.5),
    (Shape::Smooth, 1.0),
    (Shape::Smooth, 2.0),
    (Shape::Rough, 0.5),
    (Shape::Rough, 1.0),
    (Shape::Rough, 2.0),
    (Shape::Rough, 4.0),
];
/// Variances of the process that are tried.
const VARIANCES: [f64; 4] = [0.0025, 0.09, 1.0, 9.0];
/// Votes that a share of the trees stands for when it becomes log odds: half a vote is added for either side.
const VOTES: f64 = 50.0;
/// The posterior's deviations are made longer by this: its kernel was chosen by the same labels.
const INFLATION: f64 = 1.1;
/// The variance of the trees counts so often: what they get wrong in steps, which a process does not see, is bias as well as variance.
const OF_TREES: f64 = 3.0;
/// Log odds farther out are as good as certain.
const MOST_ODDS: f64 = 40.0;

/// What tells where true probabilities lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalEnsemble {
    n_features: usize,
    n_classes: usize,
    /// Rows it was made of, by class, those of weight 0 aside.
    #[serde(with = "array")]
    counts: Vec<u64>,
    /// None where there are rows of one class only.
    learnt: Option<Learnt>,
}

/// What was learnt of rows of two classes or more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Learnt {
    bags: Bags,
    space: Space,
    /// One for each class; of two classes, for the second.
    curves: Vec<Curve>,
}

impl IntervalEnsemble {
    /// Learns rows and their labels. Same rows and seed, same intervals, whatever the threads.
    pub fn fit(data: &Dataset, seed: u64, par: &Par) -> Result<Self> {
        data.targets.view().check_task(PredictionTask::Classification)?;
        let counts_row = |row: &usize| data.weights.as_ref().is_none_or(|weights| weights[*row] > 0.0);
        let rows: Vec<usize> = (0..data.n_rows()).filter(counts_row).collect();
        let mut kept = if rows.len() == data.n_rows() { data.clone() } else { data.select(&rows) };
        if kept.weights.as_ref().is_some_and(|weights| weights.iter().all(|weight| *weight == weights[0])) {
            kept.edit(|kept| kept.weights = None)?;
        }
        let counts: Vec<u64> = kept.class_counts().into_iter().map(|n| n as u64).collect();
        let has_two = counts.iter().filter(|n| **n > 0).count() > 1;
        let learnt = has_two.then(|| Learnt::fit(&kept, &counts, seed, par)).transpose()?;
        Ok(Self { n_features: data.schema.n_features(), n_classes: data.schema.n_classes(), counts, learnt })
    }

    /// Rows it was made of.
    pub fn n_rows(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_learnt = |learnt: &Learnt| {
            learnt.bags.bytes() + learnt.space.bytes() + learnt.curves.iter().map(Curve::bytes).sum::<usize>()
        };
        size_of::<Self>() + self.learnt.as_ref().map_or(0, of_learnt)
    }

    /// Probabilities nearer 0 or 1 cannot be told from 0 or 1 by so many rows.
    fn resolution(&self) -> f64 {
        (1.0 / libm::sqrt(self.n_rows().max(1) as f64)).min(0.49)
    }

    /// Log odds of every class and their deviations.
    fn log_odds(&self, x: ArrayView2<'_, f32>, par: &Par) -> [Array2<f64>; 2] {
        let mut out = [0, 1].map(|_| Array2::zeros((x.nrows(), self.n_classes)));
        match &self.learnt {
            _ if self.n_classes == 1 => out[0].fill(MOST_ODDS),
            Some(learnt) => {
                let blocks: Vec<ArrayView2<'_, f32>> = x.axis_chunks_iter(Axis(0), BLOCK).collect();
                let found = par.map(blocks.len(), |block| learnt.log_odds(blocks[block], self.n_classes));
                for (block, found) in found.into_iter().enumerate() {
                    let rows = block * BLOCK..block * BLOCK + found[0].nrows();
                    out.iter_mut()
                        .zip(found)
                        .for_each(|(out, found)| out.slice_mut(s![rows.clone(), ..]).assign(&found));
                }
            }
            None => {}
        }
        // Of classes that tell nothing by their rows, the beta distribution of Jeffreys' prior and the counts, by the mean and variance of its log odds to
        // first order.
        let n = self.n_rows() as f64;
        let is_told = |count: u64| self.n_classes == 1 || (self.learnt.is_some() && count > 0);
        for (class, count) in self.counts.iter().enumerate().filter(|(_, count)| !is_told(**count)) {
            let [own, others] = [*count as f64 + 0.5, n - *count as f64 + 0.5];
            out[0].column_mut(class).fill(libm::log(own / others));
            out[1].column_mut(class).fill(libm::sqrt(1.0 / own + 1.0 / others));
        }
        out
    }
}

impl Learnt {
    fn fit(data: &Dataset, counts: &[u64], seed: u64, par: &Par) -> Result<Self> {
        let (bags, left_out) = Bags::grow(data, seed, par)?;
        let space = Space::new(data, &bags.importances(), seed);
        let n = data.n_rows();
        let fitted = Rng::new(seed, Purpose::Sample, 12).sample(n, MOST_FITTED);
        let fitted = fitted.unwrap_or_else(|| (0..n).collect());
        let placed = space.place(data.features.select(&fitted).to_array(0..fitted.len()).view());
        let weights = row_weights(data, &fitted);
        let own = |class: usize| -> Vec<bool> {
            fitted.iter().map(|&row| data.labels()[row].index() == class).collect()
        };
        let shares = |class: usize| fitted.iter().map(|&row| left_out[(row, class)]).collect::<Vec<f64>>();
        let rows = Rows { placed, weights };
        let n_classes = counts.len();
        let classes: Vec<usize> = if n_classes == 2 { vec![1] } else { (0..n_classes).collect() };

        let mut frequent = classes.clone();
        frequent.sort_by_key(|class| std::cmp::Reverse(counts[*class]));
        frequent.truncate(MOST_CLASSES);
        let some: Vec<(Vec<bool>, Vec<f64>)> =
            frequent.iter().map(|class| (own(*class), shares(*class))).collect();
        let (space, variance) = rows.choose(&space, &some, seed, par)?;

        let features = space.features(rows.placed.view());
        let precisions = space.precisions(variance);
        let curves = par.map(classes.len(), |i| -> Result<Curve> {
            let mut features = features.clone();
            set_log_odds(&mut features, shares(classes[i]).into_iter().map(odds));
            let task = Task {
                features: &features,
                is_own: &own(classes[i]),
                weights: &rows.weights,
                precisions: &precisions,
            };
            Ok(task.fit(None, 1e-6)?.0)
        });
        Ok(Self { bags, space, curves: curves.into_iter().collect::<Result<_>>()? })
    }

    /// Log odds and deviations of a block of rows.
    fn log_odds(&self, x: ArrayView2<'_, f32>, n_classes: usize) -> [Array2<f64>; 2] {
        let shares = self.bags.shares(x);
        let mut features = self.space.features(self.space.place(x).view());
        let mut out = [0, 1].map(|_| Array2::zeros((x.nrows(), n_classes)));
        let first = n_classes - self.curves.len();
        for (class, curve) in (first..).zip(&self.curves) {
            set_log_odds(&mut features, shares.mean.column(class).iter().map(|share| odds(*share)));
            let [means, variances] = curve.log_odds(features.view());
            for (row, (mean, variance)) in means.into_iter().zip(variances).enumerate() {
                let share = shares.mean[(row, class)];
                // Below 0 it would be an artefact: a row that is left out leaves fewer rows of its class.
                let of_trees = f64::max(slope_of_log_odds(&curve.weights, odds(share)), 0.0) * slope(share);
                let of_trees = OF_TREES * of_trees * of_trees * shares.variance[(row, class)];
                let deviation = libm::sqrt(INFLATION * INFLATION * variance + of_trees);
                out[0][(row, class)] = mean.clamp(-MOST_ODDS, MOST_ODDS);
                out[1][(row, class)] = deviation.min(MOST_ODDS);
            }
        }
        if first == 1 {
            let (means, deviations) = (out[0].column(1).to_owned(), out[1].column(1).to_owned());
            out[0].column_mut(0).assign(&-means);
            out[1].column_mut(0).assign(&deviations);
        }
        out
    }
}

/// Rows that curves are fitted to.
struct Rows {
    placed: Array2<f64>,
    weights: Vec<f64>,
}

impl Rows {
    /// The kernel and the variance of the process with the largest evidence, summed over some classes (which rows are theirs, and their
    /// shares of the trees).
    fn choose(
        &self,
        space: &Space,
        classes: &[(Vec<bool>, Vec<f64>)],
        seed: u64,
        par: &Par,
    ) -> Result<(Space, f64)> {
        let n = self.weights.len();
        let some =
            Rng::new(seed, Purpose::Sample, 13).sample(n, MOST_SEARCHED).unwrap_or_else(|| (0..n).collect());
        let placed = Space::rows(&self.placed, &some);
        let weights: Vec<f64> = some.iter().map(|&row| self.weights[row]).collect();
        let typical = space.typical_distance(&placed, seed);
        let tried = par.map(KERNELS.len() * classes.len(), |job| -> Result<Vec<f64>> {
            let ((shape, length), class) = (KERNELS[job / classes.len()], &classes[job % classes.len()]);
            let space = space.with_kernel(shape, length * typical, &Par::sequential())?;
            let mut features = space.features(placed.view());
            set_log_odds(&mut features, some.iter().map(|&row| odds(class.1[row])));
            let is_own: Vec<bool> = some.iter().map(|&row| class.0[row]).collect();
            evidences(&space, (&features, &is_own, &weights))
        });
        let tried = tried.into_iter().collect::<Result<Vec<_>>>()?;
        let mut best = (f64::NEG_INFINITY, KERNELS[0], VARIANCES[0]);
        for (kernel, of_classes) in KERNELS.iter().zip(tried.chunks(classes.len().max(1))) {
            for (place, variance) in VARIANCES.iter().enumerate() {
                let evidence: f64 = of_classes.iter().map(|of_class| of_class[place]).sum();
                if evidence > best.0 {
                    best = (evidence, *kernel, *variance);
                }
            }
        }
        let (_, (shape, length), variance) = best;
        Ok((space.with_kernel(shape, length * typical, par)?, variance))
    }
}

/// The evidence for each variance of the process.
fn evidences(
    space: &Space,
    (features, is_own, weights): (&Array2<f64>, &[bool], &[f64]),
) -> Result<Vec<f64>> {
    let mut start: Option<Vec<f64>> = None;
    let mut found = Vec::new();
    for variance in VARIANCES {
        let precisions = space.precisions(variance);
        let task = Task { features, is_own, weights, precisions: &precisions };
        let (curve, evidence) = task.fit(start.as_deref(), 0.1)?;
        start = Some(curve.weights);
        found.push(evidence);
    }
    Ok(found)
}

/// Row weights that are 1 on average.
fn row_weights(data: &Dataset, rows: &[usize]) -> Vec<f64> {
    let Some(weights) = &data.weights else { return vec![1.0; rows.len()] };
    let mean = weights.iter().map(|w| f64::from(*w)).sum::<f64>() / weights.len().max(1) as f64;
    rows.iter().map(|&row| f64::from(weights[row]) / mean).collect()
}

/// The log odds of a share of the trees.
fn odds(share: f64) -> f64 {
    libm::log((VOTES * share + 0.5) / (VOTES * (1.0 - share) + 0.5))
}

/// Their derivative.
fn slope(share: f64) -> f64 {
    VOTES / (VOTES * share + 0.5) + VOTES / (VOTES * (1.0 - share) + 0.5)
}

impl Classifier for IntervalEnsemble {
    fn n_features(&self) -> usize {
        self.n_features
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The means of the distributions.
    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        if let Ok(found) = self.predict_true_probability_impl(x, par) {
            out.assign(&found.mean());
        }
    }
}

impl TrueProbability for IntervalEnsemble {
    fn predict_true_probability_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<SecondOrder> {
        let [location, deviation] = self.log_odds(x, par);
        if par.is_stopped() {
            return Err(Error::Interrupted);
        }
        SecondOrder::logit_normal(About::TrueProbability, location, deviation, self.resolution())
    }
}
