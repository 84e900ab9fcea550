//! A random forest that tells the rows of a table from background rows.
//!
//! A row that most trees take for background lies where the table has few rows. Training rows are scored by the trees that have not
//! seen them (Hempstalk, Frank and Witten, 2008, One-class classification by combining density and class probability estimation;
//! Röder, 2013, Active learning: new approaches, and
//! industrial applications).

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{
    Budget, ClassId, Dataset, Features, LabelTable, Params as _, Result, Schema, StopReason, Training,
};
use hedgerow_forest::{Bagging, Forest, ForestParams, LeafPower, Probabilities, SplitRule};
use ndarray::Array2;

use crate::background::Sampler;
use crate::params::OutlierParams;

/// A forest, with the shares of votes for background that training rows get out of bag.
pub(crate) struct Grown {
    pub(crate) forest: Forest,
    pub(crate) votes: Vec<f64>,
    pub(crate) stop: StopReason,
}

/// Grows the forest.
pub(crate) fn grow(
    schema: &Schema,
    features: &Features,
    params: &OutlierParams,
    training: &Training<'_>,
) -> Result<Grown> {
    let sampler = Sampler::new(params.background, schema, features);
    let n_background = libm::round(params.background_share * features.n_rows() as f64).max(1.0) as usize;
    let table = |number: usize| {
        let mut rng = Rng::new(params.seed, Purpose::Data, number as u64);
        with_background(schema, features, &sampler.rows(n_background, &mut rng))
    };
    if !params.fresh_background {
        let fitted = fit(&table(0)?, params.trees(), params.seed, training)?;
        let votes = fitted.oob.map(|oob| (oob.shares, oob.n_trees));
        let votes = votes.map_or_else(Vec::new, |(shares, n_trees)| shares_of(&shares, &n_trees, features));
        return Ok(Grown { forest: fitted.forest, votes, stop: fitted.stop });
    }
    let (mut trees, mut forest_params, mut stop) = (Vec::new(), None, StopReason::Done);
    let mut shares = Array2::zeros((features.n_rows(), 2));
    let mut n_trees = vec![0; features.n_rows()];
    for number in 0..params.trees() {
        let seed = Rng::new(params.seed, Purpose::Tree, number as u64).next_u64();
        // One tree is always grown to its end.
        let budget = if trees.is_empty() { Budget::open() } else { training.budget.clone() };
        let fitted = fit(&table(number)?, 1, seed, &Training { budget: &budget, ..*training })?;
        if let Some(reason) = training.budget.spent() {
            stop = reason;
            if !trees.is_empty() {
                break;
            }
        }
        if let Some(oob) = &fitted.oob {
            for row in 0..features.n_rows() {
                n_trees[row] += oob.n_trees[row];
                for class in 0..2 {
                    shares[(row, class)] += oob.shares[(row, class)];
                }
            }
        }
        forest_params.get_or_insert_with(|| fitted.forest.params().clone());
        trees.extend(fitted.forest.trees().iter().cloned());
        if stop != StopReason::Done {
            break;
        }
    }
    let gains = vec![0.0; features.n_features()];
    let forest = Forest::from_parts(forest_params.unwrap_or_default(), 2, trees, None, gains);
    Ok(Grown { forest, votes: shares_of(&shares, &n_trees, features), stop })
}

/// A random forest as Breiman (2001) has it, whose trees vote.
fn fit(
    data: &Dataset,
    n_trees: usize,
    seed: u64,
    training: &Training<'_>,
) -> Result<hedgerow_forest::Fitted> {
    let params = ForestParams {
        n_trees,
        splits: SplitRule::Best,
        sample_rows: 0,
        bagging: Bagging::Bootstrap,
        learn_left_out: false,
        probabilities: Probabilities::Votes,
        leaf_power: LeafPower::Fixed(0.0),
        calibrate: false,
        seed,
        ..ForestParams::default()
    };
    Forest::fit(data, &params.check()?, training)
}

/// The rows as the first class, background rows as the second.
fn with_background(schema: &Schema, features: &Features, background: &Features) -> Result<Dataset> {
    let labels = LabelTable::from(["row", "background"].map(String::from).to_vec());
    let schema = Schema { labels, ..schema.clone() };
    let mut all = features.clone();
    let mut row = vec![0.0; features.n_features()];
    for number in 0..background.n_rows() {
        background.copy_rows(number..number + 1, &mut row);
        all.push(&row);
    }
    let classes = std::iter::repeat_n(ClassId(0), features.n_rows());
    let classes = classes.chain(std::iter::repeat_n(ClassId(1), background.n_rows()));
    Dataset::new(schema, all, classes.collect::<Vec<_>>(), None)
}

/// The share of votes for background; half of them for a row that no tree left out.
fn shares_of(shares: &Array2<f32>, n_trees: &[u32], features: &Features) -> Vec<f64> {
    let share = |row: usize| match n_trees[row] {
        0 => 0.5,
        n => f64::from(shares[(row, 1)]) / f64::from(n),
    };
    (0..features.n_rows()).map(share).collect()
}
