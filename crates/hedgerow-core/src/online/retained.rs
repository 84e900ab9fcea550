//! Rows that a model keeps to go on learning.

use serde::{Deserialize, Serialize};

use crate::data::{ClassId, Dataset, Features, Schema, TargetSlice, Targets, Task};
use crate::error::Result;
use crate::learn::Rows;
use crate::saved::optional;

/// Rows with their targets, the oldest first. As many rows as targets and weights, whatever is done with them; what was read from a file is
/// [checked](Self::check).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetainedRows {
    features: Features,
    targets: Targets,
    #[serde(with = "optional")]
    weights: Option<Vec<f32>>,
}

impl RetainedRows {
    /// No rows yet.
    pub fn new(n_features: usize, task: Task) -> Self {
        Self { features: Features::new(n_features), targets: Targets::empty(task), weights: None }
    }

    /// The rows of a data set.
    pub fn of(data: &Dataset) -> Self {
        Self { weights: data.weights.clone(), ..Self::unweighted(data) }
    }

    /// The rows of a data set, without their weights.
    pub fn unweighted(data: &Dataset) -> Self {
        Self { features: data.features.clone(), targets: data.targets.clone(), weights: None }
    }

    /// The feature rows.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The class or number of each row.
    pub fn targets(&self) -> TargetSlice<'_> {
        self.targets.view()
    }

    /// The class of each row; none for a regression.
    pub fn labels(&self) -> &[ClassId] {
        self.targets().labels()
    }

    /// A weight for each row, where rows count differently.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.targets.view().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds rows of the same task.
    pub fn add(&mut self, rows: Rows<'_>) {
        let n = self.len();
        self.features.extend(rows.x);
        self.targets.extend(rows.targets);
        if rows.weights.is_some() || self.weights.is_some() {
            let own = self.weights.get_or_insert_with(|| vec![1.0; n]);
            own.extend_from_slice(rows.weights.unwrap_or_default());
            own.resize(self.targets.view().len(), 1.0);
        }
    }

    /// Keeps the chosen rows only.
    pub fn keep(&mut self, rows: &[usize]) {
        self.features = self.features.select(rows);
        self.targets = self.targets.select(rows);
        self.weights = self.weights.take().map(|weights| rows.iter().map(|&row| weights[row]).collect());
    }

    /// How many of the oldest rows are too many: beyond so many, or beyond what a limit on memory has room for where all that there is takes `bytes`.
    pub fn n_excess(&self, most: usize, bytes: usize, limit: Option<u64>) -> usize {
        let n = self.len();
        let share = |limit: u64| (limit as f64 / bytes.max(1) as f64).min(1.0);
        let room = limit.map_or(n, |limit| (n as f64 * share(limit)) as usize);
        n.saturating_sub(most.min(room.max(2)))
    }

    /// Whether a model can be trained on them: on numbers, or on more than one class.
    pub fn can_train(&self) -> bool {
        match self.targets() {
            TargetSlice::Classes(_) => self.has_two_classes(),
            TargetSlice::Values(values) => !values.is_empty(),
        }
    }

    /// Whether there are rows of more than one class.
    pub fn has_two_classes(&self) -> bool {
        let labels = self.labels();
        labels.iter().any(|label| *label != labels[0])
    }

    /// The rows as a data set. Fails unless they fit the schema and each other.
    pub fn dataset(&self, schema: &Schema) -> Result<Dataset> {
        Dataset::new(schema.clone(), self.features.clone(), self.targets.clone(), self.weights.clone())
    }

    /// Fails unless what was read fits together and the schema.
    pub fn check(&self, schema: &Schema) -> Result<()> {
        self.targets.view().check_task(schema.task())?;
        self.dataset(schema).map(drop)
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let of_weights = self.weights.as_ref().map_or(0, |weights| 4 * weights.len());
        self.features.bytes() + self.targets.bytes() + of_weights
    }
}
