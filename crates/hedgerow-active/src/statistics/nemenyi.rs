//! Nemenyi's test of all pairs after a Friedman test (Nemenyi, 1963, Distribution-free multiple comparisons).

use hedgerow_core::Result;
use hedgerow_core::params::at_least;
use ndarray::{Array2, ArrayView2};

use super::checks::check_table;
use super::ranks::average_ranks;
use super::studentized_range::{studentized_range_above, studentized_range_quantile};

/// The distance of mean ranks over `n` data sets from which two of `k` strategies differ at the level `alpha`:
/// q √(k(k + 1)/6n), with q the quantile of the studentized range over √2.
///
/// ```
/// let distance = hedgerow_active::statistics::critical_difference(0.05, 3, 32)?;
/// assert_eq!(format!("{distance:.3}"), "0.586");
/// # Ok::<(), hedgerow_core::Error>(())
/// ```
pub fn critical_difference(alpha: f64, k: usize, n: usize) -> Result<f64> {
    at_least("data sets", n, 1)?;
    Ok(studentized_range_quantile(alpha, k)? * (0.5 * rank_variance(k, n)).sqrt())
}

/// The p-value of each pair of strategies (columns) over data sets (rows); 1 on the diagonal.
pub fn nemenyi(scores: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    check_table(scores, 2)?;
    let (n, k) = scores.dim();
    let mut means = vec![0.0; k];
    for row in scores.rows() {
        means.iter_mut().zip(average_ranks(&row.to_vec())).for_each(|(mean, rank)| *mean += rank / n as f64);
    }
    let scale = (0.5 * rank_variance(k, n)).sqrt();
    let mut p_values = Array2::ones((k, k));
    for ((a, b), p_value) in p_values.indexed_iter_mut() {
        if a != b {
            *p_value = studentized_range_above((means[a] - means[b]).abs() / scale, k)?;
        }
    }
    Ok(p_values)
}

/// The variance of the difference of two mean ranks: k(k + 1)/6n.
fn rank_variance(k: usize, n: usize) -> f64 {
    (k * (k + 1)) as f64 / (6 * n) as f64
}
