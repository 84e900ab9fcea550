//! A fitted detector.

use hedgerow_core::error::check_shapes;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::{self, require, require_rules};
use hedgerow_core::{
    Checked, DataError, DataProblem, Features, OutlierScore, Par, Result, Schema, StopReason, Training,
};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::columns::Columns;
use crate::ensemble::Work;
use crate::params::OutlierParams;
use crate::rule::{Fit, Rule};
use crate::scale::quantile;

/// Typical rows that the values of others are exchanged with to see what a column contributes.
const TYPICAL_ROWS: usize = 8;
/// Columns exchanged before the scores are taken.
const COLUMNS_AT_ONCE: usize = 64;

/// Scores rows by how unlike they are to those it was fitted to.
///
/// Scores lie from 0 to 1, a larger one is stranger. They depend on a row and the training rows alone, not on the batch. Training rows
/// have scores of their own ([`Self::training_scores`]), out of bag: to these a row does not testify for itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Detector {
    params: OutlierParams,
    columns: Columns,
    rule: Rule,
    /// The median over the training rows, on the rule's own scale.
    median: f64,
    threshold: f64,
    #[serde(with = "saved::array")]
    training_scores: Vec<f64>,
    /// Some training rows that are not strange, one after the other.
    #[serde(with = "saved::array")]
    typical: Vec<f32>,
    #[serde(skip, default = "done")]
    stop: StopReason,
}

impl OutlierScore for Detector {
    fn n_features(&self) -> usize {
        self.columns.n_features()
    }

    fn outlier_score_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<f64>> {
        let scores = self.rule.score(self.work(par), x)?;
        Ok(scores.into_iter().map(|score| self.rule.to_unit(score, self.median)).collect())
    }
}

impl Detector {
    /// Fits a detector to rows. When the budget is spent, it is made of what there was time for.
    pub fn fit(
        schema: &Schema,
        features: &Features,
        params: &Checked<OutlierParams>,
        training: &Training<'_>,
    ) -> Result<Self> {
        let params = params.get().clone();
        check_rows(schema, features)?;
        let columns = Columns::new(schema, features);
        let Fit { rule, scores, stop } = Rule::fit(schema, features, &columns, &params, training)?;
        let median = middle(&scores);
        let typical = typical_rows(features, &scores, params.seed);
        let threshold = rule.to_unit(rule.fence(&scores), median);
        let training_scores = scores.iter().map(|&score| rule.to_unit(score, median)).collect();
        Ok(Self { params, columns, rule, median, threshold, training_scores, typical, stop })
    }

    /// The parameters it was fitted with.
    pub fn params(&self) -> &OutlierParams {
        &self.params
    }

    /// Columns a row must have.
    pub fn n_features(&self) -> usize {
        self.columns.n_features()
    }

    /// Why the fit ended.
    pub fn stop(&self) -> StopReason {
        self.stop
    }

    /// The scores of the training rows, by what was not made from the row itself.
    pub fn training_scores(&self) -> &[f64] {
        &self.training_scores
    }

    /// The score above which a row is taken for an outlier where no share of outliers is known: the upper fence of a box plot of the
    /// training rows' scores, and for `forest` half of the votes.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The score above which a share of the training rows lies.
    pub fn threshold_for(&self, contamination: f64) -> f64 {
        quantile(&self.training_scores, 1.0 - contamination)
    }

