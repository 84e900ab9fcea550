//! What scores rows, once it is fitted.

use hedgerow_core::rng::Purpose;
use hedgerow_core::saved::require;
use hedgerow_core::{Classifier as _, Features, Par, Result, Schema, StopReason, Training};
use hedgerow_forest::Forest;
use ndarray::{ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::columns::Columns;
use crate::combined::Combined;
use crate::ensemble::{Ensemble as _, Rounds, Source, Work};
use crate::neighbors::Neighbors;
use crate::params::{Method, OutlierParams};
use crate::proximity::Proximity;
use crate::scale::{squash, upper_fence};
use crate::trees::{Depth, Trees, draw};
use crate::votes;

/// Rows of which proximities are kept at most: their number enters squared.
const MOST_PROXIMITIES: usize = 5_000;

/// What scores rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rule {
    /// Nothing varies: all rows are alike.
    Alike,
    /// The mean depth in trees of random cuts.
    Trees(Trees),
    /// The mean distance to the nearest rows.
    Neighbors(Neighbors),
    /// Separation depth and distances.
    Combined(Combined),
    /// Votes of a forest.
    Votes(Forest),
    /// Proximities in a forest.
    Proximity(Forest, Proximity),
}

/// A rule with what the training rows get from it without themselves, and why the fit ended.
pub(crate) struct Fit {
    pub(crate) rule: Rule,
    pub(crate) scores: Vec<f64>,
    pub(crate) stop: StopReason,
}

impl Rule {
    /// Fits the rule of a method.
    pub(crate) fn fit(
        schema: &Schema,
        features: &Features,
        columns: &Columns,
        params: &OutlierParams,
        training: &Training<'_>,
    ) -> Result<Fit> {
        if columns.width() == 0 {
            let scores = vec![0.0; features.n_rows()];
            return Ok(Fit { rule: Self::Alike, scores, stop: StopReason::Done });
        }
        match params.method {
            Method::Isolation => Ok(Self::of_trees(Depth::Isolation, features, columns, params, training)),
            Method::Separation => Ok(Self::of_trees(Depth::Separation, features, columns, params, training)),
            Method::Auto => {
                let (combined, scores) = Combined::fit(features, columns, params, training);
                let is_whole = combined.n_members() == Combined::all_members(params);
                Ok(Fit { rule: Self::Combined(combined), scores, stop: stopped(is_whole, training) })
            }
            Method::Knn => {
                let size = (params.n_neighbors, params.compared_rows, params.seed);
                let with = (training.par, training.budget, training.observer);
                let (neighbors, scores) = Neighbors::fit(features, columns, size, with);
                let is_whole = neighbors.n_rows() == params.compared_rows.min(features.n_rows());
                Ok(Fit { rule: Self::Neighbors(neighbors), scores, stop: stopped(is_whole, training) })
            }
            Method::Forest | Method::Proximity => Self::of_forest(schema, features, params, training),
        }
    }

    fn of_trees(
        depth: Depth,
        features: &Features,
        columns: &Columns,
        params: &OutlierParams,
        training: &Training<'_>,
    ) -> Fit {
        let size = (params.trees(), params.sample_rows, params.seed);
        let mut trees = Trees::grow(depth, size, features, columns, (training.par, training.budget));
        let work = Work { columns, par: training.par };
        let mut progress = Rounds::new(training.observer, params.trees());
        let mut scores = work.out_of_bag(&mut trees, features, training.budget, &mut progress);
        scores.iter_mut().for_each(|depth| *depth = trees.score_of(*depth));
        let stop = stopped(trees.n_members() == params.trees(), training);
        Fit { rule: Self::Trees(trees), scores, stop }
    }

