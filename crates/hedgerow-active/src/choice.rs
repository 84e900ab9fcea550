//! Batches: rows with large utilities that are not alike.

use crate::kernel::RankKernel;
use crate::situation::Situation;
use crate::space::Targets;

/// Chooses rows one by one, each the one of the largest utility; what is like a row chosen before counts less: the utility times 1 − `diversity` · K, with
/// the [kernel](RankKernel) K on the ranks of columns. Returns places among the candidates, each with what its utility was then. `look` is shown all
/// utilities before each choice; those chosen before are NaN.
pub(crate) fn choose(
    situation: &Situation<'_>,
    utilities: Vec<f64>,
    n: usize,
    diversity: f64,
    mut look: impl FnMut(&[f64]),
) -> Vec<(usize, f64)> {
    let n = n.min(utilities.len());
    let mut left: Vec<f64> = utilities;
    let mut chosen = Vec::with_capacity(n);
    let space = (n > 1 && diversity > 0.0).then(|| Alike::new(situation));
    while chosen.len() < n {
        let Some(best) = best_of(&left) else { break };
        look(&left);
        chosen.push((best, left[best]));
        if let Some(space) = &space {
            for (utility, alike) in left.iter_mut().zip(space.to(best)) {
                *utility *= 1.0 - diversity * f64::from(alike);
            }
        }
        left[best] = f64::NAN;
    }
    chosen
}

/// The place of the largest number; NaN is no number.
fn best_of(values: &[f64]) -> Option<usize> {
    let known = values.iter().enumerate().filter(|(_, v)| !v.is_nan());
    known
        .fold(None, |best: Option<(usize, f64)>, (at, &v)| match best {
            Some((_, most)) if v <= most => best,
            _ => Some((at, v)),
        })
        .map(|(at, _)| at)
}

/// How alike candidates are.
struct Alike<'a> {
    rows: &'a Targets,
    weights: Vec<f32>,
    kernel: RankKernel,
}

impl<'a> Alike<'a> {
    fn new(situation: &'a Situation<'_>) -> Self {
        let rows = situation.placed_candidates();
        let weights = vec![1.0; situation.pool().space().n_features()];
        let kernel = RankKernel::of_neighbors(rows, &weights);
        Self { rows, weights, kernel }
    }

    fn to(&self, place: usize) -> Vec<f32> {
        let mut squares = self.rows.squared_distances(&self.rows.row(place), &self.weights);
        squares.iter_mut().for_each(|square| *square = self.kernel.at(*square));
        squares
    }
}
