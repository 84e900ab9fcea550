//! Expected predictive information gain (Bickford Smith et al., 2023, Prediction-oriented Bayesian active learning).

use hedgerow_core::Result;
use ndarray::{Array3, Axis};

use super::Strategy;
use super::committee::Bald;
use crate::situation::Situation;

/// Targets that a candidate's label is to tell about.
const MOST_TARGETS: usize = 200;

/// Rows whose label would tell most about the labels of the targets: the mean mutual information of both predictions over a committee's members, such as the
/// trees of a forest. Rows that matter for themselves alone count little, unlike with [`Bald`]. Models without members are asked by that.
#[derive(Debug, Clone, Copy, Default)]
pub struct Epig;

impl Strategy for Epig {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        let Some(model) = situation.model() else { return Ok(situation.by_probabilities(|_| 1.0)) };
        let step = situation.targets().len().div_ceil(MOST_TARGETS).max(1);
        let targets: Vec<usize> = situation.targets().iter().step_by(step).copied().collect();
        let par = situation.par();
        let x = situation.pool().rows(&targets);
        let (Some(candidates), Some(targets)) =
            (model.predict_members(situation.x(), par)?, model.predict_members(x.view(), par)?)
        else {
            return Bald.utilities(situation);
        };
        let (candidates, targets) = (Members::new(&candidates), Members::new(&targets));
        Ok(par.map(candidates.rows.len(), |place| candidates.information(place, &targets)))
    }

    fn n_candidates(&self) -> usize {
        200
    }
}

/// What members predict: trees with pure leaves name one class each, so only classes with a probability are kept.
struct Members {
    /// For each row, member after member, the classes with a probability.
    rows: Vec<Vec<Vec<(usize, f64)>>>,
    /// The mean over members.
    means: Vec<Vec<f64>>,
    n_classes: usize,
}

impl Members {
    fn new(members: &Array3<f64>) -> Self {
        let (n_members, _, n_classes) = members.dim();
        let classes = |proba: ndarray::ArrayView1<'_, f64>| {
            proba.iter().copied().enumerate().filter(|(_, p)| *p > 0.0).collect::<Vec<_>>()
        };
        let rows = members.axis_iter(Axis(1)).map(|row| row.rows().into_iter().map(classes).collect());
        let mean = |row: ndarray::ArrayView2<'_, f64>| {
            row.columns().into_iter().map(|column| column.sum() / n_members.max(1) as f64).collect()
        };
        Self { rows: rows.collect(), means: members.axis_iter(Axis(1)).map(mean).collect(), n_classes }
    }

    /// The mean over the targets of Σ p(y, y*) ln [p(y, y*)/p(y) p(y*)], with p(y, y*) the mean over members of the product of their predictions.
    fn information(&self, place: usize, targets: &Self) -> f64 {
        let mut joint = vec![0.0; self.n_classes * targets.n_classes];
        let mut met = Vec::new();
        let mut sum = 0.0;
        for (target, mean) in targets.rows.iter().zip(&targets.means) {
            let share = 1.0 / target.len().max(1) as f64;
            for (own, other) in self.rows[place].iter().zip(target) {
                for &(class, p) in own {
                    for &(other_class, q) in other {
                        let cell = class * targets.n_classes + other_class;
                        if joint[cell] == 0.0 {
                            met.push(cell);
                        }
                        joint[cell] += share * p * q;
                    }
                }
            }
            for cell in met.drain(..) {
                let apart = self.means[place][cell / targets.n_classes] * mean[cell % targets.n_classes];
                sum += joint[cell] * libm::log(joint[cell] / apart);
                joint[cell] = 0.0;
            }
        }
        (sum / targets.rows.len().max(1) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn mutual_information_as_it_is_written_down() {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        let mut draw = |n_rows: usize| {
            let mut members = Array3::from_shape_fn((7, n_rows, 3), |_| {
                let p = rng.unit();
                if p < 0.4 { 0.0 } else { p }
            });
            for mut proba in members.lanes_mut(Axis(2)) {
                proba[0] += 0.1;
                let sum = proba.sum();
                proba.mapv_inplace(|p| p / sum);
            }
            members
        };
        let (rows, others) = (draw(4), draw(5));
        let (a, b) = (Members::new(&rows), Members::new(&others));
        for place in 0..4 {
            let mut expected = 0.0;
            for target in 0..5 {
                for y in 0..3 {
                    for z in 0..3 {
                        let mean = |of: &dyn Fn(usize) -> f64| (0..7).map(of).sum::<f64>() / 7.0;
                        let joint = mean(&|m| rows[(m, place, y)] * others[(m, target, z)]);
                        let apart = mean(&|m| rows[(m, place, y)]) * mean(&|m| others[(m, target, z)]);
                        if joint > 0.0 {
                            expected += joint * (joint / apart).ln() / 5.0;
                        }
                    }
                }
            }
            assert!((a.information(place, &b) - expected).abs() < 1e-12);
        }
    }
}
