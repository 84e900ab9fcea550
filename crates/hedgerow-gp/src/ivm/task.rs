//! The training rows of a classifier, and what can be learnt from them with a given kernel.

use hedgerow_core::{Budget, ClassId, Par, Result};
use ndarray::{Array2, ArrayView2, Axis};

use super::columns::{Base, Columns};
use super::train::Shared;
use super::{IvmOptions, Trained};
use crate::kernel::{Kernel, Shape};
use crate::refit::{Fitter, Freedom, MOST_JUDGES, Refitted};

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

/// Rows with the scores that they get without their own labels.
pub(super) struct Judged {
    pub(super) rows: Vec<usize>,
    pub(super) scores: Array2<f64>,
    /// Whether what scored them had never met them.
    pub(super) are_apart: bool,
}

/// How scores are fitted to all rows.
pub(super) struct Refitting {
    pub(super) length: f64,
    /// Ridges that are tried.
    pub(super) ridges: Vec<f64>,
    /// Whether more rows may be chosen, as many as machines may have together.
    pub(super) may_grow: bool,
    /// Whether another length scale may be looked for.
    pub(super) may_move: bool,
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
        self.train_each(&vec![kernel; self.n_classes])
    }

    /// Trains a machine for every class, each with a kernel of its own; those with the same kernel go side by side.
    pub(super) fn train_each(&self, kernels: &[[f64; 2]]) -> Result<Machines> {
        let n = self.labels.len();
        let mut machines = Machines {
            each: (0..self.n_classes).map(|_| None).collect(),
            scores: Array2::from_elem((n, self.n_classes), f64::NEG_INFINITY),
            is_active: vec![false; n],
        };
        let mut left: Vec<usize> =
            self.has_machine().iter().enumerate().filter(|(_, has)| **has).map(|(class, _)| class).collect();
        while let Some(&first) = left.first() {
            let kernel = kernels[first];
            let (alike, others) = left.into_iter().partition(|class| kernels[*class] == kernel);
            self.train_some(kernel, alike, &mut machines)?;
            left = others;
        }
        Ok(machines)
    }

    /// Trains machines for some classes with one kernel.
    fn train_some(&self, kernel: [f64; 2], classes: Vec<usize>, machines: &mut Machines) -> Result<()> {
        let n = self.labels.len();
        let base = self.squares.map_or_else(|| Base::rows(self.x), Base::Squares);
        let columns = Columns::new(base, Shape::Rbf, kernel[0], kernel[1]);
        let as_kernel = self.kernel(kernel);
        let rows = |active: &[usize]| self.x.select(Axis(0), active).mapv(f64::from);
        let labels: Vec<Vec<f64>> =
            classes.iter().map(|&class| (0..n).map(|row| self.sign(row, class)).collect()).collect();
        let shared = Shared {
            columns: &columns,
            kernel: &as_kernel,
            rows: &rows,
            options: self.options,
            par: self.par,
            budget: self.budget,
        };
        let trained = shared.train(&labels)?;
        for (class, trained) in classes.into_iter().zip(trained) {
            let mut scores = machines.scores.column_mut(class);
            scores.iter_mut().enumerate().for_each(|(row, to)| *to = trained.score(row));
            trained.active.iter().for_each(|&row| machines.is_active[row] = true);
            machines.each[class] = Some(trained);
        }
        Ok(())
    }

    /// Fits scores of all classes to all rows, from the rows active anywhere.
    pub(super) fn refit(&self, machines: &Machines, how: &Refitting) -> Result<Refitted> {
        let n_machines = machines.each.iter().flatten().count();
        let n_rows = if how.may_grow { n_machines * self.options.n_active } else { 0 };
        let freedom = Freedom { n_rows, may_move: how.may_move };
        self.fitter().best(&machines.union(), how.length, &how.ridges, freedom)
    }

    fn fitter(&self) -> Fitter<'_, f32> {
        let Self { x, labels, n_classes, par, budget, .. } = *self;
        Fitter { x, labels, n_classes, kernel: &Kernel::rbf, par, budget }
    }

    /// The calibrated log-loss of scores of rows with these labels.
    pub(super) fn loss(&self, scores: &Array2<f64>, labels: &[ClassId]) -> f64 {
        self.fitter().loss(scores, labels)
    }

    /// The scores and labels of the rows that may judge machines.
    pub(super) fn judged(&self, machines: &Machines) -> (Judged, Vec<ClassId>) {
        let rows = machines.judges();
        let labels = rows.iter().map(|&row| self.labels[row]).collect();
        let scores = machines.scores.select(Axis(0), &rows);
        (Judged { rows, scores, are_apart: false }, labels)
    }
}
