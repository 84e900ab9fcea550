//! What the rows choose.

use serde::{Deserialize, Serialize};

use super::background::Background;

/// How many neighbors count, and how far they may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnnSettings {
    /// Neighbors.
    pub(crate) k: usize,
    /// Prepared columns that are not constant.
    pub(crate) dimensions: usize,
    /// The logarithm of the distance within which one artificial row falls on average.
    pub(crate) log_reach: f64,
    /// The distance up to which rows count.
    pub(crate) radius: f64,
    /// Artificial rows, where they are drawn.
    pub(crate) background: Option<Background>,
}
