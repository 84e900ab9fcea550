//! Rows and labels in memory.

use std::collections::BTreeMap;

use hedgerow_core::{ClassId, Result};

use crate::backend::{Backend, Counts, Entry, Events, LearnerInfo, Learners, Raw};
use crate::block::Change;
use crate::checkpoint::{Checkpoint, KEPT, Written};
use crate::input::Input;

/// Everything in vectors.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    values: Vec<f32>,
    weights: Vec<f32>,
    /// For each row its newest event: the row itself, or the label that it got last.
    newest: Vec<u64>,
    /// Each event with the row that it is about.
    events: Vec<(u64, Change)>,
    inputs: Vec<Input>,
    /// By name: how it was begun, and its checkpoints, the newest last.
    learners: BTreeMap<String, (String, Vec<Checkpoint>)>,
}

impl Backend for Memory {
    fn write(&mut self, entry: &Entry<'_, '_>) -> Result<()> {
        let seqs = entry.first_seq..;
        match entry.events {
            Events::Rows(first_row, rows) => {
                let n_rows = rows.x.nrows();
                // Minus zero is zero: the database makes no difference either.
                self.values.extend(rows.x.iter().map(|value| value + 0.0));
                self.weights.extend((0..n_rows).map(|i| rows.weight(i)));
                self.newest.extend(seqs.take(n_rows));
                self.events.extend((first_row..).zip((0..n_rows).map(|i| Change::Row(rows.label(i)))));
            }
            Events::Labels(labels) => {
                for (seq, label) in seqs.zip(labels) {
                    self.newest[label.row as usize - 1] = seq;
                    self.events.push((label.row, label.change()));
                }
            }
        }
        entry.input.map_or(Ok(()), |input| self.set_input(input))
    }

    fn read(&mut self, seq: u64, most: usize, out: &mut Raw) -> Result<()> {
        let width = self.values.len() / self.newest.len().max(1);
        let events = &self.events[seq as usize..];
        let is_row = |event: &(u64, Change)| matches!(event.1, Change::Row(_));
        let n_alike =
            events.iter().take(most).take_while(|event| is_row(event) == is_row(&events[0])).count();
        out.x.reserve_exact(n_alike * width);
        for &(row, change) in &events[..n_alike] {
            let row_index = row as usize - 1;
            out.x.extend_from_slice(&self.values[row_index * width..(row_index + 1) * width]);
            out.weights.push(self.weights[row_index]);
            out.rows.push(row);
            out.changes.push(change);
        }
        Ok(())
    }

    fn label_of(&mut self, row: u64) -> Result<Option<(u64, ClassId)>> {
        let seq = self.newest[row as usize - 1];
        Ok(self.events[seq as usize].1.label().map(|class| (seq, class)))
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

    fn counts(&mut self) -> Result<Counts> {
        let n = |is: fn(&Change) -> bool| self.events.iter().filter(|event| is(&event.1)).count() as u64;
        let bytes = (self.values.capacity() + self.weights.capacity()) * size_of::<f32>()
            + self.newest.capacity() * size_of::<u64>()
            + self.events.capacity() * size_of::<(u64, Change)>();
        Ok(Counts {
            rows: self.newest.len() as u64,
            events: self.events.len() as u64,
            labelled: n(|change| matches!(change, Change::Row(Some(_)) | Change::Label(_))),
            corrections: n(|change| matches!(change, Change::Correction { .. })),
            bytes: bytes as u64,
        })
    }

    fn check(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Learners for Memory {
    fn learners(&mut self) -> Result<Vec<LearnerInfo>> {
        let info = |(name, (config, checkpoints)): (&String, &(String, Vec<Checkpoint>))| LearnerInfo {
            name: name.clone(),
            config: config.clone(),
            cursor: checkpoints.last().map(|checkpoint| checkpoint.cursor),
            model_bytes: checkpoints.last().map_or(0, |checkpoint| checkpoint.model.len() as u64),
        };
        Ok(self.learners.iter().map(info).collect())
    }

    fn set_learner(&mut self, name: &str, config: &str) -> Result<()> {
        self.learners.entry(name.to_string()).or_default().0 = config.to_string();
        Ok(())
    }

    fn save_checkpoint(&mut self, name: &str, cursor: u64, state: &str, model: Written) -> Result<()> {
        let kept = &mut self.learners.entry(name.to_string()).or_default().1;
        kept.retain(|checkpoint| checkpoint.cursor < cursor);
        kept.push(Checkpoint { cursor, state: state.to_string(), model: model.bytes });
        kept.drain(..kept.len().saturating_sub(KEPT));
        Ok(())
    }

    fn load_checkpoint(&mut self, name: &str, _: &mut Vec<String>) -> Result<Option<Checkpoint>> {
        Ok(self.learners.get(name).and_then(|(_, checkpoints)| checkpoints.last().cloned()))
    }

    fn drop_checkpoint(&mut self, name: &str, cursor: u64) -> Result<()> {
        if let Some((_, checkpoints)) = self.learners.get_mut(name) {
            checkpoints.retain(|checkpoint| checkpoint.cursor != cursor);
        }
        Ok(())
    }
}
