//! Choice of the leaf weight.
//!
//! Leaf weights are compared by their calibrated log-loss, row by row. A row's out-of-bag prediction comes from only some of
//! the trees, and a leaf weight that is good for many trees may be bad for few. So the lead of one over another is
//! also measured with half of those trees, and extrapolated to all trees of the forest as linear in one over their
//! number:
//!
//! ```text
//! lead(M) = lead(m) + (1/m − 1/M) / (1/h − 1/m) · (lead(m) − lead(h))        h of m out-of-bag trees, M trees in all
//! ```

use hedgerow_core::{ClassId, Par};

use super::Calibration;
use super::votes::Votes;
use crate::train::OutOfBag;

/// Most rows that the choice is based on.
pub(crate) const MOST_ROWS: usize = 2000;
/// Fewest rows that the choice is based on.
const LEAST_ROWS: usize = 100;
/// Fewest trees in half of those that vote.
const LEAST_TREES: f64 = 4.0;

/// Out-of-sample predictions of some rows, one table for each leaf weight.
#[derive(Clone, Copy)]
pub(crate) struct WeightedPredictions<'a> {
    /// By all trees that voted.
    pub(crate) whole: &'a [OutOfBag],
    /// By half of them; empty if all trees of the forest voted.
    pub(crate) half: &'a [OutOfBag],
    /// The truth.
    pub(crate) labels: &'a [ClassId],
    /// What each row counts.
    pub(crate) weights: &'a [f64],
    /// Trees in the forest.
    pub(crate) n_trees: usize,
}

/// The best leaf weight, and a calibration near its best one if there was a search. The leaf weight in use, `now`, is replaced
/// only by one that is better by more than a standard error.
pub(crate) fn choose(
    predictions: WeightedPredictions<'_>,
    now: usize,
    start: Option<Calibration>,
    par: &Par,
) -> (usize, Option<Calibration>) {
    let is_predicted = |row: &usize| {
        predictions.weights[*row] > 0.0
            && predictions.whole.iter().chain(predictions.half).all(|table| table.n_trees[*row] > 0)
    };
    let rows: Vec<usize> = (0..predictions.labels.len()).filter(is_predicted).take(MOST_ROWS).collect();
    if predictions.whole.len() < 2 || rows.len() < LEAST_ROWS {
        return (now, start);
    }
    let evaluate = |table: &OutOfBag, start: Option<Calibration>| {
        let votes = Votes::new(table, predictions.labels, |row| predictions.weights[row], &rows);
        let found = votes.search(start.map_or([0.0; 2], Calibration::logs), 1e-4, par);
        (votes, found)
    };
    let whole = evaluate(&predictions.whole[now], start);
    let half = predictions.half.get(now).map(|table| evaluate(table, Some(whole.1)));
    let mean = |votes: &Votes| votes.rows.iter().map(|r| r.n_trees).sum::<f64>() / votes.rows.len() as f64;
    let beyond = match &half {
        Some(half) if mean(&half.0) < LEAST_TREES => return (now, Some(whole.1)),
        Some(half) => {
            let [h, m, all] = [mean(&half.0), mean(&whole.0), predictions.n_trees as f64].map(f64::recip);
            (m - all).max(0.0) / (h - m)
        }
        None => 0.0,
    };
    let mut best = (now, 0.0, whole.1);
    for other in (0..predictions.whole.len()).filter(|&other| other != now) {
        let own = evaluate(&predictions.whole[other], Some(whole.1));
        let mut leads = leads(&own, &whole);
        if let Some(half) = &half {
            let own = evaluate(&predictions.half[other], Some(half.1));
            for (lead, of_half) in leads.iter_mut().zip(self::leads(&own, half)) {
                *lead += beyond * (*lead - of_half);
            }
        }
        let (lead, error) = mean_and_error(&leads, &own.0);
        if lead > error && lead > best.1 {
            best = (other, lead, own.1);
        }
    }
    (best.0, Some(best.2))
}

/// For each row, how much lower one log-loss is than another.
fn leads(own: &(Votes, Calibration), other: &(Votes, Calibration)) -> Vec<f64> {
    let loss = |of: &(Votes, Calibration), row| of.0.row_loss(row, Some(of.1));
    (0..own.0.rows.len()).map(|row| loss(other, row) - loss(own, row)).collect()
}

/// The weighted mean of a number for each row, and its standard error.
fn mean_and_error(numbers: &[f64], votes: &Votes) -> (f64, f64) {
    let mean_of = |of: &dyn Fn(f64) -> f64| {
        let terms = numbers.iter().zip(&votes.rows).map(|(&number, row)| row.weight * of(number));
        terms.sum::<f64>() / votes.total_weight
    };
    let mean = mean_of(&|x| x);
    let variance = mean_of(&|x| (x - mean).powi(2));
    (mean, libm::sqrt(variance / numbers.len() as f64))
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use ndarray::Array2;

    use super::*;

    /// Votes of `n_trees` trees for rows of two classes, a share `right` of them right.
    fn table(n_rows: usize, n_trees: u32, right: f64, seed: u64) -> OutOfBag {
        let mut rng = Rng::new(seed, Purpose::Sample, 0);
        let mut shares = Array2::zeros((n_rows, 2));
        for row in 0..n_rows {
            for _ in 0..n_trees {
                let is_right = rng.unit() < right;
                shares[(row, usize::from(is_right == (row % 2 == 1)))] += 1.0;
            }
        }
        OutOfBag { shares, n_trees: vec![n_trees; n_rows] }
    }

    fn chosen(whole: &[OutOfBag], half: &[OutOfBag], n_trees: usize) -> usize {
        let n_rows = whole[0].n_trees.len();
        let labels: Vec<ClassId> = (0..n_rows).map(|row| ClassId((row % 2) as u32)).collect();
        let predictions =
            WeightedPredictions { whole, half, labels: &labels, weights: &vec![1.0; n_rows], n_trees };
        choose(predictions, 0, None, &Par::sequential()).0
    }

    #[test]
    fn a_better_leaf_weight_is_taken_and_an_equal_one_is_not() {
        let (good, bad) = (table(1000, 20, 0.7, 1), table(1000, 20, 0.6, 2));
        assert_eq!(chosen(&[bad.clone(), good.clone(), bad.clone()], &[], 20), 1);
        assert_eq!(chosen(&[good.clone(), bad, good.clone()], &[], 20), 0);
        // Too few rows to tell.
        assert_eq!(chosen(&[table(50, 20, 0.6, 3), table(50, 20, 0.9, 4)], &[], 20), 0);
    }

    #[test]
    fn what_will_lead_with_all_trees_is_taken_though_it_trails_with_few() {
        // The second gains more from half of the trees to all that vote than it still trails by.
        let whole = [table(3000, 20, 0.66, 1), table(3000, 20, 0.655, 2)];
        let half = [table(3000, 10, 0.66, 3), table(3000, 10, 0.6, 4)];
        assert_eq!(chosen(&whole, &[], 100), 0);
        assert_eq!(chosen(&whole, &half, 100), 1);
        assert_eq!(chosen(&whole, &half, 20), 0, "no further to go");
    }
}
