//! The training rows of a classifier, and what can be learnt from them with a given kernel.

use hedgerow_core::{Budget, ClassId, Par, Result};
use ndarray::{Array2, ArrayView2, Axis};

use super::columns::{Base, Columns};
use super::refit::{Goal, Refit};
use super::train::Shared;
use super::{IvmOptions, Trained};
use crate::calibration::Calibration;
use crate::kernel::{Kernel, Shape};

/// Rows that calibrate, at most: more would not change the curves; and numbers that are kept about them.
const MOST_JUDGES: usize = 8192;
const MOST_NUMBERS: usize = 16_000_000;
/// How much longer or shorter a length scale is that is tried; and rows times squared active rows up to which others are tried.
const STEP: f64 = 0.82;
const MOST_WORK: f64 = 1e11;

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

/// A regression of all rows on the active ones, and how it was judged.
pub(super) struct Refitted {
    pub(super) refit: Refit,
    /// The rows that judge, their scores, and their labels.
    pub(super) judges: Vec<usize>,
    pub(super) scores: Array2<f64>,
    pub(super) labels: Vec<ClassId>,
}

/// Rows with the scores that they get without their own labels.
pub(super) struct Judged {
    pub(super) rows: Vec<usize>,
    pub(super) scores: Array2<f64>,
}

/// How scores are fitted to all rows.
pub(super) struct Refitting {
    pub(super) length: f64,
    /// Ridges that are tried.
    pub(super) ridges: Vec<f64>,
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

    /// Labels as ±1, a column a class, less their means: a class that is rare would otherwise take most of the regression to say so.
    fn centered_signs(&self) -> Array2<f64> {
        let n = self.labels.len();
        let mut signs = Array2::from_shape_fn((n, self.n_classes), |(row, class)| self.sign(row, class));
        for mut column in signs.columns_mut() {
            let mean = column.sum() / n as f64;
            column.iter_mut().for_each(|v| *v -= mean);
        }
        signs
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
        let mut scores = Array2::from_elem((n, self.n_classes), f64::NEG_INFINITY);
        let mut is_active = vec![false; n];
        let mut each: Vec<Option<Trained>> = (0..self.n_classes).map(|_| None).collect();
        for (class, trained) in classes.into_iter().zip(trained) {
            scores.column_mut(class).iter_mut().enumerate().for_each(|(row, to)| *to = trained.score(row));
            trained.active.iter().for_each(|&row| is_active[row] = true);
            each[class] = Some(trained);
        }
        Ok(Machines { each, scores, is_active })
    }

    /// The same with the best length scale nearby, if that may be looked for.
    pub(super) fn best_refit(&self, machines: &Machines, how: &Refitting) -> Result<Refitted> {
        let mut best = self.refit(how.length, machines, &how.ridges)?;
        let n_union = machines.union().len() as f64;
        if !how.may_move || self.labels.len() as f64 * n_union * n_union > MOST_WORK {
            return Ok(best);
        }
        let mut least = self.loss(&best.scores, &best.labels);
        for step in [STEP, 1.0 / STEP] {
            while self.budget.spent().is_none() {
                let next = self.refit(best.refit.length * step, machines, &how.ridges)?;
                let loss = self.loss(&next.scores, &next.labels);
                if loss >= least {
                    break;
                }
                (best, least) = (next, loss);
            }
            if best.refit.length != how.length {
                break;
            }
        }
        Ok(best)
    }

    /// Fits scores of all classes to all rows, from the rows active anywhere. The rows that judge get the scores that they
    /// would have without their own labels; so active ones may judge too.
    pub(super) fn refit(&self, length: f64, machines: &Machines, ridges: &[f64]) -> Result<Refitted> {
        let union = machines.union();
        let most = (MOST_NUMBERS / union.len().max(1)).clamp(1, MOST_JUDGES);
        let judges: Vec<usize> = (0..self.labels.len()).step_by(self.labels.len().div_ceil(most)).collect();

        let labels: Vec<ClassId> = judges.iter().map(|&row| self.labels[row]).collect();
        let has_machine = self.has_machine();
        let known = |scores: &Array2<f64>| {
            let mut scores = scores.clone();
            for (class, mut column) in scores.columns_mut().into_iter().enumerate() {
                if !has_machine[class] && self.n_classes != 2 {
                    column.fill(f64::NEG_INFINITY);
                }
            }
            scores
        };
        let loss = |scores: &Array2<f64>| self.loss(&known(scores), &labels);
        let goal = Goal { x: self.x, y: &self.centered_signs(), judges: &judges, ridges, loss: &loss };
        let rows = self.x.select(Axis(0), &union);
        let (refit, without) = Refit::new(length, &rows, &goal, self.par)?;
        let scores = known(&without);
        Ok(Refitted { refit, judges, scores, labels })
    }

    /// The calibrated log-loss of scores of rows with these labels.
    pub(super) fn loss(&self, scores: &Array2<f64>, labels: &[ClassId]) -> f64 {
        Calibration::fit(scores, labels, self.par).loss(scores, labels)
    }

    /// The scores and labels of the rows that may judge machines.
    pub(super) fn judged(&self, machines: &Machines) -> (Judged, Vec<ClassId>) {
        let rows = machines.judges();
        let labels = rows.iter().map(|&row| self.labels[row]).collect();
        let scores = machines.scores.select(Axis(0), &rows);
        (Judged { rows, scores }, labels)
    }
}
