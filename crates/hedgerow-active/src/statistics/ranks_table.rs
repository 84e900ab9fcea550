//! Strategies compared over data sets: ranks, tests, critical difference.

use hedgerow_core::error::check_shapes;
use hedgerow_core::{Error, Result};
use ndarray::{Array2, ArrayView2};
use serde::Serialize;

use super::friedman::{Friedman, friedman};
use super::holm::holm;
use super::nemenyi::critical_difference;
use super::ranks::average_ranks;
use super::sign::{SignTest, sign_test};
use super::wilcoxon::{Wilcoxon, wilcoxon};

/// Scores of strategies on data sets, such as areas under learning curves, and what they say about the strategies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RanksTable {
    /// What the strategies are called.
    pub strategies: Vec<String>,
    /// What the data sets are called.
    pub data_sets: Vec<String>,
    /// The score of each strategy on each data set, larger is better: data set, strategy.
    pub scores: Vec<Vec<f64>>,
    /// The rank of each strategy on each data set, 1 is best; equal scores share their ranks.
    pub ranks: Vec<Vec<f64>>,
    /// The mean score of each strategy.
    pub mean_scores: Vec<f64>,
    /// The mean rank of each strategy.
    pub mean_ranks: Vec<f64>,
    /// The level of the critical difference.
    pub alpha: f64,
    /// The distance of mean ranks from which two strategies differ by Nemenyi's test.
    pub critical_difference: f64,
    /// The Friedman test, where there are two data sets or more.
    pub friedman: Option<Friedman>,
    /// All pairs of strategies.
    pub pairs: Vec<Pair>,
}

/// Two strategies over data sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The place of the first strategy.
    pub first: usize,
    /// The place of the second.
    pub second: usize,
    /// The mean of the first's scores less the second's.
    pub mean_difference: f64,
    /// How often the first has the larger score.
    pub sign: SignTest,
    /// The signed-rank test of the differences.
    pub wilcoxon: Wilcoxon,
    /// Its p-value after Holm's adjustment over all pairs.
    pub adjusted: f64,
    /// Whether the mean ranks are further apart than the critical difference.
    pub differs: bool,
}

impl RanksTable {
    /// Compares strategies (columns) over data sets (rows) by scores of which larger ones are better, at a level such as 0.05.
    pub fn new(
        strategies: Vec<String>,
        data_sets: Vec<String>,
        scores: ArrayView2<'_, f64>,
        alpha: f64,
    ) -> Result<Self> {
        super::checks::check_table(scores, 1)?;
        let (n, k) = scores.dim();
        let [n_strategies, n_data_sets] = [strategies.len(), data_sets.len()];
        check_shapes([("names of strategies", k, n_strategies), ("names of data sets", n, n_data_sets)])?;
        let ranks = ranks_of(scores);
        let mean = |table: ArrayView2<'_, f64>| -> Vec<f64> {
            table.columns().into_iter().map(|column| column.iter().sum::<f64>() / n as f64).collect()
        };
        let (mean_scores, mean_ranks) = (mean(scores), mean(ranks.view()));
        let critical_difference = critical_difference(alpha, k, n)?;
        let mut pairs = Vec::new();
        for first in 0..k {
            for second in first + 1..k {
                let (a, b) = (scores.column(first), scores.column(second));
                let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
                let count = |holds: fn(&f64) -> bool| differences.iter().filter(|d| holds(d)).count();
                pairs.push(Pair {
                    first,
                    second,
                    mean_difference: mean_scores[first] - mean_scores[second],
                    sign: sign_test(count(|d| *d > 0.0), count(|d| *d < 0.0), count(|d| *d == 0.0)),
                    wilcoxon: wilcoxon(&differences)?,
                    adjusted: 1.0,
                    differs: (mean_ranks[first] - mean_ranks[second]).abs() > critical_difference,
                });
            }
        }
        let p_values: Vec<f64> = pairs.iter().map(|pair| pair.wilcoxon.p_value).collect();
        pairs.iter_mut().zip(holm(&p_values)?).for_each(|(pair, adjusted)| pair.adjusted = adjusted);
        let rows = |table: ArrayView2<'_, f64>| table.rows().into_iter().map(|row| row.to_vec()).collect();
        Ok(Self {
            strategies,
            data_sets,
            scores: rows(scores),
            ranks: rows(ranks.view()),
            mean_scores,
            mean_ranks,
            alpha,
            critical_difference,
            friedman: if n >= 2 { Some(friedman(scores)?) } else { None },
            pairs,
        })
    }

    /// The place of a strategy by its name.
    pub fn strategy(&self, name: &str) -> Result<usize> {
        let unknown = || Error::param("strategy", self.strategies.join(", "), name);
        self.strategies.iter().position(|strategy| strategy == name).ok_or_else(unknown)
    }

    /// Groups of strategies that the critical difference does not tell apart, as places in the order of mean ranks: what the bars of a
    /// critical-difference diagram join. A group within another is left out.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.strategies.len()).collect();
        order.sort_by(|&a, &b| self.mean_ranks[a].total_cmp(&self.mean_ranks[b]));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut reached = 0;
        for from in 0..order.len() {
            let is_near = |place: &&usize| {
                self.mean_ranks[**place] - self.mean_ranks[order[from]] <= self.critical_difference
            };
            let to = from + order[from..].iter().take_while(is_near).count();
            if to > reached && to - from > 1 {
                groups.push(order[from..to].to_vec());
            }
            reached = reached.max(to);
        }
        groups
    }
}

/// Ranks within each row, 1 for the largest score.
fn ranks_of(scores: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut ranks = Array2::zeros(scores.raw_dim());
    for (scores, mut ranks) in scores.rows().into_iter().zip(ranks.rows_mut()) {
        let negative: Vec<f64> = scores.iter().map(|score| -score).collect();
        ranks.assign(&ndarray::Array1::from(average_ranks(&negative)));
    }
    ranks
}
