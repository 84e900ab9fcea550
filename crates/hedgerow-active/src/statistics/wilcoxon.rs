//! Wilcoxon's signed-rank test of paired differences (Wilcoxon, 1945, Individual comparisons by ranking methods).

use hedgerow_core::Result;
use serde::Serialize;

use super::checks::check_numbers;
use super::distributions::normal_above;
use super::ranks::{average_ranks, tie_sum};

/// The most differences without ties whose distribution is counted out.
const MOST_EXACT: usize = 50;
/// The most differences, zeros among them, whose distribution is counted out where there are ties.
const MOST_EXACT_TIED: usize = 13;

/// The outcome of a two-sided signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Wilcoxon {
    /// The smaller of the rank sums of positive and of negative differences.
    pub statistic: f64,
    /// The probability of a statistic at least as small, if differences are symmetric about 0.
    pub p_value: f64,
    /// Whether all signs were counted out; otherwise the normal approximation was taken.
    pub is_exact: bool,
}

/// Tests whether paired differences are symmetric about 0.
///
/// Differences of 0 are left out, and equal ones share their ranks. All signs are counted out for up to 50 differences without zeros and
/// ties, and for up to 13 with; beyond, the normal approximation corrects its variance for ties (and nothing for continuity). Where all
/// differences are 0, the p-value is 1.
pub fn wilcoxon(differences: &[f64]) -> Result<Wilcoxon> {
    check_numbers("differences", differences)?;
    let kept: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    if kept.is_empty() {
        return Ok(Wilcoxon { statistic: 0.0, p_value: 1.0, is_exact: true });
    }
    let sizes: Vec<f64> = kept.iter().map(|d| d.abs()).collect();
    let ranks = average_ranks(&sizes);
    let positive: f64 = kept.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
    let n = kept.len() as f64;
    let total = 0.5 * n * (n + 1.0);
    let statistic = positive.min(total - positive);
    let ties = tie_sum(&sizes);
    let is_plain = ties == 0.0 && kept.len() == differences.len();
    let is_exact = differences.len() <= if is_plain { MOST_EXACT } else { MOST_EXACT_TIED };
    let p_value = if is_exact {
        exact(&ranks, statistic)
    } else {
        let deviation = ((n * (n + 1.0) * (2.0 * n + 1.0) - 0.5 * ties) / 24.0).sqrt();
        2.0 * normal_above((0.5 * total - statistic) / deviation)
    };
    Ok(Wilcoxon { statistic, p_value: p_value.min(1.0), is_exact })
}

/// Twice the probability that the ranks with a positive sign sum to at most `statistic`, when every sign is a coin.
fn exact(ranks: &[f64], statistic: f64) -> f64 {
    // Shared ranks are halves, so twice a rank is a whole number.
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank).round() as usize).collect();
    let mut share = vec![0.0; doubled.iter().sum::<usize>() + 1];
    share[0] = 1.0;
    let mut top = 0;
    for rank in doubled {
        top += rank;
        for sum in (0..=top).rev() {
            let with = if sum >= rank { share[sum - rank] } else { 0.0 };
            share[sum] = 0.5 * (share[sum] + with);
        }
    }
    2.0 * share[..=(2.0 * statistic).round() as usize].iter().sum::<f64>()
}
