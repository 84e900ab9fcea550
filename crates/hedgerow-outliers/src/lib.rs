//! Finds the rows of a table that are unlike the others, without any labels.
//!
//! A [`Detector`] is fitted to rows and scores rows: those it was fitted to, out of bag, and new ones, one at a time. Scores lie from
//! 0 to 1, and a larger one is stranger. [`Detector::attributions`] tells which columns made a row strange, [`Reasons`] puts that into words.
//!
//! [`Method`] says how: random cuts (`trees`), distances (`references`, `neighbors`), both together (`combined`, the default), or a
//! random forest that tells the rows from `background` rows (`votes`, `proximity`).
//!
//! ```
//! use hedgerow_core::{Budget, Features, Par, Params as _, Schema, Silent, Training};
//! use hedgerow_outliers::{Detector, OutlierParams};
//!
//! // A ring, and a row in the middle of it.
//! let mut rows = ndarray::Array2::from_shape_fn((200, 2), |(i, c)| (i as f32 + 1.57 * c as f32).sin());
//! rows.row_mut(60).fill(0.0);
//! let (schema, features) = (Schema::unnamed(2), Features::from_view(rows.view()));
//! let params = OutlierParams::default().check()?;
//! let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
//! let detector = Detector::fit(&schema, &features, &params, &training)?;
//! let scores = detector.training_scores();
//! assert!(scores.iter().enumerate().all(|(row, score)| row == 60 || *score < scores[60]));
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod background;
mod columns;
mod combined;
mod detector;
mod ensemble;
mod neighbors;
mod params;
mod proximity;
mod reasons;
mod references;
mod rule;
mod scale;
mod trees;
mod votes;

pub use detector::Detector;
pub use params::{Background, Method, OutlierParams};
pub use reasons::Reasons;
