//! Covariance matrix adaptation (CMA-ES; Hansen, 2016, The CMA evolution strategy: a tutorial): a search that needs values only, no derivatives, and copes
//! with noise in them.
//!
//! A population is drawn from a normal distribution within bounds; its mean, step and covariance follow the best half. When the
//! steps have become small, the search starts again with a population twice as large (Auger & Hansen, 2005). Steps are measured through the Cholesky
//! factor of the covariance.

use hedgerow_core::rng::Rng;
use ndarray::{Array1, Array2};

use crate::linalg::Cholesky;

/// Where a search ends.
pub(crate) struct Limits {
    /// Values asked for, at most.
    pub(crate) n_values: usize,
    /// Searches from the start, at most.
    pub(crate) n_restarts: usize,
}

/// The mean of the population that has found the lowest value within `bounds`: a mean is less swayed by noise than a single point. It begins in the middle. `values`
/// rates the points of a generation together; fewer values than points end the search.
pub(crate) fn evolve(
    bounds: &[[f64; 2]],
    limits: &Limits,
    rng: &mut Rng,
    mut values: impl FnMut(&[Vec<f64>]) -> Vec<f64>,
) -> Vec<f64> {
    let (mut least, mut mean) = (f64::INFINITY, Population::new(bounds, 1).center());
    let mut left = limits.n_values;
    let mut size = 4 + (3.0 * libm::log(bounds.len() as f64)) as usize;
    for _ in 0..=limits.n_restarts {
        let mut population = Population::new(bounds, size);
        let mut has_best = false;
        while !population.is_settled() && left > 0 {
            let drawn: Vec<Drawn> = (0..size.min(left)).map(|_| population.draw(rng)).collect();
            let points: Vec<Vec<f64>> = drawn.iter().map(|drawn| population.within(&drawn.at)).collect();
            let values = values(&points);
            let is_over = values.len() < points.len();
            left -= values.len();
            let mut found = Vec::new();
            for ((drawn, point), value) in drawn.into_iter().zip(points).zip(values) {
                // Points beyond the bounds count as the nearest within, and a little worse the farther out they are.
                let ranked = value + (1e-3 + value.abs()) * drawn.excess();
                if value < least {
                    // Until its generation is complete, the point itself stands for its population.
                    (least, mean, has_best) = (value, point, true);
                }
                found.push((drawn, ranked));
            }
            if is_over {
                return mean;
            }
            if found.len() < size || !population.follow(found) {
                break;
            }
            if has_best {
                mean = population.center();
            }
        }
        size *= 2;
    }
    mean
}

/// A normal distribution over the unit cube, which stands for the bounds.
struct Population<'a> {
    bounds: &'a [[f64; 2]],
    size: usize,
    mean: Array1<f64>,
    step: f64,
    covariance: Array2<f64>,
    lower: Array2<f64>,
    path: Array1<f64>,
    step_path: Array1<f64>,
    n_rounds: i32,
}

/// A point before the bounds are put in force: its place, and the standard normal draw it came from.
struct Drawn {
    at: Array1<f64>,
    normal: Array1<f64>,
}

impl Drawn {
    /// How far beyond the bounds it is.
    fn excess(&self) -> f64 {
        self.at.iter().map(|v| (v - v.clamp(0.0, 1.0)).powi(2)).sum()
    }
}

impl<'a> Population<'a> {
    fn new(bounds: &'a [[f64; 2]], size: usize) -> Self {
        let n = bounds.len();
        Self {
            bounds,
            size,
            mean: Array1::from_elem(n, 0.5),
            step: 0.3,
            covariance: Array2::eye(n),
            lower: Array2::eye(n),
            path: Array1::zeros(n),
            step_path: Array1::zeros(n),
            n_rounds: 0,
        }
    }

    fn is_settled(&self) -> bool {
        let widest = self.covariance.diag().iter().copied().fold(0.0, f64::max);
        self.step * libm::sqrt(widest) < 1e-3
    }

    fn draw(&self, rng: &mut Rng) -> Drawn {
        let normal: Array1<f64> = (0..self.bounds.len()).map(|_| rng.normal()).collect();
        Drawn { at: &self.mean + &(self.lower.dot(&normal) * self.step), normal }
    }

    fn center(&self) -> Vec<f64> {
        self.within(&self.mean)
    }

    /// A place in the unit cube, or beside it, as a point within the bounds.
    fn within(&self, at: &Array1<f64>) -> Vec<f64> {
        let scale = |(v, [low, high]): (&f64, &[f64; 2])| low + v.clamp(0.0, 1.0) * (high - low);
        at.iter().zip(self.bounds).map(scale).collect()
    }

    /// Moves on after a round; fails if the covariance is no longer one.
    fn follow(&mut self, mut found: Vec<(Drawn, f64)>) -> bool {
        let n = self.bounds.len() as f64;
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        let n_parents = self.size / 2;
        let raw: Vec<f64> =
            (0..n_parents).map(|i| libm::log(n_parents as f64 + 0.5) - libm::log(i as f64 + 1.0)).collect();
        let sum: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|w| w / sum).collect();
        let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let parents = || found[..n_parents].iter().zip(&weights);

        let normal =
            parents().fold(Array1::<f64>::zeros(self.bounds.len()), |sum, ((d, _), w)| sum + &d.normal * *w);
        let moved = self.lower.dot(&normal);
        self.mean.scaled_add(self.step, &moved);

