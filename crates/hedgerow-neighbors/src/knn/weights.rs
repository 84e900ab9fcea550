//! What each neighbor counts.
//!
//! A neighbor counts by its rank, the place among all rows by distance. Neighbors that are equally far away share the ranks that they take, as
//! if they came in random order.

use hedgerow_core::special::gamma::poisson_cdf;

use crate::metric::Metric;
use crate::nearest::Neighbor;

/// Calls `with` with each neighbor and its weight, the mean of `weight(rank, distance as measured)` over its ranks, which count from 1.
pub(super) fn each_weight(
    neighbors: &[Neighbor],
    weight: impl Fn(usize, f32) -> f64,
    mut with: impl FnMut(usize, f64),
) {
    let mut first = 0;
    while first < neighbors.len() {
        let distance = neighbors[first].0;
        let n = neighbors[first..].iter().take_while(|neighbor| neighbor.0 == distance).count();
        let mut sum = 0.0;
        for rank in first + 1..=first + n {
            let own = weight(rank, distance);
            if own == 0.0 {
                break;
            }
            sum += own;
        }
        neighbors[first..first + n].iter().for_each(|(_, row)| with(*row as usize, sum / n as f64));
        first += n;
    }
}

/// Among the k nearest or not.
pub(super) fn plain(k: usize) -> impl Fn(usize, f32) -> f64 {
    move |rank, _| f64::from(u8::from(rank <= k))
}

/// The probability that a neighbor is still among the k nearest when rows of no class are drawn everywhere, as dense as makes one of them fall
/// within the reach on average: that at most k − rank are nearer, P(N ≤ k − rank) for a Poisson variable N of mean (r/reach)^d.
pub(super) fn probabilistic(
    k: usize,
    dimensions: usize,
    log_reach: f64,
    metric: Metric,
) -> impl Fn(usize, f32) -> f64 {
    move |rank, measured| {
        if rank > k {
            return 0.0;
        }
        let distance = metric.distance(measured);
        if distance == 0.0 {
            return 1.0;
        }
        poisson_cdf(k - rank, libm::exp(dimensions as f64 * (libm::log(distance) - log_reach)))
    }
}

/// Whether a neighbor is among the k nearest of training rows and artificial ones, whose distances are sorted.
pub(super) fn data_driven(k: usize, artificial: &[Neighbor]) -> impl Fn(usize, f32) -> f64 + '_ {
    move |rank, measured| {
        let nearer = artificial.partition_point(|neighbor| neighbor.0 < measured);
        f64::from(u8::from(rank + nearer <= k))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(neighbors: &[Neighbor], weight: impl Fn(usize, f32) -> f64) -> Vec<f64> {
        let mut all = vec![f64::NAN; neighbors.len()];
        each_weight(neighbors, weight, |row, weight| all[row] = weight);
        all
    }

    /// Distances, squared, of rows 0, 1, …
    fn at(distances: &[f32]) -> Vec<Neighbor> {
        distances.iter().enumerate().map(|(row, d)| (d * d, row as u32)).collect()
    }

    #[test]
    fn the_published_example_of_probabilistic_weights() {
        // Two dimensions, one artificial row in a volume of 1: its ball has the radius 1/√π.
        let log_reach = -0.5 * libm::log(std::f64::consts::PI);
        let all = weights(&at(&[0.1, 0.2, 0.5]), probabilistic(3, 2, log_reach, Metric::Euclidean));
        // Of classes 2, 1 and 2: Beta(1.95593308, 1.49273563) with a prior of 1/2 each.
        assert!((0.5 + all[0] + all[2] - 1.955_933_08).abs() < 1e-7, "{all:?}");
        assert!((0.5 + all[1] - 1.492_735_63).abs() < 1e-7, "{all:?}");
    }

    #[test]
    fn without_artificial_rows_all_are_plain_counts() {
        let near = at(&[0.1, 0.4, 0.4, 0.9, 2.0]);
        let expected = [1.0, 1.0, 1.0, 0.0, 0.0];
        assert_eq!(weights(&near, plain(3)), expected);
        assert_eq!(weights(&near, probabilistic(3, 2, f64::INFINITY, Metric::Euclidean)), expected);
        assert_eq!(weights(&near, data_driven(3, &[])), expected);
        // Of two that are equally far away, each is the second nearest every other time.
        assert_eq!(weights(&near, plain(2)), [1.0, 0.5, 0.5, 0.0, 0.0]);
    }

    #[test]
    fn artificial_rows_take_places() {
        let near = at(&[0.1, 0.4, 0.6, 0.9]);
        let artificial = at(&[0.2, 0.5]);
        assert_eq!(weights(&near, data_driven(4, &artificial)), [1.0, 1.0, 0.0, 0.0]);
        assert_eq!(weights(&near, data_driven(5, &artificial)), [1.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn many_draws_of_artificial_rows_have_the_probabilistic_weights_as_their_mean() {
        use hedgerow_core::rng::{Purpose, Rng};
        let near = at(&[0.15, 0.3, 0.45, 0.5, 0.8]);
        let (rounds, density, mut sums) = (4000, 3.0_f64, [0.0; 5]);
        let mut rng = Rng::new(1, Purpose::Data, 0);
        for _ in 0..rounds {
            // A Poisson process on [−3, 3]²: nearly that on the whole plane.
            let n = (0..144).filter(|_| rng.unit() < density * 36.0 / 144.0).count();
            let mut artificial: Vec<Neighbor> = (0..n)
                .map(|i| ((0..2).map(|_| (6.0 * rng.unit() - 3.0).powi(2) as f32).sum::<f32>(), i as u32))
                .collect();
            artificial.sort_by(|a, b| a.0.total_cmp(&b.0));
            each_weight(&near, data_driven(4, &artificial), |row, weight| {
                sums[row] += weight / f64::from(rounds);
            });
        }
        let log_reach = -0.5 * libm::log(std::f64::consts::PI * density);
        let expected = weights(&near, probabilistic(4, 2, log_reach, Metric::Euclidean));
        sums.iter().zip(&expected).for_each(|(a, b)| assert!((a - b).abs() < 0.04, "{sums:?} {expected:?}"));
    }
}
