//! The sign test: does one strategy win more often than the other? (Salzberg, 1997, On comparing classifiers.)

use hedgerow_core::special::beta;
use serde::Serialize;

/// The outcome of a two-sided sign test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SignTest {
    /// Comparisons that the first won.
    pub wins: usize,
    /// Comparisons that the second won.
    pub losses: usize,
    /// Comparisons that were equal.
    pub ties: usize,
    /// The probability of a count of wins at least as far from half, if both were as good.
    pub p_value: f64,
}

/// Tests whether one of two wins more often. Ties are split evenly; where their number is odd, one of them is left out.
///
/// ```
/// let test = hedgerow_active::statistics::sign_test(21, 3, 0);
/// assert_eq!(format!("{:.4e}", test.p_value), "2.7716e-4");
/// ```
pub fn sign_test(wins: usize, losses: usize, ties: usize) -> SignTest {
    let half = ties / 2;
    let (n, least) = (wins + losses + 2 * half, wins.min(losses) + half);
    // P(X ≤ x) of n throws of a coin is I½(n − x, x + 1).
    let p_value = if 2 * least >= n {
        1.0
    } else {
        (2.0 * beta::cdf((n - least) as f64, (least + 1) as f64, 0.5)).min(1.0)
    };
    SignTest { wins, losses, ties, p_value }
}
