//! The search for a node's split, on a sample of its rows.

use hedgerow_core::rng::Rng;

use super::GrowthInput;
use super::candidate::{Candidate, Question};
use super::nearby::Numbers;
use super::open_node::Group;
use super::score::Scorer;
use crate::codes::{Code, Meaning};
use crate::params::{Criterion, SplitRule};
use crate::tree::CategorySet;

/// Rows up to which simple loops are fastest.
const TINY: usize = 16;

/// Working space of the search, reused from node to node.
#[derive(Default)]
pub(super) struct SplitSearch<C> {
    pub(super) max_features: usize,
    scorer: Scorer,
    /// The rows looked at, grouped by class, and where they start in the matrix.
    sample: Vec<u32>,
    starts: Vec<usize>,
    groups: Vec<Group>,
    /// Whether the sample is the whole node.
    pub(super) sees_all: bool,
    n_rows: usize,
    /// Rows looked at whose value is missing in the column at hand.
    n_missing: usize,
    /// Their codes in the column at hand.
    codes: Vec<C>,
    /// The weight of each row looked at; empty when rows count 1.
    weights: Vec<f64>,
    /// Per group: weight of all rows, of those left, of those missing.
    all: Vec<f64>,
    left: Vec<f64>,
    missing: Vec<f64>,
    total: f64,
    node_cost: f64,
    /// Codes in order with their group and weight, for the exhaustive search.
    sorted: Vec<(C, u32, f64)>,
    /// Rows all count the same, so that class weights are plain counts.
    is_plain: bool,
    /// The best split found.
    pub(super) best: Option<Candidate<C>>,
}

impl<C: Code> SplitSearch<C> {
    pub(super) fn new(input: &GrowthInput<'_>) -> Self {
        let most = match input.params.sample_rows {
            0 => input.by_class.len(),
            rows => rows,
        };
        Self {
            max_features: input.params.max_features.of(input.columns.len()),
            scorer: Scorer::new(input.params.criterion, most),
            sees_all: true,
            is_plain: input.is_unweighted()
                && input.params.splits == SplitRule::Random
                && input.params.criterion == Criterion::Gini,
            ..Self::default()
        }
    }

    /// Begins with a new node.
    pub(super) fn start(
        &mut self,
        rows: &[u32],
        groups: &[Group],
        numbers: Numbers<'_>,
        input: &GrowthInput<'_>,
        rng: &mut Rng,
    ) {
        self.best = None;
        self.n_rows = rows.len();
        let most = sample_len(input.params.sample_rows, rows.len(), groups);
        self.sees_all = rows.len() <= most;
        self.sample.clear();
        self.groups.clear();
        if self.sees_all {
            self.sample.extend_from_slice(rows);
            self.groups.extend_from_slice(groups);
        } else {
            self.draw_sample(rows, groups, most, rng);
        }
        let width = input.columns.len();
        self.starts.clear();
        self.starts.extend(self.sample.iter().map(|&row| row as usize * width));
        self.weigh(numbers, input);
    }

    /// One row from each of `most` equal stretches of the node: spread over all classes, and still grouped by class.
    fn draw_sample(&mut self, rows: &[u32], groups: &[Group], most: usize, rng: &mut Rng) {
        let stretch = rows.len() as f64 / most as f64;
        let mut end = 0;
        let mut groups = groups.iter();
        for i in 0..most {
            let at = ((i as f64 + rng.unit()) * stretch) as usize;
            let at = at.min(rows.len() - 1);
            while at >= end {
                let Some(group) = groups.next() else { break };
                end += group.len as usize;
                self.groups.push(Group { class: group.class, len: 0 });
            }
            self.sample.push(rows[at]);
            if let Some(group) = self.groups.last_mut() {
                group.len += 1;
            }
        }
        self.groups.retain(|group| group.len > 0);
    }

    fn weigh(&mut self, numbers: Numbers<'_>, input: &GrowthInput<'_>) {
        self.weights.clear();
        self.all.clear();
        let mut at = 0;
        for group in &self.groups {
            let class_weight = input.class_weights[usize::from(group.class)];
            let rows = &self.sample[at..at + group.len as usize];
            at += rows.len();
            self.all.push(match input.row_weights {
                None => group.len as f64 * class_weight,
                Some(weights) => {
                    let before = self.weights.len();
                    self.weights
                        .extend(rows.iter().map(|&r| f64::from(weights[numbers.of(r)]) * class_weight));
                    self.weights[before..].iter().sum()
                }
            });
        }
        self.total = self.all.iter().sum();
        self.node_cost = self.scorer.cost(self.all.iter().copied());
    }

