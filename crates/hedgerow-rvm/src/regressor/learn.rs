//! Learning more: rows come, are answered, and are offered to the machine.
//!
//! A bounded number of rows is remembered. Every now and then the new ones become candidates beside those that are relevant, all judged by
//! the remembered rows; whatever no longer helps is let go. What that costs depends on the rows remembered, never on how many
//! were seen.

use hedgerow_core::{Error, Normals, Regressor as _, Result, Schema, Training};
use hedgerow_gp::prepare::Preparation;
use ndarray::{ArrayView2, s};

use super::{RvmRegressor, check};
use crate::design::Design;
use crate::machine::{Profile, Run, Task as _, Values};

/// What came of learning some values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueLesson {
    /// What the machine answered before it learnt each row.
    pub answers: Normals,
    /// Rows learnt; fewer than given only if the work was interrupted.
    pub n_learnt: usize,
    /// Rows that were offered to the machine.
    pub n_tried: usize,
    /// Those of them that became relevant.
    pub n_taken: usize,
    /// Remembered rows that were forgotten.
    pub n_forgotten: usize,
}

impl RvmRegressor {
    /// Answers rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is that of earlier
    /// calls, grown by the categories that have come since.
    pub fn learn(
        &mut self,
        schema: &Schema,
        x: ArrayView2<'_, f32>,
        targets: &[f64],
        training: &Training<'_>,
    ) -> Result<ValueLesson> {
        if self.memory.is_none() {
            return Err(Error::NoRows);
        }
        check(self, schema, x, targets)?;
        let mut lesson = ValueLesson::default();
        while lesson.n_learnt < targets.len() {
            let Some(memory) = &self.memory else { return Err(Error::NoRows) };
            let range = lesson.n_learnt..targets.len().min(lesson.n_learnt.saturating_add(memory.room()));
            let part = x.slice(s![range.clone(), ..]);
            let answers = self.predict_values_impl(part, training.par);
            lesson.answers.mean.extend(answers.mean);
            lesson.answers.variance.extend(answers.variance);
            lesson.n_learnt = range.end;
            if let Some(memory) = &mut self.memory {
                memory.add(part, targets[range].iter().copied());
                if memory.facts.n_seen >= memory.facts.look_at {
                    self.look_around(schema, training, &mut lesson)?;
                }
            }
            if training.budget.stop.is_stopped() {
                break;
            }
        }
        Ok(lesson)
    }

    /// Offers what is new to the machine.
    fn look_around(
        &mut self,
        schema: &Schema,
        training: &Training<'_>,
        lesson: &mut ValueLesson,
    ) -> Result<()> {
        let (most, seed) = (self.params.max_rows, self.params.seed);
        let Some(mut memory) = self.memory.take() else { return Ok(()) };
        let n_before = memory.relevant().len();
        lesson.n_forgotten += memory.forget(most, false, seed);
        let has_lost = memory.relevant().len() < n_before;
        memory.facts.look_at = memory.facts.n_seen + memory.pause();
        // Columns and lengths are looked at again whenever twice as many rows have been seen, until the memory is full.
        let has_grown = memory.facts.n_seen >= 2 * memory.facts.tuned_at && memory.n_rows() < most;
        let first_new = memory.n_rows() - memory.n_new;
        lesson.n_tried += memory.n_new;
        let old = (self.preparation.clone(), self.learnt.clone(), memory.facts.tuned_at);
        let relevant = if self.learnt.is_none() || has_grown || has_lost {
            memory.facts.tuned_at = memory.facts.n_seen;
            self.preparation = Preparation::of(schema, &memory.features);
            let trained = self.train(&memory.features, &memory.targets, training);
            trained.map(|(_, relevant)| relevant)
        } else {
            self.memory = Some(memory.clone());
            let offered = self.offer(first_new, training);
            self.memory = None;
            offered
        };
        let is_cut = training.budget.spent().is_some();
        match relevant {
            Ok(relevant) if !(is_cut && old.1.is_some()) => {
                lesson.n_taken += relevant.iter().filter(|&&row| row >= first_new).count();
                memory.set_relevant(&relevant);
                memory.n_new = 0;
                self.memory = Some(memory);
                Ok(())
            }
            other => {
                // Cut short: what was known before is better, and new rows are offered next time.
                (self.preparation, self.learnt, memory.facts.tuned_at) = old;
                self.memory = Some(memory);
                other.map(|_| ())
            }
        }
    }

    /// One run over what is relevant and the rows from `first_new` on. Returns what is relevant then.
    fn offer(&mut self, first_new: usize, training: &Training<'_>) -> Result<Vec<usize>> {
        let (Some(learnt), Some(memory)) = (&self.learnt, &self.memory) else { return Ok(Vec::new()) };
        let n = memory.n_rows();
        let basis = learnt.basis.clone();
        let scale = learnt.scale;
        let features = memory.features.clone();
        let x = basis.map(self.preparation.map(features.to_array(0..n).view()));
        let targets: Vec<f64> = memory.targets.iter().map(|t| t / scale).collect();
        let options = self.params.options();
        let design = Design { x: x.view(), kernel: &basis.kernel };
        let task = Values { design, targets: &targets, options: &options };
        let from = self.as_sparse(&task, training.par);
        let mut candidates: Vec<usize> = from.columns.iter().copied().chain(first_new..n).collect();
        if options.bias {
            candidates.push(n);
        }
        candidates.sort_unstable();
        candidates.dedup();
        let run = Run { candidates: &candidates, from: &from, water_mark: 0, rows: None, is_last: true };
        let model = task.solve(run, training.budget, training.par, &mut Profile::default())?;
        Ok(self.keep(&model, &basis, &task, &features, scale))
    }
}
