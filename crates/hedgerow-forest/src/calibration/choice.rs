//! Which of several ways to add up the trees' answers is best.
//!
//! Ways are compared by the log-loss they reach once calibrated, row by row. A row's out-of-bag answer comes from only some of
//! the trees, and ways that make good answers of many trees may make bad ones of few. So the lead of one way over another is
//! also measured with half of those trees, and followed on to all trees of the forest as a line in one over their
//! number:
//!
//! ```text
//! lead(M) = lead(m) + (1/m − 1/M) / (1/h − 1/m) · (lead(m) − lead(h))        h of m trees that answer, M trees in all
//! ```

use hedgerow_core::{ClassId, Par};

use super::Calibration;
use super::votes::Votes;
use crate::train::OutOfBag;

/// Rows that decide.
pub(crate) const MOST_ROWS: usize = 2000;
/// Fewest rows that may decide.
const LEAST_ROWS: usize = 100;
/// Fewest trees in half of those that answer.
const LEAST_TREES: f64 = 4.0;

/// What was answered about some rows, once for each way.
#[derive(Clone, Copy)]
pub(crate) struct Answers<'a> {
    /// By all trees that answered.
    pub(crate) whole: &'a [OutOfBag],
    /// By half of them; empty if all trees of the forest answered.
    pub(crate) half: &'a [OutOfBag],
    /// The truth.
    pub(crate) labels: &'a [ClassId],
    /// What each row counts.
    pub(crate) weights: &'a [f64],
    /// Trees in the forest.
    pub(crate) n_trees: usize,
}

/// The best way, and numbers near those of its best calibration if they have been looked for. The way in use `now` is left
/// only for one that is better by more than a standard error.
pub(crate) fn choose(
    answers: Answers<'_>,
    now: usize,
    start: Option<Calibration>,
    par: &Par,
) -> (usize, Option<Calibration>) {
    let is_judged = |row: &usize| {
        answers.weights[*row] > 0.0
            && answers.whole.iter().chain(answers.half).all(|table| table.n_trees[*row] > 0)
    };
    let rows: Vec<usize> = (0..answers.labels.len()).filter(is_judged).take(MOST_ROWS).collect();
    if answers.whole.len() < 2 || rows.len() < LEAST_ROWS {
        return (now, start);
    }
    let judge = |table: &OutOfBag, start: Option<Calibration>| {
        let votes = Votes::new(table, answers.labels, |row| answers.weights[row], &rows);
        let steps = if start.is_some() { 0.25..0.1 } else { 1.0..0.1 };
        let found = votes.search(start.map_or([0.0; 2], Calibration::logs), steps, par);
        (votes, found)
    };
    let whole = judge(&answers.whole[now], start);
    let half = answers.half.get(now).map(|table| judge(table, Some(whole.1)));
    let mean = |votes: &Votes| votes.rows.iter().map(|r| r.n_trees).sum::<f64>() / votes.rows.len() as f64;
    let beyond = match &half {
        Some(half) if mean(&half.0) < LEAST_TREES => return (now, Some(whole.1)),
        Some(half) => {
            let [h, m, all] = [mean(&half.0), mean(&whole.0), answers.n_trees as f64].map(f64::recip);
            (m - all).max(0.0) / (h - m)
        }
        None => 0.0,
    };
    let mut best = (now, 0.0, whole.1);
    for way in (0..answers.whole.len()).filter(|&way| way != now) {
        let own = judge(&answers.whole[way], Some(whole.1));
        let mut leads = leads(&own, &whole);
        if let Some(half) = &half {
            let own = judge(&answers.half[way], Some(half.1));
            for (lead, of_half) in leads.iter_mut().zip(self::leads(&own, half)) {
                *lead += beyond * (*lead - of_half);
            }
        }
        let (lead, error) = mean_and_error(&leads, &own.0);
        if lead > error && lead > best.1 {
            best = (way, lead, own.1);
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

    /// Answers of `n_trees` trees about rows of two classes, a share `right` of them right.
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
        let answers = Answers { whole, half, labels: &labels, weights: &vec![1.0; n_rows], n_trees };
        choose(answers, 0, None, &Par::sequential()).0
    }

    #[test]
    fn a_better_way_is_taken_and_an_equal_one_is_not() {
        let (good, bad) = (table(1000, 20, 0.7, 1), table(1000, 20, 0.6, 2));
        assert_eq!(chosen(&[bad.clone(), good.clone(), bad.clone()], &[], 20), 1);
        assert_eq!(chosen(&[good.clone(), bad, good.clone()], &[], 20), 0);
        // Too few rows to tell.
        assert_eq!(chosen(&[table(50, 20, 0.6, 3), table(50, 20, 0.9, 4)], &[], 20), 0);
    }

    #[test]
    fn what_will_lead_with_all_trees_is_taken_though_it_trails_with_few() {
        // The second way gains more from half of the trees to all that answer than it still trails by.
        let whole = [table(3000, 20, 0.66, 1), table(3000, 20, 0.655, 2)];
        let half = [table(3000, 10, 0.66, 3), table(3000, 10, 0.6, 4)];
        assert_eq!(chosen(&whole, &[], 100), 0);
        assert_eq!(chosen(&whole, &half, 100), 1);
        assert_eq!(chosen(&whole, &half, 20), 0, "no further to go");
    }
}
