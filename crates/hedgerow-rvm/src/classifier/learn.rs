//! Learning more: as for values, see [`crate::regressor`], with the machines of all classes.

use hedgerow_core::{ClassId, Classifier as _, Error, Lesson, Result, Rows, Schema, Training};
use hedgerow_gp::prepare::Preparation;
use ndarray::{Array2, s};

use super::machines::ClassTask;
use super::{Learnt, RvmClassifier};
use crate::design::Design;
use crate::machine::{Profile, Run, Sparse, Task as _};
use crate::memory::Memory;
use crate::train::Trained;

impl RvmClassifier {
    /// Answers rows and learns them, one after the other: how they are cut into calls changes nothing. `schema` is that of earlier
    /// calls, grown by the classes and categories that have come since. Row weights are not looked at.
    pub fn learn(&mut self, schema: &Schema, rows: Rows<'_>, training: &Training<'_>) -> Result<Lesson> {
        self.check(schema, rows)?;
        self.n_classes = schema.n_classes();
        let n = rows.labels.len();
        let mut lesson = Lesson { answers: Array2::zeros((n, self.n_classes)), ..Lesson::default() };
        while lesson.n_learnt < n {
            let Some(memory) = &self.memory else { return Err(Error::NoRows) };
            let range = lesson.n_learnt..n.min(lesson.n_learnt.saturating_add(memory.room()));
            let part = s![range.clone(), ..];
            self.predict_proba_impl(rows.x.slice(part), training.par, lesson.answers.slice_mut(part));
            lesson.n_learnt = range.end;
            if let Some(memory) = &mut self.memory {
                memory.add(rows.x.slice(part), rows.labels[range].iter().map(|label| f64::from(label.0)));
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

    fn check(&self, schema: &Schema, rows: Rows<'_>) -> Result<()> {
        if self.memory.is_none() {
            return Err(Error::NoRows);
        }
        rows.check(schema, self.n_features(), self.n_classes)
    }

    /// Offers what is new to the machines.
    fn look_around(&mut self, schema: &Schema, training: &Training<'_>, lesson: &mut Lesson) -> Result<()> {
        let (most, seed) = (self.params.max_rows, self.params.seed);
        let Some(mut memory) = self.memory.take() else { return Ok(()) };
        let n_before = memory.relevant().len();
        lesson.n_forgotten += memory.forget(most, true, seed);
        let has_lost = memory.relevant().len() < n_before;
        memory.facts.look_at = memory.facts.n_seen + memory.pause();
        let labels = memory.labels();
        memory.facts.counts = counts(&labels, self.n_classes);
        if labels.iter().all(|label| *label == labels[0]) {
            memory.n_new = 0;
            self.memory = Some(memory);
            return Ok(());
        }
        // Columns and lengths are looked at again whenever twice as many rows have been seen, until the memory is full, and when
        // there are classes that no machine knows.
        let known = memory.facts.counts.iter().filter(|n| **n > 0).count();
        let how = self.params.multi_class.with(labels.len(), known);
        let is_new_class = self.learnt.as_ref().is_some_and(|Learnt { combination, .. }| {
            combination.known.len() != known || (known > 2 && combination.how != how)
        });
        let has_grown = memory.facts.n_seen >= 2 * memory.facts.tuned_at && memory.n_rows() < most;
        let first_new = memory.n_rows() - memory.n_new;
        let old = (self.preparation.clone(), self.learnt.clone(), memory.facts.tuned_at);
        let relevant = if self.learnt.is_none() || has_grown || has_lost || is_new_class {
            memory.facts.tuned_at = memory.facts.n_seen;
            self.preparation = Preparation::of(schema, &memory.features);
            self.train(&memory.features, &labels, training).map(|(_, relevant)| relevant)
        } else {
            self.offer(&memory, &labels, first_new, training)
        };
        let is_cut = training.budget.spent().is_some();
        match relevant {
            Ok(relevant) if !(is_cut && old.1.is_some()) => {
                lesson.n_tried += memory.n_new;
                lesson.n_replaced += relevant.iter().filter(|&&row| row >= first_new).count();
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

    /// One run of each machine over what is relevant to it and the rows from `first_new` on.
    fn offer(
        &mut self,
        memory: &Memory,
        labels: &[ClassId],
        first_new: usize,
        training: &Training<'_>,
    ) -> Result<Vec<usize>> {
        let Some(learnt) = self.learnt.clone() else { return Ok(Vec::new()) };
        let n = memory.n_rows();
        let x = learnt.basis.map(self.preparation.map(memory.features.to_array(0..n).view()));
        let options = self.params.options();
        let params = self.params.clone();
        let task = ClassTask {
            x: x.view(),
            labels,
            n_classes: self.n_classes,
            basis: &learnt.basis,
            params: &params,
            options: &options,
            budget: training.budget,
        };
        if let Some(shared) = &learnt.shared {
            let most = self.params.most_relevant(n, learnt.combination.known.len());
            let new: Vec<usize> = (first_new..n).collect();
            let grower = task.grower(&learnt.basis, most, training.par);
            let grown = grower.offer(&memory.relevant(), shared, &new)?;
            return Ok(self.keep_shared(grown, &task, &memory.features));
        }
        let from = learnt.as_sparse(memory, &task, training);
        let machines = task.train_from(&from, training.par, |binary, from, rows, par| {
            let n = binary.design.n_rows();
            let n_old = rows.map_or(first_new, |rows| rows.partition_point(|row| *row < first_new));
            let empty = binary.empty();
            let from = from.unwrap_or(&empty);
            let mut candidates: Vec<usize> = from.columns.iter().copied().chain(n_old..n).collect();
            if options.bias {
                candidates.push(n);
            }
            candidates.sort_unstable();
            candidates.dedup();
            let run = Run { candidates: &candidates, from, water_mark: 0, rows: None, is_last: true };
            let mut profile = Profile::default();
            let model = binary.solve(run, training.budget, par, &mut profile)?;
            Ok(Trained::of_one_run(model, profile, candidates.len()))
        })?;
        Ok(self.keep(&machines, &task, &memory.features))
    }
}

impl Learnt {
    /// The machines as models of the remembered rows, to start from.
    fn as_sparse(&self, memory: &Memory, task: &ClassTask<'_>, training: &Training<'_>) -> Vec<Sparse> {
        let places = memory.relevant();
        let n = memory.n_rows();
        let design = Design { x: task.x.view(), kernel: &self.basis.kernel };
        let of = |machine: &super::Machine| {
            let columns: Vec<usize> =
                machine.columns.iter().map(|&c| places.get(c).copied().unwrap_or(n)).collect();
            let mean = ndarray::Array1::from(machine.mean.clone());
            let scores = design.multiply(&columns, &mean, training.par);
            Sparse { alpha: machine.alpha.clone(), mean, columns, scores, ..Sparse::empty(n, 1.0) }
        };
        self.machines.iter().map(of).collect()
    }
}

fn counts(labels: &[ClassId], n_classes: usize) -> Vec<u64> {
    let mut counts = vec![0; n_classes];
    labels.iter().for_each(|label| counts[label.index()] += 1);
    counts
}
