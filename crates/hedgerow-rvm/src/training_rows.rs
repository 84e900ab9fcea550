//! Rows to train on, with everything that a fit needs beside the kernel.

use hedgerow_core::{Budget, ClassId, Par, TargetSlice};
use hedgerow_gp::Kernel;
use ndarray::Array2;

use crate::design::Design;
use crate::params::RvmParams;
use crate::target::Context;

/// Rows to train on.
#[derive(Clone, Copy)]
pub struct TrainingRows<'a> {
    /// As they are prepared, or as the kernel sees them.
    pub(crate) x: &'a Array2<f64>,
    /// The numbers in units of `scale`, or the numbers of the classes.
    pub(crate) targets: &'a [f64],
    /// 0 unless targets are classes.
    pub(crate) n_classes: usize,
    pub(crate) scale: f64,
    pub(crate) params: &'a RvmParams,
    pub(crate) budget: &'a Budget,
    pub(crate) par: &'a Par,
    /// Whether the fit only compares lengths.
    pub(crate) is_trial: bool,
}

impl<'a> TrainingRows<'a> {
    /// What a fit with a kernel is given.
    pub(crate) fn context(&self, kernel: &'a Kernel) -> Context<'a> {
        let Self { x, params, budget, par, .. } = *self;
        Context { design: Design { x, kernel }, params, budget, par }
    }

    /// The rows of each class that has any, or all rows where there are no classes.
    pub(crate) fn groups(&self) -> Vec<Vec<usize>> {
        let class = |row: usize| if self.n_classes > 0 { self.targets[row] as usize } else { 0 };
        let mut groups = vec![Vec::new(); self.n_classes.max(1)];
        (0..self.targets.len()).for_each(|row| groups[class(row)].push(row));
        groups.retain(|group| !group.is_empty());
        groups
    }
}

/// Targets as the numbers that are trained on.
pub(crate) fn numbers(targets: TargetSlice<'_>) -> Vec<f64> {
    match targets {
        TargetSlice::Classes(classes) => classes.iter().map(|class| f64::from(class.0)).collect(),
        TargetSlice::Values(values) => values.to_vec(),
    }
}

/// Targets as classes.
pub(crate) fn labels(targets: &[f64]) -> Vec<ClassId> {
    targets.iter().map(|t| ClassId(*t as u32)).collect()
}

/// How many rows each class has.
pub(crate) fn counts(targets: &[f64], n_classes: usize) -> Vec<u64> {
    let mut counts = vec![0; n_classes];
    if n_classes > 0 {
        targets.iter().for_each(|class| counts[*class as usize] += 1);
    }
    counts
}
