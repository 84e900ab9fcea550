//! The scores of rows by their own classes, in rising order; of many, some that are evenly spaced.

use ndarray::{ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use super::score::Scores;
use crate::data::ClassId;
use crate::saved::{array, columns};

/// Scores that are kept of a class, and of all classes about.
const MOST_OF_CLASS: usize = 2_000;
const LEAST_OF_CLASS: usize = 64;
const MOST: usize = 40_000;

/// Scores of rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sample {
    /// How badly their classes conform, by class. Of n rows m scores stand for n / m rows each, and never for a row with a smaller score.
    #[serde(with = "columns")]
    by_class: Vec<Vec<f32>>,
    /// The rows of each class.
    #[serde(with = "array")]
    n_of_class: Vec<u64>,
    /// The probability of the classes before the row's own, of all rows.
    #[serde(with = "array")]
    masses: Vec<f32>,
}

impl Sample {
    /// Of predictions with their classes.
    pub(super) fn of<'a>(rows: impl Iterator<Item = (ArrayView1<'a, f64>, ClassId)>) -> Self {
        Self::sorted(rows).thinned()
    }

    /// Of predictions by members of an ensemble and by half of them, continued by `lead` such steps.
    pub(super) fn continued([all, half]: [ArrayView2<'_, f64>; 2], labels: &[ClassId], lead: f64) -> Self {
        let [mut sample, half] =
            [all, half].map(|proba| Self::sorted(proba.rows().into_iter().zip(labels.iter().copied())));
        for (scores, of_half) in sample.by_class.iter_mut().zip(&half.by_class) {
            continue_by(lead, scores, of_half);
        }
        continue_by(lead, &mut sample.masses, &half.masses);
        sample.thinned()
    }

    /// All scores.
    fn sorted<'a>(rows: impl Iterator<Item = (ArrayView1<'a, f64>, ClassId)>) -> Self {
        let mut sample = Self::default();
        for (proba, class) in rows {
            let Scores { class, ambiguity, mass } = Scores::new(&proba.to_vec(), class.index());
            sample.know(class);
            sample.by_class[class].push(ambiguity);
            sample.masses.push(mass);
        }
        sample.n_of_class = sample.by_class.iter().map(|scores| scores.len() as u64).collect();
        let lists = sample.by_class.iter_mut().chain(std::iter::once(&mut sample.masses));
        lists.for_each(|scores| scores.sort_unstable_by(f32::total_cmp));
        sample
    }

    /// The same with fewer scores, if there are many.
    fn thinned(mut self) -> Self {
        let most = (MOST / self.by_class.len().max(1)).clamp(LEAST_OF_CLASS, MOST_OF_CLASS);
        self.by_class.iter_mut().for_each(|scores| *scores = evenly(scores, most));
        self.masses = evenly(&self.masses, MOST_OF_CLASS);
        self
    }

    fn know(&mut self, class: usize) {
        let n_classes = self.by_class.len().max(class + 1);
        self.by_class.resize(n_classes, Vec::new());
        self.n_of_class.resize(n_classes, 0);
    }

    pub(super) fn n_rows(&self) -> u64 {
        self.n_of_class.iter().sum()
    }

    pub(super) fn n_classes(&self) -> usize {
        self.by_class.len()
    }

    pub(super) fn n_of_class(&self, class: usize) -> u64 {
        self.n_of_class.get(class).copied().unwrap_or(0)
    }

    /// The scores of a class, and how many rows each stands for.
    pub(super) fn of_class(&self, class: usize) -> Scored<'_> {
        Scored { scores: self.by_class.get(class).map_or(&[], Vec::as_slice), n_rows: self.n_of_class(class) }
    }

    /// The masses of all rows.
    pub(super) fn masses(&self) -> Scored<'_> {
        Scored { scores: &self.masses, n_rows: self.n_rows() }
    }

    /// Adds a row.
    pub(super) fn insert(&mut self, row: Scores) {
        self.know(row.class);
        self.n_of_class[row.class] += 1;
        for (list, value) in [(&mut self.by_class[row.class], row.ambiguity), (&mut self.masses, row.mass)] {
            list.insert(list.partition_point(|other| *other < value), value);
        }
    }

    /// Takes out a row that was added.
    pub(super) fn remove(&mut self, row: Scores) {
        self.n_of_class[row.class] -= 1;
        for (list, value) in [(&mut self.by_class[row.class], row.ambiguity), (&mut self.masses, row.mass)] {
            let place = list.partition_point(|other| *other < value);
            if place < list.len() {
                list.remove(place);
            }
        }
        // A sample is the same whichever rows were in it before.
        while self.n_of_class.last() == Some(&0) {
            self.n_of_class.pop();
            self.by_class.pop();
        }
    }

    /// About so many rows that stand for all, class after class. Which mass goes with which class is not known any more.
    pub(super) fn rows(&self, most: usize) -> Vec<Scores> {
        let share = (most as f64 / self.n_rows().max(1) as f64).min(1.0);
        let mut rows = Vec::new();
        for (class, scores) in self.by_class.iter().enumerate() {
            let n = (self.n_of_class(class) as f64 * share).round() as usize;
            rows.extend(evenly(scores, n).into_iter().map(|ambiguity| Scores {
                class,
                ambiguity,
                mass: 0.0,
            }));
        }
        rows.truncate(self.masses.len());
        let masses = evenly(&self.masses, rows.len());
        rows.iter_mut().zip(masses).for_each(|(row, mass)| row.mass = mass);
        rows
    }

    /// Whether what was read is possible.
    pub(super) fn is_valid(&self, n_classes: usize) -> bool {
        let is_list = |list: &[f32]| list.is_sorted() && list.iter().all(|score| (0.0..=1.0).contains(score));
        let counts = self.by_class.iter().zip(&self.n_of_class);
        self.by_class.len() <= n_classes
            && self.n_of_class.len() == self.by_class.len()
            && counts.clone().all(|(scores, n)| scores.len() as u64 <= *n && scores.is_empty() == (*n == 0))
            && counts.clone().all(|(_, n)| *n <= 1 << 48)
            && self.by_class.iter().all(|scores| is_list(scores))
            && is_list(&self.masses)
            && self.masses.len() as u64 == self.n_rows().min(MOST_OF_CLASS as u64)
    }

    pub(super) fn bytes(&self) -> usize {
        let n: usize = self.by_class.iter().map(Vec::len).sum();
        4 * (n + self.masses.len()) + 32 * self.by_class.len()
    }
}

