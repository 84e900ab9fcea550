//! Rows that go into a store first, and are learnt from there.

use std::sync::Arc;

use hedgerow::core::{ClassId, Error, Result, Schema, StoreProblem, Targets};
use hedgerow::io::{Batch, RowReader};
use hedgerow::store::{Block, Change, HEAD_ROWS, Input, NewRows, Store, fingerprint};
use ndarray::{Axis, s};

use crate::commands::Chunk;
use crate::output;

/// Rows appended at once: the rows that a crash may take from an input that cannot be read again.
const APPENDED: usize = 1_000;

/// Rows of a store, from a place in its log on, and then those of an input, which are appended to it first.
pub(crate) struct StoredRows {
    store: Store,
    cursor: u64,
    /// The schema of the rows handed out last.
    pub(crate) schema: Arc<Schema>,
    input: Option<Reading>,
}

/// An input that is being read into a store.
pub(crate) struct Reading {
    reader: RowReader,
    /// What the store knows about it, once its first rows have been seen.
    known: Option<Input>,
    /// Rows of it that are in the store and have not been passed over yet.
    to_skip: u64,
}

impl StoredRows {
    pub(crate) fn new(store: Store, cursor: u64, input: Option<RowReader>) -> Result<Self> {
        let schema = if cursor == 0 { Arc::new(store.first_schema()) } else { store.schema_at(cursor)? };
        let input = input.map(Reading::new);
        Ok(Self { store, cursor, schema, input })
    }

    /// Rows that have no label now.
    pub(crate) fn without_label(&self) -> Result<u64> {
        let counts = self.store.counts()?;
        Ok(counts.rows - counts.labelled)
    }

    /// The next rows to learn, at most `most`: what is in the store, then what is left of the input.
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<Chunk>> {
        loop {
            let Some(block) = self.store.read(self.cursor, most)? else {
                let Some(input) = &mut self.input else { return Ok(None) };
                if input.append(&self.store)? {
                    continue;
                }
                return Ok(None);
            };
            self.schema = Arc::clone(&block.schema);
            let (chunk, end) = first_chunk(&block);
            self.cursor = end;
            if chunk.is_some() {
                return Ok(chunk);
            }
        }
    }
}

/// The first events of a block that can be learnt together, if there are any, and the place after them.
fn first_chunk(block: &Block) -> (Option<Chunk>, u64) {
    let is_correction = |change: &Change| matches!(change, Change::Correction { .. });
    let sort = block.changes.first().is_some_and(is_correction);
    let n = block.changes.iter().position(|change| is_correction(change) != sort).unwrap_or(block.len());
    let end = block.first + n as u64;
    let chosen: Vec<usize> = (0..n).filter(|&i| block.changes[i].label().is_some()).collect();
    if chosen.is_empty() {
        return (None, end);
    }
    let x = block.x.select(Axis(0), &chosen);
    let targets = Targets::Classes(chosen.iter().filter_map(|&i| block.changes[i].label()).collect());
    let weights = block.weights.as_ref().map(|w| chosen.iter().map(|&i| w[i]).collect());
    let numbers = chosen.iter().map(|&i| block.rows[i]).collect();
    let old = |&i: &usize| match block.changes[i] {
        Change::Correction { old, .. } => Some(old),
        _ => None,
    };
    let chunk = Chunk {
        places: chosen.iter().map(|&i| block.first + i as u64).collect(),
        end,
        old: chosen.iter().map(old).collect(),
        ..Chunk::new(x, targets, weights, numbers)
    };
    (Some(chunk), end)
}

impl Reading {
    pub(crate) fn new(reader: RowReader) -> Self {
        Self { reader, known: None, to_skip: 0 }
    }

    /// Appends the next rows of the input; `false` at its end.
    pub(crate) fn append(&mut self, store: &Store) -> Result<bool> {
        loop {
            let most = if self.to_skip > 0 { APPENDED.min(self.to_skip as usize) } else { APPENDED };
            let Some(batch) = self.reader.next_batch(most)? else {
                return self.finish(store).map(|()| false);
            };
            let n = batch.x.nrows() as u64;
            if self.known.is_none() {
                let known = self.identify(store, &batch)?;
                self.to_skip = known.rows;
                self.known = Some(known);
            }
            let from = self.to_skip.min(n);
            self.to_skip -= from;
            if from == n {
                continue;
            }
            let from = from as usize;
            let rows = NewRows {
                x: batch.x.slice(s![from.., ..]),
                labels: batch.labels.as_ref().map(|labels| &labels[from..]),
                weights: batch.weights.as_ref().map(|weights| &weights[from..]),
            };
            let Some(known) = &mut self.known else { return Ok(false) };
            let now = Input { rows: known.rows + n - from as u64, ..known.clone() };
            store.append_from(self.reader.schema(), &rows, &now)?;
            *known = now;
            return Ok(true);
        }
    }

    /// Notes that the input has been read to its end.
    fn finish(&mut self, store: &Store) -> Result<()> {
        let Some(known) = &mut self.known else { return Ok(()) };
        if self.to_skip > 0 {
            let (name, rows) = (&known.name, output::count(known.rows));
            let got = output::count(known.rows - self.to_skip);
            let detail = format!("{rows} rows of {name} are in the store, but now it has only {got}");
            return Err(Error::store(StoreProblem::Input(detail)));
        }
        known.is_done = true;
        store.set_input(known)
    }

    /// What the store knows about the input that begins with these rows. Fails if it waits for the rest of another one.
    fn identify(&self, store: &Store, first: &Batch) -> Result<Input> {
        let schema = self.reader.schema();
        let mark = |rows: usize| {
            let labels: Option<&[Option<ClassId>]> = first.labels.as_ref().map(|labels| &labels[..rows]);
            fingerprint(schema, first.x.slice(s![..rows, ..]), labels)
        };
        let (name, inputs) = (self.reader.shown().display().to_string(), store.inputs()?);
        let n_rows = first.x.nrows();
        let is_known = |known: &&Input| {
            let rows = known.head_rows as usize;
            rows <= n_rows && mark(rows) == known.fingerprint
        };
        if let Some(known) = inputs.iter().find(is_known) {
            return Ok(Input { name, ..known.clone() });
        }
        let waits = inputs.iter().find(|known| !known.is_done || known.name == name);
        if let Some(known) = waits {
            let (rows, other) = (output::count(known.rows), &known.name);
            let stopped = format!("the store holds {rows} rows of {other}, which began differently");
            let advice = if known.name == name {
                "give the data as they were, the new ones under another name, or another folder with --store"
            } else {
                "finish that one first, or use another folder with --store"
            };
            let detail = format!("{stopped} than {name} does; {advice}");
            return Err(Error::store(StoreProblem::Input(detail)));
        }
        let head_rows = n_rows.min(HEAD_ROWS);
        let fingerprint = mark(head_rows);
        Ok(Input { fingerprint, head_rows: head_rows as u64, name, rows: 0, is_done: false })
    }
}
