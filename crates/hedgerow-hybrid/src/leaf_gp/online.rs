//! Learning more: a new row changes the leaves it falls into, and no others.
//!
//! Rows are answered and wait. Every now and then those that wait are put into their leaves; leaves that have got rows learn anew, and one that has
//! outgrown its size is split first. Whenever twice as many rows have been seen as at the last time, columns are prepared, trees grown and the kernel
//! searched for anew. Answers given before a row was learnt calibrate those that follow.

use std::sync::Arc;

use hedgerow_core::{
    ClassId, Classifier as _, Dataset, Error, Features, Lesson, Result, Rows, Schema, Training,
};
use ndarray::{Array2, s};

use super::LeafGp;
use super::judges::Judges;
use super::plant::{Leafy, split};

/// Rows between two times that leaves learn: a share of the rows seen, at least and at most so many.
const PAUSE_SHARE: u64 = 12;
const PAUSE: [u64; 2] = [16, 2048];
/// Answers that are remembered, and how many calibrate at least.
const MOST_ANSWERS: usize = 2000;
const LEAST_ANSWERS: usize = 300;

/// What learning more needs beside rows and leaves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    /// Rows learnt so far, those that wait among them.
    pub(super) n_seen: u64,
    /// When leaves are to learn, in rows learnt.
    pub(super) look_at: u64,
    /// Rows learnt when columns, trees and kernel were last looked at.
    pub(super) tuned_at: u64,
    /// Rows that are in leaves.
    pub(super) n_placed: usize,
    /// Rows there were at the last look.
    pub(super) n_known: usize,
    /// What trees said about the newest rows before they were learnt, as [`Said`](super::answer::Said) has it, and their classes. A row without shares comes from
    /// an old file.
    pub(super) scores: Vec<Vec<f64>>,
    pub(super) shares: Vec<Vec<f64>>,
    pub(super) classes: Vec<ClassId>,
}

impl Course {
    pub(super) fn new() -> Self {
        Self::of_fitted(0)
    }

    /// After so many rows.
    pub(super) fn of_fitted(n: usize) -> Self {
        let mut course = Self {
            n_seen: n as u64,
            look_at: 0,
            tuned_at: n as u64,
            n_placed: 0,
            n_known: 0,
            scores: Vec::new(),
            shares: Vec::new(),
            classes: Vec::new(),
        };
        course.look_at = course.n_seen + course.pause();
        course
    }

    fn pause(&self) -> u64 {
        (self.n_seen / PAUSE_SHARE).clamp(PAUSE[0], PAUSE[1])
    }

    pub(super) fn bytes(&self) -> usize {
        let each = self.scores.iter().chain(&self.shares);
        each.map(|row| 8 * row.len() + 24).sum::<usize>() + 4 * self.classes.len()
    }

    fn remember(&mut self, scores: Vec<f64>, shares: Vec<f64>, class: ClassId) {
        self.scores.push(scores);
        self.shares.push(shares);
        self.classes.push(class);
        // Dropping them one by one would cost a move of all each time.
        if self.scores.len() >= 2 * MOST_ANSWERS {
            self.scores.drain(..MOST_ANSWERS);
            self.shares.drain(..MOST_ANSWERS);
            self.classes.drain(..MOST_ANSWERS);
        }
    }

    /// What was said about the newest rows.
    fn newest(&self, n_classes: usize) -> Judges {
        let first = self.scores.len().saturating_sub(MOST_ANSWERS);
        Judges {
            scores: table(&self.scores[first..], n_classes, -1.0),
            shares: table(&self.shares[first..], n_classes, 0.0),
            classes: self.classes[first..].to_vec(),
            is_heard: Vec::new(),
        }
    }
}

/// Rows as a table, with a value for classes that came later.
pub(super) fn table(rows: &[Vec<f64>], n_classes: usize, late: f64) -> Array2<f64> {
    let value = |(row, class): (usize, usize)| rows[row].get(class).copied().unwrap_or(late);
    Array2::from_shape_fn((rows.len(), n_classes), value)
}

