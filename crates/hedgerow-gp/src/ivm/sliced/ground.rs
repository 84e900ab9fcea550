//! The rows that machines in slices share.

use hedgerow_core::{ClassId, Dataset};
use ndarray::{Array2, s};

use super::super::columns::{Base, Columns};
use crate::kernel::Shape;
use crate::prepare::Preparation;

/// Rows, prepared once for all machines. Some of them judge: no machine chooses them, all are told what machines think of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Ground {
    pub(super) preparation: Preparation,
    pub(super) x: Array2<f32>,
    norms: Vec<f32>,
    pub(super) labels: Vec<ClassId>,
    pub(super) is_judge: Vec<bool>,
    judges: Vec<usize>,
    has_machine: Vec<bool>,
    pub(super) n_classes: usize,
}

impl Ground {
    /// Rows, and which of them judge. Columns are prepared by the others. A list of judges that is too short is filled up with rows that do not judge.
    pub fn new(data: &Dataset, mut is_judge: Vec<bool>) -> Self {
        is_judge.resize(data.n_rows(), false);
        let learnt: Vec<usize> = (0..data.n_rows()).filter(|row| !is_judge[*row]).collect();
        let preparation = Preparation::of(&data.schema, &data.features.select(&learnt));
        let empty = Self {
            x: Array2::zeros((0, preparation.width())),
            preparation,
            norms: Vec::new(),
            labels: Vec::new(),
            is_judge: Vec::new(),
            judges: Vec::new(),
            has_machine: Vec::new(),
            n_classes: data.schema.n_classes(),
        };
        empty.grown(data, is_judge)
    }

    /// The same with rows that have come since: the first of the data are those that it has already. Columns are prepared as before.
    #[must_use]
    pub fn grown(&self, data: &Dataset, mut is_judge: Vec<bool>) -> Self {
        let (before, n) = (self.labels.len(), data.n_rows());
        is_judge.resize(n, false);
        let mut x = Array2::zeros((n, self.x.ncols()));
        x.slice_mut(s![..before, ..]).assign(&self.x);
        let new = self.preparation.map_narrow(data.features.to_array(before..n).view());
        x.slice_mut(s![before.., ..]).assign(&new);
        let mut norms = self.norms.clone();
        norms.extend(new.rows().into_iter().map(|row| row.iter().map(|v| v * v).sum::<f32>()));
        let judges = (0..n).filter(|row| is_judge[*row]).collect();
        let mut has_machine = vec![false; data.schema.n_classes()];
        let learnt = data.labels.iter().zip(&is_judge).filter(|(_, is_judge)| !**is_judge);
        learnt.for_each(|(label, _)| has_machine[label.index()] = true);
        if has_machine.len() == 2 && has_machine[1] {
            has_machine[0] = false;
        }
        Self {
            preparation: self.preparation.clone(),
            x,
            norms,
            labels: data.labels.clone(),
            is_judge,
            judges,
            has_machine,
            n_classes: data.schema.n_classes(),
        }
    }

    /// Rows.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// The rows that judge.
    pub fn judges(&self) -> &[usize] {
        &self.judges
    }

    /// Their classes.
    pub fn judge_labels(&self) -> Vec<ClassId> {
        self.judges.iter().map(|&row| self.labels[row]).collect()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        4 * (self.x.len() + self.norms.len() + self.labels.len())
            + self.is_judge.len()
            + 8 * self.judges.len()
    }

    /// Classes that get a machine: those that have rows to learn, but of two only the second.
    pub fn has_machine(&self) -> &[bool] {
        &self.has_machine
    }

    /// Labels of one class against the rest, and its share among rows that do not judge.
    pub(super) fn signs(&self, class: usize) -> (Vec<f64>, f64) {
        let y: Vec<f64> =
            self.labels.iter().map(|label| if label.index() == class { 1.0 } else { -1.0 }).collect();
        let n_learnt = self.labels.len() - self.judges.len();
        let n_own = y.iter().zip(&self.is_judge).filter(|(y, is_judge)| **y > 0.0 && !**is_judge).count();
        (y, n_own as f64 / n_learnt.max(1) as f64)
    }

    /// Covariances between the rows.
    pub(super) fn columns(&self, [length, variance]: [f64; 2]) -> Columns<'_> {
        let base = Base::Rows { x: self.x.view(), norms: self.norms.clone() };
        Columns::new(base, Shape::Rbf, length, variance)
    }
}
