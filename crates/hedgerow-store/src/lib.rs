//! Rows and labels in an append-only store that learners observe.
//!
//! A [`Store`] takes rows and labels, numbers them, and never changes them. Everything appended is an event with a sequence number: a
//! row (with a label or without), a label that comes later, or a label that takes the place of an earlier one. Learners read events in
//! order, in blocks, from a cursor of their own, and are told when something was appended: one append sets off all learning.
//!
//! In memory ([`Store::in_memory`]) or durable in a folder ([`Store::open`], on `SQLite`): the same behavior, and for the durable one
//! nothing that was acknowledged is lost. Learners leave checkpoints there, so that they go on where they stopped.
//!
//! ```
//! use hedgerow_core::{ClassId, Schema};
//! use hedgerow_store::{Change, NewRows, Store};
//!
//! let mut schema = Schema::unnamed(2);
//! let a = schema.labels.get_or_add("a")?;
//! let b = schema.labels.get_or_add("b")?;
//! let store = Store::in_memory(schema.clone())?;
//! let mut learner = store.subscribe(0);
//!
//! let x = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
//! store.append(&schema, &NewRows { x: x.view(), labels: Some(&[Some(a), None]), weights: None })?;
//! store.label(&schema, &[(2, b), (1, b)])?; // one late label, one correction
//!
//! let rows = learner.next(100)?.unwrap();
//! assert_eq!(rows.changes, [Change::Row(Some(a)), Change::Row(None)]);
//! let labels = learner.next(100)?.unwrap();
//! assert_eq!(labels.changes, [Change::Label(b), Change::Correction { old: a, new: b }]);
//! assert!(learner.next(100)?.is_none());
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod backend;
mod block;
mod checkpoint;
mod growth;
mod input;
mod memory;
mod sqlite;
mod store;
mod subscription;

pub use backend::{Counts, LearnerInfo};
pub use block::{Block, Change};
pub use checkpoint::{Checkpoint, Restored};
pub use input::{HEAD_ROWS, Input, fingerprint};
pub use sqlite::{DATABASE, FORMAT_VERSION, Options, WIDE};
pub use store::{Appended, Labelled, NewRows, Store};
pub use subscription::Subscription;
