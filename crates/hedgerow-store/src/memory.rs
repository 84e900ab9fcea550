//! Rows and labels in memory.

use std::collections::HashMap;
use std::path::PathBuf;

use hedgerow_core::{ClassId, Result, Schema};

use crate::backend::{Backend, Counts, Entry, Events, LearnerInfo, NewLabel, Raw, Run};
use crate::block::Change;
use crate::checkpoint::{Checkpoint, KEPT, Written};
use crate::input::Input;

/// Everything in vectors.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    width: usize,
    values: Vec<f32>,
    /// Empty until a row has a weight.
    weights: Vec<f32>,
    /// For each row the label that came with it.
    first_labels: Vec<Option<ClassId>>,
    /// Events that are labels, with their sequence numbers, in order.
    labels: Vec<(u64, NewLabel)>,
    /// For rows that got a label later: the newest one.
    newest: HashMap<u64, (u64, ClassId)>,
    runs: Vec<Run>,
    /// Of the runs that are rows, the first row and its event.
    row_runs: Vec<(u64, u64)>,
    inputs: Vec<Input>,
    learners: Vec<Learner>,
}

#[derive(Debug)]
struct Learner {
    name: String,
    config: String,
    /// The newest last.
    checkpoints: Vec<Checkpoint>,
}

impl Memory {
    pub(crate) fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    fn row(&self, row: u64) -> &[f32] {
        let at = (row - 1) as usize * self.width;
        &self.values[at..at + self.width]
    }

    fn push_row(&self, row: u64, change: Change, out: &mut Raw) {
        out.x.extend_from_slice(self.row(row));
        out.rows.push(row);
        out.changes.push(change);
        out.weights.push(self.weights.get(row as usize - 1).copied().unwrap_or(1.0));
    }

    /// The event that a row is.
    fn seq_of_row(&self, row: u64) -> u64 {
        let place = self.row_runs.partition_point(|run| run.0 <= row);
        place.checked_sub(1).map_or(0, |place| self.row_runs[place].1 + row - self.row_runs[place].0)
    }

    /// The label of the event `seq`, which gave `row` its label.
    fn label_at(&self, seq: u64, row: u64) -> Option<ClassId> {
        match self.labels.binary_search_by_key(&seq, |label| label.0) {
            Ok(place) => Some(self.labels[place].1.class),
            Err(_) => self.first_labels[row as usize - 1],
        }
    }

    fn learner(&mut self, name: &str) -> &mut Learner {
        let place = self.learners.iter().position(|learner| learner.name == name);
        let place = place.unwrap_or_else(|| {
            let name = name.to_string();
            self.learners.push(Learner { name, config: String::new(), checkpoints: Vec::new() });
            self.learners.len() - 1
        });
        &mut self.learners[place]
    }
}

impl Backend for Memory {
    fn write(&mut self, entry: &Entry<'_, '_>) -> Result<()> {
        let (n, first_row) = match entry.events {
            Events::Rows { first_row, x, labels, weights } => {
                // Minus zero is zero: the database makes no difference either.
                self.values.extend(x.iter().map(|value| value + 0.0));
                if weights.is_some() || !self.weights.is_empty() {
                    self.weights.resize(first_row as usize - 1, 1.0);
                    self.weights.extend(weights.into_iter().flatten());
                    self.weights.resize(first_row as usize - 1 + x.nrows(), 1.0);
                }
                let n = x.nrows();
                self.first_labels.extend((0..n).map(|i| labels.and_then(|labels| labels[i])));
                (n as u64, Some(first_row))
            }
            Events::Labels(labels) => {
                for (seq, &label) in (entry.first_seq..).zip(labels) {
                    self.labels.push((seq, label));
                    self.newest.insert(label.row, (seq, label.class));
                }
                (labels.len() as u64, None)
            }
        };
        match self.runs.last_mut() {
            Some(run) if run.first_row.is_some() == first_row.is_some() => run.n += n,
            _ if n > 0 => {
                self.runs.push(Run { first_seq: entry.first_seq, n, first_row });
                self.row_runs.extend(first_row.map(|row| (row, entry.first_seq)));
            }
            _ => {}
        }
        entry.input.map_or(Ok(()), |input| self.set_input(input))
    }

