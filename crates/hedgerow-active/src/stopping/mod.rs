//! Whether more labels are worth their price.
//!
//! A [`Stopper`] is shown what a model predicts for the rows of a *stop set*: rows without labels that are never queried, a thousand or two of
//! them where there are so many. It keeps a [`History`] of these predictions, and a [`StoppingRule`] reads it. The [`Advice`] says whether to
//! stop, why or why not in words, and what the next ten labels would gain ([`Gain`]).
//!
//! Where the models that came before are not at hand, a [`Retrospective`] trains them again on the first labels of a pool.
//!
//! It is advice. No rule wins everywhere (Pullar-Strecker, Dost, Frank and Wicker, 2022, Hitting the target: stopping active learning at the
//! cost-based optimum), and none stops before a minimum of labels, or while the model predicts one class only.
//!
//! | rule | stops when | paper |
//! |---|---|---|
//! | [`RelativeStability`], the default | predictions change no more with labels than with the seed | |
//! | [`StabilizingPredictions`] | kappa between successive models stays above 0.99 | Bloodgood and Vijay-Shanker, 2009 |
//! | [`ClassificationChange`] | no prediction changed | Zhu, Wang and Hovy, 2008 |
//! | [`PosteriorChange`] | the bound on the change of the risk of a Gaussian process has fallen | Ishibashi and Hino, 2020 |
//! | [`OverallUncertainty`] | predictions are certain | Zhu, Wang and Hovy, 2008 |
//! | [`ExpectedError`] | the model expects few errors | Zhu, Wang and Hovy, 2008 |
//! | [`Cost`] | the next labels cost more than the errors they avoid | Pullar-Strecker et al., 2022 |
//!
//! ```
//! use hedgerow_active::stopping::{Observed, Stopper, StoppingParams};
//! use hedgerow_core::Params as _;
//!
//! let mut stopper = Stopper::new(StoppingParams::default().check()?);
//! let proba = ndarray::array![[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]];
//! let advice = stopper.observe(&Observed::new(10, proba.view()))?;
//! assert!(!advice.stop);
//! assert!(advice.reason.contains("10 labels of at least 50"));
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod advice;
mod classification_change;
mod cost;
mod expected_error;
mod gain;
mod gaussian;
mod history;
mod kappa;
mod overall_uncertainty;
mod params;
mod posterior_change;
mod relative_stability;
mod retrospective;
mod rule;
mod stabilizing_predictions;
mod stopper;
#[cfg(test)]
mod tests;

pub use advice::Advice;
pub use classification_change::ClassificationChange;
pub use cost::Cost;
pub use expected_error::ExpectedError;
pub use gain::Gain;
pub use gaussian::{Divergence, lambert_w, risk_bound};
pub use history::{Checkpoint, History, Observed};
pub use kappa::cohens_kappa;
pub use overall_uncertainty::OverallUncertainty;
pub use params::{RuleName, StoppingParams};
pub use posterior_change::PosteriorChange;
pub use relative_stability::RelativeStability;
pub use retrospective::Retrospective;
pub use rule::{Finding, StoppingRule};
pub use stabilizing_predictions::{StabilizingPredictions, bound_on_f};
pub use stopper::Stopper;
