//! Batches: rows with large utilities that are not alike.

use crate::situation::Situation;

/// The neighbor at whose distance rows count as alike.
const NEIGHBOR: usize = 10;
/// Rows whose neighbors tell that distance.
const MOST_ROWS: usize = 100;

/// Chooses rows one by one, each the one of the largest utility; what is like a row chosen before counts less: the utility times 1 − `diversity` · K, with
/// K = exp(−d²/2h²) on the ranks of columns, h the median distance to the tenth neighbor. Returns places among the candidates, each with what its utility was then.
pub(crate) fn choose(
    situation: &Situation<'_>,
    utilities: Vec<f64>,
    n: usize,
    diversity: f64,
) -> Vec<(usize, f64)> {
    let n = n.min(utilities.len());
    let mut left: Vec<f64> = utilities;
    let mut chosen = Vec::with_capacity(n);
    let space = (n > 1 && diversity > 0.0).then(|| Alike::new(situation));
    while chosen.len() < n {
        let Some(best) = best_of(&left) else { break };
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
struct Alike {
    rows: crate::space::Targets,
    weights: Vec<f32>,
    factor: f32,
}

impl Alike {
    fn new(situation: &Situation<'_>) -> Self {
        let pool = situation.pool();
        let rows = pool.space().place(pool.features(), situation.candidates(), situation.par());
        let weights = vec![1.0; pool.space().n_features()];
        let mut nearest: Vec<f32> = (0..rows.len().min(MOST_ROWS))
            .map(|place| tenth(rows.squared_distances(&rows.row(place), &weights)))
            .collect();
        nearest.sort_by(f32::total_cmp);
        let square = nearest.get(nearest.len() / 2).copied().unwrap_or(1.0).max(1e-6);
        Self { rows, weights, factor: -0.5 / square }
    }

    fn to(&self, place: usize) -> Vec<f32> {
        let mut squares = self.rows.squared_distances(&self.rows.row(place), &self.weights);
        squares.iter_mut().for_each(|square| *square = (self.factor * *square).exp());
        squares
    }
}

/// The distance to the tenth neighbor, or to the last one where there are fewer; the row itself is among the distances.
fn tenth(mut squares: Vec<f32>) -> f32 {
    let at = NEIGHBOR.min(squares.len().saturating_sub(1));
    if squares.is_empty() { 1.0 } else { *squares.select_nth_unstable_by(at, f32::total_cmp).1 }
}