    fn run_at(&mut self, seq: u64) -> Result<Option<Run>> {
        let place = self.runs.partition_point(|run| run.first_seq <= seq);
        Ok(place.checked_sub(1).map(|place| self.runs[place]).filter(|run| seq < run.end()))
    }

    fn read_rows(&mut self, run: Run, seq: u64, n: usize, _: &Schema, out: &mut Raw) -> Result<()> {
        let first = run.first_row.unwrap_or(1) + (seq - run.first_seq);
        for row in first..first + n as u64 {
            self.push_row(row, Change::Row(self.first_labels[row as usize - 1]), out);
        }
        Ok(())
    }

    fn read_labels(&mut self, seq: u64, n: usize, _: &Schema, out: &mut Raw) -> Result<()> {
        let start = self.labels.partition_point(|label| label.0 < seq);
        for &(_, NewLabel { row, class, replaces }) in &self.labels[start..start + n] {
            let old = replaces.and_then(|seq| self.label_at(seq, row));
            let change = old.map_or(Change::Label(class), |old| Change::Correction { old, new: class });
            self.push_row(row, change, out);
        }
        Ok(())
    }

    fn label_of(&mut self, row: u64) -> Result<Option<(u64, ClassId)>> {
        if let Some(&newest) = self.newest.get(&row) {
            return Ok(Some(newest));
        }
        let first = self.first_labels[row as usize - 1];
        Ok(first.map(|class| (self.seq_of_row(row), class)))
    }

    fn inputs(&mut self) -> Result<Vec<Input>> {
        Ok(self.inputs.clone())
    }

    fn set_input(&mut self, input: &Input) -> Result<()> {
        match self.inputs.iter_mut().find(|known| known.fingerprint == input.fingerprint) {
            Some(known) => known.clone_from(input),
            None => self.inputs.push(input.clone()),
        }
        Ok(())
    }

    fn learners(&mut self) -> Result<Vec<LearnerInfo>> {
        let info = |learner: &Learner| LearnerInfo {
            name: learner.name.clone(),
            config: learner.config.clone(),
            cursor: learner.checkpoints.last().map(|checkpoint| checkpoint.cursor),
            model_bytes: learner.checkpoints.last().map_or(0, |checkpoint| checkpoint.model.len() as u64),
        };
        let mut infos: Vec<LearnerInfo> = self.learners.iter().map(info).collect();
        infos.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(infos)
    }

    fn set_learner(&mut self, name: &str, config: &str) -> Result<()> {
        self.learner(name).config = config.to_string();
        Ok(())
    }

    fn models(&self) -> Option<PathBuf> {
        None
    }

    fn save_checkpoint(&mut self, name: &str, cursor: u64, state: &str, model: Written) -> Result<()> {
        let Written::Bytes(model) = model else { return Ok(()) };
        let kept = &mut self.learner(name).checkpoints;
        kept.retain(|checkpoint| checkpoint.cursor < cursor);
        kept.push(Checkpoint { cursor, state: state.to_string(), model });
        kept.drain(..kept.len().saturating_sub(KEPT));
        Ok(())
    }

    fn load_checkpoint(&mut self, name: &str, _: &mut Vec<String>) -> Result<Option<Checkpoint>> {
        let learner = self.learners.iter().find(|learner| learner.name == name);
        Ok(learner.and_then(|learner| learner.checkpoints.last().cloned()))
    }

    fn drop_checkpoint(&mut self, name: &str, cursor: u64) -> Result<()> {
        self.learner(name).checkpoints.retain(|checkpoint| checkpoint.cursor != cursor);
        Ok(())
    }

    fn counts(&mut self) -> Result<Counts> {
        let first = self.first_labels.iter().flatten().count() as u64;
        let late = self.labels.iter().filter(|(_, label)| label.replaces.is_none()).count() as u64;
        let n_labels = self.labels.len() as u64;
        let bytes = (self.values.capacity() + self.weights.capacity()) * size_of::<f32>()
            + self.first_labels.capacity() * size_of::<Option<ClassId>>()
            + self.labels.capacity() * size_of::<(u64, NewLabel)>();
        Ok(Counts {
            rows: self.first_labels.len() as u64,
            events: self.first_labels.len() as u64 + n_labels,
            labelled: first + late,
            corrections: n_labels - late,
            bytes: bytes as u64,
        })
    }

    fn check(&mut self) -> Result<()> {
        Ok(())
    }
}
