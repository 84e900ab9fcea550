//! Gaussian processes: kernels, exact models, and the sparse ones that scale.
//!
//! [`kernel`] is the similarity of rows; [`linalg`] factors covariance matrices; [`regression`] is the exact model of
//! values, and [`GpRegressor`] that of a table.
//! [`binary`] has the exact models of two classes, by Laplace's method and by expectation propagation; [`softmax`], [`labels`],
//! [`kriging`] and [`dsgq`] are others, and [`classifier`] makes classifiers of them all. [`ivm`] is the
//! Informative Vector Machine: the same posterior from a few well-chosen rows, for any number of classes. [`likelihood`] ties
//! latent values to classes, [`prepare`] makes numbers of a table's columns.
//!
//! ```
//! use hedgerow_core::Par;
//! use hedgerow_gp::{GpRegression, Kernel};
//! use ndarray::array;
//!
//! let par = Par::sequential();
//! let kernel = Kernel::rbf(1.0) + Kernel::white(0.01);
//! let (x, y) = (array![[0.0], [1.0], [3.0]], array![0.5, 1.0, -0.2]);
//! let gp = GpRegression::fit(kernel, 0.0, x.view(), y.view(), &par)?;
//! let at_two = gp.predict(array![[2.0]].view(), &par)?;
//! assert!((at_two.mean[0] - 0.4608).abs() < 1e-4 && (at_two.variance[0] - 0.3002).abs() < 1e-4);
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

pub mod binary;
pub mod classifier;
mod cma;
pub mod dsgq;
pub mod ivm;
pub mod kernel;
pub mod kriging;
pub mod labels;
pub mod likelihood;
pub mod linalg;
mod optimize;
pub mod refit;
pub mod regression;
mod regressor;
pub mod softmax;
pub mod special;

pub use hedgerow_core::prepare;

pub use binary::BinaryGp;
pub use classifier::{FittedGp, GpClassifier, GpMethod, GpModel, GpParams, KernelName};
pub use dsgq::Dsgq;
pub use ivm::{Ivm, IvmClassifier, IvmParams};
pub use kernel::{Given, Kernel, Metric, Shape};
pub use labels::LabelRegression;
pub use likelihood::Likelihood;
pub use regression::{GpRegression, Normal};
pub use regressor::GpRegressor;
pub use softmax::SoftmaxLaplace;
