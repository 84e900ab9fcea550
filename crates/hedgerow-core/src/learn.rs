//! What every training is given, and what an update with new rows reports.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::conformal::SetOutcome;
use crate::data::{ClassId, Schema, TargetSlice, check_rows};
use crate::error::{DataProblem, Result, check_shapes};
use crate::online::Mixed;
use crate::par::Par;
use crate::traits::Observer;

/// What a training run is given beside data and parameters.
#[derive(Clone, Copy)]
pub struct Training<'a> {
    /// Threads to work with.
    pub par: &'a Par,
    /// Limits on time, memory and rounds.
    pub budget: &'a Budget,
    /// Receives progress.
    pub observer: &'a dyn Observer,
}

/// What a model is given while it learns rows, and what it reports.
pub struct Learning<'a> {
    /// The columns, and the classes known so far.
    pub schema: &'a Schema,
    /// Threads, limits and progress.
    pub training: &'a Training<'a>,
    /// The report.
    pub update: &'a mut Update,
}

/// Rows to learn.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// The features.
    pub x: ArrayView2<'a, f32>,
    /// The class or number of each row.
    pub targets: TargetSlice<'a>,
    /// The weight of each row; 1 where there is none.
    pub weights: Option<&'a [f32]>,
    /// What was predicted of each row when it came, where its label came later: that is what calibration learns from.
    pub earlier: Option<&'a [Mixed]>,
}

impl<'a> Rows<'a> {
    /// Rows with their targets, classes or numbers.
    pub fn new(
        x: ArrayView2<'a, f32>,
        targets: impl Into<TargetSlice<'a>>,
        weights: Option<&'a [f32]>,
    ) -> Self {
        Self { x, targets: targets.into(), weights, earlier: None }
    }

    /// The same rows, of which this was predicted when they came.
    #[must_use]
    pub fn with_earlier(self, earlier: &'a [Mixed]) -> Self {
        Self { earlier: Some(earlier), ..self }
    }

    /// The class of each row; none for a regression.
    pub fn labels(self) -> &'a [ClassId] {
        self.targets.labels()
    }

    /// Some of the rows.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Rows<'a> {
        Rows {
            x: self.x.slice_move(s![rows.clone(), ..]),
            targets: self.targets.slice(rows.clone()),
            weights: self.weights.map(|weights| &weights[rows.clone()]),
            earlier: self.earlier.map(|earlier| &earlier[rows]),
        }
    }

    /// Fails unless a model of so many columns and classes can learn the rows, whose schema may have grown by classes since.
    pub fn check(self, schema: &Schema, n_features: usize, n_classes: usize) -> Result<()> {
        let n = self.x.nrows();
        check_shapes([
            ("feature columns", n_features, self.x.ncols()),
            ("feature columns of the schema", n_features, schema.n_features()),
            ("targets", n, self.targets.len()),
            ("weights", n, self.weights.map_or(n, <[f32]>::len)),
            ("earlier predictions", n, self.earlier.map_or(n, <[_]>::len)),
        ])?;
        if schema.n_classes() < n_classes {
            let (expected, got) = (format!("at least {n_classes}"), schema.n_classes().to_string());
            return Err(DataProblem::OtherSchema { what: "classes", expected, got }.into());
        }
        schema.check_sizes()?;
        check_rows(schema, self.x, self.targets, self.weights)
    }
}

/// The result of learning some rows. The parts of a forest are its trees; those of a sparse Gaussian process the rows of its active set.
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// The prequential predictions, made before each row was learnt: a probability for every class known at the end, or the mean and the variance of a
    /// regression.
    pub predictions: Array2<f64>,
    /// Rows learnt; fewer than given only if the work was interrupted.
    pub n_learnt: usize,
    /// New parts tried.
    pub n_tried: usize,
    /// New parts that took the place of a worse one.
    pub n_replaced: usize,
    /// Retained rows that were forgotten, to make room or because of concept drift.
    pub n_forgotten: usize,
    /// Alarms of the drift detector.
    pub drifts: Vec<Drift>,
    /// How the prediction set of each row came out, made before the row was learnt; none of a regression.
    pub sets: Vec<SetOutcome>,
}

impl Update {
    /// Adds what learning changed in a part of a model: everything but predictions, sets and the number of rows.
    pub fn add_changes(&mut self, part: Self) {
        self.n_tried += part.n_tried;
        self.n_replaced += part.n_replaced;
        self.n_forgotten += part.n_forgotten;
        self.drifts.extend(part.drifts);
    }
}

/// A concept drift that was detected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Rows learnt when it was detected.
    pub noticed_at: u64,
    /// The row at which the detector places the change.
    pub since: u64,
    /// Error rate before the change.
    pub error_before: f64,
    /// Error rate since the change.
    pub error_after: f64,
}
