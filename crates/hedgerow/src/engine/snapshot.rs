//! A model as it is published, and how good it is.

use std::sync::Arc;
use std::time::Duration;

use hedgerow_core::traits::largest;
use hedgerow_core::{ClassId, Column, ColumnKind, Dataset, Schema};
use hedgerow_hybrid::forest_ivm::{JudgeAnswers, MachineRows};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::model::{Learner, Model};

/// How good a model is on rows that it has not learnt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Rows that were asked.
    pub rows: usize,
    /// The mean log-loss: what decides whether a snapshot is replaced.
    pub loss: f64,
    /// Share of right answers.
    pub accuracy: f64,
    /// The same for each class, averaged over classes.
    pub macro_accuracy: f64,
}

/// Which rows judge instead of being learnt, by their places in the order in which rows came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judges {
    /// How many rows were taken up.
    pub n_rows: u64,
    /// Those that judge.
    pub places: Vec<u64>,
}

impl Judges {
    /// Whether each of the rows judges.
    pub(super) fn flags(&self) -> Vec<bool> {
        let mut flags = vec![false; usize::try_from(self.n_rows).unwrap_or(0)];
        for place in &self.places {
            if let Some(flag) = flags.get_mut(*place as usize) {
                *flag = true;
            }
        }
        flags
    }
}

/// A model, published whole and never changed.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The model. It only answers; [`Engine::finish`](super::Engine::finish) gives it the rows to go on learning.
    pub model: Model,
    /// How good it is; none for the model that knows nothing yet.
    pub evidence: Option<Evidence>,
    /// Slices that had been done when it was made.
    pub slices: u64,
    /// How long the engine had been running.
    pub elapsed: Duration,
    pub(super) kept: Kept,
}

/// What a model that goes on learning needs beside rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    /// Which rows it was judged by.
    pub(super) version: u64,
    pub(super) labels: Vec<ClassId>,
    pub(super) forest: Option<Array2<f64>>,
    pub(super) machine: Option<Array2<f64>>,
    /// What each machine was made of.
    pub(super) machines: Vec<MachineRows>,
    /// The rows that leaves are made of, and how many came before them.
    pub(super) rows: Option<(u64, Arc<Dataset>)>,
    /// Whether the model has its rows already.
    pub(super) is_whole: bool,
}

impl Snapshot {
    /// A model that nothing is known about.
    pub(super) fn new(model: Model) -> Self {
        Self { model, evidence: None, slices: 0, elapsed: Duration::ZERO, kept: Kept::default() }
    }

    /// A model with its rows that an earlier engine has left behind.
    pub(super) fn earlier(model: Model, evidence: Evidence) -> Self {
        let kept = Kept { is_whole: true, ..Kept::default() };
        Self { evidence: Some(evidence), kept, ..Self::new(model) }
    }

    /// The model with all rows that there were, after so many that were forgotten; as it is if it has learnt nothing.
    pub(super) fn with_rows(self, data: Option<Dataset>, n_dropped: u64) -> Model {
        let Self { model, kept, evidence, .. } = self;
        let (Some(data), true) = (data, evidence.is_some() && !kept.is_whole) else { return model };
        if let (Learner::LeafGp(leaves), Some((first, own))) = (&model.learner, &kept.rows) {
            let n_seen = n_dropped + data.n_rows() as u64;
            let data = own_and_newer(own, *first, &data, n_dropped);
            let learner = Learner::LeafGp(Box::new(leaves.clone().remembering(&data, n_seen)));
            return Model { schema: model.schema, learner };
        }
        let known = known_rows(&data, 0, &model.schema);
        let data = if known.len() == data.n_rows() && data.schema == model.schema {
            data
        } else {
            Dataset { schema: model.schema.clone(), ..data.select(&known) }
        };
        let place = |row: usize| known.binary_search(&row).ok();
        let machines = kept.machines.iter().map(|MachineRows { rows, ratings }| MachineRows {
            rows: rows.as_ref().map(|rows| rows.iter().filter_map(|row| place(*row)).collect()),
            ratings: ratings.iter().filter_map(|&(row, rating)| Some((place(row)?, rating))).collect(),
        });
        let machines: Vec<MachineRows> = machines.collect();
        let ratings = machines.first().map(|machine| &machine.ratings[..]).unwrap_or_default();
        let Model { schema, learner } = model;
        let learner = match (learner, &kept.forest) {
            (Learner::Ivm(ivm), _) => Learner::Ivm(Box::new(ivm.remembering(&data, ratings))),
            (Learner::ForestIvm(both), Some(forest)) => {
                let machine = kept.machine.as_ref().map(|machine| machine.view());
                let judges = JudgeAnswers { forest: forest.view(), machine, labels: &kept.labels };
                Learner::ForestIvm(Box::new(both.remembering(data, &machines, &judges)))
            }
            (Learner::ForestKernel(model), _) => Learner::ForestKernel(Box::new(model.remembering(data))),
            (learner, _) => return Model { schema, learner }.with_rows(data),
        };
        Model { schema, learner }
    }
}

