//! The search for a kernel for all leaves.
//!
//! Kernels are tried on some leaves of the first tree. What is compared is the calibrated log-loss of the leave-one-out scores of their rows.

use std::sync::Arc;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, OutOfSample, Par, Source};
use hedgerow_gp::prepare::typical_distance;
use ndarray::{Array2, Axis};

use super::kernel::{LeafKernel, squares_within};
use super::leaf::{Leaf, fuse, learn, signs, spread};
use super::params::{Fusion, LeafLearner};
use super::run::TrainingRows;

/// Rows that kernels are tried on, and rows of one leaf, at most.
const MOST_ROWS: usize = 3000;
const MOST_IN_LEAF: usize = 1500;
/// Lengths that are tried, as shares of half the typical distance, and others near the best of them.
const LENGTHS: [f64; 8] = [1.0, 0.7, 1.5, 0.45, 2.2, 0.3, 3.5, 6.0];
const NEARBY: [f64; 4] = [0.8, 1.25, 0.9, 1.12];
/// Noises of labels that are tried, and variances of latent values.
const NOISES: [f64; 6] = [0.002, 0.05, 0.0005, 0.2, 0.02, 1.0];
const VARIANCES: [f64; 4] = [3.0, 30.0, 1.0, 100.0];

/// A leaf that kernels are tried on.
struct Sample {
    classes: Vec<u16>,
    squares: Array2<f32>,
    y: Array2<f64>,
    labels: Vec<ClassId>,
}

/// Kernels to be tried on some leaves. Which ones come later depends on how good the first were; of those that are known, any may be tried at any time.
pub(super) struct Trials {
    rows: Arc<TrainingRows>,
    start: LeafKernel,
    stages: Vec<Stage>,
    samples: Vec<Sample>,
}

/// What is changed about the best kernel so far.
#[derive(Clone, Copy)]
enum Stage {
    Lengths(&'static [f64]),
    Noises,
    Variances,
}

impl Trials {
    /// What the parameters leave open is to be found on some of the given leaves.
    pub(super) fn new(rows: Arc<TrainingRows>, leaves: &[Leaf]) -> Self {
        let params = &rows.params;
        let is_regression = params.learner == LeafLearner::Labels;
        let given = |value: f64, start: f64| if value > 0.0 { value } else { start };
        let start = LeafKernel {
            length_scale: given(params.length_scale, 0.5 * typical_distance(rows.x.view(), params.seed)),
            signal_variance: given(params.signal_variance, if is_regression { 1.0 } else { 10.0 }),
            noise_variance: given(params.noise_variance, if is_regression { 0.01 } else { 1e-3 }),
        };
        let open_length = params.length_scale == 0.0;
        let second = match params.learner {
            LeafLearner::Labels => (params.noise_variance == 0.0).then_some(Stage::Noises),
            LeafLearner::Laplace | LeafLearner::Ivm => {
                (params.signal_variance == 0.0).then_some(Stage::Variances)
            }
            LeafLearner::Rvm => None,
        };
        let mut stages = Vec::new();
        stages.extend(open_length.then_some(Stage::Lengths(&LENGTHS)));
        stages.extend(second);
        stages.extend(open_length.then_some(Stage::Lengths(&NEARBY)));
        let samples = if stages.is_empty() { Vec::new() } else { samples(&rows, leaves) };
        if samples.is_empty() {
            stages.clear();
        }
        Self { rows, start, stages, samples }
    }

    /// The kernels that can be tried by now; `tried` has how bad they are, as far as that is known. None if nothing is left open.
    pub(super) fn kernels(&self, tried: &[Option<f64>]) -> Vec<LeafKernel> {
        self.walk(tried).0
    }

    /// The best of those that were tried, or the one to begin with.
    pub(super) fn best(&self, tried: &[Option<f64>]) -> LeafKernel {
        self.walk(tried).1
    }

