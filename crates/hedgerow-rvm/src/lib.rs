//! Relevance Vector Machines (Tipping 2001) for numbers and classes, at any size.
//!
//! An RVM is a sum of kernels around training rows, of which the evidence keeps few: the relevance vectors. [`RvmRegressor`] predicts
//! numbers with their variance, [`RvmClassifier`] the probabilities of any number of classes. [`RvmParams`] holds how they are trained;
//! [`Trainer`] and [`Solver`] are the choices that matter for time.
//!
//! ```
//! use hedgerow_core::{Budget, Dataset, Features, Par, Params, Regressor, Schema, Silent, Training};
//! use hedgerow_rvm::{RvmParams, RvmRegressor};
//! use ndarray::{Array2, array};
//!
//! let x = Array2::from_shape_fn((100, 1), |(i, _)| i as f32 / 10.0);
//! let targets: Vec<f64> = x.iter().map(|v| f64::from(v.sin())).collect();
//! let data = Dataset::new(Schema::unnamed(1), Features::from_view(x.view()), targets, None)?;
//! let (par, budget) = (Par::sequential(), Budget::open());
//! let training = Training { par: &par, budget: &budget, observer: &Silent };
//! let fitted = RvmRegressor::fit(&data, &RvmParams::default().check()?, &training)?;
//! let prediction = fitted.rvm.predict_values(array![[2.05_f32]].view(), &par)?;
//! assert!((prediction.mean[0] - 2.05_f64.sin()).abs() < 0.01);
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod basis;
mod binary_rvm;
mod classifier;
mod design;
mod diagnostics;
mod evidence;
mod kernels;
mod lengths;
mod options;
mod params;
mod regressor;
mod rvm;
mod state;
mod target;
mod train;
mod training_log;
mod training_rows;

use hedgerow_core::{Budget, Error, Result};

use crate::target::Target as _;

pub use binary_rvm::BinaryRvm;
pub use classifier::{ClassificationModel, RvmClassifier, RvmModel};
pub use kernels::KernelName;
pub use options::{RowsUsed, Solver, Trainer, WaterMark};
pub use params::{LengthCriterion, MultiClass, RvmParams, Variance};
pub use regressor::{RegressionModel, RvmRegressor};
pub use rvm::{FittedRvm, Rvm};
pub use target::Profile;
pub use train::TracePoint;
pub use training_log::TrainingLog;

/// Fails if a limit on memory leaves no room for training.
fn check_memory(
    n_rows: usize,
    width: usize,
    n_classes: usize,
    params: &RvmParams,
    budget: &Budget,
) -> Result<()> {
    let Some(limit) = budget.bytes else { return Ok(()) };
    let is_whole = params.trainer == Trainer::Whole
        || (params.trainer == Trainer::Auto && n_rows <= target::Regression::WHOLE_ROWS);
    let is_shared = params.multi_class.with(n_rows, n_classes) == MultiClass::Shared;
    let candidates = match (is_shared, is_whole) {
        (true, _) => n_rows.min(params.most_relevant(n_rows, n_classes)),
        (false, true) => n_rows,
        (false, false) => n_rows.min(1200.max(2 * params.partition_size)),
    };
    let of_rows = n_rows * (8 * width + 4 * width + 48 * n_classes);
    let needed = (of_rows + 8 * 6 * candidates * candidates) as u64;
    if needed <= limit {
        return Ok(());
    }
    let what = format!("training with {candidates} candidates at a time on {n_rows} rows");
    Err(Error::too_few_bytes(what, needed, limit))
}
