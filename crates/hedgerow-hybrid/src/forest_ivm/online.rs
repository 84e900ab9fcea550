//! Learning more: forest and machines answer a row, then learn it, and what they said decides how far each is trusted.

use hedgerow_core::traits::largest;
use hedgerow_core::{ClassId, Dataset, Error, Lesson, Params as _, Result, Rows, Schema, Training};
use hedgerow_gp::IvmClassifier;
use ndarray::{Array2, Axis, s};

use super::heard::{Heard, Verdict};
use super::{Combine, ForestIvm, LEAST_WRONG, Machine, Part};

/// Rows between two decisions: a share of the rows seen, at least and at most so many.
const PAUSE_SHARE: u64 = 16;
const PAUSE: [u64; 2] = [32, 1024];
/// Rows that decide.
pub(super) const MOST_HEARD: usize = 2000;

/// What learning more needs beside forest and machines.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    /// Rows learnt so far.
    pub(super) n_seen: u64,
    /// When it is decided again how far machines are trusted, in rows learnt.
    pub(super) look_at: u64,
    /// The newest rows with what was said about them before they were learnt, the oldest first.
    pub(super) heard: Vec<Heard>,
}

impl Course {
    pub(super) fn new() -> Self {
        Self::of_fitted(0, Vec::new())
    }

    /// After so many rows, some of which were answered by parts that had not seen them.
    pub(super) fn of_fitted(n_seen: u64, heard: Vec<Heard>) -> Self {
        let step = heard.len().div_ceil(MOST_HEARD).max(1);
        let heard = heard.into_iter().step_by(step).collect();
        let mut course = Self { n_seen, look_at: 0, heard };
        course.look_at = n_seen + course.pause();
        course
    }

    fn pause(&self) -> u64 {
        (self.n_seen / PAUSE_SHARE).clamp(PAUSE[0], PAUSE[1])
    }

    fn remember(&mut self, heard: Heard) {
        self.heard.push(heard);
    }

    fn forget(&mut self) {
        let excess = self.heard.len().saturating_sub(MOST_HEARD);
        self.heard.drain(..excess);
    }

    pub(super) fn bytes(&self) -> usize {
        self.heard.iter().map(|heard| 8 * (heard.forest.len() + heard.machine.len()) + 56).sum()
    }
}

impl ForestIvm {
    /// Whether it can learn more.
    pub fn can_learn(&self) -> bool {
        self.course.is_some()
    }

    /// Rows learnt so far; 0 where that is not remembered.
    pub fn n_seen(&self) -> u64 {
        self.course.as_ref().map_or(0, |course| course.n_seen)
    }

    /// Rows that the forest remembers.
    pub fn n_remembered(&self) -> usize {
        if let Part::Learning(online) = &self.part { online.n_remembered() } else { 0 }
    }

    /// The rows that the forest remembers; none if they were left out.
    pub fn remembered(&self, schema: &Schema) -> Result<Option<Dataset>> {
        if let Part::Learning(online) = &self.part { online.remembered(schema).map(Some) } else { Ok(None) }
    }