impl LeafGp {
    /// Whether it can learn more.
    pub fn can_learn(&self) -> bool {
        self.course.is_some()
    }

    /// Rows learnt so far; 0 where that is not remembered.
    pub fn n_seen(&self) -> u64 {
        self.course.as_ref().map_or(0, |course| course.n_seen)
    }

    /// Rows remembered.
    pub fn n_remembered(&self) -> usize {
        if self.course.is_some() { self.features.n_rows() } else { 0 }
    }

    /// The rows remembered; none if they were left out.
    pub fn remembered(&self, schema: &Schema) -> Result<Option<Dataset>> {
        self.course.as_ref().map(|_| self.dataset(schema)).transpose()
    }

    fn dataset(&self, schema: &Schema) -> Result<Dataset> {
        Dataset::new(schema.clone(), Features::clone(&self.features), self.labels.clone(), None)
    }

    /// Answers rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is that of earlier calls,
    /// grown by the classes and categories that have come since. Row weights are not looked at.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Lesson> {
        self.check(schema, rows)?;
        self.n_classes = schema.n_classes();
        self.account.grow(self.n_classes);
        let n = rows.labels.len();
        let mut lesson = Lesson { answers: Array2::zeros((n, self.n_classes)), ..Lesson::default() };
        while lesson.n_learnt < n {
            let Some(course) = &self.course else { return Err(Error::NoRows) };
            let room =
                usize::try_from(course.look_at.saturating_sub(course.n_seen)).unwrap_or(usize::MAX).max(1);
            let range = lesson.n_learnt..n.min(lesson.n_learnt.saturating_add(room));
            let part = s![range.clone(), ..];
            let x = rows.x.slice(part);
            let said = self.ask(x, training.par);
            self.probabilities(&said, lesson.answers.slice_mut(part));
            Arc::make_mut(&mut self.features).extend(x);
            self.labels.extend_from_slice(&rows.labels[range.clone()]);
            let (is_taught, hears) = (self.kernel.is_some(), self.hears_processes());
            let Some(course) = &mut self.course else { return Err(Error::NoRows) };
            if is_taught {
                let own = range.clone().zip(said.is_heard);
                let both = said.scores.rows().into_iter().zip(said.shares.rows());
                for ((row, is_heard), (scores, shares)) in own.zip(both) {
                    let (class, shares) = (rows.labels[row], shares.to_vec());
                    let answer = lesson.answers.row(row).to_vec();
                    self.account.add(class.index(), &shares, &answer, is_heard && hears);
                    course.remember(scores.to_vec(), shares, class);
                }
            }
            course.n_seen += range.len() as u64;
            lesson.n_learnt = range.end;
            if course.n_seen >= course.look_at {
                self.look_around(schema, training, &mut lesson)?;
            }
            if training.budget.stop.is_stopped() {
                break;
            }
        }
        Ok(lesson)
    }

    fn check(&self, schema: &Schema, rows: Rows<'_>) -> Result<()> {
        if self.course.is_none() {
            return Err(Error::NoRows);
        }
        rows.check(schema, self.n_features(), self.n_classes)
    }

    /// Lets leaves learn the rows that wait. If the time is up, they go on waiting.
    fn look_around(&mut self, schema: &Schema, training: &Training<'_>, lesson: &mut Lesson) -> Result<()> {
        let Some(course) = &mut self.course else { return Ok(()) };
        course.look_at = course.n_seen + course.pause();
        let is_over = training.budget.spent().is_some() && self.kernel.is_some();
        let has_grown = self.kernel.is_none() || course.n_seen >= 2 * course.tuned_at;
        let touched = self.forget(lesson);
        if let Some(course) = &mut self.course {
            course.n_known = self.labels.len();
        }
        if is_over || self.labels.iter().all(|label| *label == self.labels[0]) {
            return Ok(());
        }
        if has_grown {
            let data = self.dataset(schema)?;
            self.relearn(&data, training)?;
            lesson.n_tried += self.leaves.iter().filter(|leaf| !leaf.is_pure()).count();
        } else {
            self.place_rows(schema, touched, training, lesson)?;
        }
        self.recalibrate(training);
        Ok(())
    }

    /// Forgets the oldest rows where there are too many. Returns the leaves that have lost some.
    fn forget(&mut self, lesson: &mut Lesson) -> Vec<usize> {
        let excess = self.labels.len().saturating_sub(self.params.most_rows());
        if excess == 0 {
            return Vec::new();
        }
        // Rows that wait have not been prepared yet.
        let missing = self.features.n_rows() - self.x.nrows();
        if missing > 0 {
            let n = self.features.n_rows();
            let waiting = self.preparation.map_narrow(self.features.to_array(n - missing..n).view());
            if let Ok(all) = ndarray::concatenate(ndarray::Axis(0), &[self.x.view(), waiting.view()]) {
                self.x = all.into_shared();
            }
        }
        let is_kept: Vec<bool> = (0..self.labels.len()).map(|row| row >= excess).collect();
        let touched = self.keep_rows(&is_kept);
        for &leaf in &touched {
            self.leaves[leaf].count(&self.labels);
        }
        if let Some(course) = &mut self.course {
            course.n_placed = course.n_placed.saturating_sub(excess);
        }
        lesson.n_forgotten += excess;
        touched
    }

    /// Puts the rows that wait into their leaves, splits those that have become too large, and lets all that changed learn.
    fn place_rows(
        &mut self,
        schema: &Schema,
        mut touched: Vec<usize>,
        training: &Training<'_>,
        lesson: &mut Lesson,
    ) -> Result<()> {
        let Some(course) = &mut self.course else { return Ok(()) };
        let waiting = std::mem::replace(&mut course.n_placed, self.labels.len())..self.labels.len();
        let raw = self.features.to_array(waiting.clone());
        let n_prepared = self.x.nrows();
        if n_prepared < self.labels.len() {
            let rest = self.features.to_array(n_prepared..self.labels.len());
            let rest = self.preparation.map_narrow(rest.view());
            let all = ndarray::concatenate(ndarray::Axis(0), &[self.x.view(), rest.view()]);
            self.x = all.map_err(|_| Error::NoRows)?.into_shared();
        }
        for tree in 0..self.stems.n_trees() {
            for (row, values) in waiting.clone().zip(raw.rows()) {
                if let Some(leaf) = self.stems.leaf(tree, &values.to_vec()) {
                    self.leaves[leaf as usize].rows.push(row as u32);
                    touched.push(leaf as usize);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for leaf in touched.clone() {
            self.leaves[leaf].count(&self.labels);
            let n = self.leaves[leaf].rows.len();
            if n > self.params.leaf_rows && !self.leaves[leaf].is_pure() {
                let n_seen = self.course.as_ref().map_or(0, |course| course.n_seen);
                let seed = self.params.seed ^ (n_seen << 24) ^ (leaf as u64 + 1);
                let rows =
                    Leafy { schema, features: &self.features, labels: &self.labels, params: &self.params };
                touched.extend(split(&mut self.stems, &mut self.leaves, leaf, &rows, seed, training.par)?);
                lesson.n_replaced += 1;
            }
        }
        touched.sort_unstable();
        touched.dedup();
        lesson.n_tried += touched.iter().filter(|leaf| !self.leaves[**leaf].is_pure()).count();
        self.train(&touched, training)?;
        Ok(())
    }

    /// Calibrates by what was said about the newest rows before they were learnt, if there are enough of them.
    fn recalibrate(&mut self, training: &Training<'_>) {
        let Some(course) = &self.course else { return };
        let judges = course.newest(self.n_classes);
        if judges.classes.len() >= LEAST_ANSWERS && judges.is_mixed() {
            self.judge(&judges, training.par);
        }
    }

    /// How many rows of each class there were at the last look.
    pub(super) fn known_counts(&self) -> Vec<u64> {
        let n =
            self.course.as_ref().map_or(self.labels.len(), |course| course.n_known.min(self.labels.len()));
        let mut counts = vec![0; self.n_classes];
        for label in &self.labels[..n] {
            counts[label.index()] += 1;
        }
        counts
    }
}
