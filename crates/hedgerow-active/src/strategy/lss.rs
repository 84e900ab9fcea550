//! Look-ahead selective sampling (Lindenbaum, Markovitch and Rusakov, 2004, Selective sampling for nearest neighbor classifiers), one step ahead.
//!
//! Labels are a random field: those of near rows are alike, with the correlation ρ = exp(−r/σ). The two nearest labelled rows tell the class probabilities of a row.

use hedgerow_core::{ClassId, Result};

use super::Strategy;
use crate::situation::Situation;
use crate::space::Targets;

/// Correlations above this are of copies.
const MOST_ALIKE: f64 = 1.0 - 1e-9;
/// Pairs of targets that tell how far correlations reach.
const PAIRS: usize = 200;

/// Rows whose label is expected to leave the most rows of the pool with a sure class, by the two nearest labelled rows. No model is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lss;

/// A labelled row seen from another row: how it correlates, its place among the labelled rows, its class.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Near {
    correlation: f64,
    place: usize,
    class: usize,
}

impl Strategy for Lss {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        let pool = situation.pool();
        let (candidates, targets) = (situation.placed_candidates(), situation.placed_targets());
        let labelled = situation.placed_labelled();
        let weights = vec![1.0; pool.space().n_features()];
        let reach = typical_distance(targets, &weights) / 4.0;
        let correlations = |from: &[f32], rows: &Targets| -> Vec<f64> {
            let squares = rows.squared_distances(from, &weights);
            squares.into_iter().map(|square| libm::exp(-libm::sqrt(f64::from(square)) / reach)).collect()
        };
        let classes: Vec<usize> =
            pool.labelled().iter().map(|&row| pool.label(row).map_or(0, ClassId::index)).collect();
        let n_classes = pool.schema().n_classes().max(2);
        let nearest = |from: &[f32]| nearest_two(&correlations(from, &labelled), &classes);
        let par = situation.par();
        let known = par.map(targets.len(), |target| nearest(&targets.row(target)));
        let among: Vec<Vec<f64>> =
            par.map(labelled.len(), |place| correlations(&labelled.row(place), &labelled));
        let between = |a: &Near, b: &Near| among[a.place][b.place];
        let sure_now: Vec<f64> = known.iter().map(|near| surest(near, n_classes, between)).collect();
        Ok(par.map(candidates.len(), |candidate| {
            let from = candidates.row(candidate);
            let to_targets = correlations(&from, targets);
            let to_labelled = correlations(&from, &labelled);
            let own = probabilities(&nearest_two(&to_labelled, &classes), n_classes, between);
            let value = |(class, p): (usize, f64)| {
                let sure =
                    known.iter().zip(&sure_now).zip(&to_targets).map(
                        |((near, now), &correlation)| match near.as_slice() {
                            [_, second] if second.correlation >= correlation => *now,
                            near => {
                                let new = Near { correlation, place: usize::MAX, class };
                                let two: Vec<Near> = near.first().copied().into_iter().chain([new]).collect();
                                surest(&two, n_classes, |a, _| to_labelled[a.place])
                            }
                        },
                    );
                p * sure.sum::<f64>() / known.len().max(1) as f64
            };
            own.into_iter().enumerate().map(value).sum()
        }))
    }

    fn n_candidates(&self) -> usize {
        200
    }

    fn reason(&self, _situation: &Situation<'_>, _place: usize) -> String {
        "its label is expected to make most rows near it sure".into()
    }
}

/// The two rows of the largest correlations, the first one first.
fn nearest_two(correlations: &[f64], classes: &[usize]) -> Vec<Near> {
    let mut two: Vec<Near> = Vec::with_capacity(3);
    for (place, (&correlation, &class)) in correlations.iter().zip(classes).enumerate() {
        let at = two.iter().position(|near| correlation > near.correlation).unwrap_or(two.len());
        if at < 2 {
            two.insert(at, Near { correlation, place, class });
            two.truncate(2);
        }
    }
    two
}

/// Class probabilities by one or two labelled rows: 1/K and what the labels tell, a regression on their indicators, no less than 0 and summing to 1. `between`
/// correlates the first of two rows with the second.
fn probabilities(near: &[Near], n_classes: usize, between: impl Fn(&Near, &Near) -> f64) -> Vec<f64> {
    let prior = 1.0 / n_classes as f64;
    let mut p = vec![prior; n_classes];
    let mut add = |near: &Near, weight: f64| {
        for (class, p) in p.iter_mut().enumerate() {
            *p += weight * (f64::from(u8::from(class == near.class)) - prior);
        }
    };
    match near {
        [] => {}
        [only] => add(only, only.correlation),
        [a, b, ..] => {
            let both = between(a, b).min(MOST_ALIKE);
            let rest = 1.0 - both * both;
            add(a, (a.correlation - both * b.correlation) / rest);
            add(b, (b.correlation - both * a.correlation) / rest);
        }
    }
    p.iter_mut().for_each(|p| *p = p.clamp(0.0, 1.0));
    let sum: f64 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= sum.max(f64::MIN_POSITIVE));
    p
}

fn surest(near: &[Near], n_classes: usize, between: impl Fn(&Near, &Near) -> f64) -> f64 {
    probabilities(near, n_classes, between).into_iter().fold(0.0, f64::max)
}

/// The median distance of pairs of rows.
fn typical_distance(rows: &Targets, weights: &[f32]) -> f64 {
    let n = rows.len();
    let mut squares: Vec<f32> = (0..n.min(PAIRS))
        .filter_map(|i| {
            let row = rows.squared_distances(&rows.row(i * n / n.min(PAIRS)), weights);
            row.get((i * 7919 + 1) % n).copied().filter(|square| *square > 0.0)
        })
        .collect();
    squares.sort_by(f32::total_cmp);
    squares.get(squares.len() / 2).map_or(1.0, |square| libm::sqrt(f64::from(*square)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes, as they are printed: ½ ± (c₁ + c₂)/(½ + 2c₁₂) for equal labels, ½ ± (c₁ − c₂)/(½ − 2c₁₂) for opposite ones, c = ¼ρ.
    #[test]
    fn probabilities_of_two_neighbors() {
        let near = |correlation: f64, class: usize| Near { correlation, place: 0, class };
        for (first, second, both) in [(0.8, 0.5, 0.3), (0.6, 0.6, 0.9), (0.3, 0.1, 0.05)] {
            let [c1, c2, c12] = [first, second, both].map(|v| v / 4.0);
            let equal = probabilities(&[near(first, 1), near(second, 1)], 2, |_, _| both)[1];
            assert!((equal - (0.5 + (c1 + c2) / (0.5 + 2.0 * c12)).min(1.0)).abs() < 1e-12);
            let apart = probabilities(&[near(first, 1), near(second, 0)], 2, |_, _| both)[1];
            assert!((apart - (0.5 + (c1 - c2) / (0.5 - 2.0 * c12))).abs() < 1e-12);
        }
        assert_eq!(probabilities(&[], 4, |_, _| 0.0), [0.25; 4]);
        let many = probabilities(&[near(0.5, 2)], 4, |_, _| 0.0);
        assert!((many[2] - 0.625).abs() < 1e-12 && (many.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_nearest_two() {
        let places = |v: &[f64]| -> Vec<usize> {
            nearest_two(v, &vec![0; v.len()]).iter().map(|near| near.place).collect()
        };
        assert_eq!(places(&[0.1, 0.9, 0.3, 0.9]), [1, 3]);
        assert_eq!(places(&[0.2]), [0]);
        assert!(places(&[]).is_empty());
    }
}
