//! What the rows choose.

use serde::{Deserialize, Serialize};

/// The kernel in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KdeSettings {
    /// The deviation of the normal kernel, on prepared columns.
    pub(crate) bandwidth: f64,
    /// Prepared columns that are not constant.
    pub(crate) dimensions: usize,
}