    /// Answers rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is that of earlier calls,
    /// grown by the classes and categories that have come since.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Lesson> {
        let n = rows.labels.len();
        if self.course.is_none() {
            return Err(Error::NoRows);
        }
        if rows.x.nrows() != n {
            return Err(Error::Shape { what: "labels", expected: rows.x.nrows(), got: n });
        }
        hedgerow_core::data::check_rows(schema, rows.x, rows.labels, rows.weights)?;
        let mut lesson = Lesson { answers: Array2::zeros((n, schema.n_classes())), ..Lesson::default() };
        while lesson.n_learnt < n || n == 0 {
            let Some(course) = &self.course else { return Err(Error::NoRows) };
            let room =
                usize::try_from(course.look_at.saturating_sub(course.n_seen)).unwrap_or(usize::MAX).max(1);
            let range = lesson.n_learnt..n.min(lesson.n_learnt.saturating_add(room));
            let n_learnt = self.learn_part(schema, rows, range.clone(), training, &mut lesson)?;
            lesson.n_learnt += n_learnt;
            let Some(course) = &mut self.course else { return Err(Error::NoRows) };
            course.n_seen += n_learnt as u64;
            if course.n_seen >= course.look_at {
                self.look_around(schema)?;
            }
            if n == 0 || n_learnt < range.len() || training.budget.stop.is_stopped() {
                break;
            }
        }
        Ok(lesson)
    }

    /// Answers and learns some rows between two decisions. Returns how many were learnt.
    fn learn_part(
        &mut self,
        schema: &Schema,
        rows: Rows<'_>,
        range: std::ops::Range<usize>,
        training: &Training<'_>,
        lesson: &mut Lesson,
    ) -> Result<usize> {
        let part = Rows {
            x: rows.x.slice(s![range.clone(), ..]),
            labels: &rows.labels[range.clone()],
            weights: rows.weights.map(|weights| &weights[range.clone()]),
        };
        let Part::Learning(online) = &mut self.part else { return Err(Error::NoRows) };
        let of_forest = online.learn(schema, part, training)?;
        self.n_classes = schema.n_classes();
        self.account.grow(self.n_classes);
        let n = of_forest.n_learnt;
        let mut of_machines: Vec<Vec<f64>> = vec![Vec::new(); n];
        let routes = self.params.combine == Combine::Route;
        for machine in &mut self.machines {
            let hears = |row: &usize| !routes || largest(of_forest.answers.row(*row)) == machine.class;
            let own: Vec<usize> = (0..n).filter(hears).collect();
            let x = part.x.select(Axis(0), &own);
            let labels: Vec<ClassId> = own.iter().map(|&row| part.labels[row]).collect();
            let learnt =
                machine.ivm.learn(schema, Rows { x: x.view(), labels: &labels, weights: None }, training)?;
            lesson.n_tried += learnt.n_tried;
            lesson.n_replaced += learnt.n_replaced;
            for (&row, answer) in own.iter().zip(learnt.answers.rows()).take(learnt.n_learnt) {
                of_machines[row] = answer.to_vec();
            }
        }
        for (row, machine) in of_machines.into_iter().enumerate() {
            let heard =
                Heard { forest: of_forest.answers.row(row).to_vec(), machine, class: part.labels[row] };
            let mut all = vec![0.0; heard.forest.len()];
            let is_heard = self.combine(&heard.forest, &heard.machine, &mut all);
            self.account.add(heard.class.index(), &heard.forest, &all, is_heard);
            let mut answer = lesson.answers.row_mut(range.start + row);
            answer.iter_mut().zip(all).for_each(|(to, p)| *to = p);
            if let Some(course) = &mut self.course {
                course.remember(heard);
            }
        }
        lesson.n_forgotten += of_forest.n_forgotten;
        lesson.drifts.extend(of_forest.drifts);
        Ok(n)
    }

    /// Decides how far machines are trusted, and makes those that have become worth it.
    fn look_around(&mut self, schema: &Schema) -> Result<()> {
        let Some(course) = &mut self.course else { return Ok(()) };
        course.look_at = course.n_seen + course.pause();
        course.forget();
        let mut heard = std::mem::take(&mut course.heard);
        // Classes have come since: nobody had thought of them.
        for heard in &mut heard {
            heard.forest.resize(self.n_classes, 0.0);
            if !heard.machine.is_empty() {
                heard.machine.resize(self.n_classes, 0.0);
            }
        }
        if self.params.combine == Combine::Route {
            self.add_machines(&heard, schema)?;
        }
        self.judge(&heard);
        if let Some(course) = &mut self.course {
            course.heard = heard;
        }
        Ok(())
    }

    /// A machine for each answer of the forest that has come to be wrong too often. It begins with the rows that come from now on.
    fn add_machines(&mut self, heard: &[Heard], schema: &Schema) -> Result<()> {
        for class in 0..self.n_classes {
            if self.machines.iter().any(|machine| machine.class == Some(class)) {
                continue;
            }
            let own = heard.iter().filter(|heard| largest(&heard.forest) == Some(class));
            let (mut n, mut wrong) = (0, 0);
            for heard in own {
                n += 1;
                wrong += usize::from(heard.class.index() != class);
            }
            let is_pure = (n - wrong) as f64 >= self.params.purity * n as f64;
            if wrong >= LEAST_WRONG && !is_pure {
                let ivm = IvmClassifier::new(schema, &self.params.ivm_params().check()?)?;
                self.machines.push(Machine { class: Some(class), ivm, verdict: Verdict::default() });
            }
        }
        Ok(())
    }
}
