//! The Friedman test: do some strategies rank higher than others?
//!
//! Friedman, 1937, The use of ranks to avoid the assumption of normality implicit in the analysis of variance. Iman and Davenport, 1980,
//! Approximations of the critical region of the Friedman statistic: the chi-square form is too cautious, the F form hardly.

use hedgerow_core::Result;
use ndarray::ArrayView2;
use serde::Serialize;

use super::checks::check_table;
use super::distributions::{chi_square_above, f_above};
use super::ranks::{average_ranks, tie_sum};

/// The outcome of a Friedman test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Friedman {
    /// The chi-square statistic, corrected for ties.
    pub chi_square: f64,
    /// Its p-value, with one degree of freedom less than there are strategies.
    pub p_value: f64,
    /// The F statistic of Iman and Davenport; infinite (null in JSON) where all data sets rank alike.
    pub f: f64,
    /// Its p-value.
    pub f_p_value: f64,
}

/// Tests whether strategies (columns) have the same mean rank over data sets (rows), two or more of each.
///
/// Where all scores of every data set are equal there is no evidence: statistics of 0, p-values of 1.
pub fn friedman(scores: ArrayView2<'_, f64>) -> Result<Friedman> {
    check_table(scores, 2)?;
    let (n, k) = (scores.nrows() as f64, scores.ncols() as f64);
    let mut rank_sums = vec![0.0; scores.ncols()];
    let mut ties = 0.0;
    for row in scores.rows() {
        let row = row.to_vec();
        ties += tie_sum(&row);
        rank_sums.iter_mut().zip(average_ranks(&row)).for_each(|(sum, rank)| *sum += rank);
    }
    let correction = 1.0 - ties / (n * k * (k * k - 1.0));
    if correction <= 0.0 {
        return Ok(Friedman { chi_square: 0.0, p_value: 1.0, f: 0.0, f_p_value: 1.0 });
    }
    // 12/(nk(k+1)) Σ(Rⱼ − n(k+1)/2)²: the same as with Σ Rⱼ², without the loss of digits.
    let mean = 0.5 * n * (k + 1.0);
    let spread: f64 = rank_sums.iter().map(|sum| (sum - mean) * (sum - mean)).sum();
    let chi_square = 12.0 / (n * k * (k + 1.0)) * spread / correction;
    let rest = n * (k - 1.0) - chi_square;
    let f = if rest > 1e-12 * n * k { (n - 1.0) * chi_square / rest } else { f64::INFINITY };
    Ok(Friedman {
        chi_square,
        p_value: chi_square_above(chi_square, scores.ncols() - 1),
        f,
        f_p_value: f_above(f, k - 1.0, (k - 1.0) * (n - 1.0)),
    })
}