        let step_rate = (effective + 2.0) / (n + effective + 5.0);
        let damping = 1.0 + 2.0 * (libm::sqrt((effective - 1.0) / (n + 1.0)) - 1.0).max(0.0) + step_rate;
        let keep = libm::sqrt(step_rate * (2.0 - step_rate) * effective);
        self.step_path = &self.step_path * (1.0 - step_rate) + &normal * keep;
        self.n_rounds += 1;
        let length = libm::sqrt(self.step_path.dot(&self.step_path));
        let expected = libm::sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n));
        let settled = libm::sqrt(1.0 - (1.0 - step_rate).powi(2 * self.n_rounds));
        let is_steady = length / settled < (1.4 + 2.0 / (n + 1.0)) * expected;

        let path_rate = (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n);
        self.path *= 1.0 - path_rate;
        if is_steady {
            self.path.scaled_add(libm::sqrt(path_rate * (2.0 - path_rate) * effective), &moved);
        }
        let one = 2.0 / ((n + 1.3).powi(2) + effective);
        let many =
            (1.0 - one).min(2.0 * (effective - 2.0 + 1.0 / effective) / ((n + 2.0).powi(2) + effective));
        let lost = if is_steady { 0.0 } else { one * path_rate * (2.0 - path_rate) };
        let mut new = &self.covariance * (1.0 - one - many + lost);
        add_outer(&mut new, &self.path, one);
        for ((drawn, _), weight) in parents() {
            add_outer(&mut new, &self.lower.dot(&drawn.normal), many * weight);
        }
        self.step = (self.step * libm::exp(step_rate / damping * (length / expected - 1.0))).min(1.0);
        self.covariance = new;
        match Cholesky::new(self.covariance.clone(), &hedgerow_core::Par::sequential()) {
            Some(factor) => {
                self.lower = factor.lower().to_owned();
                true
            }
            None => false,
        }
    }
}

fn add_outer(to: &mut Array2<f64>, v: &Array1<f64>, weight: f64) {
    for (mut row, &a) in to.rows_mut().into_iter().zip(v) {
        row.scaled_add(weight * a, v);
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::Purpose;

    use super::*;

    fn search(bounds: &[[f64; 2]], n_values: usize, f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let limits = Limits { n_values, n_restarts: 3 };
        let all = |points: &[Vec<f64>]| points.iter().map(|point| f(point)).collect();
        evolve(bounds, &limits, &mut Rng::new(1, Purpose::Sample, 0), all)
    }

    #[test]
    fn a_long_valley_is_followed_to_its_end() {
        let banana = |x: &[f64]| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2);
        let at = search(&[[-3.0, 3.0], [-3.0, 3.0]], 3000, banana);
        assert!(banana(&at) < 1e-4 && (at[0] - 1.0).abs() < 0.05, "{at:?}");
    }

    #[test]
    fn a_minimum_outside_is_sought_at_the_edge() {
        let at = search(&[[1.0, 2.0], [-1.0, 1.0]], 400, |x| x[0] * x[0] + (x[1] - 0.2).powi(2));
        assert!((at[0] - 1.0).abs() < 1e-3 && (at[1] - 0.2).abs() < 0.02, "{at:?}");
    }

    #[test]
    fn the_mean_is_closer_than_the_luckiest_point_where_values_are_noisy() {
        let (mut of_mean, mut of_point) = (0.0, 0.0);
        for seed in 0..20 {
            let mut noise = Rng::new(seed, Purpose::Data, 0);
            let mut best = (f64::INFINITY, vec![0.0; 2]);
            let limits = Limits { n_values: 120, n_restarts: 0 };
            let mean =
                evolve(&[[-1.0, 1.0]; 2], &limits, &mut Rng::new(seed, Purpose::Sample, 0), |points| {
                    let mut rate = |x: &Vec<f64>| {
                        let value = (x[0] - 0.3).powi(2) + (x[1] + 0.2).powi(2) + 0.05 * noise.normal();
                        if value < best.0 {
                            best = (value, x.clone());
                        }
                        value
                    };
                    points.iter().map(&mut rate).collect()
                });
            let distance = |x: &[f64]| (x[0] - 0.3).powi(2) + (x[1] + 0.2).powi(2);
            of_mean += distance(&mean);
            of_point += distance(&best.1);
        }
        assert!(of_mean < of_point, "{of_mean} {of_point}");
    }

    #[test]
    fn it_ends_when_told_and_asks_no_more_than_allowed() {
        let mut asked = 0;
        let limits = Limits { n_values: 25, n_restarts: 9 };
        let mut rng = Rng::new(1, Purpose::Sample, 0);
        evolve(&[[0.0, 1.0]; 3], &limits, &mut rng, |points| {
            asked += points.len();
            points.iter().map(|point| point[0]).collect()
        });
        assert_eq!(asked, 25);
        // Cut short within the first generation: the best point so far.
        let mut seen = Vec::new();
        let found = evolve(&[[0.0, 1.0]], &limits, &mut rng, |points| {
            seen = points[..2].iter().map(|point| point[0]).collect();
            seen.clone()
        });
        assert_eq!(found[0], seen.iter().copied().fold(f64::INFINITY, f64::min));
    }
}