    /// The weight of the node, taking its sample for the whole.
    pub(super) fn weight_of(&self, n_rows: usize) -> f64 {
        self.total * n_rows as f64 / self.sample.len().max(1) as f64
    }

    /// Whether the best split found leaves nothing to wish for: both sides are pure. No other can be better.
    pub(super) fn is_perfect(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.gain * self.total >= self.node_cost * (1.0 - 1e-12))
    }

    /// Looks for splits in a column. Says no if all rows looked at have the same value there.
    pub(super) fn try_column(
        &mut self,
        column: usize,
        matrix: &[C],
        input: &GrowthInput<'_>,
        rng: &mut Rng,
    ) -> bool {
        let info = &input.columns[column];
        if self.is_plain && !info.has_missing && !matches!(info.meaning, Meaning::Category(_)) {
            return self.try_plain(column, matrix, input, rng);
        }
        let (low, high) = self.gather(column, matrix);
        let n_missing =
            if info.has_missing { self.codes.iter().filter(|&&c| c == C::MISSING).count() } else { 0 };
        self.n_missing = n_missing;
        if n_missing == self.codes.len() {
            return false;
        }
        let (low, high) = if n_missing > 0 { self.range() } else { (low, high) };
        if low == high && n_missing == 0 {
            return false;
        }
        if n_missing > 0 {
            let missing = std::mem::take(&mut self.missing);
            self.missing = self.count(|c| c == C::MISSING, missing);
        }
        let least = self.least_rows(input.params.min_leaf_rows);
        if low == high {
            // One value and missing ones: the only question left is which.
            let question = match info.meaning {
                Meaning::Category(_) => Question::In(CategorySet::new([high.wide()])),
                _ => Question::UpTo(high),
            };
            self.consider(column, question, least);
        } else {
            match (&info.meaning, input.params.splits) {
                (Meaning::Category(_), SplitRule::Random) => {
                    for _ in 0..input.params.n_thresholds {
                        self.random_set(column, least, rng);
                    }
                }
                (Meaning::Category(_), SplitRule::Best) => self.best_set(column, least, rng),
                (_, SplitRule::Random) => {
                    for _ in 0..input.params.n_thresholds {
                        self.consider(column, Question::UpTo(C::between(low, high, rng)), least);
                    }
                }
                (_, SplitRule::Best) => self.best_threshold(column, least),
            }
        }
        true
    }

    /// Reads the codes of the rows looked at and returns the smallest and the largest.
    #[inline]
    fn gather(&mut self, column: usize, matrix: &[C]) -> (C, C) {
        if self.starts.len() <= TINY {
            // Most nodes are tiny: one plain loop beats two that would start vector machinery.
            self.codes.resize(self.starts.len(), C::default());
            let first = self.starts.first().map_or_else(C::default, |&start| matrix[start + column]);
            let (mut low, mut high) = (first, first);
            for (to, &start) in self.codes.iter_mut().zip(&self.starts) {
                let code = matrix[start + column];
                *to = code;
                low = if code < low { code } else { low };
                high = if code > high { code } else { high };
            }
            return (low, high);
        }
        self.codes.clear();
        self.codes.extend(self.starts.iter().map(|&start| matrix[start + column]));
        let first = self.codes.first().copied().unwrap_or_default();
        self.codes.iter().fold((first, first), |(low, high), &code| (low.min(code), high.max(code)))
    }

    /// The common case, in whole numbers: Gini, random thresholds, no missing values, rows that count the same.
    ///
    /// Minimizing W − Σw²/W over both sides is maximizing Σl²/L + Σr²/R.
    fn try_plain(&mut self, column: usize, matrix: &[C], input: &GrowthInput<'_>, rng: &mut Rng) -> bool {
        let (low, high) = self.gather(column, matrix);
        if low == high {
            return false;
        }
        let least = self.least_rows(input.params.min_leaf_rows);
        for _ in 0..input.params.n_thresholds {
            let last = C::between(low, high, rng);
            let (mut n_left, mut left_squares, mut right_squares, mut at) = (0_u64, 0_u64, 0_u64, 0);
            for group in &self.groups {
                let codes = &self.codes[at..at + group.len as usize];
                at += codes.len();
                let left = u64::from(count_yes(codes, |c| c <= last));
                let right = u64::from(group.len) - left;
                n_left += left;
                left_squares += left * left;
                right_squares += right * right;
            }
            let (n_left, n_right) = (n_left as f64, self.total - n_left as f64);
            if n_left < least || n_right < least {
                continue;
            }
            let cost = self.total - left_squares as f64 / n_left - right_squares as f64 / n_right;
            let gain = (self.node_cost - cost) / self.total;
            if self.best.as_ref().is_none_or(|best| gain > best.gain) {
                let missing_left = n_left > n_right;
                self.best = Some(Candidate { column, question: Question::UpTo(last), missing_left, gain });
            }
        }
        true
    }

    /// The smallest and the largest code that is not missing.
    fn range(&self) -> (C, C) {
        let mut present = self.codes.iter().copied().filter(|&c| c != C::MISSING);
        let first = present.next().unwrap_or_default();
        present.fold((first, first), |(low, high), code| (low.min(code), high.max(code)))
    }

    /// Rows of the sample that stand for `min_leaf_rows` of the node.
    fn least_rows(&self, min_leaf_rows: usize) -> f64 {
        if min_leaf_rows <= 1 {
            return 0.0;
        }
        min_leaf_rows as f64 * self.codes.len() as f64 / self.n_rows as f64
    }

    /// Weighs the rows of each group whose code passes the question, into a buffer.
    #[inline]
    fn count(&self, yes: impl Fn(C) -> bool, mut out: Vec<f64>) -> Vec<f64> {
        out.clear();
        let mut at = 0;
        for (group, &all) in self.groups.iter().zip(&self.all) {
            let codes = &self.codes[at..at + group.len as usize];
            out.push(if self.weights.is_empty() {
                count_yes(codes, &yes) as f64 * (all / group.len as f64)
            } else {
                codes.iter().zip(&self.weights[at..]).filter(|&(&c, _)| yes(c)).map(|(_, w)| w).sum()
            });
            at += codes.len();
        }
        out
    }

    /// Counts the left side of a question (missing values apart) and keeps it if it is the best so far.
    fn consider(&mut self, column: usize, question: Question<C>, least: f64) {
        let left = std::mem::take(&mut self.left);
        self.left = match &question {
            &Question::UpTo(last) => self.count(|c| c <= last, left),
            Question::In(set) => self.count(|c| set.contains(c.wide()), left),
        };
        if least > 0.0 {
            let rows_left = self.codes.iter().filter(|&&code| question.holds(code)).count() as f64;
            if rows_left < least || self.codes.len() as f64 - rows_left < least {
                return;
            }
        }
        self.keep_if_better(column, || question);
    }

    /// Scores `self.left` with the missing rows on either side and keeps the better if it is the best so far.
    fn keep_if_better(&mut self, column: usize, question: impl FnOnce() -> Question<C>) {
        let cost_with = |missing_left: bool| {
            let left = |i: usize| self.left[i] + if missing_left { self.missing[i] } else { 0.0 };
            let n = self.all.len();
            self.scorer.cost((0..n).map(left)) + self.scorer.cost((0..n).map(|i| self.all[i] - left(i)))
        };
        let (cost, missing_left) = if self.n_missing > 0 {
            let (left, right) = (cost_with(true), cost_with(false));
            if left < right { (left, true) } else { (right, false) }
        } else {
            // Nothing is known about missing values here: they follow the crowd.
            (cost_with(false), self.left.iter().sum::<f64>() * 2.0 > self.total)
        };
        let gain = (self.node_cost - cost) / self.total;
        if self.best.as_ref().is_none_or(|best| gain > best.gain) {
            self.best = Some(Candidate { column, question: question(), missing_left, gain });
        }
    }

    /// A random set of the categories present, neither empty nor all.
    fn random_set(&mut self, column: usize, least: f64, rng: &mut Rng) {
        let present = self.present();
        let mut chosen: Vec<usize> = present.iter().copied().filter(|_| rng.below(2) == 1).collect();
        if chosen.is_empty() || chosen.len() == present.len() {
            chosen = vec![present[rng.index(present.len())]];
        }
        self.consider(column, Question::In(CategorySet::new(chosen)), least);
    }

    /// The categories that occur, in order.
    fn present(&self) -> Vec<usize> {
        let is_missing = |c: &C| self.n_missing > 0 && *c == C::MISSING;
        let mut present: Vec<usize> =
            self.codes.iter().filter(|c| !is_missing(c)).map(|c| c.wide()).collect();
        present.sort_unstable();
        present.dedup();
        present
    }

    /// Every threshold between two values, in one sweep over the sorted codes.
    fn best_threshold(&mut self, column: usize, least: f64) {
        self.sort_codes(|code| code);
        self.sweep(least, |search, last, next| {
            search.keep_if_better(column, || Question::UpTo(C::middle(last, next)));
        });
    }

    /// Categories in the order of their share of one class (for two classes this finds the best set of all), then every cut.
    fn best_set(&mut self, column: usize, least: f64, rng: &mut Rng) {
        let pivot = rng.index(self.groups.len());
        let present = self.present();
        let place = |code: C| present.binary_search(&code.wide()).unwrap_or(0);
        let mut hits = vec![0.0; present.len()];
        let mut all = vec![0.0; present.len()];
        self.sort_codes(|code| code);
        for &(code, group, weight) in &self.sorted {
            all[place(code)] += weight;
            if group as usize == pivot {
                hits[place(code)] += weight;
            }
        }
        let share = |at: usize| hits[at] / all[at];
        let mut order: Vec<usize> = (0..present.len()).collect();
        order.sort_by(|&a, &b| share(a).total_cmp(&share(b)).then(a.cmp(&b)));
        let mut rank = vec![0; present.len()];
        for (r, &at) in order.iter().enumerate() {
            rank[at] = r;
        }
        self.sort_codes(|code| C::narrow(rank[place(code)]));
        self.sweep(least, |search, last, _| {
            search.keep_if_better(column, || {
                Question::In(CategorySet::new(order[..=last.wide()].iter().map(|&at| present[at])))
            });
        });
    }

    fn sort_codes(&mut self, key: impl Fn(C) -> C) {
        self.sorted.clear();
        let mut at = 0;
        let skip_missing = self.n_missing > 0;
        for (g, group) in self.groups.iter().enumerate() {
            let each = self.all[g] / group.len as f64;
            for i in at..at + group.len as usize {
                if !(skip_missing && self.codes[i] == C::MISSING) {
                    let weight = self.weights.get(i).copied().unwrap_or(each);
                    self.sorted.push((key(self.codes[i]), g as u32, weight));
                }
            }
            at += group.len as usize;
        }
        // Stable, so that sums of weights run in one order.
        self.sorted.sort_by_key(|&(code, ..)| code);
    }

    /// Moves the codes left one after the other and calls `keep` between any two that differ.
    fn sweep(&mut self, least: f64, keep: impl Fn(&mut Self, C, C)) {
        self.left.clear();
        self.left.resize(self.groups.len(), 0.0);
        let sorted = std::mem::take(&mut self.sorted);
        for (i, &(code, group, weight)) in sorted.iter().enumerate() {
            self.left[group as usize] += weight;
            let Some(&(next, ..)) = sorted.get(i + 1) else { break };
            let enough = i as f64 + 1.0 >= least && (sorted.len() - i - 1) as f64 >= least;
            if next != code && enough {
                keep(self, code, next);
            }
        }
        self.sorted = sorted;
    }
}

/// Rows to look at: `sample_rows`, or more where that would show too few rows outside the most frequent class.
fn sample_len(sample_rows: usize, n_rows: usize, groups: &[Group]) -> usize {
    /// Rows of other classes that a sample should have, and how far it may grow for them.
    const OTHERS: usize = 4;
    const TIMES: usize = 32;
    if sample_rows == 0 {
        return n_rows;
    }
    let most_frequent = groups.iter().map(|group| group.len as usize).max().unwrap_or(0);
    let others = (n_rows - most_frequent).max(1);
    (OTHERS * n_rows / others).clamp(sample_rows, TIMES * sample_rows)
}

/// How many codes pass the question, in runs short enough for a byte to count.
#[inline]
fn count_yes<C: Code>(codes: &[C], yes: impl Fn(C) -> bool) -> u32 {
    if codes.len() <= TINY {
        let mut count = 0;
        for &code in codes {
            count += u32::from(yes(code));
        }
        return count;
    }
    codes.chunks(128).map(|run| u32::from(run.iter().map(|&c| u8::from(yes(c))).sum::<u8>())).sum()
}
