//! Rows on their way from the caller to a training run.

use hedgerow_core::{ClassId, Dataset, Features, Result, Schema, Targets};

/// Something that was given and waits to be taken up.
#[derive(Clone)]
pub(super) enum Given {
    /// Rows.
    Rows(Dataset),
    /// Other labels for rows, by their places in the order in which they came, under a schema.
    Labels(Schema, Vec<(u64, ClassId)>),
}

impl Given {
    fn len(&self) -> usize {
        match self {
            Self::Rows(data) => data.n_rows(),
            Self::Labels(_, labels) => labels.len(),
        }
    }
}

/// Rows that were taken up, and what has been given since. Cheap to clone.
#[derive(Clone)]
pub(super) struct Inbox {
    pub(super) schema: Schema,
    taken: Option<Dataset>,
    waiting: Vec<Given>,
    /// Rows that were given in all.
    pub(super) n_rows: u64,
}

impl Inbox {
    pub(super) fn new(schema: Schema) -> Self {
        Self { schema, taken: None, waiting: Vec::new(), n_rows: 0 }
    }

    /// Rows that were given. Returns the place of the first in the order in which rows come.
    pub(super) fn append(&mut self, data: Dataset) -> u64 {
        self.schema = data.schema.clone();
        let first = self.n_rows;
        if data.n_rows() > 0 {
            self.n_rows += data.n_rows() as u64;
            self.waiting.push(Given::Rows(data));
        }
        first
    }

    /// Other labels for rows that were given.
    pub(super) fn relabel(&mut self, schema: &Schema, labels: Vec<(u64, ClassId)>) {
        self.schema = schema.clone();
        if !labels.is_empty() {
            self.waiting.push(Given::Labels(schema.clone(), labels));
        }
    }

    /// How much waits: rows and labels.
    pub(super) fn n_waiting(&self) -> usize {
        self.waiting.iter().map(Given::len).sum()
    }

    /// Rows that were taken up.
    pub(super) fn n_taken(&self) -> usize {
        self.taken.as_ref().map_or(0, Dataset::n_rows)
    }

    /// How many times something was given that still waits.
    pub(super) fn n_given(&self) -> usize {
        self.waiting.len()
    }

    /// All rows, under the newest schema.
    pub(super) fn joined(&self) -> Result<Dataset> {
        let mut all = if let Some(taken) = &self.taken {
            taken.clone()
        } else {
            let (schema, features) = (self.schema.clone(), Features::new(self.schema.n_features()));
            Dataset::new(schema, features, Targets::empty(self.schema.task()), None)?
        };
        for given in &self.waiting {
            match given {
                Given::Rows(more) if all.n_rows() == 0 => all = more.clone(),
                Given::Rows(more) => all.append(more)?,
                Given::Labels(schema, labels) => all.edit(|all| {
                    all.schema = schema.clone();
                    for &(place, class) in labels {
                        if let Some(label) = all.labels_mut().get_mut(place as usize) {
                            *label = class;
                        }
                    }
                })?,
            }
        }
        Ok(all)
    }

    /// Rows were taken up, together with the first so many things that were given.
    pub(super) fn take(&mut self, data: Dataset, n_given: usize) {
        self.waiting.drain(..n_given);
        self.taken = Some(data);
    }
}
