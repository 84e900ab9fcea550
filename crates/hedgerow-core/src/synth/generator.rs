//! What every stream of rows can be asked.

use super::Schedule;
use super::draw::{Draw, chance};
use crate::data::{ClassId, Column, Dataset, Features, LabelTable, Schema};
use crate::error::Result;
use crate::rng::Rng;

/// An endless stream of labelled rows. Rows come one by one, so no row depends on how many are asked for.
pub struct Generator {
    schema: Schema,
    schedule: Schedule,
    draws: Draws,
    source: Box<dyn Source>,
    /// Rows made so far.
    n_made: u64,
}

/// Makes the rows of a stream.
pub(super) trait Source {
    /// Adds the features of the next row, which follows the concept of this number, to `row` and returns the row's class.
    fn next_into(&mut self, concept: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId;

    /// The true probability of each class of a row, where it is known.
    fn probabilities(&self, _row: &[f32]) -> Option<Vec<f64>> {
        None
    }
}

/// Random numbers that all streams need.
pub(super) struct Draws {
    pub(super) features: Rng,
    pub(super) errors: Rng,
    mixing: Rng,
}

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        let [features, errors, mixing] =
            [Draw::Features, Draw::Noise, Draw::Mixing].map(|draw| draw.rng(seed));
        Self { features, errors, mixing }
    }
}

impl Generator {
    pub(super) fn new(schema: Schema, seed: u64, schedule: Schedule, source: impl Source + 'static) -> Self {
        Self { schema, schedule, draws: Draws::new(seed), source: Box::new(source), n_made: 0 }
    }

    /// The columns and classes.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Puts the features of the next row into `row`, whatever was in it, and returns the row's class.
    pub fn next_into(&mut self, row: &mut Vec<f32>) -> ClassId {
        let mixture = self.schedule.mixture(self.n_made);
        self.n_made += 1;
        let is_new = mixture.old == mixture.new || chance(&mut self.draws.mixing, mixture.share);
        row.clear();
        self.source.next_into(if is_new { mixture.new } else { mixture.old }, &mut self.draws, row)
    }

    /// The true probability of each class at a row, which need not be one of its own; none where it is not known. A row of another width has none.
    pub fn probabilities(&self, row: &[f32]) -> Option<Vec<f64>> {
        (row.len() == self.schema.n_features()).then(|| self.source.probabilities(row)).flatten()
    }

    /// The rows below `n_rows`, counted from 0 at the start of the stream, at which one concept gives way to the next.
    /// A change at once has its first row of the new concept there; a gradual one has its middle there.
    pub fn changes(&self, n_rows: u64) -> Vec<u64> {
        self.schedule.changes.below(n_rows)
    }

    /// The next `n_rows` rows in memory.
    pub fn dataset(&mut self, n_rows: usize) -> Result<Dataset> {
        let mut features = Features::new(self.schema.n_features());
        let mut labels = Vec::with_capacity(n_rows);
        let mut row = Vec::new();
        for _ in 0..n_rows {
            labels.push(self.next_into(&mut row));
            features.push(&row);
        }
        Dataset::new(self.schema.clone(), features, labels, None)
    }
}

/// A schema whose target is `class` and whose classes are numbered from 0.
pub(super) fn schema(columns: Vec<Column>, n_classes: usize) -> Schema {
    let labels: Vec<String> = (0..n_classes).map(|class| class.to_string()).collect();
    Schema {
        columns,
        named: true,
        target: Some("class".into()),
        labels: LabelTable::from(labels),
        ..Schema::default()
    }
}

/// Columns of numbers called `x0`, `x1`, …
pub(super) fn numeric_columns(n: usize) -> Vec<Column> {
    (0..n).map(|i| Column::numeric(format!("x{i}"))).collect()
}