    /// Scores new rows.
    pub fn score(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<f64>> {
        self.outlier_score(x, par)
    }

    /// What each column contributed to the strangeness of each row: shares that sum to 1, or all 0 where no column makes the row stranger.
    ///
    /// A column's contribution is how much stranger typical rows become with the row's value in it, and how much less strange the row
    /// becomes with theirs: the mean of the first and the last term of a Shapley value (Štrumbelj and Kononenko, 2014, Explaining
    /// prediction models and individual predictions with feature contributions). That takes 16 scores for each column of a row.
    pub fn attributions(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        let n_features = self.n_features();
        let mut shares = Array2::zeros(x.dim());
        let typical: Vec<&[f32]> = self.typical.chunks(n_features).collect();
        let n_typical = typical.len();
        let plain = Array2::from_shape_fn((n_typical, n_features), |(k, c)| typical[k][c]);
        let plain = self.rule.score(self.work(par), plain.view())?;
        let own = self.rule.score(self.work(par), x)?;
        for (row, values) in x.rows().into_iter().enumerate() {
            par.check()?;
            for first in (0..n_features).step_by(COLUMNS_AT_ONCE) {
                let columns = COLUMNS_AT_ONCE.min(n_features - first);
                // For each column, the row with typical values in it, then typical rows with its value in it.
                let changed = Array2::from_shape_fn((2 * columns * n_typical, n_features), |(at, c)| {
                    let (column, k) = (first + at / (2 * n_typical), at % (2 * n_typical));
                    let is_own = (c == column) == (k >= n_typical);
                    if is_own { values[c] } else { typical[k % n_typical][c] }
                });
                let scores = self.rule.score(self.work(par), changed.view())?;
                for (column, scores) in scores.chunks(2 * n_typical).enumerate() {
                    let (without, with) = scores.split_at(n_typical);
                    let last = without.iter().map(|score| own[row] - score).sum::<f64>();
                    let alone = with.iter().zip(&plain).map(|(with, plain)| with - plain).sum::<f64>();
                    shares[(row, first + column)] = (alone + last).max(0.0);
                }
            }
            let total = shares.row(row).sum();
            if total > 0.0 {
                shares.row_mut(row).mapv_inplace(|share| share / total);
            }
        }
        Ok(shares)
    }

    /// Fails unless all parts of a detector that was read fit together.
    pub fn complete(&self) -> Result<()> {
        require_rules(&self.params)?;
        self.columns.check()?;
        let n_features = self.n_features();
        require(self.typical.len().is_multiple_of(n_features.max(1)), || "typical rows of another width")?;
        self.rule.check(n_features, self.columns.width())
    }

    fn work<'a>(&'a self, par: &'a Par) -> Work<'a> {
        Work { columns: &self.columns, par }
    }
}

/// A detector that was read does not know any more why its fit ended.
fn done() -> StopReason {
    StopReason::Done
}

/// Fails on a table without columns, and on fewer than two rows: one row is neither strange nor typical.
fn check_rows(schema: &Schema, features: &Features) -> Result<()> {
    check_shapes([("feature columns", schema.n_features(), features.n_features())])?;
    match (features.n_features(), features.n_rows()) {
        (0, _) => Err(DataProblem::NoFeatures.into()),
        (_, 0) => Err(DataProblem::Empty.into()),
        (_, 1) => Err(DataProblem::TooFewRows { expected: 2, got: 1 }.into()),
        _ if features.has_infinite() => infinite(schema, features),
        _ => Ok(()),
    }
}

/// The error about the first infinite value.
fn infinite(schema: &Schema, features: &Features) -> Result<()> {
    for row in 0..features.n_rows() {
        for (column, about) in schema.columns.iter().enumerate() {
            let value = features.value(row, column);
            if value.is_infinite() {
                let problem = DataProblem::Infinite { text: value.to_string() };
                let error = DataError::from(problem).at_row(row as u64 + 1);
                return Err(error.in_column(about.name.clone()).into());
            }
        }
    }
    Ok(())
}

/// The median, or the mean where that is 0, as of distances between rows most of which are equal; 1 where that is 0 too.
fn middle(scores: &[f64]) -> f64 {
    let mean = scores.iter().sum::<f64>() / scores.len().max(1) as f64;
    [quantile(scores, 0.5), mean].into_iter().find(|value| *value != 0.0).unwrap_or(1.0)
}

/// Some of the rows whose score is not above the median.
fn typical_rows(features: &Features, scores: &[f64], seed: u64) -> Vec<f32> {
    let half = quantile(scores, 0.5);
    let calm: Vec<usize> = (0..scores.len()).filter(|&row| scores[row] <= half).collect();
    let mut rng = Rng::new(seed, Purpose::Permutation, 0);
    let mut out = vec![0.0; TYPICAL_ROWS * features.n_features()];
    for out in out.chunks_mut(features.n_features()) {
        let row = calm[rng.index(calm.len())];
        features.copy_rows(row..row + 1, out);
    }
    out
}
