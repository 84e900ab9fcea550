//! The readers of all formats.
#![allow(clippy::format_collect, clippy::format_push_string, clippy::unwrap_used)]

#[path = "../files/mod.rs"]
mod files;

#[cfg(all(feature = "arrow", feature = "parquet"))]
mod arrow_family;
mod bad_input;
mod batches;
mod delimiters;
mod enforce;
mod formats;
mod growing;
mod random_bytes;
mod regression;
