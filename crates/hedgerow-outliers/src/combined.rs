//! The default: separation depth and distances to small samples of the rows, together.
//!
//! Cuts parallel to the axes tell rows apart that are extreme in a few columns; distances tell rows apart that lie off the others in many
//! columns at once. Which of the two an outlier is, a table without labels does not tell, so a row counts as strange if either finds it
//! so: the scores, each in deviations from its median over the training rows, are combined by a smooth maximum.

use hedgerow_core::{Features, Training};
use serde::{Deserialize, Serialize};

use crate::columns::Columns;
use crate::ensemble::{Ensemble as _, Rounds, Source, Work};
use crate::params::OutlierParams;
use crate::references::References;
use crate::scale::{Scale, smooth_largest};
use crate::trees::{Depth, Trees};

/// Sets of rows that distances are taken to, and rows of each.
const N_SETS: usize = 16;
const SET_ROWS: usize = 128;
/// What the separation depth counts; the distance counts 1.
const SEPARATION: f64 = 2.0;
/// Distances are taken from this share of their mean upwards, so that equal rows have a logarithm.
const LEAST_DISTANCE: f64 = 0.01;

/// Distances, and how they become scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Distances {
    references: References,
    least: f64,
    scale: Scale,
}

/// Separation depth and distances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Combined {
    trees: Trees,
    scale: Scale,
    /// None where there was no time for them.
    distances: Option<Distances>,
}

impl Combined {
    /// Fits both parts, and scores the training rows out of bag. When the budget is spent, members that have not scored yet are left
    /// out.
    pub(crate) fn fit(
        features: &Features,
        columns: &Columns,
        params: &OutlierParams,
        training: &Training<'_>,
    ) -> (Self, Vec<f64>) {
        let work = Work { columns, par: training.par };
        let mut progress = Rounds::new(training.observer, params.trees() + N_SETS);
        let size = (params.trees(), params.sample_rows, params.seed);
        let budget = training.budget.half_of_time();
        let with = (training.par, &budget);
        let mut trees = Trees::grow(Depth::Separation, size, features, columns, with);
        let depths = work.out_of_bag(&mut trees, features, &budget, &mut progress);
        let mut separation: Vec<f64> = depths.iter().map(|&depth| trees.score_of(depth)).collect();
        let scale = Scale::of(&separation);
        separation.iter_mut().for_each(|score| *score = scale.apply(*score));
        if training.budget.spent().is_some() {
            return (Self { trees, scale, distances: None }, separation);
        }
        let mut references = References::draw((N_SETS, SET_ROWS, params.seed), features, columns);
        let mut means = work.out_of_bag(&mut references, features, training.budget, &mut progress);
        let least = LEAST_DISTANCE * means.iter().sum::<f64>() / means.len().max(1) as f64;
        means.iter_mut().for_each(|mean| *mean = logarithm(*mean, least));
        let distances = Distances { references, least, scale: Scale::of(&means) };
        let scores = separation.iter().zip(&means);
        let scores = scores.map(|(&separation, &mean)| together(separation, distances.scale.apply(mean)));
        let scores = scores.collect();
        (Self { trees, scale, distances: Some(distances) }, scores)
    }

    /// Whether both parts are of this width.
    pub(crate) fn fits(&self, width: usize) -> bool {
        self.trees.fits(width) && self.distances.as_ref().is_none_or(|part| part.references.fits(width))
    }

    /// Trees and sets that there was time for.
    pub(crate) fn n_members(&self) -> usize {
        self.trees.n_members() + self.distances.as_ref().map_or(0, |part| part.references.n_members())
    }

    /// Trees and sets that there are if there is time.
    pub(crate) fn all_members(params: &OutlierParams) -> usize {
        params.trees() + N_SETS
    }

    /// How strange rows are, in deviations.
    pub(crate) fn score(&self, work: Work<'_>, source: Source<'_>) -> Vec<f64> {
        let mut scores = work.means(&self.trees, source);
        scores.iter_mut().for_each(|depth| *depth = self.scale.apply(self.trees.score_of(*depth)));
        if let Some(part) = &self.distances {
            for (score, mean) in scores.iter_mut().zip(work.means(&part.references, source)) {
                *score = together(*score, part.scale.apply(logarithm(mean, part.least)));
            }
        }
        scores
    }
}

fn logarithm(distance: f64, least: f64) -> f64 {
    libm::log((distance + least).max(1e-300))
}

fn together(separation: f64, distance: f64) -> f64 {
    smooth_largest(&[(SEPARATION, separation), (1.0, distance)])
}
