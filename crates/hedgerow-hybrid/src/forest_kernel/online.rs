//! Learning more: rows are answered and wait; then the forest learns them, and the process learns anew with the leaves of the trees as they are now.
//!
//! Every row that a tree learns may move the leaves of others, so what the leaves say holds only for the trees it was made with. Rows therefore wait,
//! up to a sixteenth of those seen, and all that follows from them is done at once: what that costs depends on `max_rows`, trees and classes, never on
//! how many rows were seen. Whenever twice as many rows have been seen, noise and calibration are found anew; in between, scores that rows got before
//! they were learnt calibrate those that follow.

use hedgerow_core::{
    Budget, ClassId, Classifier as _, Dataset, Error, Features, Lesson, Result, Rows, Schema, Training,
};
use hedgerow_gp::calibration::Calibration;
use ndarray::{Array2, s};

use super::train::known;
use super::{ForestKernelClassifier, half, most_rows, some_rows};
use crate::forest_ivm::Part;

/// Rows between two times that the forest learns: a share of the rows seen, at least and at most so many.
const PAUSE_SHARE: u64 = 16;
const PAUSE: [u64; 2] = [32, 1024];
/// Scores that are remembered, and how many calibrate at least.
pub(super) const MOST_SCORES: usize = 2000;
const LEAST_SCORES: usize = 300;

/// What learning more needs beside forest and process.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    /// Rows learnt so far, those that wait among them.
    pub(super) n_seen: u64,
    /// When the forest learns the rows that wait, in rows learnt.
    pub(super) look_at: u64,
    /// Rows learnt when noise and calibration were last looked for.
    pub(super) tuned_at: u64,
    /// Rows that wait.
    pub(super) features: Features,
    pub(super) labels: Vec<ClassId>,
    pub(super) weights: Vec<f32>,
    /// The scores of the newest rows before they were learnt, and their classes.
    pub(super) scores: Vec<Vec<f64>>,
    pub(super) classes: Vec<ClassId>,
}

impl Course {
    pub(super) fn new(n_features: usize) -> Self {
        Self {
            n_seen: 0,
            look_at: PAUSE[0],
            tuned_at: 0,
            features: Features::new(n_features),
            labels: Vec::new(),
            weights: Vec::new(),
            scores: Vec::new(),
            classes: Vec::new(),
        }
    }

    /// After so many rows of so many columns.
    pub(super) fn of_fitted(n_seen: u64, n_features: usize) -> Self {
        let mut course = Self { n_seen, tuned_at: n_seen, ..Self::new(n_features) };
        course.look_at = n_seen + course.pause();
        course
    }

    fn pause(&self) -> u64 {
        (self.n_seen / PAUSE_SHARE).clamp(PAUSE[0], PAUSE[1])
    }

    /// The longest pause there is.
    pub(super) const MOST_WAITING: usize = PAUSE[1] as usize;

    pub(super) fn bytes(&self) -> usize {
        let of_scores: usize = self.scores.iter().map(|row| 8 * row.len() + 24).sum();
        self.features.bytes() + 8 * self.labels.len() + of_scores + 4 * self.classes.len()
    }

    /// Adds rows to those that wait.
    fn wait(&mut self, rows: Rows<'_>, range: std::ops::Range<usize>) {
        self.features.extend(rows.x.slice(s![range.clone(), ..]));
        self.labels.extend_from_slice(&rows.labels[range.clone()]);
        match rows.weights {
            Some(weights) => self.weights.extend_from_slice(&weights[range.clone()]),
            None => self.weights.resize(self.labels.len(), 1.0),
        }
        self.n_seen += range.len() as u64;
    }

    fn remember(&mut self, scores: &Array2<f64>, labels: &[ClassId]) {
        self.scores.extend(scores.rows().into_iter().map(|row| row.to_vec()));
        self.classes.extend_from_slice(labels);
        // Dropping them one by one would cost a move of all each time; what counts is the newest.
        let excess = self.scores.len().saturating_sub(2 * MOST_SCORES);
        if excess > 0 {
            self.scores.drain(..excess + MOST_SCORES);
            self.classes.drain(..excess + MOST_SCORES);
        }
    }

    /// A table of the newest scores and their classes; rows that were scored before a class had come do not count.
    fn newest(&self, n_classes: usize) -> (Array2<f64>, Vec<ClassId>) {
        let first = self.scores.len().saturating_sub(MOST_SCORES);
        let rows: Vec<usize> =
            (first..self.scores.len()).filter(|row| self.scores[*row].len() == n_classes).collect();
        let value = |(row, class): (usize, usize)| self.scores[rows[row]][class];
        let classes = rows.iter().map(|&row| self.classes[row]).collect();
        (Array2::from_shape_fn((rows.len(), n_classes), value), classes)
    }
}

impl ForestKernelClassifier {
    /// Whether it can learn more.
    pub fn can_learn(&self) -> bool {
        self.course.is_some()
    }

