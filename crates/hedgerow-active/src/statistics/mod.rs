//! Tests of whether one query strategy is better than another, over seeds of one data set and over many data sets.
//!
//! Two strategies on the seeds of one data set: [`wilcoxon`] on the differences of paired runs, adjusted over data sets with [`holm`].
//! Two strategies over data sets: [`sign_test`] or [`wilcoxon`]. Three and more: [`friedman`], and where it finds a difference, Nemenyi's
//! [`critical_difference`] of mean ranks. [`RanksTable`] does all of this for a table of areas under learning curves.
//!
//! Demšar, 2006, Statistical comparisons of classifiers over multiple data sets.

mod checks;
mod distributions;
mod friedman;
mod holm;
mod nemenyi;
mod ranks;
mod ranks_table;
mod sign;
mod studentized_range;
#[cfg(test)]
mod tests;
mod wilcoxon;

pub use friedman::{Friedman, friedman};
pub use holm::holm;
pub use nemenyi::{critical_difference, nemenyi};
pub use ranks::average_ranks;
pub use ranks_table::{Pair, RanksTable};
pub use sign::{SignTest, sign_test};
pub use studentized_range::{studentized_range_above, studentized_range_quantile};
pub use wilcoxon::{Wilcoxon, wilcoxon};
