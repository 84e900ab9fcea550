//! A kernel with its lengths, as it is used and saved.

use hedgerow_gp::Kernel;
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use crate::kernels::KernelName;

/// A kernel with its lengths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Basis {
    pub(crate) name: KernelName,
    /// One for all columns, or one for each.
    #[serde(with = "hedgerow_core::saved::array")]
    pub(crate) lengths: Vec<f64>,
    #[serde(skip)]
    pub(crate) kernel: Kernel,
}

impl Basis {
    pub(crate) fn new(name: KernelName, lengths: Vec<f64>) -> Self {
        Self { kernel: name.kernel(&lengths), name, lengths }
    }

    /// The same with its first length changed, and all others in proportion.
    pub(crate) fn of_length(&self, length: f64) -> Self {
        let factor = length / self.lengths[0];
        Self::new(self.name, self.lengths.iter().map(|l| factor * l).collect())
    }

    /// Prepared rows as the kernel sees them.
    pub(crate) fn map(&self, x: Array2<f64>) -> Array2<f64> {
        if !self.name.is_of_products() {
            return x;
        }
        match self.lengths.as_slice() {
            [one] => x / *one,
            each => x / &Array1::from(each.to_vec()),
        }
    }
}
