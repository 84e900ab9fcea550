//! Active learning: which rows should be labelled next.
//!
//! A [`Pool`] holds rows, some with labels, most without. A [`Strategy`] gives every candidate among the rows without labels a utility, by what a
//! [`QueryModel`] predicts for it and by where it lies among the others; a [`Querier`] draws the candidates, asks the strategy, and chooses a batch of rows that are
//! not alike. Everything works from an empty label set on: without labels, or with labels of one class only, there is no model, and strategies go
//! by the rows alone.
//!
//! ```
//! use hedgerow_active::{Pool, Querier, QueryParams};
//! use hedgerow_core::{Par, Params as _, testing::blobs};
//!
//! let data = blobs(200, 2, 3, 1);
//! let pool = Pool::new(data.schema.clone(), data.features.clone(), vec![None; 200])?;
//! let mut querier = Querier::new(QueryParams::default().check()?);
//! let rows = querier.query(&pool, None, 5, &Par::sequential())?;
//! assert_eq!(rows.len(), 5);
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod choice;
mod kernel;
mod model;
mod params;
mod pool;
mod querier;
pub mod simulation;
mod situation;
mod space;
pub mod statistics;
pub mod stopping;
pub mod strategy;
pub mod stream;
mod trainer;

pub use model::{Latent, OfModel, QueryModel, Trainer};
pub use params::QueryParams;
pub use pool::Pool;
pub use querier::{QueriedRow, Querier};
pub use situation::Situation;
pub use space::{RankSpace, Targets};
pub use strategy::{Strategy, StrategyName};
pub use trainer::{KindTrainer, Trained};
