//! A kernel for all leaves.
//!
//! Some leaves of the first tree stand for all. What is compared is the calibrated log-loss of the answers that their rows get without
//! themselves (spec 003, A7).

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Progress, Training};
use hedgerow_gp::calibration::Calibration;
use ndarray::{Array2, ArrayView2, Axis, concatenate};

use super::kernel::{LeafKernel, squares_within};
use super::leaf::{Leaf, learn, signs, spread};
use super::params::{Fusion, LeafGpParams, LeafLearner};

/// Rows that stand for all, and rows of one leaf, at most.
const MOST_ROWS: usize = 3000;
const MOST_IN_LEAF: usize = 1500;
/// Lengths that are tried, as shares of half the typical distance, and others near the best of them.
const LENGTHS: [f64; 8] = [1.0, 0.7, 1.5, 0.45, 2.2, 0.3, 3.5, 6.0];
const NEARBY: [f64; 4] = [0.8, 1.25, 0.9, 1.12];
/// Noises of labels that are tried, and variances of latent values.
const NOISES: [f64; 6] = [0.002, 0.05, 0.0005, 0.2, 0.02, 1.0];
const VARIANCES: [f64; 4] = [3.0, 30.0, 1.0, 100.0];

/// A leaf that stands for others.
struct Sample {
    classes: Vec<u16>,
    squares: Array2<f32>,
    y: Array2<f64>,
    labels: Vec<ClassId>,
}

/// The kernel that the parameters give, with what they leave open found on some leaves.
pub(super) fn choose(
    params: &LeafGpParams,
    leaves: &[Leaf],
    x: ArrayView2<'_, f32>,
    labels: &[ClassId],
    n_classes: usize,
    training: &Training<'_>,
) -> LeafKernel {
    let is_regression = params.learner == LeafLearner::Labels;
    let given = |value: f64, start: f64| if value > 0.0 { value } else { start };
    let mut kernel = LeafKernel {
        length_scale: given(params.length_scale, 0.5 * typical_distance(x, params.seed)),
        signal_variance: given(params.signal_variance, if is_regression { 1.0 } else { 10.0 }),
        noise_variance: given(params.noise_variance, if is_regression { 0.01 } else { 1e-3 }),
    };
    let samples = samples(params, leaves, x, labels);
    let open_length = params.length_scale == 0.0;
    let open_second = match params.learner {
        LeafLearner::Labels => params.noise_variance == 0.0,
        LeafLearner::Laplace | LeafLearner::Ivm => params.signal_variance == 0.0,
        LeafLearner::Rvm => false,
    };
    if samples.is_empty() || !(open_length || open_second) {
        return kernel;
    }
    let (mut least, mut done) = (f64::INFINITY, 0);
    let mut consider = |tries: Vec<LeafKernel>, kernel: &mut LeafKernel| {
        for tried in tries {
            if training.budget.spent().is_some() && least.is_finite() {
                return;
            }
            let loss = loss(params, &tried, &samples, n_classes, training);
            if loss < least {
                (least, *kernel) = (loss, tried);
            }
            done += 1;
            training.observer.progress(Progress { done, total: None, accuracy: None });
        }
    };
    let with_length =
        |kernel: LeafKernel, share: &f64| LeafKernel { length_scale: kernel.length_scale * share, ..kernel };
    if open_length {
        let start = kernel;
        consider(LENGTHS.iter().map(|share| with_length(start, share)).collect(), &mut kernel);
    }
    if open_second {
        let start = kernel;
        let tries = if is_regression {
            NOISES.iter().map(|&noise_variance| LeafKernel { noise_variance, ..start }).collect()
        } else {
            VARIANCES.iter().map(|&signal_variance| LeafKernel { signal_variance, ..start }).collect()
        };
        consider(tries, &mut kernel);
    }
    if open_length {
        let start = kernel;
        consider(NEARBY.iter().map(|share| with_length(start, share)).collect(), &mut kernel);
    }
    kernel
}

/// The median distance of two rows.
fn typical_distance(x: ArrayView2<'_, f32>, seed: u64) -> f64 {
    let mut rng = Rng::new(seed, Purpose::Sample, 2);
    let n = x.nrows();
    let mut distances: Vec<f64> = (0..if n > 0 { 1000 } else { 0 })
        .map(|_| {
            let (a, b) = (x.row(rng.index(n)), x.row(rng.index(n)));
            a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
        })
        .filter(|d| *d > 0.0 && d.is_finite())
        .collect();
    distances.sort_by(f64::total_cmp);
    distances.get(distances.len() / 2).map_or(1.0, |d| libm::sqrt(*d))
}

fn samples(
    params: &LeafGpParams,
    leaves: &[Leaf],
    x: ArrayView2<'_, f32>,
    labels: &[ClassId],
) -> Vec<Sample> {
    let mut chosen: Vec<&Leaf> = leaves.iter().filter(|leaf| !leaf.is_pure()).collect();
    Rng::new(params.seed, Purpose::Sample, 3).shuffle(&mut chosen);
    let mut n_rows = 0;
    let mut samples = Vec::new();
    for leaf in chosen {
        if n_rows >= MOST_ROWS {
            break;
        }
        let mut rows: Vec<usize> = leaf.rows.iter().map(|&row| row as usize).collect();
        if rows.len() > MOST_IN_LEAF {
            Rng::new(params.seed, Purpose::Sample, 4).shuffle(&mut rows);
            rows.truncate(MOST_IN_LEAF);
        }
        n_rows += rows.len();
        let classes: Vec<u16> = leaf.counts.iter().map(|(class, _)| *class).collect();
        samples.push(Sample {
            squares: squares_within(x.select(Axis(0), &rows).view()),
            y: signs(&rows, &classes, labels),
            labels: rows.iter().map(|&row| labels[row]).collect(),
            classes,
        });
    }
    samples
}

fn loss(
    params: &LeafGpParams,
    kernel: &LeafKernel,
    samples: &[Sample],
    n_classes: usize,
    training: &Training<'_>,
) -> f64 {
    let tables = training.par.map(samples.len(), |i| {
        let sample = &samples[i];
        let mut out = Array2::from_elem((sample.labels.len(), n_classes), -1.0);
        let learnt = learn(params, kernel, &sample.squares, &sample.y, params.seed)?;
        for (latent, mut out) in learnt.without_each.rows().into_iter().zip(out.rows_mut()) {
            let scores = latent.mapv(|latent| params.learner.score(latent));
            spread(Fusion::Mean, &sample.classes, scores.view(), &mut out);
        }
        Some(out)
    });
    let Some(tables) = tables.into_iter().collect::<Option<Vec<_>>>() else { return f64::INFINITY };
    let views: Vec<_> = tables.iter().map(|table| table.view()).collect();
    let Ok(scores) = concatenate(Axis(0), &views) else { return f64::INFINITY };
    let labels: Vec<ClassId> = samples.iter().flat_map(|sample| sample.labels.iter().copied()).collect();
    let loss = Calibration::fit(&scores, &labels, training.par).loss(&scores, &labels);
    if loss.is_finite() { loss } else { f64::INFINITY }
}
