//! Which columns matter.

use crate::forest::Forest;

impl Forest {
    /// For each column the share of all impurity removed that its splits removed; the shares sum to 1.
    ///
    /// Free, since it is counted while trees grow, but columns with many values look better than they are;
    /// [`permutation`](hedgerow_core::importance::permutation) does not have that fault.
    pub fn impurity_importances(&self) -> Vec<f64> {
        let total: f64 = self.gains.iter().sum();
        if total > 0.0 { self.gains.iter().map(|g| g / total).collect() } else { vec![0.0; self.gains.len()] }
    }
}
