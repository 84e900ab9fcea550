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