/// Some scores in rising order, which stand for all rows.
#[derive(Clone, Copy)]
pub(super) struct Scored<'a> {
    scores: &'a [f32],
    pub(super) n_rows: u64,
}

impl Scored<'_> {
    /// How many rows the first so many scores stand for.
    fn rows_of(self, n_scores: usize) -> f64 {
        n_scores as f64 * (self.n_rows as f64 / self.scores.len().max(1) as f64)
    }

    /// Rows with this score at most.
    pub(super) fn up_to(self, score: f32) -> f64 {
        self.rows_of(self.scores.partition_point(|other| *other <= score))
    }

    /// Rows with a smaller score.
    pub(super) fn below(self, score: f32) -> f64 {
        self.rows_of(self.scores.partition_point(|other| *other < score))
    }

    /// The smallest score that so many rows have at most; infinity if there are not as many.
    pub(super) fn of_rank(self, rank: f64) -> f32 {
        let place = (rank / self.rows_of(1).max(f64::MIN_POSITIVE) - 1e-9).ceil().max(1.0);
        self.scores.get(place as usize - 1).copied().unwrap_or(f32::INFINITY)
    }
}

/// Moves sorted scores on by so many steps of the way from those of half of an ensemble to these, on the scale of log-odds, where scores near 0 and
/// near 1 move as others do.
fn continue_by(lead: f64, scores: &mut [f32], of_half: &[f32]) {
    const LEAST: f64 = 1e-7;
    let log_odds = |score: f32| {
        let score = f64::from(score).clamp(LEAST, 1.0 - LEAST);
        libm::log(score / (1.0 - score))
    };
    for (score, half) in scores.iter_mut().zip(of_half) {
        let (from, to) = (log_odds(*half), log_odds(*score));
        if from != to {
            *score = (1.0 / (1.0 + libm::exp(-(to + lead * (to - from))))) as f32;
        }
    }
    scores.sort_unstable_by(f32::total_cmp);
}

/// At most so many of the scores: the largest of each of as many parts of equal size.
fn evenly(scores: &[f32], most: usize) -> Vec<f32> {
    if scores.len() <= most {
        return scores.to_vec();
    }
    (1..=most).map(|part| scores[part * scores.len() / most - 1]).collect()
}
