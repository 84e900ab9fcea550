//! Trees with a Gaussian process (GP) in every leaf that holds more than one class: B. Fröhlich, E. Rodner, M. Kemmler, J. Denzler, *Efficient
//! Gaussian process classification using random decision forests*.
//!
//! An exact GP costs the cube of its rows. A few trees, each over all rows, cut them into leaves of at most `leaf_rows`; the GPs
//! in these leaves cost `n · leaf_rows²` together, and the trees average out what the borders of leaves do. Leaves of one class need
//! none. [`params`](LeafGpParams) names the learner; `learner` has the formulae, `leaf` one leaf, `trees` and `placement` the trees, `search` finds a
//! kernel for all leaves, `run` is the training of it all, `predict` averages over trees and `online` goes on learning. `frequencies` has the class frequencies
//! in leaves; `folds` and `validation` decide how far they count beside the GPs.

mod columns;
mod folds;
mod frequencies;
mod kernel;
mod leaf;
mod leaf_training;
mod learner;
mod online;
mod params;
mod placement;
mod predict;
mod run;
mod saved;
mod search;
#[cfg(test)]
mod tests;
mod trees;
mod validation;

use std::sync::Arc;

use hedgerow_core::{
    Blend, BlendReport, BoxedRun, Calibration, Checked, ClassId, Features, KindInfo, ModelKind, Renewed,
    Result, RunStart, Schema,
};
use hedgerow_gp::prepare::Preparation;
use ndarray::{ArcArray2, Axis};
use serde::{Deserialize, Serialize};

pub use kernel::LeafKernel;
use leaf::Leaf;
use online::OnlineState;
pub use params::{Fusion, LeafGpParams, LeafLearner, Sharing};
pub use run::LeafGpRun;
use trees::Trees;

/// A classifier of any number of classes. Leaf GPs ignore row weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeafGp {
    params: LeafGpParams,
    n_classes: usize,
    preparation: Preparation,
    /// None before any leaf was trained.
    kernel: Option<LeafKernel>,
    /// All rows, as they came; those that only wait to be learnt are at the end.
    features: Features,
    /// Their classes; none where they were left out.
    #[serde(with = "hedgerow_core::saved::array")]
    labels: Vec<ClassId>,
    /// The same rows, prepared.
    #[serde(skip)]
    x: ArcArray2<f32>,
    trees: Trees,
    #[serde(with = "hedgerow_core::saved::columns")]
    leaves: Vec<Leaf>,
    /// None before there was anything to calibrate by.
    calibration: Option<Calibration>,
    /// How class frequencies and leaf GPs are blended; none if the GPs predict alone.
    blend: Option<Blend>,
    /// What leaf GPs have changed, on rows that they had not learnt.
    report: BlendReport,
    /// What online learning needs; none if it was left out.
    online: Option<OnlineState>,
}

/// What a classifier consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafGpSize {
    /// Trees.
    pub n_trees: usize,
    /// Leaves of all trees.
    pub n_leaves: usize,
    /// Leaves that have a GP.
    pub n_gps: usize,
    /// Rows of the largest leaf GP.
    pub largest: usize,
}

impl LeafGp {
    /// The kernel of all leaves; none before any leaf was trained.
    pub fn kernel(&self) -> Option<LeafKernel> {
        self.kernel
    }

    /// How class frequencies in leaves and leaf GPs are blended; none if the GPs predict alone.
    pub fn blend(&self) -> Option<Blend> {
        self.blend
    }

    /// What the leaf GPs have changed about out-of-sample predictions: before are those by class frequencies alone.
    pub fn blend_report(&self) -> &BlendReport {
        &self.report
    }

    /// Trees, leaves and leaf GPs.
    pub fn size(&self) -> LeafGpSize {
        let gps = self.leaves.iter().filter_map(|leaf| leaf.gp.as_ref());
        LeafGpSize {
            n_trees: self.trees.n_trees(),
            n_leaves: self.leaves.len(),
            n_gps: gps.clone().count(),
            largest: gps.map(|gp| gp.rows.len()).max().unwrap_or(0),
        }
    }

    /// Keeps some rows only; leaves lose the others. Returns those that have lost any, which must be trained anew.
    fn keep_rows(&mut self, is_kept: &[bool]) -> Vec<usize> {
        let kept: Vec<usize> = (0..is_kept.len()).filter(|row| is_kept[*row]).collect();
        let mut new_of_old = vec![u32::MAX; is_kept.len()];
        kept.iter().enumerate().for_each(|(new, &old)| new_of_old[old] = new as u32);
        self.features = self.features.select(&kept);
        self.x = self.x.select(Axis(0), &kept).into_shared();
        if self.labels.len() == is_kept.len() {
            self.labels = kept.iter().map(|&row| self.labels[row]).collect();
        }
        let mut touched = Vec::new();
        for (number, leaf) in self.leaves.iter_mut().enumerate() {
            let n = leaf.rows.len();
            leaf.rows.retain_mut(|row| {
                *row = new_of_old[*row as usize];
                *row != u32::MAX
            });
            if leaf.rows.len() < n {
                touched.push(number);
                leaf.gp = None;
            } else if let Some(gp) = &mut leaf.gp {
                Arc::make_mut(gp).rows.iter_mut().for_each(|row| *row = new_of_old[*row as usize]);
            }
        }
        touched
    }
}

impl ModelKind for LeafGpParams {
    type Model = LeafGp;

    const INFO: KindInfo = KindInfo {
        name: "leaf-gp",
        about: "A few trees with large leaves and a Gaussian process in each: for many more rows",
        noun: "a forest with Gaussian processes in its leaves",
        work: "training leaves",
        params: "LeafGpParams",
        renewed: Renewed {
            names: ["leaf_gps_trained", "leaves_split"],
            words: ["leaf GPs trained", "leaves split"],
            title: "Leaves split",
        },
        ..KindInfo::LEARNER
    };

    fn new_model(schema: &Schema, params: &Checked<Self>) -> Result<LeafGp> {
        schema.check_sizes()?;
        let features = Features::new(schema.n_features());
        let preparation = Preparation::of(schema, &features);
        Ok(LeafGp {
            params: params.get().clone(),
            n_classes: schema.n_classes(),
            x: ArcArray2::zeros((0, preparation.width())),
            preparation,
            kernel: None,
            features,
            labels: Vec::new(),
            trees: Trees::default(),
            leaves: Vec::new(),
            calibration: None,
            blend: None,
            report: BlendReport::default(),
            online: Some(OnlineState::new(0, 0)),
        })
    }

    fn start_run(start: &RunStart<'_, Self>) -> Result<BoxedRun<LeafGp>> {
        Ok(Box::new(LeafGpRun::new(start.data, start.params, start.lanes, start.training)?))
    }

    fn of_model(model: &LeafGp) -> &Self {
        &model.params
    }

    fn seed(&mut self) -> &mut u64 {
        &mut self.seed
    }

    fn max_retained(&self) -> usize {
        self.max_rows
    }
}
