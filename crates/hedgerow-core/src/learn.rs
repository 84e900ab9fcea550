//! What every trainer is given, and what comes of learning rows one after the other.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::data::{ClassId, Schema, check_rows};
use crate::error::{Error, Result};
use crate::par::Par;
use crate::traits::Observer;

/// What a training run is given beside data and parameters.
#[derive(Clone, Copy)]
pub struct Training<'a> {
    /// The threads.
    pub par: &'a Par,
    /// The limits.
    pub budget: &'a Budget,
    /// Who watches.
    pub observer: &'a dyn Observer,
}

/// Rows to learn.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// The features.
    pub x: ArrayView2<'a, f32>,
    /// The class of each row.
    pub labels: &'a [ClassId],
    /// The weight of each row; 1 where there is none.
    pub weights: Option<&'a [f32]>,
}

impl Rows<'_> {
    /// Fails unless a model of so many columns and classes can learn the rows, whose schema may have grown by classes since.
    pub fn check(self, schema: &Schema, n_features: usize, n_classes: usize) -> Result<()> {
        let n = self.x.nrows();
        let shapes = [
            ("feature columns", n_features, self.x.ncols()),
            ("feature columns of the schema", n_features, schema.n_features()),
            ("labels", n, self.labels.len()),
            ("weights", n, self.weights.map_or(n, <[f32]>::len)),
        ];
        for (what, expected, got) in shapes {
            if expected != got {
                return Err(Error::Shape { what, expected, got });
            }
        }
        if schema.n_classes() < n_classes {
            let (expected, got) = (n_classes, schema.n_classes());
            return Err(Error::Shape { what: "classes (at least)", expected, got });
        }
        schema.check_sizes()?;
        check_rows(schema, self.x, self.labels, self.weights)
    }
}

/// What came of learning some rows. The parts of a forest are trees; those of a machine with active rows are these rows.
#[derive(Debug, Clone, Default)]
pub struct Lesson {
    /// What the model answered before it learnt each row: a probability for every class known at the end.
    pub answers: Array2<f64>,
    /// Rows learnt; fewer than given only if the work was interrupted.
    pub n_learnt: usize,
    /// New parts tried.
    pub n_tried: usize,
    /// New parts that took the place of a worse one.
    pub n_replaced: usize,
    /// Remembered rows that were forgotten, to make room or because of drift.
    pub n_forgotten: usize,
    /// Changes noticed.
    pub drifts: Vec<Drift>,
}

/// A change that was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Rows learnt when it was noticed.
    pub noticed_at: u64,
    /// The row from which on things are different, as far as can be told.
    pub since: u64,
    /// Share of wrong answers before.
    pub error_before: f64,
    /// Share of wrong answers since.
    pub error_after: f64,
}
