//! Classifiers that look at the training rows near a row: by kernel densities ([`KdeClassifier`]) or nearest neighbours
//! ([`KnnClassifier`]).
//!
//! Both count labels nearby and tell how much evidence that is: a Dirichlet distribution over the class probabilities
//! ([`RelativeEvidence`](hedgerow_core::RelativeEvidence)), which is the prior where there are no rows. Both learn row by row and forget the
//! oldest rows. [`KdeParams`] and [`KnnParams`] hold their parameters.
//!
//! ```
//! use hedgerow_core::testing::blobs;
//! use hedgerow_core::{Budget, Classifier, Par, Params, RelativeEvidence, Silent, Training, fit};
//! use hedgerow_neighbors::KdeParams;
//! use ndarray::array;
//!
//! let (data, par, budget) = (blobs(200, 2, 2, 1), Par::sequential(), Budget::open());
//! let training = Training { par: &par, budget: &budget, observer: &Silent };
//! let model = fit(&data, &KdeParams::default().check()?, &training)?.model;
//! let near = model.predict_evidence(data.features.to_array(0..1).view(), &par)?;
//! let far = model.predict_evidence(array![[1e4, 1e4]].view(), &par)?;
//! assert!(near.variances().epistemic[0] < 0.02 && far.variances().epistemic[0] > 0.24);
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod exponential;
mod kde;
mod kind;
mod knn;
mod leave_one_out;
mod method;
mod metric;
mod model;
mod nearest;
mod online;
mod points;
mod saved;
mod state;

pub use kde::{DensityKernel, KdeClassifier, KdeParams};
pub use knn::{KnnClassifier, KnnMethod, KnnParams};
pub use metric::Metric;
pub use model::NeighborClassifier;
