//! A cold start by clusters: typical rows of clusters without labels (Hacohen, Dekel and Weinshall, 2022, Active learning on a budget: opposite strategies suit high
//! and low budgets).

use hedgerow_core::Result;
use hedgerow_core::rng::{Purpose, Rng};

use super::Strategy;
use super::density::densities;
use crate::kernel::RankKernel;
use crate::situation::Situation;
use crate::space::Targets;

/// Clusters at most; with more labels than that, the least covered clusters are next.
const MOST_CLUSTERS: usize = 200;
/// Rounds of moving centers, and rows of a cluster that may become its center.
const ROUNDS: usize = 3;
const MOST_CENTERS: usize = 20;

/// As many clusters as there are labels, and one more, around typical rows of the targets. The most typical row of the largest cluster with the fewest labels comes
/// first: by how many rows are like it. No model is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cluster;

impl Strategy for Cluster {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        let (candidates, targets) = (situation.placed_candidates(), situation.placed_targets());
        let labelled = situation.placed_labelled();
        let clusters = Clusters::new(situation, (labelled.len() + 1).min(MOST_CLUSTERS));
        let mut sizes = vec![0_usize; clusters.centers.len()];
        clusters.of_all(targets).into_iter().for_each(|cluster| sizes[cluster] += 1);
        let mut labels = vec![0_usize; clusters.centers.len()];
        clusters.of_all(&labelled).into_iter().for_each(|cluster| labels[cluster] += 1);
        let typical = densities(situation);
        let own = clusters.of_all(candidates);
        let mut order: Vec<usize> = (0..own.len()).collect();
        order.sort_by(|&a, &b| {
            let [(one, of_one), (other, of_other)] = [a, b].map(|place| (own[place], typical[place]));
            let by_labels = labels[one].cmp(&labels[other]);
            by_labels.then(sizes[other].cmp(&sizes[one])).then(of_other.total_cmp(&of_one)).then(a.cmp(&b))
        });
        let mut utilities = vec![0.0; own.len()];
        let n = own.len() as f64;
        order.into_iter().enumerate().for_each(|(i, place)| utilities[place] = 1.0 - i as f64 / n);
        Ok(utilities)
    }

    fn reason(&self, _situation: &Situation<'_>, _place: usize) -> String {
        "typical of a cluster with few labels".into()
    }
}

/// Clusters around some of the targets.
struct Clusters<'a> {
    situation: &'a Situation<'a>,
    weights: Vec<f32>,
    /// The ranks of each center.
    centers: Vec<Vec<f32>>,
}

impl<'a> Clusters<'a> {
    /// Centers far from each other, drawn by the squares of their distances (Arthur and Vassilvitskii, 2007, k-means++), then moved to the typical rows of
    /// their clusters.
    fn new(situation: &'a Situation<'a>, n: usize) -> Self {
        let targets = situation.placed_targets();
        let weights = vec![1.0; situation.pool().space().n_features()];
        let mut rng = Rng::new(situation.seed(), Purpose::Query, (2 << 32) + n as u64);
        let mut squares = vec![1.0_f32; targets.len()];
        let mut centers: Vec<Vec<f32>> = Vec::new();
        while centers.len() < n {
            let sum: f64 = squares.iter().map(|square| f64::from(*square)).sum();
            if sum <= 0.0 {
                break;
            }
            let mut left = rng.unit() * sum;
            let drawn = squares.iter().position(|square| {
                left -= f64::from(*square);
                left < 0.0
            });
            let center = targets.row(drawn.unwrap_or(targets.len() - 1));
            let own = targets.squared_distances(&center, &weights);
            squares.iter_mut().zip(own).for_each(|(least, square)| *least = least.min(square));
            // The first distances were no distances, but made all rows alike.
            if centers.is_empty() {
                squares = targets.squared_distances(&center, &weights);
            }
            centers.push(center);
        }
        let mut clusters = Self { situation, weights, centers };
        let kernel = RankKernel::of_neighbors(targets, &clusters.weights);
        for _ in 0..ROUNDS {
            clusters.move_centers(kernel);
        }
        clusters
    }

    /// The nearest center of each row.
    fn of_all(&self, rows: &Targets) -> Vec<usize> {
        let each = self
            .situation
            .par()
            .map(self.centers.len(), |center| rows.squared_distances(&self.centers[center], &self.weights));
        let nearest = |row: usize| {
            let squares = each.iter().map(|squares| squares[row]).enumerate();
            squares.fold(
                (0, f32::INFINITY),
                |best, (center, square)| {
                    if square < best.1 { (center, square) } else { best }
                },
            )
        };
        (0..rows.len()).map(|row| nearest(row).0).collect()
    }

    /// Moves each center to the row of its cluster that most others are like.
    fn move_centers(&mut self, kernel: RankKernel) {
        let targets = self.situation.placed_targets();
        let own = self.of_all(targets);
        let mut members = vec![Vec::new(); self.centers.len()];
        own.into_iter().enumerate().for_each(|(target, cluster)| members[cluster].push(target));
        let moved = self.situation.par().map(members.len(), |cluster| {
            let members = &members[cluster];
            let step = members.len().div_ceil(MOST_CENTERS).max(1);
            let like = |target: usize| {
                let squares = targets.squared_distances(&targets.row(target), &self.weights);
                members.iter().map(|other| f64::from(kernel.at(squares[*other]))).sum::<f64>()
            };
            let tried = members.iter().step_by(step).map(|&target| (target, like(target)));
            let best = tried.fold(None, |best: Option<(usize, f64)>, next| match best {
                Some(best) if best.1 >= next.1 => Some(best),
                _ => Some(next),
            });
            best.map(|(target, _)| targets.row(target))
        });
        self.centers.iter_mut().zip(moved).for_each(|(center, moved)| {
            if let Some(moved) = moved {
                *center = moved;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::Par;
    use hedgerow_core::testing::blobs;

    use super::*;
    use crate::pool::Pool;

    #[test]
    fn each_of_four_blobs_gets_one_of_the_first_labels() {
        let data = blobs(200, 2, 4, 3);
        let par = Par::sequential();
        let mut pool = Pool::new(data.schema.clone(), data.features.clone(), vec![None; 200]).unwrap();
        let targets: Vec<usize> = (0..200).collect();
        let mut met = [0; 4];
        for _ in 0..4 {
            let open = (0..200).filter(|row| pool.label(*row).is_none()).collect();
            let situation = Situation::new(&pool, None, open, &targets, 0, &par).unwrap();
            let utilities = Cluster.utilities(&situation).unwrap();
            let best = (0..utilities.len()).max_by(|&a, &b| utilities[a].total_cmp(&utilities[b])).unwrap();
            let row = situation.candidates()[best];
            met[data.labels()[row].index()] += 1;
            pool.set_label(row, data.labels()[row]).unwrap();
        }
        assert_eq!(met, [1; 4]);
    }
}