/// Rows from one on that a model of an earlier schema can have: classes and categories that have come since it was made are not known to it.
fn known_rows(data: &Dataset, first: usize, schema: &Schema) -> Vec<usize> {
    let n_categories = |column: &Column| match &column.kind {
        ColumnKind::Categorical { categories } => categories.len(),
        _ => 0,
    };
    let columns = schema.columns.iter().zip(&data.schema.columns).enumerate();
    let grown: Vec<(usize, f32)> = columns
        .filter(|(_, (known, now))| n_categories(known) < n_categories(now))
        .map(|(at, (known, _))| (at, n_categories(known) as f32))
        .collect();
    let mut values = vec![0.0; data.schema.n_features()];
    let mut is_known = |row: &usize| {
        if !grown.is_empty() {
            data.features.copy_rows(*row..*row + 1, &mut values);
        }
        // What is missing is known to be so.
        data.labels[*row].index() < schema.n_classes()
            && grown.iter().all(|(at, end)| values[*at].is_nan() || values[*at] < *end)
    };
    (first..data.n_rows()).filter(|row| is_known(row)).collect()
}

/// Rows of a model, and after them those that have come since, as far as it knows their classes and categories.
fn own_and_newer(own: &Dataset, first: u64, now: &Dataset, n_dropped: u64) -> Dataset {
    let end = (first + own.n_rows() as u64).saturating_sub(n_dropped) as usize;
    let newer = known_rows(now, end, &own.schema);
    let mut all = own.clone();
    all.append(&Dataset { schema: own.schema.clone(), ..now.select(&newer) });
    all
}

impl Evidence {
    /// From answers to rows of known classes. A class that the answers do not have yet gets the least probability there is.
    pub(super) fn new(proba: &Array2<f64>, labels: &[ClassId]) -> Self {
        let n_classes = labels.iter().map(|label| label.index() + 1).max().unwrap_or(0).max(proba.ncols());
        let (mut loss, mut right, mut all) = (0.0, vec![0.0_f64; n_classes], vec![0.0_f64; n_classes]);
        for (answer, label) in proba.rows().into_iter().zip(labels) {
            let own = label.index();
            loss -= log(answer.get(own).copied().unwrap_or(0.0));
            all[own] += 1.0;
            right[own] += f64::from(u8::from(largest(answer) == Some(own)));
        }
        let n = labels.len().max(1) as f64;
        let shares: Vec<f64> =
            right.iter().zip(&all).filter(|(_, n)| **n > 0.0).map(|(r, n)| r / n).collect();
        Self {
            rows: labels.len(),
            loss: loss / n,
            accuracy: right.iter().sum::<f64>() / n,
            macro_accuracy: shares.iter().sum::<f64>() / shares.len().max(1) as f64,
        }
    }
}

fn log(p: f64) -> f64 {
    p.max(1e-9).ln()
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{Features, LabelTable};

    use super::*;

    #[test]
    fn rows_of_later_classes_and_categories_are_left_out() {
        let schema = |n_categories: usize, n_classes: usize| {
            let names = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
            let kind = ColumnKind::Categorical { categories: names(n_categories) };
            let columns = vec![Column::numeric("x"), Column { name: "kind".into(), kind }];
            Schema { columns, labels: LabelTable::from(names(n_classes)), ..Schema::unnamed(2) }
        };
        let mut features = Features::new(2);
        for value in [0.0, 1.0, 2.0, f32::NAN, 1.0] {
            features.push(&[9.0, value]);
        }
        let labels = [0, 1, 0, 1, 2].map(ClassId).to_vec();
        let data = Dataset::new(schema(3, 3), features, labels, None).unwrap();
        assert_eq!(known_rows(&data, 0, &schema(2, 2)), [0, 1, 3]);
        assert_eq!(known_rows(&data, 1, &schema(3, 2)), [1, 2, 3]);
        assert_eq!(known_rows(&data, 0, &schema(3, 3)).len(), 5);
    }
}
