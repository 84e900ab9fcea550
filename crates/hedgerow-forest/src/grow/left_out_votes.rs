//! The votes of a tree for the rows that its bag left out.

use hedgerow_core::traits::largest;

use crate::params::Probabilities;

/// Leaf by leaf: the left-out rows that fell into it and its class frequencies.
#[derive(Debug, Default)]
pub(crate) struct LeftOutVotes {
    rows: Vec<u32>,
    shares: Vec<(u16, f32)>,
    /// Where rows and shares of each leaf end, and how much weight it has.
    ends: Vec<(u32, u32, f32)>,
}

impl LeftOutVotes {
    /// Adds the vote of a leaf with these class weights for some rows.
    pub(crate) fn add(
        &mut self,
        rows: impl Iterator<Item = u32>,
        weights: &[(usize, f64)],
        probabilities: Probabilities,
    ) {
        self.rows.extend(rows);
        let total: f64 = weights.iter().map(|w| w.1).sum();
        match probabilities {
            Probabilities::Leaf => {
                self.shares.extend(weights.iter().map(|&(class, w)| (class as u16, (w / total) as f32)));
            }
            Probabilities::Votes => {
                let favorite = largest(weights.iter().map(|(_, weight)| weight));
                self.shares.push((favorite.map_or(0, |at| weights[at].0) as u16, 1.0));
            }
        }
        self.ends.push((self.rows.len() as u32, self.shares.len() as u32, total as f32));
    }

    /// The rows.
    #[cfg(test)]
    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Hands each leaf's rows, size and shares to `visit`.
    pub(crate) fn visit(&self, mut visit: impl FnMut(&[u32], f32, &[(u16, f32)])) {
        let (mut row, mut share) = (0, 0);
        for &(row_end, share_end, size) in &self.ends {
            visit(&self.rows[row..row_end as usize], size, &self.shares[share..share_end as usize]);
            (row, share) = (row_end as usize, share_end as usize);
        }
    }
}
