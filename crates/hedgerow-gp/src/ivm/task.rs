//! The training rows of a classifier, and what can be learnt from them with a given kernel.

use hedgerow_core::{Budget, ClassId, Par, Result};
use ndarray::{Array2, ArrayView2, Axis};

use super::columns::{Base, Columns};
use super::refit::Refit;
use super::train::train_on;
use super::{IvmOptions, Trained};
use crate::kernel::{Kernel, Shape};
use crate::platt::{Platt, to_probabilities};

/// Rows outside the active sets that calibrate, at most: more would not change the curves.
const MOST_JUDGES: usize = 8192;

/// Everything that training needs beside a kernel.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) x: ArrayView2<'a, f32>,
    /// The squared distances of all pairs of rows, where they are at hand.
    pub(super) squares: Option<&'a Array2<f32>>,
    pub(super) labels: &'a [ClassId],
    pub(super) n_classes: usize,
    pub(super) options: &'a IvmOptions,
    pub(super) noise: f64,
    pub(super) par: &'a Par,
    pub(super) budget: &'a Budget,
}

/// What one machine is made of: its active rows, as numbers of the union, and their sites.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sites {
    pub(super) active: Vec<usize>,
    pub(super) means: Vec<f64>,
    pub(super) precisions: Vec<f64>,
    pub(super) bias: f64,
}

/// Machines for all classes, and what they learnt about the training rows.
pub(super) struct Machines {
    /// None for a class without rows, and for the first of two classes.
    pub(super) each: Vec<Option<Trained>>,
    /// A score a class for each training row.
    pub(super) scores: Array2<f64>,
    /// Which rows are active anywhere.
    pub(super) is_active: Vec<bool>,
}

impl Machines {
    /// Rows outside the active sets, or some of them; all rows where those are too few.
    pub(super) fn judges(&self) -> Vec<usize> {
        let n = self.is_active.len();
        let mut judges: Vec<usize> = (0..n).filter(|row| !self.is_active[*row]).collect();
        if judges.len() < 30.max(n / 5) {
            judges = (0..n).collect();
        }
        let step = judges.len().div_ceil(MOST_JUDGES).max(1);
        judges.into_iter().step_by(step).collect()
    }

    /// The rows that are active anywhere.
    pub(super) fn union(&self) -> Vec<usize> {
        (0..self.is_active.len()).filter(|row| self.is_active[*row]).collect()
    }

    /// What the machines are made of, in rows of the union.
    pub(super) fn sites(&self, union: &[usize]) -> Vec<Option<Sites>> {
        let of = |trained: &Trained| {
            let (means, precisions) = trained.ivm.sites();
            let place = |row: &usize| union.binary_search(row).unwrap_or(0);
            Sites {
                active: trained.active.iter().map(place).collect(),
                means: means.to_vec(),
                precisions: precisions.to_vec(),
                bias: trained.ivm.bias(),
            }
        };
        self.each.iter().map(|trained| trained.as_ref().map(of)).collect()
    }
}

impl Task<'_> {
    pub(super) fn kernel(&self, [length, variance]: [f64; 2]) -> Kernel {
        Kernel::rbf(length).scaled(variance) + Kernel::white(self.noise)
    }

    /// Labels as ±1, a column a class.
    fn signs(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.labels.len(), self.n_classes), |(row, class)| self.sign(row, class))
    }

    fn sign(&self, row: usize, class: usize) -> f64 {
        if self.labels[row].index() == class { 1.0 } else { -1.0 }
    }

    /// Classes that get a machine: those that have rows, but of two only the second.
    fn has_machine(&self) -> Vec<bool> {
        let mut has_rows = vec![false; self.n_classes];
        self.labels.iter().for_each(|label| has_rows[label.index()] = true);
        if has_rows.len() == 2 && has_rows[1] {
            has_rows[0] = false;
        }
        has_rows
    }

    /// Trains a machine for every class.
    pub(super) fn train_all(&self, kernel: [f64; 2]) -> Result<Machines> {
        let n = self.labels.len();
        let base = self.squares.map_or_else(|| Base::rows(self.x), Base::Squares);
        let columns = Columns::new(base, Shape::Rbf, kernel[0], kernel[1]);
        let as_kernel = self.kernel(kernel);
        let rows = |active: &[usize]| self.x.select(Axis(0), active).mapv(f64::from);
        let classes: Vec<usize> =
            self.has_machine().iter().enumerate().filter(|(_, has)| **has).map(|(class, _)| class).collect();
        let train = |class: usize, par: &Par| {
            let y: Vec<f64> = (0..n).map(|row| self.sign(row, class)).collect();
            train_on(&columns, &as_kernel, &rows, &y, self.options, par, self.budget)
        };
        // As many classes as there are threads side by side; where some are left, the threads work on one at a time.
        let n_even = classes.len() - classes.len() % self.par.threads();
        let mut trained = self.par.map(n_even, |i| train(classes[i], &Par::sequential()));
        trained.extend(classes[n_even..].iter().map(|&class| train(class, self.par)));
        let mut scores = Array2::from_elem((n, self.n_classes), f64::NEG_INFINITY);
        let mut is_active = vec![false; n];
        let mut each: Vec<Option<Trained>> = (0..self.n_classes).map(|_| None).collect();
        for (class, trained) in classes.into_iter().zip(trained) {
            let trained = trained?;
            scores.column_mut(class).iter_mut().enumerate().for_each(|(row, to)| *to = trained.score(row));
            trained.active.iter().for_each(|&row| is_active[row] = true);
            each[class] = Some(trained);
        }
        Ok(Machines { each, scores, is_active })
    }

    /// Fits scores of all classes to all rows, from the rows active anywhere, and puts the scores that each judge would have
    /// without itself in the place of the machines'.
    pub(super) fn refit(&self, length: f64, machines: &mut Machines) -> Result<Refit> {
        let judges = machines.judges();
        let rows = self.x.select(Axis(0), &machines.union());
        let (refit, without) = Refit::new(length, rows, self.x, &self.signs(), &judges, self.par)?;
        for (&row, scores) in judges.iter().zip(without.rows()) {
            machines.scores.row_mut(row).assign(&scores);
        }
        let has_machine = self.has_machine();
        for (class, mut column) in machines.scores.columns_mut().into_iter().enumerate() {
            if !has_machine[class] && self.n_classes != 2 {
                column.fill(f64::NEG_INFINITY);
            }
        }
        Ok(refit)
    }

    /// A curve a class from scores to probabilities, as some rows have it.
    pub(super) fn curves(&self, scores: &Array2<f64>, rows: &[usize]) -> Vec<Platt> {
        self.par.map(self.n_classes, |class| {
            let of_rows: Vec<f64> = rows.iter().map(|&row| scores[(row, class)]).collect();
            let is_own: Vec<bool> = rows.iter().map(|&row| self.labels[row].index() == class).collect();
            if of_rows.iter().any(|score| !score.is_finite()) {
                return Platt::fit(&vec![0.0; rows.len()], &is_own);
            }
            Platt::fit(&of_rows, &is_own)
        })
    }

    /// The calibrated log-loss of scores on some rows.
    pub(super) fn loss(&self, scores: &Array2<f64>, rows: &[usize]) -> f64 {
        let curves = self.curves(scores, rows);
        let sum: f64 = rows
            .iter()
            .map(|&row| {
                let mut p = scores.row(row).to_vec();
                to_probabilities(&mut p, &curves);
                -libm::log(p[self.labels[row].index()])
            })
            .sum();
        sum / rows.len() as f64
    }
}