    fn walk(&self, tried: &[Option<f64>]) -> (Vec<LeafKernel>, LeafKernel) {
        let (mut kernels, mut best, mut least) = (Vec::new(), self.start, f64::INFINITY);
        for stage in &self.stages {
            let first = kernels.len();
            kernels.extend(stage.around(best));
            for (kernel, loss) in kernels.iter().zip(tried).skip(first) {
                if let Some(loss) = loss
                    && *loss < least
                {
                    (least, best) = (*loss, *kernel);
                }
            }
            // What comes next starts from the best of these.
            if tried.len() < kernels.len() || tried[first..kernels.len()].contains(&None) {
                break;
            }
        }
        (kernels, best)
    }

    /// How bad a kernel is; infinite if it cannot be used.
    pub(super) fn value(&self, kernel: &LeafKernel, par: &Par) -> f64 {
        let (params, n_classes) = (&self.rows.params, self.rows.n_classes());
        let tables = par.map(self.samples.len(), |i| {
            let sample = &self.samples[i];
            let mut out = Vec::with_capacity(sample.labels.len() * n_classes);
            let learnt = learn(params, kernel, &sample.squares, &sample.y, params.seed)?;
            let mut row = vec![0.0; n_classes];
            for latent in learnt.without_each.rows() {
                let mut scores = latent.mapv(|latent| params.learner.score(latent));
                fuse(Fusion::Mean, scores.view_mut());
                spread(&sample.classes, &scores, &mut row);
                out.extend_from_slice(&row);
            }
            Some(out)
        });
        let Some(tables) = tables.into_iter().collect::<Option<Vec<_>>>() else { return f64::INFINITY };
        let labels: Vec<ClassId> = self.samples.iter().flat_map(|sample| sample.labels.clone()).collect();
        let scores = Array2::from_shape_vec((labels.len(), n_classes), tables.concat());
        let Ok(scores) = scores else { return f64::INFINITY };
        let rows = (0..labels.len()).collect();
        let loss = OutOfSample::new(Source::LeaveOneOut, rows, scores, labels).calibrated_loss(par);
        if loss.is_finite() { loss } else { f64::INFINITY }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.samples.iter().map(|sample| 4 * sample.squares.len() + 8 * sample.y.len()).sum()
    }
}

impl Stage {
    /// The kernels near one.
    fn around(self, kernel: LeafKernel) -> Vec<LeafKernel> {
        match self {
            Self::Lengths(shares) => {
                let with = |share: &f64| LeafKernel { length_scale: kernel.length_scale * share, ..kernel };
                shares.iter().map(with).collect()
            }
            Self::Noises => {
                NOISES.iter().map(|&noise_variance| LeafKernel { noise_variance, ..kernel }).collect()
            }
            Self::Variances => {
                VARIANCES.iter().map(|&signal_variance| LeafKernel { signal_variance, ..kernel }).collect()
            }
        }
    }
}

fn samples(all: &TrainingRows, leaves: &[Leaf]) -> Vec<Sample> {
    let (seed, labels) = (all.params.seed, all.data.labels());
    let mut chosen: Vec<&Leaf> = leaves.iter().filter(|leaf| !leaf.is_pure()).collect();
    Rng::new(seed, Purpose::Sample, 3).shuffle(&mut chosen);
    let mut n_rows = 0;
    let mut samples = Vec::new();
    for leaf in chosen {
        if n_rows >= MOST_ROWS {
            break;
        }
        let mut rows: Vec<usize> = leaf.rows.iter().map(|&row| row as usize).collect();
        if rows.len() > MOST_IN_LEAF {
            Rng::new(seed, Purpose::Sample, 4).shuffle(&mut rows);
            rows.truncate(MOST_IN_LEAF);
        }
        n_rows += rows.len();
        let classes: Vec<u16> = leaf.counts.iter().map(|(class, _)| *class).collect();
        samples.push(Sample {
            squares: squares_within(all.x.select(Axis(0), &rows).view()),
            y: signs(&rows, &classes, labels),
            labels: rows.iter().map(|&row| labels[row]).collect(),
            classes,
        });
    }
    samples
}
