//! A window of numbers, remembered more coarsely the older they are.

use serde::{Deserialize, Serialize};

/// Neighboring values of a window: how many there are, their sum, and how far they are scattered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Bucket {
    pub(super) count: u64,
    pub(super) sum: f64,
    /// Sum of squared distances from the mean.
    pub(super) scatter: f64,
}

impl Bucket {
    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }

    /// Both together (Chan et al. 1979).
    pub(super) fn join(&self, other: &Self) -> Self {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { *other } else { *self };
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let gap = self.mean() - other.mean();
        Self {
            count: self.count.saturating_add(other.count),
            sum: self.sum + other.sum,
            scatter: self.scatter + other.scatter + gap * gap * n * m / (n + m),
        }
    }
}

/// Buckets of 1, 2, 4, … values, a few of each size, the oldest and largest first (Datar, Gionis, Indyk and Motwani
/// 2002). A window of n values takes O(log n) buckets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Histogram(Vec<Bucket>);

impl Histogram {
    /// Adds the newest value, and joins the two oldest buckets of every size of which there are more than `most`.
    pub(super) fn push(&mut self, value: f64, most: usize) {
        self.0.push(Bucket { count: 1, sum: value, scatter: 0.0 });
        let mut end = self.0.len();
        loop {
            let size = self.0[end - 1].count;
            let same = self.0[..end].iter().rev().take_while(|bucket| bucket.count == size).count();
            if same <= most.max(1) {
                return;
            }
            let oldest = end - same;
            self.0[oldest] = self.0[oldest].join(&self.0[oldest + 1]);
            self.0.remove(oldest + 1);
            end = oldest + 1;
        }
    }

    /// The buckets, the oldest first.
    pub(super) fn buckets(&self) -> &[Bucket] {
        &self.0
    }

    /// Forgets the `n` oldest buckets.
    pub(super) fn forget(&mut self, n: usize) {
        self.0.drain(..n.min(self.0.len()));
    }
}

/// Buckets as one.
pub(super) fn total(buckets: &[Bucket]) -> Bucket {
    buckets.iter().fold(Bucket::default(), |sum, bucket| sum.join(bucket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn buckets_hold_the_values_in_order_in_logarithmic_memory() {
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let values: Vec<f64> = (0..100_000).map(|_| rng.unit()).collect();
        let mut histogram = Histogram::default();
        for (i, &value) in values.iter().enumerate() {
            histogram.push(value, 5);
            // At most 5 of each size, and 3 · 2^k values or more if there is a bucket of size 2^k.
            let sizes = (i as f64 + 1.0).log2() + 1.0;
            assert!(histogram.buckets().len() as f64 <= 5.0 * sizes);
        }
        let mut start = 0;
        for bucket in histogram.buckets() {
            let part = &values[start..start + bucket.count as usize];
            start += part.len();
            let sum: f64 = part.iter().sum();
            let mean = sum / part.len() as f64;
            let scatter: f64 = part.iter().map(|v| (v - mean) * (v - mean)).sum();
            assert!(bucket.count.is_power_of_two());
            assert!((bucket.sum - sum).abs() < 1e-9 * sum.max(1.0));
            assert!((bucket.scatter - scatter).abs() < 1e-9 * scatter.max(1.0));
        }
        assert_eq!(start, values.len());
        assert!(histogram.buckets().is_sorted_by(|a, b| a.count >= b.count));
    }
}
