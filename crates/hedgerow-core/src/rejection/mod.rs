//! Decisions that cost something, and rows that are left undecided.
//!
//! A wrong class may cost more than another, and a person may decide where a model is too unsure. [`Losses`] turn class probabilities into the decision
//! with the least expected loss, or into none where every decision is expected to cost more than that (Chow, 1970, "On optimum recognition error and
//! reject tradeoff"). [`RejectionCurve`] tells how accurate a model is on the rows that are left when the most uncertain are rejected.
//! `docs/math/rejection.md` has the formulae.
//!
//! ```
//! use hedgerow_core::rejection::{Decision, Losses};
//! use hedgerow_core::ClassId;
//!
//! // To take a sick one for healthy costs ten times as much as the other mistake.
//! let losses = Losses::binary(1.0, 10.0)?;
//! assert_eq!(losses.decide(&[0.85, 0.15], None), Decision::Class(ClassId(1)));
//! assert_eq!(losses.decide(&[0.85, 0.15], Some(0.5)), Decision::Rejected);
//! assert_eq!(losses.decide(&[0.99, 0.01], Some(0.5)), Decision::Class(ClassId(0)));
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod curve;
mod losses;
mod uncertainty;

pub use curve::{RejectionCurve, RejectionPoint};
pub use losses::{Decision, Losses};
pub use uncertainty::Uncertainty;