    /// Rows learnt so far; 0 where that is not remembered.
    pub fn n_seen(&self) -> u64 {
        self.course.as_ref().map_or(0, |course| course.n_seen)
    }

    /// Rows remembered: those of the forest, and those that wait.
    pub fn n_remembered(&self) -> usize {
        let of_forest = if let Part::Learning(online) = &self.part { online.n_remembered() } else { 0 };
        of_forest + self.course.as_ref().map_or(0, |course| course.labels.len())
    }

    /// The rows remembered; none if they were left out.
    pub fn remembered(&self, schema: &Schema) -> Result<Option<Dataset>> {
        let (Part::Learning(online), Some(course)) = (&self.part, &self.course) else { return Ok(None) };
        let mut data = online.remembered(schema)?;
        let weights = data.weights.as_ref().map(|_| course.weights.clone());
        data.append(&Dataset::new(schema.clone(), course.features.clone(), course.labels.clone(), weights)?);
        Ok(Some(data))
    }

    /// Answers rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is that of earlier calls,
    /// grown by the classes and categories that have come since.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Lesson> {
        let (Part::Learning(online), Some(_)) = (&mut self.part, &self.course) else {
            return Err(Error::NoRows);
        };
        rows.check(schema, online.n_features(), self.n_classes)?;
        self.n_classes = schema.n_classes();
        online.know_classes(self.n_classes);
        let n = rows.labels.len();
        let mut lesson = Lesson { answers: Array2::zeros((n, self.n_classes)), ..Lesson::default() };
        while lesson.n_learnt < n {
            let Some(course) = &self.course else { return Err(Error::NoRows) };
            let room =
                usize::try_from(course.look_at.saturating_sub(course.n_seen)).unwrap_or(usize::MAX).max(1);
            let range = lesson.n_learnt..n.min(lesson.n_learnt.saturating_add(room));
            let part = s![range.clone(), ..];
            let scores = self.scored(rows.x.slice(part), training.par);
            let answers = lesson.answers.slice_mut(part);
            self.answer(rows.x.slice(part), scores.as_ref(), training.par, answers);
            let Some(course) = &mut self.course else { return Err(Error::NoRows) };
            if let Some(scores) = &scores {
                course.remember(scores, &rows.labels[range.clone()]);
            }
            course.wait(rows, range.clone());
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

    /// Lets the forest learn the rows that wait, then the process what the forest remembers.
    fn look_around(&mut self, schema: &Schema, training: &Training<'_>, lesson: &mut Lesson) -> Result<()> {
        let (Part::Learning(online), Some(course)) = (&mut self.part, &mut self.course) else {
            return Ok(());
        };
        course.look_at = course.n_seen + course.pause();
        let x = course.features.to_array(0..course.labels.len());
        let waiting = Rows { x: x.view(), labels: &course.labels, weights: Some(&course.weights) };
        let budget = Budget { bytes: half(training.budget.bytes), ..training.budget.clone() };
        let of_forest = online.learn(schema, waiting, &Training { budget: &budget, ..*training })?;
        online.put_in_order();
        lesson.n_tried += of_forest.n_tried;
        lesson.n_replaced += of_forest.n_replaced;
        lesson.n_forgotten += of_forest.n_forgotten;
        lesson.drifts.extend(of_forest.drifts);
        let rest: Vec<usize> = (of_forest.n_learnt..course.labels.len()).collect();
        course.features = course.features.select(&rest);
        course.labels.drain(..of_forest.n_learnt);
        course.weights.drain(..of_forest.n_learnt);
        self.scores = None;
        if training.budget.spent().is_some() {
            return Ok(());
        }
        let data = online.remembered(schema)?;
        let most = most_rows(&self.params, schema.n_features(), self.n_classes, training)?;
        let data = some_rows(&data, most.min(self.params.max_rows), self.params.seed ^ course.n_seen);
        if data.check_trainable().is_err() {
            return Ok(());
        }
        let is_known = self.verdict.as_ref().is_some_and(|v| v.calibration.curves.len() == self.n_classes);
        let has_grown = course.n_seen >= 2 * course.tuned_at || !is_known;
        if has_grown {
            course.tuned_at = course.n_seen;
        }
        self.train(&data, has_grown, training)?;
        self.recalibrate(&data.labels, training);
        Ok(())
    }

    /// Calibrates by the scores that the newest rows had before they were learnt, if there are enough of them.
    fn recalibrate(&mut self, labels: &[ClassId], training: &Training<'_>) {
        let (Some(course), Some(verdict)) = (&self.course, &mut self.verdict) else { return };
        let (scores, classes) = course.newest(self.n_classes);
        if classes.len() >= LEAST_SCORES && classes.iter().any(|class| *class != classes[0]) {
            verdict.calibration = Calibration::fit(&known(scores, labels), &classes, training.par);
        }
    }
}