    /// A forest of some of the rows; the others are scored as new ones.
    fn of_forest(
        schema: &Schema,
        features: &Features,
        params: &OutlierParams,
        training: &Training<'_>,
    ) -> Result<Fit> {
        let is_proximity = params.method == Method::Proximity;
        let most = if is_proximity { MOST_PROXIMITIES } else { usize::MAX };
        let chosen = draw(features.n_rows(), params.compared_rows.min(most), params.seed, Purpose::Sample, 0);
        let chosen: Vec<usize> = chosen.into_iter().map(|row| row as usize).collect();
        let some = features.select(&chosen);
        let grown = votes::grow(schema, &some, params, training)?;
        let (rule, of_chosen) = if is_proximity {
            let x = some.to_array(0..some.n_rows());
            let (proximity, scores) = Proximity::fit(&grown.forest, x.view(), training.par)?;
            (Self::Proximity(grown.forest, proximity), scores)
        } else {
            (Self::Votes(grown.forest), grown.votes)
        };
        let mut scores = vec![f64::NAN; features.n_rows()];
        chosen.iter().zip(of_chosen).for_each(|(&row, score)| scores[row] = score);
        let others: Vec<usize> = (0..scores.len()).filter(|&row| scores[row].is_nan()).collect();
        for block in others.chunks(4_096) {
            let x = features.select(block).to_array(0..block.len());
            let of_block = rule.of_raw(x.view(), training.par)?;
            block.iter().zip(of_block).for_each(|(&row, score)| scores[row] = score);
        }
        Ok(Fit { rule, scores, stop: grown.stop })
    }

    /// How strange rows are by a forest, which reads them as they are.
    fn of_raw(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<f64>> {
        match self {
            Self::Votes(forest) => Ok(forest.predict_proba(x, par)?.index_axis(Axis(1), 1).to_vec()),
            Self::Proximity(forest, proximity) => proximity.score(forest, x, par),
            _ => Ok(vec![0.0; x.nrows()]),
        }
    }

    /// How strange new rows are, on a scale of the rule's own.
    pub(crate) fn score(&self, work: Work<'_>, x: ArrayView2<'_, f32>) -> Result<Vec<f64>> {
        let source = Source::New(x);
        match self {
            Self::Alike => Ok(vec![0.0; x.nrows()]),
            Self::Trees(trees) => {
                let mut scores = work.means(trees, source);
                scores.iter_mut().for_each(|depth| *depth = trees.score_of(*depth));
                Ok(scores)
            }
            Self::Neighbors(neighbors) => Ok(neighbors.score(source, work.columns, work.par)),
            Self::Combined(combined) => Ok(combined.score(work, source)),
            Self::Votes(_) | Self::Proximity(..) => self.of_raw(x, work.par),
        }
    }

    /// A number of the rule's own scale as one from 0 to 1, in the same order. `typical` is the median over the training rows.
    pub(crate) fn to_unit(&self, score: f64, typical: f64) -> f64 {
        match self {
            Self::Trees(_) | Self::Votes(_) => score,
            Self::Neighbors(_) if score <= 0.0 => 0.0,
            Self::Neighbors(_) => score / (score + typical),
            Self::Alike | Self::Combined(_) | Self::Proximity(..) => squash(score),
        }
    }

    /// From where on rows are taken for outliers where nothing else is wanted, on the rule's own scale.
    pub(crate) fn fence(&self, scores: &[f64]) -> f64 {
        match self {
            // Most trees take the row for background.
            Self::Votes(_) => 0.5,
            _ => upper_fence(scores),
        }
    }

    /// Fails unless a rule that was read fits its columns.
    pub(crate) fn check(&self, n_features: usize, width: usize) -> Result<()> {
        let fits = match self {
            Self::Alike => true,
            Self::Trees(trees) => trees.fits(width),
            Self::Neighbors(neighbors) => neighbors.fits(width),
            Self::Combined(combined) => combined.fits(width),
            Self::Votes(forest) | Self::Proximity(forest, _) => forest.n_features() == n_features,
        };
        require(fits, || "the parts of the detector do not fit its columns")
    }
}

/// Why a fit ended that was whole, or was not.
fn stopped(is_whole: bool, training: &Training<'_>) -> StopReason {
    if is_whole { StopReason::Done } else { training.budget.spent().unwrap_or(StopReason::Time) }
}
