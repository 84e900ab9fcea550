//! Sets of classes, and how good they are.

use ndarray::iter::AxisIterMut;
use ndarray::{Array2, ArrayView2, Axis, Ix1};
use serde::{Deserialize, Serialize};

use super::SetOptions;
use crate::data::ClassId;
use crate::error::{Result, check_shapes};

/// A set of classes for every row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictionSets(Array2<bool>);

impl PredictionSets {
    /// Sets without classes.
    pub(super) fn empty(n_rows: usize, n_classes: usize) -> Self {
        Self(Array2::from_elem((n_rows, n_classes), false))
    }

    pub(super) fn rows_mut(&mut self) -> AxisIterMut<'_, bool, Ix1> {
        self.0.axis_iter_mut(Axis(0))
    }

    /// The classes of a row, in the order of the classes.
    pub fn classes(&self, row: usize) -> impl Iterator<Item = ClassId> {
        self.0
            .row(row)
            .into_iter()
            .enumerate()
            .filter(|(_, is_in)| **is_in)
            .map(|(class, _)| ClassId(class as u32))
    }

    /// How many classes the set of a row has.
    pub fn size(&self, row: usize) -> usize {
        self.classes(row).count()
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.0.nrows()
    }

    /// A row for each row, a column for each class: whether it is in the set.
    pub fn table(&self) -> ArrayView2<'_, bool> {
        self.0.view()
    }

    /// The same, by value.
    pub fn into_table(self) -> Array2<bool> {
        self.0
    }

    /// How good they are for rows of known classes. A class that has no column is in no set.
    pub fn report(&self, truth: &[ClassId], options: &SetOptions) -> Result<SetReport> {
        check_shapes([("labels", self.n_rows(), truth.len())])?;
        let n_classes = truth.iter().map(|class| class.index() + 1).max().unwrap_or(0).max(self.0.ncols());
        let (mut sizes, mut classes) =
            (vec![0; self.0.ncols() + 1], vec![ClassCoverage::default(); n_classes]);
        for (set, class) in self.0.rows().into_iter().zip(truth) {
            sizes[set.iter().filter(|is_in| **is_in).count()] += 1;
            let own = &mut classes[class.index()];
            own.rows += 1;
            own.covered += u64::from(set.get(class.index()) == Some(&true));
        }
        let n = truth.len().max(1) as f64;
        let covered: u64 = classes.iter().map(|class| class.covered).sum();
        let in_sets: u64 = sizes.iter().enumerate().map(|(size, rows)| size as u64 * rows).sum();
        Ok(SetReport {
            level: options.level,
            coverage: covered as f64 / n,
            mean_size: in_sets as f64 / n,
            sizes,
            classes,
        })
    }
}

/// How good prediction sets are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetReport {
    /// The share of rows that was to be covered.
    pub level: f64,
    /// The share of rows whose class was in its set.
    pub coverage: f64,
    /// Classes in a set, the mean over rows.
    pub mean_size: f64,
    /// Rows whose sets have so many classes: none, one, two, and so on.
    pub sizes: Vec<u64>,
    /// Class by class.
    pub classes: Vec<ClassCoverage>,
}

/// Coverage of the rows of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCoverage {
    /// Its rows.
    pub rows: u64,
    /// Those whose set has the class.
    pub covered: u64,
}
